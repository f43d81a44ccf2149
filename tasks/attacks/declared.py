"""Bars on attacks, as a spec writes them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from sfumato.tasks.schema.part import Part
from sfumato.tasks.schema.stated.bars import KeptBar, KeptBars

JUDGED: Mapping[str, tuple[str, ...]] = {
    "homogeneity": ("rows", "labels"),
    "background": ("rows", "labels"),
    "several-rows": ("rows", "labels"),
    "minimality": ("rows", "labels"),
    "definetti": ("rows",),
    "subdomains": ("subdomains",),
}
"""The attacks that there are bars for, and the ways of showing people from which they learn."""

TRYING = ("mondrian", "full-domain")
"""The partitions of which `minimality` tells what they tried."""

Share = Annotated[float, Field(ge=0, le=1)]


class BelievedBar(Part):
    """The share of people whose own value may be believed so much."""

    belief: Share
    share: Share


class Bar(Part):
    """How well one attack may do; one limit at least."""

    max_lift: Annotated[
        Share | None,
        Field(description="people guessed beyond those whom the group alone tells, as a share"),
    ] = None
    max_share_above: Annotated[
        BelievedBar | None, Field(description="people whose own value is believed so much")
    ] = None
    known: Annotated[
        int | None, Field(ge=1, le=10, description="values that are ruled out: of background")
    ] = None
    on_failure: Annotated[
        Literal["refuse", "approve", "tell"],
        Field(description="what becomes of a release beyond it; approve: reviewers decide"),
    ] = "refuse"

    def limits(self, attack: str) -> Iterator[KeptBar]:
        """Its limits, for the attack of that name."""
        if self.max_lift is not None:
            yield KeptBar(attack=attack, limit="max-lift", most=self.max_lift, known=self.known)
        if (above := self.max_share_above) is not None:
            yield KeptBar(
                attack=attack,
                limit="max-share-above",
                most=above.share,
                belief=above.belief,
                known=self.known,
            )

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max_lift is None and self.max_share_above is None:
            raise ValueError("needs max-lift, or max-share-above")
        return self


class AttackBars(RootModel[dict[str, Bar]]):
    """Bars by the names of attacks."""

    root: dict[str, Bar] = {}

    @model_validator(mode="after")
    def _attacks_are_known(self) -> Self:
        for name, bar in self.root.items():
            if name not in JUDGED:
                raise ValueError(f"{name}: there are bars for {', '.join(JUDGED)}")
            if (bar.known is not None) != (name == "background"):
                raise ValueError(
                    f"{name}.known: says how many values are ruled out, in background alone"
                )
        return self

    @property
    def reviewed(self) -> list[str]:
        """The attacks whose bars are for reviewers to decide about."""
        return [name for name, bar in self.root.items() if bar.on_failure == "approve"]

    @property
    def stated(self) -> KeptBars | None:
        """What a release may tell of them: those beyond which it would not have appeared."""
        bars = [
            kept
            for name, bar in self.root.items()
            if bar.on_failure == "refuse"
            for kept in bar.limits(name)
        ]
        return KeptBars(bars=tuple(bars)) if bars else None

    def fault_in(self, shows: str, partition: str) -> str | None:
        """Why one of the attacks has nothing to learn from, None where all can be judged.

        Args:
            shows: how a form shows people.
            partition: the method of the groups.
        """
        for name in self.root:
            if shows not in JUDGED[name]:
                return f"{name} learns nothing from this form"
            if name == "minimality" and partition not in TRYING:
                return f"{name} learns nothing from this partition: leave it out"
        return None
