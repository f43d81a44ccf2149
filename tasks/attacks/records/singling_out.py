"""Singling out: conditions that hold for one published record, and for one person as well.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), multivariate singling out, as Anonymeter computes it; after Cohen and
Nissim, Towards formalizing the GDPR's notion of singling out (PNAS 2020). Rows are counted as they
are, where that tool counts equal ones once. Each condition is made from a shuffle of its own where
values are shuffled, so that conditions are independent, and no draw counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.margins import Margin, margin_of_tries
from sfumato.tasks.attacks.records.columns import Condition
from sfumato.tasks.attacks.records.nearest import ATTEMPTS, most_likely
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    without_records,
)
from sfumato.tasks.attacks.records.redrawn import (
    FIRST,
    RowCondition,
    conditions_met,
    like_known,
    row_condition,
    steps,
)

_COLUMNS = 3
_TURNS = 40  # conditions for each try, of which most hold for several rows
_MOST = 600_000_000  # rows of which conditions are asked
_NAME = "singling-out"
_AT_ONCE = 500  # conditions that are asked of some rows together
_SMALL = 3_000  # rows, all of which are asked at once


@dataclass(frozen=True)
class Tries:
    """How many conditions were made, how many one row alone meets, and how many single out.

    Where fewer than one in forty is met by one row, forty that were made count as one that is met.
    """

    found: int
    met: int
    made: int

    @property
    def share(self) -> float:
        """The share of conditions met by one row, or of as many times forty, that single out."""
        return self.found / max(self.met, self.made / _TURNS)

    @property
    def margin(self) -> Margin:
        """Where the share is, whatever was drawn."""
        if self.met * _TURNS >= self.made:
            return margin_of_tries(self.found, self.met)
        margin = margin_of_tries(self.found, self.made)
        low, high = (min(_TURNS * of, 1.0) for of in (margin.low, margin.high))
        return Margin(low, high, margin.by)

    @property
    def at_most(self) -> float:
        """The share with which bars are judged, nearly surely no more."""
        if self.met * _TURNS >= self.made:
            return most_likely(self.found, self.met)
        return min(_TURNS * most_likely(self.found, self.made), 1.0)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Make conditions of three columns of published records, and ask them of people."""
    records = compared_records(target)
    if records is None:
        return without_records(target, _NAME)
    tries = _tries(target, records)
    number = min(ATTEMPTS, max(ATTEMPTS // 10, _MOST // records.people))
    drawing = target.drawing("conditions drawn at random")
    by_chance = sum(_by_chance(records, drawing) for _ in range(number))
    references = {
        "by conditions drawn at random": by_chance / number,
        "by these at most, with 95 %": most_likely(by_chance, number),
        "at most, with 95 %": tries.at_most,
    }
    measure = "conditions that one published row meets: somebody is singled out"
    return (Score(measure, tries.share, references, tries.margin),)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """What share of tries single somebody out, at most with 95 %; None without records."""
    records = compared_records(target)
    if records is None:
        return None
    return SuccessShare(records.people, _tries(target, records).at_most)


def _tries(target: AttackedRelease, records: ComparedRecords) -> Tries:
    """What the tries find, which are made once."""
    if _NAME not in target.learned:
        target.learned[_NAME] = make_tries(records, target.drawing(_NAME))
    found: Tries = target.learned[_NAME]
    return found


def make_tries(records: ComparedRecords, drawing: np.random.Generator) -> Tries:
    """Single people out, again and again; of large tables fewer times.

    The last condition is asked as all are: one that costs more counts no less.
    """
    found = met = made = asked = 0
    for condition in islice(_conditions(records, drawing), _TURNS * ATTEMPTS):
        made += 1
        if condition is not None:
            alone, rows = condition.is_met_once(records, drawing)
            is_found, people = condition.is_one_person(records) if alone else (False, 0)
            found, met, asked = found + is_found, met + alone, asked + rows + people
        if met == ATTEMPTS or asked > _MOST:
            break
    return Tries(found, met, made)


def _conditions(
    records: ComparedRecords, drawing: np.random.Generator
) -> Iterator[RowCondition | None]:
    """Conditions, one after the other, None in place of those that several rows meet."""
    number, size = len(records.columns), _AT_ONCE
    while True:
        rows = drawing.integers(records.rows, size=size)
        drawn = drawing.permuted(np.tile(np.arange(number), (size, 1)), axis=1)[:, :_COLUMNS]
        if records.rows <= _SMALL:
            yield from conditions_met(records, rows, drawn, drawing)
        else:
            yield from _left_open(records, rows, drawn, drawing)


def _left_open(
    records: ComparedRecords, rows: np.ndarray, drawn: np.ndarray, drawing: np.random.Generator
) -> Iterator[RowCondition | None]:
    """Conditions, None where some of the rows already say that several meet one.

    Of those that ask for a value that is shuffled nothing is known yet.
    """
    holds = like_known(records, rows, drawn, max(records.rows // FIRST[0], 1))
    by_value = (drawn >= len(records.known)).any(axis=1)
    is_open = by_value | (np.count_nonzero(holds, axis=1) <= 1)
    for row, chosen, is_ in zip(rows.tolist(), drawn.tolist(), is_open.tolist(), strict=True):
        yield row_condition(records, row, chosen, drawing) if is_ else None


def _by_chance(records: ComparedRecords, drawing: np.random.Generator) -> bool:
    """Whether conditions drawn at random hold for one person."""
    number = len(records.columns)
    chosen = drawing.choice(number, min(_COLUMNS, number), replace=False).tolist()
    return is_one([records.columns[at].drawn(drawing) for at in chosen], records.people)


def is_one(conditions: Sequence[Condition], number: int) -> bool:
    """Decide whether all conditions hold of one row, or person, alone.

    Some are asked first: where two of them are found, the others need not be.

    Args:
        conditions: at least one.
        number: how many rows or people there are.
    """
    holding = 0
    for step in steps(number):
        holding = int(np.count_nonzero(_all(conditions, step)))
        if holding > 1:
            break
    return holding == 1


def _all(conditions: Sequence[Condition], step: int) -> np.ndarray:
    found = conditions[0](step)
    for condition in conditions[1:]:
        found = found & condition(step)
    return found
