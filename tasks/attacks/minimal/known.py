"""An attacker's knowledge of a release: groups, their values, and finer groups that were tried.

A *try* divides one or all groups into finer ones, its *sides*. They would have been published if
they had kept the promises. Tries are known only for partitions whose groups depend on sensitive
values through nothing but the promises. If chance also decides, its probability must be known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.minimal.worlds import Worlds
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.mondrian.cuts import (
    Attribute,
    allowable_sides,
    attribute,
    chance_of_leaving,
)
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.partitions.shared.thresholds import largest_k, largest_l, usual_rows
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class TriedGroups:
    """Tries of finer groups, each of which broke a promise.

    Attributes:
        sides: the side of its group on which each row would have been (int64, tries x rows); -1 if
            its group was not tried so.
        together: whether a try is of all groups at once, and broke a promise in one of them;
            otherwise each group was tried by itself.
        left: the chance that each group was left as it is by chance, and not tried (float64).
    """

    sides: np.ndarray
    together: bool
    left: np.ndarray


def has_known_tries(terms: Terms) -> bool:
    """Decide whether the tries of the partition that the terms name can be known."""
    return terms.partition.method in _FINDERS


def find_tries(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """Return the tries of the partition that the terms name, or None if they are unknown.

    Args:
        terms: the terms of a release.
        people: the rows that it represents.
        group: the group of each of these rows (int64; 0, 1, …).
    """
    find = _FINDERS.get(terms.partition.method)
    return None if find is None else find(terms, people, group)


def _tries_of_mondrian(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """Return the cuts of final groups by each quasi-identifier, at the median and one value before.

    If groups are left uncut by chance, only the first of these cuts that sizes allow was tried, or
    none.

    Returns:
        None if the partition cuts in another mode than `strict`.
    """
    partition = terms.partition
    if not isinstance(partition, MondrianParameters) or partition.mode != "strict":
        return None  # relaxed cuts part equal rows by chance
    attributes = [attribute(people[name]) for name in terms.names_with_roles("quasi-identifier")]
    rows = np.argsort(group, kind="stable")
    if not partition.leave:
        tried = [
            _cut(column, rows, group[rows], low) for column in attributes for low in (False, True)
        ]
        return TriedGroups(_sides_by_row(tried, rows), together=False, left=_no_chance(group))
    least = usual_rows(terms.promises)
    first = allowable_sides(attributes, rows, group[rows], least, strict=True)
    chances = [chance_of_leaving(partition.leave, least, n) for n in np.bincount(group).tolist()]
    return TriedGroups(
        _sides_by_row([first], rows), together=False, left=np.array(chances, dtype=float)
    )


def _sides_by_row(tried: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return the sides of all rows (int64, tries x rows), given those in the order of `rows`."""
    sides = np.full((len(tried), len(rows)), -1, dtype=np.int64)
    sides[:, rows] = tried
    return sides


def _no_chance(group: np.ndarray) -> np.ndarray:
    return np.zeros(int(group.max(initial=-1)) + 1)


def _cut(column: Attribute, rows: np.ndarray, part: np.ndarray, lower: bool) -> np.ndarray:
    """Return the side of each row (int64), -1 where its part cannot be cut so."""
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    possible = (column.widths(rows, starts, strict=True) >= 0)[part]
    side = np.full(len(rows), -1, dtype=np.int64)
    if possible.any():
        side[possible] = column.sides(rows[possible], part[possible], True, lower)
    return side


def _tries_of_full_domain(terms: Terms, people: Microdata, group: np.ndarray) -> TriedGroups | None:
    """Return the tries of a minimal lattice node: each node directly below it was tried.

    A lattice node is one level of generalization for each quasi-identifier.

    Returns:
        None if lower nodes may have been tried with other rows suppressed, or with other groups.
    """
    names = terms.names_with_roles("quasi-identifier")
    if not terms.partition.equal_rows_together or not _about_all(terms, names):
        return None  # suppressed rows may make up for a lower node
    lower = [_node_below(people, name, group) for name in names if name not in terms.strata]
    tried = [side for side in lower if side is not None]
    sides = np.array(tried, dtype=np.int64).reshape(-1, len(group))
    return TriedGroups(sides, together=True, left=_no_chance(group))


