"""What an attacker knows of a release: groups, their values, and finer ones that were tried.

Had they kept the promises, they would have been published. Only partitions count whose groups
depend on sensitive values through promises alone; of those that chance decides about, too, those
where it is known how likely it does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.minimal.worlds import Worlds
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


@dataclass(frozen=True, eq=False)
class KnownTries:
    """Groups, their values, and tries of finer groups of which each broke a promise.

    Attributes:
        codes: the sensitive value of each row (int64).
        group: of each row (int64; 0, 1, …).
        sides: which side of its group each row would have been on (int64, tries x rows), -1 where
            that would tell nothing.
        together: whether a try was of all groups at once.
        left: how likely each group was left by chance, and not tried (float64).
        judge: tells which groups break a promise.
    """

    codes: np.ndarray
    group: np.ndarray
    sides: np.ndarray
    together: bool
    left: np.ndarray
    judge: PartJudge

    @cached_property
    def told(self) -> np.ndarray:
        """The groups of which the tries tell something (int64)."""
        return np.unique(self.group[(self.sides >= 0).any(axis=0)])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each group (int64)."""
        return np.bincount(self.group)

    def rows(self, groups: Sequence[int]) -> list[np.ndarray]:
        """The rows of some groups (int64), by group."""
        ends = np.cumsum(self.sizes)
        return [self._order[ends[one] - self.sizes[one] : ends[one]] for one in groups]

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.group, kind="stable")

    def kinds(self, rows: np.ndarray) -> np.ndarray:
        """The kind of each row of a group (int64): those are alike that no try tells apart."""
        if not len(self.sides):
            return np.zeros(len(rows), dtype=np.int64)
        return np.unique(self.sides[:, rows], axis=1, return_inverse=True)[1].ravel()

    def kept(self, rows: Sequence[np.ndarray], worlds: Sequence[Worlds]) -> list[np.ndarray]:
        """In which worlds of some groups which tries keep the promises (bool, worlds x tries).

        A try that tells nothing of a group keeps them where all are tried together, and does not
        where each group is.

        Args:
            rows: of each group (int64).
            worlds: of each.
        """
        number = [len(of.weight) for of in worlds]
        every = np.concatenate([np.tile(of, n) for of, n in zip(rows, number, strict=True)])
        world = np.repeat(np.arange(sum(number)), np.repeat([len(of) for of in rows], number))
        codes = np.concatenate([of.values.ravel() for of in worlds])
        judge = self._judge_of(codes, sum(number))
        kept = [self._keeping(judge, world, side[every], sum(number)) for side in self.sides]
        return np.split(np.stack(kept, axis=1), np.cumsum(number)[:-1])

    def _judge_of(self, codes: np.ndarray, worlds: int) -> PartJudge:
        """What judges the rows of worlds, where all rows are what they are in as many releases.

        So values are as frequent among all rows as they are in the one release.

        Args:
            codes: the sensitive value of each row (int64).
            worlds: how many there are; of no row there are more.
        """
        known = self.judge.sensitive
        totals = {
            name: worlds * np.bincount(of.codes, minlength=of.values) for name, of in known.items()
        }
        changed = {name: of._replace(codes=codes) for name, of in known.items()}
        return PartJudge(self.judge.promises, changed, worlds * self.judge.rows, totals=totals)

    def _keeping(
        self, judge: PartJudge, world: np.ndarray, side: np.ndarray, worlds: int
    ) -> np.ndarray:
        """In which worlds one try keeps the promises (bool)."""
        at = np.flatnonzero(side >= 0)
        found = np.full(worlds, self.together)
        if len(at):
            found[world[at]] = True
            part, parts = dense(world[at] * (int(side.max()) + 1) + side[at])
            found[world[at[judge.broken(at, part, parts)[part]]]] = False
        return found


def known_tries(target: AttackedRelease) -> KnownTries | None:
    """What is known of a release; None where no tries can be told, or judged group by group."""
    promises = _promises(target) if is_told(target.declared) else None
    group = None if promises is None else group_of_people(target)
    if promises is None or group is None or not len(group):
        return None
    group, _ = dense(group)
    tried = what_was_tried(target.declared, target.people, group)
    if tried is None:
        return None
    try:
        judge = PartJudge.of(target.people, promises)
    except PromiseError:
        return None
    codes = target.people[target.sensitive].coded().codes.astype(np.int64)
    least = max(largest_k(promises), largest_l(promises))
    sides = _left_open(tried.sides, group, least, tried.together)
    return KnownTries(codes, group, sides, tried.together, tried.left, judge)


def _promises(target: AttackedRelease) -> Sequence[PrivacyModel] | None:
    """The promises that decided about tries; None where others than the column's values did."""
    promises = target.declared.promises
    if target.people.person is not None:
        return None
    others = {p.sensitive for p in promises} - {None, target.sensitive}
    known = [p for p in promises if p.known_columns]
    return None if others or known else promises


def _left_open(sides: np.ndarray, group: np.ndarray, least: int, together: bool) -> np.ndarray:
    """The tries that sizes alone do not refuse: others tell nothing, and are -1, or left out."""
    found = []
    for side in sides:
        part, parts = dense(group * (int(side.max(initial=0)) + 2) + side + 1)
        refused = (np.bincount(part, minlength=parts) < least)[part] & (side >= 0)
        whole = np.zeros(int(group.max()) + 1, dtype=bool)
        whole[group[refused]] = True
        if not together:
            found.append(np.where(whole[group], -1, side))
        elif not whole.any():
            found.append(side)
    return np.array(found, dtype=np.int64).reshape(-1, len(group))
