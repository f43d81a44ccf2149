"""Bars on attacks, as a spec writes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from sfumato.tasks.schema.part import Part
from sfumato.tasks.schema.stated.bars import KeptBar, KeptBars


@dataclass(frozen=True)
class BarNeeds:
    """What an attack learns from, so that there can be a bar on it.

    Attributes:
        shows: the ways of showing people.
        partitions: the methods of making groups; any, where none is named.
        several_rows: whether people have to have several rows.
        known: whether the bar says how many values are ruled out.
    """

    shows: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    several_rows: bool = False
    known: bool = False

    def fault_in(self, shows: str, partition: str, several_rows: bool) -> str | None:
        """Why nothing can be learned from a release, None where something can."""
        if shows not in self.shows:
            return "learns nothing from this form"
        if self.partitions and partition not in self.partitions:
            return "learns nothing from this partition: leave it out"
        if self.several_rows and not several_rows:
            return "is about people with several rows, and each has one here: leave it out"
        return None


JUDGED: Mapping[str, BarNeeds] = {
    "homogeneity": BarNeeds(("rows", "labels")),
    "background": BarNeeds(("rows", "labels"), known=True),
    "several-rows": BarNeeds(("rows", "labels"), several_rows=True),
    "minimality": BarNeeds(("rows", "labels"), partitions=("mondrian", "full-domain")),
    "definetti": BarNeeds(("rows",)),
    "subdomains": BarNeeds(("subdomains",)),
}
"""The attacks that there are bars for."""

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
            if (bar.known is not None) != JUDGED[name].known:
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

    def fault_in(self, shows: str, partition: str, several_rows: bool) -> str | None:
        """Why one of the attacks has nothing to learn from, None where all can be judged.

        Args:
            shows: how a form shows people.
            partition: the method of making groups.
            several_rows: whether people have several rows, or households several members.
        """
        for name in self.root:
            if fault := JUDGED[name].fault_in(shows, partition, several_rows):
                return f"{name}: {fault}"
        return None
