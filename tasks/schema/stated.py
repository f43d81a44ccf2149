"""Statements of a publisher about a release that its tables cannot show.

They are no terms of a release: other words make no other release.

It is told what would have kept the release from appearing, and nothing of what was measured: how
often guesses are right depends on the original.

How often intervals miss depends on the original, so each factor says a little of it. It is one of
few numbers, frozen for the line, and nothing else of the calibration is published.

Source of the headings: ISO/IEC 27559:2022, Privacy enhancing data de-identification framework
(context, data, identifiability, governance), and NIST SP 800-188, De-identifying government
datasets (2023). The words are private: no release has them.
"""

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)

from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.names import Part

OneLine = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
Code = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]+$")]
Text = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00-\x09\x0b-\x1f\x7f]+$")]
Paragraphs = Annotated[Text, StringConstraints(strip_whitespace=True)]
_WEB = re.compile(r"https?://[^\s<>\"'`{}|\\^]+")
_MAIL = re.compile(r"[^\s@<>\"']+@[^\s@<>\"']+\.[^\s@<>\"']+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_Share = Annotated[float, Field(ge=0, le=1)]
_FIRST = "1 1.25 1.5 2 3 5 7.5"
_E24 = "1 1.1 1.2 1.3 1.5 1.6 1.8 2 2.2 2.4 2.7 3 3.3 3.6 3.9 4.3 4.7 5.1 5.6 6.2 6.8 7.5 8.2 9.1"
_LATER = {"spread": 8, "median": 8, "quantile": 8}
"""The aggregates whose families came later, and the formats that they came with."""


class PublisherStatement(BaseModel):
    """A part of what is stated; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def web_address(text: str | None) -> str | None:
    """Return the text if all of it is an address on the web, or None."""
    return text if text is not None and _WEB.fullmatch(text) else None


def mail_address(text: str | None) -> str | None:
    """Return the text if all of it is an e-mail address, or None."""
    return text if text is not None and _MAIL.fullmatch(text) else None


def link_of(text: str) -> str | None:
    """Return the address to link a text to, or None if the text is no address."""
    return f"mailto:{text}" if mail_address(text) else web_address(text)


def _licence(text: str) -> str:
    if web_address(text) is None and not _IDENTIFIER.fullmatch(text):
        raise ValueError(
            "must be the short name of a licence (CC-BY-4.0), or its address on the web"
        )
    return text


class SaidOfLine(BaseModel):
    """Statements about a line; a key is None if nothing is said."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    publisher: Annotated[OneLine | None, Field(description="the name of its publisher")] = None
    contact: Annotated[
        OneLine | None,
        Field(description="a name, an e-mail address, or an address on the web"),
    ] = None
    licence: Annotated[
        Annotated[OneLine, AfterValidator(_licence)] | None,
        Field(description="its short name (CC-BY-4.0), or its address on the web"),
    ] = None
    description: Annotated[
        Paragraphs | None,
        Field(description="paragraphs, with an empty line between"),
    ] = None


class CodeLabels(BaseModel):
    """Meanings of a column's codes: of a declared list, or only of the published codes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    codes: dict[Code, OneLine]
    whole: Annotated[
        bool, Field(description="the list as declared; otherwise only the published codes")
    ] = False


class PublishedWords(SaidOfLine):
    """Words of a version about its line, and about its columns by their names."""

    columns: dict[str, OneLine] = {}
    labels: dict[str, CodeLabels] = field_since(6, {}, "the meaning of codes of columns")
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = field_since(
        6, None, "the fingerprint of the key that the line's versions were signed with"
    )


class KeptBar(PublisherStatement):
    """A limit of one attack on every sensitive column, as a spec says it."""

    attack: Annotated[str, Field(pattern="^[a-z]+(-[a-z]+)*$", max_length=63)]
    limit: Literal["max-lift", "max-share-above", "max-share"]
    most: _Share
    belief: _Share | None = field_since(
        6,
        None,
        ("the smallest probability with which a value is believed, so that the guess counts"),
    )
    known: int | None = field_since(
        6,
        None,
        (
            "the number of values that the attacker can rule out, or of people that the "
            "attacker knows"
        ),
    )
    width: ExactNumber | None = field_since(
        6, None, "the width of a small range, in the column's unit"
    )
    level: int | None = field_since(
        6, None, "the level of the hierarchy at which values count as alike"
    )
    times: float | None = field_since(
        6, None, "how much likelier a value must be in a group, so that the group counts"
    )


class KeptBars(PublisherStatement):
    """All bars of a release; beyond any of them it would not have been published."""

    standing: Literal["stated by the publisher, not verifiable"] = (
        "stated by the publisher, not verifiable"
    )
    bars: Annotated[tuple[KeptBar, ...], Field(min_length=1)]


def _decades(steps: str, powers: Iterable[int]) -> tuple[Decimal, ...]:
    return tuple(
        Decimal(f"{Decimal(step) * Decimal(10) ** power:f}")
        for power in powers
        for step in steps.split()
    )


FIRST_GRID = _decades(_FIRST, range(4))
"""The first factors, ascending: they widened intervals by up to two thirds."""


GRID: tuple[Decimal, ...] = tuple(sorted({*FIRST_GRID, *_decades(_E24, range(-1, 4))}))
"""All factors, ascending: the first ones, and preferred numbers (IEC 60063, E24)."""


def _on_grid(factor: Decimal) -> Decimal:
    if factor not in GRID:
        raise ValueError("not a factor of the fixed grid")
    return GRID[GRID.index(factor)]


Factor = Annotated[Decimal, AfterValidator(_on_grid), PlainSerializer(str)]
"""A factor of the grid, written in one way."""


class CalibratedFamily(PublisherStatement):
    """A family of queries, and the factor that widens their intervals."""

    family: Annotated[str, Field(pattern="^[a-z]+(-[a-z]+)*$", max_length=63)]
    of: Annotated[str, Field(description="the sensitive column; empty where rows are counted")]
    factor: Factor

    @property
    def since(self) -> int:
        """The lowest format that knows the family; 0 for the first families."""
        return _LATER.get(self.family.partition("-")[0], 0)


class CalibratedIntervals(PublisherStatement):
    """Statements about a release's intervals."""

    coverage: Literal["at least 95 % asked, met"] = "at least 95 % asked, met"
    standing: Literal["stated by the publisher, not verifiable"] = (
        "stated by the publisher, not verifiable"
    )
    grid: Literal["first", "fine"] = field_since(
        6, "first", "the possible factors: the few of format 5, or 24 in each power of ten"
    )
    families: tuple[CalibratedFamily, ...]

    @property
    def factors(self) -> tuple[Decimal, ...]:
        """All possible factors, ascending."""
        return GRID if self.grid == "fine" else FIRST_GRID

    @model_validator(mode="after")
    def _factors_are_of_the_grid(self) -> Self:
        if not {family.factor for family in self.families} <= set(self.factors):
            raise ValueError("not a factor of the fixed grid")
        return self

    def factor_of(self, family: tuple[str, str] | None) -> Decimal | None:
        """Return the factor of a family by its name and column; None if it was not calibrated."""
        factors = {
            (calibrated.family, calibrated.of): calibrated.factor for calibrated in self.families
        }
        return None if family is None else factors.get(family)


def rounded_up(factor: float) -> Decimal | None:
    """Return the next factor of the grid; None beyond it.

    >>> rounded_up(0.25), rounded_up(1.25), rounded_up(5.001), rounded_up(float("inf"))
    (Decimal('0.27'), Decimal('1.25'), Decimal('5.1'), None)
    """
    return next((step for step in GRID if factor <= step), None)


class DossierStatements(Part):
    """The steward's own part of a dossier."""

    context: Annotated[
        Literal["public", "agreement", "enclave"],
        Field(
            description=(
                "who receives the release: the public, those who sign an agreement, or only "
                "colleagues"
            )
        ),
    ]
    purpose: Annotated[Paragraphs | None, Field(description="the purpose of the release")] = None
    recipients: Annotated[Paragraphs | None, Field(description="the users of the release")] = None
    controls: Annotated[
        Paragraphs | None, Field(description="the measures that keep recipients from attacking it")
    ] = None
    attackers: Annotated[
        Paragraphs | None, Field(description="who might attack it, and their knowledge beforehand")
    ] = None
    decision: Annotated[
        Paragraphs | None, Field(description="the reasons for this kind of release")
    ] = None
    residual_risk: Annotated[
        Paragraphs | None, Field(description="the remaining risk, and why it is acceptable")
    ] = None
    accepted_by: Annotated[
        Paragraphs | None, Field(description="the person who accepts the risk")
    ] = None
    review: Annotated[
        date | None, Field(description="the day on which all of this is reviewed again")
    ] = None