def _about_all(terms: Terms, names: Sequence[str]) -> bool:
    """Decide whether the groups of every promise are those by all quasi-identifiers."""
    scopes = [p.quasi_identifiers or names for p in terms.promises]
    return all({*names} <= {*scope} for scope in scopes)


def _node_below(people: Microdata, name: str, group: np.ndarray) -> np.ndarray | None:
    """Return the node of each row one level below the published one (int64).

    Returns None if values themselves are published.
    """
    codes, levels = people[name].category()[0], people[name].levels()
    shown_level = next(
        level for level, nodes in enumerate(levels) if _has_one_node(nodes[codes], group)
    )
    return levels[shown_level - 1][codes] if shown_level else None


def _has_one_node(node: np.ndarray, group: np.ndarray) -> bool:
    """Decide whether all rows of each group have one node."""
    group_node = np.zeros(int(group.max(initial=-1)) + 1, dtype=node.dtype)
    group_node[group] = node
    return bool((group_node[group] == node).all())


_FINDERS: Mapping[str, Callable[[Terms, Microdata, np.ndarray], TriedGroups | None]] = {
    "mondrian": _tries_of_mondrian,
    "full-domain": _tries_of_full_domain,
}


@dataclass(frozen=True, eq=False)
class KnownTries:
    """Groups, their values, and tries of finer groups that each broke a promise.

    Attributes:
        codes: the sensitive value of each row (int64).
        group: the group of each row (int64; 0, 1, …).
        sides: the side of its group on which each row would have been (int64, tries x rows); -1 if
            the try says nothing about the group.
        together: whether a try was of all groups at once.
        left: the chance that each group was left by chance, and not tried (float64).
        judge: the judge of groups by the promises.
    """

    codes: np.ndarray
    group: np.ndarray
    sides: np.ndarray
    together: bool
    left: np.ndarray
    judge: PartJudge

    @cached_property
    def informative_groups(self) -> np.ndarray:
        """The groups about which the tries are informative (int64)."""
        return np.unique(self.group[(self.sides >= 0).any(axis=0)])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each group (int64)."""
        return np.bincount(self.group)

    def rows(self, groups: Sequence[int]) -> list[np.ndarray]:
        """Return the rows of some groups (int64), by group."""
        ends = np.cumsum(self.sizes)
        return [self._order[ends[group] - self.sizes[group] : ends[group]] for group in groups]

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.group, kind="stable")

    def kinds(self, rows: np.ndarray) -> np.ndarray:
        """Return the kind of each row of a group (int64); a kind is rows that no try separates."""
        if not len(self.sides):
            return np.zeros(len(rows), dtype=np.int64)
        return np.unique(self.sides[:, rows], axis=1, return_inverse=True)[1].ravel()

    def promises_kept(
        self, rows: Sequence[np.ndarray], worlds: Sequence[Worlds]
    ) -> list[np.ndarray]:
        """Decide in which worlds of groups which tries keep the promises (bool, worlds x tries).

        A try that says nothing about a group keeps the promises there if all groups are tried
        together, and breaks them if each group is tried by itself.

        Args:
            rows: the rows of each group (int64).
            worlds: the worlds of each group.
        """
        number = [len(group_worlds.weight) for group_worlds in worlds]
        every = np.concatenate(
            [np.tile(group_rows, n) for group_rows, n in zip(rows, number, strict=True)]
        )
        world = np.repeat(
            np.arange(sum(number)), np.repeat([len(group_rows) for group_rows in rows], number)
        )
        codes = np.concatenate([group_worlds.values.ravel() for group_worlds in worlds])
        judge = self._judge_of(codes, sum(number))
        verdicts = [self._keeping(judge, world, side[every], sum(number)) for side in self.sides]
        return np.split(np.stack(verdicts, axis=1), np.cumsum(number)[:-1])

    def _judge_of(self, codes: np.ndarray, worlds: int) -> PartJudge:
        """Return a judge of the rows of worlds, as if all rows occurred in as many releases.

        So values are as frequent among all rows as they are in the one release.

        Args:
            codes: the sensitive value of each row (int64).
            worlds: the number of worlds; no row occurs in more.
        """
        columns = self.judge.sensitive
        totals = {
            name: worlds * np.bincount(column.codes, minlength=column.values)
            for name, column in columns.items()
        }
        changed = {name: column._replace(codes=codes) for name, column in columns.items()}
        return PartJudge(self.judge.promises, changed, worlds * self.judge.rows, totals=totals)

    def _keeping(
        self, judge: PartJudge, world: np.ndarray, side: np.ndarray, worlds: int
    ) -> np.ndarray:
        """Decide in which worlds one try keeps the promises (bool)."""
        # A world keeps them if none of its sides breaks one; the default is for worlds of groups of
        # which the try says nothing.
        rows = np.flatnonzero(side >= 0)
        keeps = np.full(worlds, self.together)
        if len(rows):
            keeps[world[rows]] = True
            part, parts = dense(world[rows] * (int(side.max()) + 1) + side[rows])
            keeps[world[rows[judge.broken(rows, part, parts)[part]]]] = False
        return keeps


def known_tries(target: AttackedRelease) -> KnownTries | None:
    """Return the known tries of a release; None if unknown, or not judged group by group."""
    promises = _promises(target) if has_known_tries(target.declared) else None
    group = None if promises is None else group_of_people(target)
    if promises is None or group is None or not len(group):
        return None
    group, _ = dense(group)
    tried = find_tries(target.declared, target.people, group)
    if tried is None:
        return None
    try:
        judge = PartJudge.from_microdata(target.people, promises)
    except PromiseError:
        return None
    codes = target.people[target.sensitive].counted_codes().codes.astype(np.int64)
    least = max(largest_k(promises), largest_l(promises))
    sides = _open_tries(tried.sides, group, least, tried.together)
    return KnownTries(codes, group, sides, tried.together, tried.left, judge)


def _promises(target: AttackedRelease) -> Sequence[PrivacyModel] | None:
    """Return the promises that decided about tries, or None if other columns' values also did."""
    promises = target.declared.promises
    if target.people.person is not None:
        return None
    others = {p.sensitive for p in promises} - {None, target.sensitive}
    with_known = [p for p in promises if p.known_columns]
    return None if others or with_known else promises


def _open_tries(sides: np.ndarray, group: np.ndarray, least: int, together: bool) -> np.ndarray:
    """Return the tries that are not refused by the sizes of their sides alone.

    Such a refusal would reveal nothing about values.

    Args:
        sides: the sides of each try (int64, tries x rows).
        group: the group of each row (int64).
        least: the least number of rows that a side must have.
        together: whether a try is of all groups at once.

    Returns:
        The sides (int64, tries x rows). A refused try of all groups is left out; otherwise the rows
        of groups in which it is refused have side -1.
    """
    open_sides = []
    for side in sides:
        part, parts = dense(group * (int(side.max(initial=0)) + 2) + side + 1)
        refused = (np.bincount(part, minlength=parts) < least)[part] & (side >= 0)
        whole = np.zeros(int(group.max()) + 1, dtype=bool)
        whole[group[refused]] = True
        if not together:
            open_sides.append(np.where(whole[group], -1, side))
        elif not whole.any():
            open_sides.append(side)
    return np.array(open_sides, dtype=np.int64).reshape(-1, len(group))
