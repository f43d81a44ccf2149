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

from sfumato.tasks.attacks.records.columns import PlacedNumbers, Spans, common_places
from sfumato.tasks.attacks.records.nearest import ATTEMPTS, upper_limit
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    without_records,
)
from sfumato.tasks.attacks.records.redrawn import draw_conditions, steps
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare
from sfumato.tasks.attacks.shared.margins import Margin, margin_of_tries

_COLUMNS = 3  # columns of a condition
_TURNS = 40  # conditions for each try, most of which hold for several rows
_MOST = 600_000_000  # most tests of a row or person by a condition
_NAME = "singling-out"
_AT_ONCE = 500  # conditions that are tested on rows together


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
    for alone, is_found, tests in islice(_results(records, drawing), _TURNS * ATTEMPTS):
        made, met, singled_out = made + 1, met + alone, singled_out + is_found
        tested += tests
        if met == ATTEMPTS or tested > _MOST:
            break
    return Tries(singled_out, met, made)


def _results(
    records: ComparedRecords, drawing: np.random.Generator
) -> Iterator[tuple[bool, bool, int]]:
    """Yield without end whether a condition is met by one row, by one person too, and the tests."""
    number = len(records.columns)
    while True:
        rows = drawing.integers(records.rows, size=_AT_ONCE)
        columns = drawing.permuted(np.tile(np.arange(number), (_AT_ONCE, 1)), axis=1)
        conditions = draw_conditions(records, rows, columns[:, :_COLUMNS], drawing)
        are_open, tested, step = conditions.test_together(drawing)
        remaining = set(are_open.tolist())
        for index, tests in enumerate(tested.tolist()):
            if index not in remaining:
                yield False, False, tests
                continue
            alone, more = conditions.is_met_once(index, step, drawing)
            single, people = conditions.is_one_person(index) if alone else (False, 0)
            yield alone, single, tests + more + people


def _is_met_by_chance(records: ComparedRecords, drawing: np.random.Generator) -> bool:
    """Decide whether conditions drawn at random hold for one person."""
    number = len(records.columns)
    chosen = drawing.choice(number, min(_COLUMNS, number), replace=False).tolist()
    columns = [records.columns[index] for index in chosen]
    return is_one([(column.placed_people, column.draw_condition(drawing)) for column in columns])


def is_one(conditions: Sequence[tuple[PlacedNumbers, Spans]]) -> bool:
    """Decide whether exactly one row, or person, meets all conditions.

    Some are tested first: if two of them meet the conditions, the others need no test.

    Args:
        conditions: columns, and the ranges of numbers wanted in each; at least one.
    """
    number = len(conditions[0][0].numbers)
    for step in steps(number)[:-1]:
        places = np.arange(0, number, step)
        for numbers, spans in conditions:
            places = places[numbers.test_places(places, spans)]
        if len(places) > 1:
            return False
    return len(common_places(conditions)[0]) == 1
