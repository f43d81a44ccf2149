"""Singling-out attack: conditions that hold for one published record, and for one person as well.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), multivariate singling out, as Anonymeter computes it; after Cohen and
Nissim, Towards formalizing the GDPR's notion of singling out (PNAS 2020). All rows are counted,
while Anonymeter counts equal rows once. If values are shuffled, each condition is made from a
shuffle of its own, so that conditions are independent and no single draw matters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sfumato.tasks.attacks.records.columns import Condition
from sfumato.tasks.attacks.records.nearest import ATTEMPTS, upper_limit
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
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare
from sfumato.tasks.attacks.shared.margins import Margin, margin_of_tries

_COLUMNS = 3  # columns of a condition
_TURNS = 40  # conditions for each try, most of which hold for several rows
_MOST = 600_000_000  # most tests of a row or person by a condition
_NAME = "singling-out"
_AT_ONCE = 500  # conditions that are tested on rows together
_SMALL = 3_000  # most rows of tables whose conditions are tested on all rows at once


@dataclass(frozen=True)
class Tries:
    """Numbers of conditions.

    If fewer than one condition in forty is met by only one row, forty conditions count as one try.

    Attributes:
        singled_out: the conditions that only one row meets, and only one person.
        met: the conditions that only one row meets.
        made: all conditions that were made.
    """

    singled_out: int
    met: int
    made: int

    @property
    def share(self) -> float:
        """The share of tries that single a person out.

        A try is a condition that only one row meets, or forty conditions if these are fewer.
        """
        return self.singled_out / max(self.met, self.made / _TURNS)

    @property
    def margin(self) -> Margin:
        """The margin of the share."""
        if self.met * _TURNS >= self.made:
            return margin_of_tries(self.singled_out, self.met)
        margin = margin_of_tries(self.singled_out, self.made)
        low, high = (min(_TURNS * limit, 1.0) for limit in (margin.low, margin.high))
        return Margin(low, high, margin.method)

    @property
    def at_most(self) -> float:
        """The upper limit of the share, with 95 %, on which bars are judged."""
        if self.met * _TURNS >= self.made:
            return upper_limit(self.singled_out, self.met)
        return min(_TURNS * upper_limit(self.singled_out, self.made), 1.0)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Make conditions on three columns of published records, and test them on people."""
    records = compared_records(target)
    if records is None:
        return without_records(target, _NAME)
    tries = _tries(target, records)
    number = min(ATTEMPTS, max(ATTEMPTS // 10, _MOST // records.people))
    drawing = target.drawing("conditions drawn at random")
    by_chance = sum(_is_met_by_chance(records, drawing) for _ in range(number))
    references = {
        "by conditions drawn at random": by_chance / number,
        "by these at most, with 95 %": upper_limit(by_chance, number),
        "at most, with 95 %": tries.at_most,
    }
    measure = "conditions that one published row meets: somebody is singled out"
    return (Score(measure, tries.share, references, tries.margin),)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """Return the 95 % limit on the share of tries that single people out; None without records."""
    records = compared_records(target)
    if records is None:
        return None
    return SuccessShare(records.people, _tries(target, records).at_most)


def _tries(target: AttackedRelease, records: ComparedRecords) -> Tries:
    """Return the tries, which are made once."""
    if _NAME not in target.learned:
        target.learned[_NAME] = make_tries(records, target.drawing(_NAME))
    tries: Tries = target.learned[_NAME]
    return tries


def make_tries(records: ComparedRecords, drawing: np.random.Generator) -> Tries:
    """Try to single people out, again and again; in large tables fewer times.

    The last condition is tested to its end like all others, whatever it costs.
    """
    singled_out = met = made = tested = 0
    for condition in islice(_conditions(records, drawing), _TURNS * ATTEMPTS):
        made += 1
        if condition is not None:
            alone, rows = condition.is_met_once(records, drawing)
            is_found, people = condition.is_one_person(records) if alone else (False, 0)
            singled_out, met, tested = singled_out + is_found, met + alone, tested + rows + people
        if met == ATTEMPTS or tested > _MOST:
            break
    return Tries(singled_out, met, made)


def _conditions(
    records: ComparedRecords, drawing: np.random.Generator
) -> Iterator[RowCondition | None]:
    """Yield conditions without end, None in place of those that several rows meet."""
    number, size = len(records.columns), _AT_ONCE
    while True:
        rows = drawing.integers(records.rows, size=size)
        columns = drawing.permuted(np.tile(np.arange(number), (size, 1)), axis=1)[:, :_COLUMNS]
        if records.rows <= _SMALL:
            yield from conditions_met(records, rows, columns, drawing)
        else:
            yield from _open_conditions(records, rows, columns, drawing)


def _open_conditions(
    records: ComparedRecords, rows: np.ndarray, columns: np.ndarray, drawing: np.random.Generator
) -> Iterator[RowCondition | None]:
    """Yield conditions, None where a sample of the rows shows that several rows meet one.

    Conditions on a shuffled value stay open.
    """
    holds = like_known(records, rows, columns, max(records.rows // FIRST[0], 1))
    by_value = (columns >= len(records.quasi_identifiers)).any(axis=1)
    is_open = by_value | (np.count_nonzero(holds, axis=1) <= 1)
    for row, chosen, is_ in zip(rows.tolist(), columns.tolist(), is_open.tolist(), strict=True):
        yield row_condition(records, row, chosen, drawing) if is_ else None


def _is_met_by_chance(records: ComparedRecords, drawing: np.random.Generator) -> bool:
    """Decide whether conditions drawn at random hold for one person."""
    number = len(records.columns)
    chosen = drawing.choice(number, min(_COLUMNS, number), replace=False).tolist()
    return is_one(
        [records.columns[index].draw_condition(drawing) for index in chosen], records.people
    )


def is_one(conditions: Sequence[Condition], number: int) -> bool:
    """Decide whether exactly one row, or person, meets all conditions.

    Some are tested first: if two of them meet the conditions, the others need no test.

    Args:
        conditions: at least one.
        number: the number of rows or people.
    """
    holding = 0
    for step in steps(number):
        holding = int(np.count_nonzero(_all_hold(conditions, step)))
        if holding > 1:
            break
    return holding == 1


def _all_hold(conditions: Sequence[Condition], step: int) -> np.ndarray:
    holds = conditions[0](step)
    for condition in conditions[1:]:
        holds = holds & condition(step)
    return holds
