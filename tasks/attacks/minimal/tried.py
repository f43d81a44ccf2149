"""Finer groups that a partition tried, as whoever knows it and people's quasi-identifiers can tell.

Had they kept the promises, they would have been published. Only partitions count whose groups
depend on sensitive values through promises alone; of those that chance decides about, too, those
where it is known how likely it does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.mondrian.cuts import (
    Attribute,
    allowable_sides,
    attribute,
    chance_of_leaving,
)
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.shared.thresholds import usual_rows
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class TriedGroups:
    """Tries of finer groups, each of which broke a promise.

    Attributes:
        sides: which side of its group each row would have been on (int64, tries x rows), -1 where
            its group was not tried so.
        together: whether a try is of all groups at once, and broke a promise in one of them; else
            each group was tried by itself.
        left: how likely each group was left as it is by chance, and not tried (float64).
    """

    sides: np.ndarray
    together: bool
    left: np.ndarray


def is_told(terms: Terms) -> bool:
    """True of partitions that try finer groups, and tell so."""
    return terms.partition.method in _TOLD


def what_was_tried(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """The tries of the partition that the terms name; None where none can be told.

    Args:
        terms: what a release declares.
        people: the rows that it represents.
        group: of each of them (int64; 0, 1, …).
    """
    told = _TOLD.get(terms.partition.method)
    return None if told is None else told(terms, people, group)


def _of_mondrian(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """A final part was tried along each quasi-identifier, at the median and at the value before.

    Where parts are left by chance, the first of these cuts that sizes allow was tried, or none.
    """
    partition = terms.partition
    if not isinstance(partition, MondrianParameters) or partition.mode != "strict":
        return None  # relaxed cuts part equal rows by chance
    attributes = [attribute(people[name]) for name in terms.named("quasi-identifier")]
    rows = np.argsort(group, kind="stable")
    if not partition.leave:
        tried = [_cut(one, rows, group[rows], low) for one in attributes for low in (False, True)]
        return TriedGroups(_of_rows(tried, rows), together=False, left=_no_chance(group))
    least = usual_rows(terms.promises)
    first = allowable_sides(attributes, rows, group[rows], least, strict=True)
    left = [chance_of_leaving(partition.leave, least, n) for n in np.bincount(group).tolist()]
    return TriedGroups(_of_rows([first], rows), together=False, left=np.array(left, dtype=float))


def _of_rows(tried: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The sides by row (int64, tries x rows), given those of these rows."""
    sides = np.full((len(tried), len(rows)), -1, dtype=np.int64)
    sides[:, rows] = tried
    return sides


def _no_chance(group: np.ndarray) -> np.ndarray:
    return np.zeros(int(group.max(initial=-1)) + 1)


def _cut(one: Attribute, rows: np.ndarray, part: np.ndarray, lower: bool) -> np.ndarray:
    """The side of each row (int64), -1 where its part cannot be cut so."""
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    possible = (one.widths(rows, starts, strict=True) >= 0)[part]
    side = np.full(len(rows), -1, dtype=np.int64)
    if possible.any():
        side[possible] = one.sides(rows[possible], part[possible], True, lower)
    return side


def _of_full_domain(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """The node of a lattice is minimal: each of those right below it was tried."""
    names = terms.named("quasi-identifier")
    if not terms.partition.equal_rows_together or not _about_all(terms, names):
        return None  # what is suppressed may make up for a lower node
    lower = [_below(people, name, group) for name in names if name not in terms.strata]
    tried = [side for side in lower if side is not None]
    sides = np.array(tried, dtype=np.int64).reshape(-1, len(group))
    return TriedGroups(sides, together=True, left=_no_chance(group))


def _about_all(terms: Terms, names: Sequence[str]) -> bool:
    """Whether the groups of every promise are those that all quasi-identifiers tell apart."""
    told = [p.quasi_identifiers or names for p in terms.promises]
    return all({*names} <= {*of} for of in told)


def _below(people: Microdata, name: str, group: np.ndarray) -> np.ndarray | None:
    """The node of each row one level below what is shown (int64); None where that is the value."""
    codes, levels = people[name].category()[0], people[name].levels()
    shown = next(at for at, nodes in enumerate(levels) if _is_one(nodes[codes], group))
    return levels[shown - 1][codes] if shown else None


def _is_one(node: np.ndarray, group: np.ndarray) -> bool:
    """Whether all rows of each group have one node."""
    one = np.zeros(int(group.max(initial=-1)) + 1, dtype=node.dtype)
    one[group] = node
    return bool((one[group] == node).all())


_TOLD: Mapping[str, Callable[[Terms, Microdata, np.ndarray], TriedGroups | None]] = {
    "mondrian": _of_mondrian,
    "full-domain": _of_full_domain,
}
