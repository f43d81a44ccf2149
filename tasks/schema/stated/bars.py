"""Bars on attacks that a release keeps: stated by the publisher, who alone can score guesses.

It is told what would have kept the release from appearing, and nothing of what was measured: how
often guesses are right depends on the original.
"""

from typing import Annotated, Literal

from pydantic import Field

from sfumato.expectations.numbers import ExactNumber
from sfumato.tasks.schema.formats import since
from sfumato.tasks.schema.stated.statement import PublisherStatement

_Share = Annotated[float, Field(ge=0, le=1)]


class KeptBar(PublisherStatement):
    """A limit of one attack on every sensitive column, as a spec says it."""

    attack: Annotated[str, Field(pattern="^[a-z]+(-[a-z]+)*$", max_length=63)]
    limit: Literal["max-lift", "max-share-above", "max-share"]
    most: _Share
    belief: _Share | None = since(6, None, "what a value is believed with that counts, or more")
    known: int | None = since(6, None, "how many values can be ruled out, or people are known")
    width: ExactNumber | None = since(6, None, "of a small range, in the column's unit")
    level: int | None = since(6, None, "of the hierarchy, by which values are alike")
    times: float | None = since(6, None, "how much likelier a value is in a group that counts")


class KeptBars(PublisherStatement):
    """All bars beyond which nothing would have been published."""

    standing: Literal["stated by the publisher, not verifiable"] = (
        "stated by the publisher, not verifiable"
    )
    bars: Annotated[tuple[KeptBar, ...], Field(min_length=1)]
