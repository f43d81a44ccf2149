"""What there can be bars on, and what a bar on each attack has to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Limit = Literal["max-lift", "max-share-above", "max-share"]
_ROWS, _SHOWN = ("rows",), ("rows", "labels")
_EVERY = ("rows", "labels", "columns", "subdomains")


@dataclass(frozen=True)
class BarNeeds:
    """What an attack learns from, so that there can be a bar on it.

    Attributes:
        shows: the ways of showing people.
        limits: what can be limited.
        says: the keys that a bar on it has to have, beside limits.
        may_say: those that it can have.
        partitions: the methods of making groups; any, where none is named.
        several_rows: whether people have to have several rows.
        about: what the sensitive columns are that it is about; all, where nothing is said.
        several_versions: whether people have to be allowed to be in several versions.
        of_values: whether sensitive values are guessed; else who it is, or whose row is which.
        by_groups: whether the groups of a part, or of a composed version, are all that it needs.
    """

    shows: tuple[str, ...]
    limits: tuple[Limit, ...] = ("max-lift", "max-share-above")
    says: tuple[str, ...] = ()
    may_say: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    several_rows: bool = False
    about: Literal["numbers", "hierarchies"] | None = None
    several_versions: bool = False
    of_values: bool = True
    by_groups: bool = False

    def fault_in(self, shows: str, partition: str, several_rows: bool) -> str | None:
        """Why a release is not judged by it, None where it is."""
        if self.partitions and partition not in self.partitions:
            return f"is judged of {' and '.join(self.partitions)} alone: leave it out"
        if shows not in self.shows:
            return "is not judged of this form: leave it out"
        if self.several_rows and not several_rows:
            return "is about people with several rows, and each has one here: leave it out"
        return None

    def fault_of(self, limits: Sequence[str], keys: Sequence[str]) -> str | None:
        """Why a bar has limits or keys that are none of this attack's, None where all are."""
        for limit in limits:
            if limit not in self.limits:
                return f"{limit}: there is {' and '.join(self.limits)} of this attack"
        if missing := [key for key in self.says if key not in keys]:
            return f"{missing[0]}: has to be said"
        if more := [key for key in keys if key not in (*self.says, *self.may_say)]:
            return f"{more[0]}: is said of other attacks"
        return None


_BELIEVED: tuple[Limit, ...] = ("max-share-above",)
_COUNTED: tuple[Limit, ...] = ("max-share",)
JUDGED: Mapping[str, BarNeeds] = {
    "homogeneity": BarNeeds(_SHOWN, by_groups=True),
    "background": BarNeeds(_SHOWN, says=("known",), by_groups=True),
    "known-people": BarNeeds(_SHOWN, _BELIEVED, says=("known",), by_groups=True),
    "several-rows": BarNeeds(_SHOWN, several_rows=True),
    "small-range": BarNeeds(_SHOWN, _BELIEVED, may_say=("width",), about="numbers", by_groups=True),
    "similarity": BarNeeds(_SHOWN, _BELIEVED, says=("level",), about="hierarchies", by_groups=True),
    "skewness": BarNeeds(_SHOWN, _COUNTED, says=("times",), by_groups=True),
    "minimality": BarNeeds(_SHOWN, partitions=("mondrian", "full-domain")),
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
