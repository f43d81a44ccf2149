"""Bars on attacks as a spec writes them, and the keys that each of them needs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.microdata.notation.address import local_path
from sfumato.tasks.schema.names import Part
from sfumato.tasks.schema.stated import KeptBar, KeptBars

Limit = Literal["max-lift", "max-share-above", "max-share"]
_EVERY = ("rows", "labels", "columns", "subdomains")
_LIFTED: tuple[Limit, ...] = ("max-lift",)
_BELIEVED: tuple[Limit, ...] = ("max-share-above",)
_COUNTED: tuple[Limit, ...] = ("max-share",)
Share = Annotated[float, Field(ge=0, le=1)]
_STATED = ("known", "width", "level", "times")


_ROWS, _SHOWN = ("rows",), ("rows", "labels")


@dataclass(frozen=True)
class BarNeeds:
    """Conditions under which there can be a bar on an attack, by what the attack learns from.

    Attributes:
        shows: the ways of showing people on which the attack works.
        limits: the limits that a bar on it can have.
        says: the keys that a bar on it must have, besides limits.
        may_say: the optional keys of a bar on it.
        partitions: the partitions whose groups it attacks in forms that show values; empty for all
            partitions.
        several_rows: whether people must have several rows.
        about: the sensitive columns that it attacks; None for all.
        several_versions: whether people must be allowed in several versions.
        of_values: whether it guesses sensitive values; otherwise it finds people or their rows.
        by_groups: whether it needs only the groups of a part, or of a composed version.
        of_own_targets: the limits that need groups with targets of their own.
    """

    shows: tuple[str, ...]
    limits: tuple[Limit, ...] = (*_LIFTED, *_BELIEVED)
    says: tuple[str, ...] = ()
    may_say: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    several_rows: bool = False
    about: Literal["numbers", "hierarchies"] | None = None
    several_versions: bool = False
    of_values: bool = True
    by_groups: bool = False
    of_own_targets: tuple[Limit, ...] = ()

    def fault_in(self, shows: str, partition: str, several_rows: bool) -> str | None:
        """Return the reason why this attack cannot judge a release, or None if it can."""
        shows_values = shows != "subdomains"
        if self.partitions and shows_values and partition not in self.partitions:
            return f"can only be judged with partition {' or '.join(self.partitions)}. Leave it out"
        if shows not in self.shows:
            return "cannot be judged with this form. Leave it out"
        if self.several_rows and not several_rows:
            return "judges people with several rows, but each person has one row here. Leave it out"
        return None

    def fault_of(self, limits: Sequence[str], keys: Sequence[str]) -> str | None:
        """Return the reason why limits or keys do not suit this attack, or None if all do."""
        for limit in limits:
            if limit not in self.limits:
                return f"{limit}: is not a limit of this attack. Write {' or '.join(self.limits)}"
        if missing := [key for key in self.says if key not in keys]:
            return f"{missing[0]}: is missing, and this attack needs it"
        if more := [key for key in keys if key not in (*self.says, *self.may_say)]:
            return f"{more[0]}: belongs to other attacks. Leave it out"
        return None


JUDGED: Mapping[str, BarNeeds] = {
    "homogeneity": BarNeeds(_SHOWN, by_groups=True),
    "background": BarNeeds(_SHOWN, says=("known",), by_groups=True),
    "known-people": BarNeeds(_SHOWN, _BELIEVED, says=("known",), by_groups=True),
    "several-rows": BarNeeds(_SHOWN, several_rows=True),
    "small-range": BarNeeds(_SHOWN, _BELIEVED, may_say=("width",), about="numbers", by_groups=True),
    "similarity": BarNeeds(_SHOWN, _BELIEVED, says=("level",), about="hierarchies", by_groups=True),
    "skewness": BarNeeds(_SHOWN, _COUNTED, says=("times",), by_groups=True),
    "minimality": BarNeeds(
        (*_SHOWN, "subdomains"),
        (*_LIFTED, *_BELIEVED, *_COUNTED),
        partitions=("mondrian", "full-domain"),
        of_own_targets=_COUNTED,
    ),
    "definetti": BarNeeds(_ROWS),
    "subdomains": BarNeeds(("subdomains",)),
    "linkage": BarNeeds(_SHOWN, _BELIEVED, says=("register",), of_values=False),
    "presence": BarNeeds(_EVERY, _BELIEVED, says=("register",), of_values=False),
    "composition": BarNeeds(_EVERY, _COUNTED, several_versions=True),
    "matches": BarNeeds(_SHOWN, _COUNTED, of_values=False),
    "singling-out": BarNeeds(_SHOWN, _COUNTED, of_values=False),
    "linkability": BarNeeds(_SHOWN, _COUNTED, of_values=False),
    "inference": BarNeeds(_SHOWN, _COUNTED),
}
"""The attacks that there are bars for."""


class BelievedBar(Part):
    """The share of people of whom so much may be believed."""

    belief: Share
    share: Share


class Bar(Part):
    """Limits on the success of one attack, and settings of the attack; at least one of them."""

    max_lift: Annotated[
        Share | None,
        Field(
            description=(
                "largest share of people guessed in addition to those guessed from their group only"
            )
        ),
    ] = None
    max_share_above: Annotated[
        BelievedBar | None,
        Field(
            description=(
                "largest share of people about whom the attacker believes the true value this "
                "strongly"
            )
        ),
    ] = None
    max_share: Annotated[
        Share | None,
        Field(
            description=(
                "largest share of people, of tries or of groups, with which an attack succeeds"
            )
        ),
    ] = None
    known: Annotated[
        int | None,
        Field(
            ge=1,
            le=10,
            description="number of other values, or of other people, that the attacker knows",
        ),
    ] = None
    width: Annotated[
        ExactNumber | None, Field(gt=0, description="width of a small range, in the column's unit")
    ] = None
    level: Annotated[
        int | None, Field(ge=1, description="level of the hierarchy at which values count as alike")
    ] = None
    times: Annotated[
        float | None, Field(gt=1, description="how many times likelier a value may be in a group")
    ] = None
    register_: Annotated[
        str | None,
        Field(
            alias="register", description="file (register) of everyone who could be in the release"
        ),
    ] = None
    on_failure: Annotated[
        Literal["refuse", "approve", "tell"],
        Field(
            description=(
                "what happens to a release that exceeds the limit (approve lets reviewers decide)"
            )
        ),
    ] = "refuse"

    def limits(self, attack: str) -> Iterator[KeptBar]:
        """Yield the limits of this bar for the attack of that name."""
        settings = {name: getattr(self, name) for name in _STATED}
        if self.max_lift is not None:
            yield KeptBar(attack=attack, limit="max-lift", most=self.max_lift, **settings)
        if (above := self.max_share_above) is not None:
            above_share = {"most": above.share, "belief": above.belief, **settings}
            yield KeptBar(attack=attack, limit="max-share-above", **above_share)
        if self.max_share is not None:
            yield KeptBar(attack=attack, limit="max-share", most=self.max_share, **settings)

    def fault_of(self, attack: str, needs: BarNeeds) -> str | None:
        """Return the reason why this is no bar on the attack of that name, or None if it is one."""
        limits = [limit.limit for limit in self.limits(attack)]
        keys = [name for name in _STATED if getattr(self, name) is not None]
        if self.register_ is not None:
            keys.append("register")
        if not limits and "width" not in keys:
            return f"needs {', or '.join(needs.limits)}"
        return needs.fault_of(limits, keys)


class AttackBars(RootModel[dict[str, Bar]]):
    """Bars by the names of attacks."""

    root: dict[str, Bar] = {}

    @model_validator(mode="after")
    def _attacks_are_known(self) -> Self:
        for name, bar in self.root.items():
            if name not in JUDGED:
                raise ValueError(
                    f"{name}: is not an attack that can be limited. Write one of "
                    f"{', '.join(JUDGED)}"
                )
            if fault := bar.fault_of(name, JUDGED[name]):
                raise ValueError(f"{name}: {fault}")
        return self

    @property
    def attacks_to_review(self) -> list[str]:
        """The attacks whose bars reviewers decide about."""
        return [name for name, bar in self.root.items() if bar.on_failure == "approve"]

    @property
    def kept_bars(self) -> KeptBars | None:
        """The bars that a release may state: those that would have refused it."""
        bars = [
            limit
            for name, bar in self.root.items()
            if bar.on_failure == "refuse"
            for limit in bar.limits(name)
        ]
        return KeptBars(bars=tuple(bars)) if bars else None

    @property
    def window(self) -> Decimal | None:
        """The width of a small range, or None if no bar sets one."""
        bar = self.root.get("small-range")
        return None if bar is None else bar.width

    def with_local_registers(self, base: Path) -> "AttackBars":
        """Return these bars with registers as paths that do not depend on the working directory."""
        return AttackBars(
            {name: _with_local_register(bar, base) for name, bar in self.root.items()}
        )

    def fault_in(
        self, shows: str, partition: str, several_rows: bool, own_targets: bool = False
    ) -> str | None:
        """Return the reason why one of the attacks cannot judge a release, or None if all can.

        Args:
            shows: the way in which a form shows people.
            partition: the method of making groups.
            several_rows: whether people have several rows, or households several members.
            own_targets: whether groups have targets of their own.
        """
        for name, bar in self.root.items():
            if fault := JUDGED[name].fault_in(shows, partition, several_rows):
                return f"{name}: {fault}"
            for kept_bar in () if own_targets else bar.limits(name):
                if kept_bar.limit in JUDGED[name].of_own_targets:
                    return (
                        f"{name}.{kept_bar.limit}: counts groups that have targets of their own. "
                        "Promise p-privacy with `target: {nearest: own}`, or leave it out"
                    )
        return None


def _with_local_register(bar: Bar, base: Path) -> Bar:
    if bar.register_ is None:
        return bar
    return bar.model_copy(update={"register_": str(local_path(bar.register_, base, os.environ))})
