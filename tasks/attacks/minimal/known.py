"""What an attacker knows of a release: groups, their values, and which finer ones were tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.minimal.tried import is_told, what_was_tried
from sfumato.tasks.attacks.minimal.worlds import Worlds
from sfumato.tasks.attacks.people_of_groups import group_of_people
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.partitions.shared.thresholds import largest_k, largest_l


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
