"""Singling out: conditions that hold for one published record, and for one person as well.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), multivariate singling out, as Anonymeter computes it; after Cohen and
Nissim, Towards formalizing the GDPR's notion of singling out (PNAS 2020). Rows are counted as they
are, where that tool counts equal ones once.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.records.columns import ComparedColumn, Condition
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.records.sampling import ATTEMPTS, most_likely

_COLUMNS = 3
_MADE = 40 * ATTEMPTS  # conditions, of which most hold for several rows
_MOST = 600_000_000  # rows of which conditions are asked
_NAME = "singling-out"
_FIRST = 1_000, 30_000  # about as many are asked before all are
_AT_ONCE = 500  # conditions
_Chosen = tuple[tuple[int, int], ...]
_Asked = tuple[int, list[ComparedColumn]]


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Make conditions of three columns of published records, and ask them of people."""
    records = compared_records(target)
    if records is None:
        return ()
    found = _found(target, records)
    drawing = target.drawing("conditions drawn at random")
    tries = min(ATTEMPTS, max(ATTEMPTS // 10, _MOST // records.people))
    by_chance = sum(_by_chance(records, drawing) for _ in range(tries))
    references = {
        "by conditions drawn at random": by_chance / tries,
        "at most, with 95 %": most_likely(found, ATTEMPTS),
    }
    measure = f"{ATTEMPTS} conditions that one published row meets: somebody is singled out"
    return (Score(measure, found / ATTEMPTS, references),)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """What share of conditions single somebody out, at most with 95 %; None without records."""
    records = compared_records(target)
    if records is None:
        return None
    return SuccessShare(records.people, most_likely(_found(target, records), ATTEMPTS))


def _found(target: AttackedRelease, records: ComparedRecords) -> int:
    """How many conditions single somebody out, once."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _singled_out(records, target.drawing(_NAME))
    found: int = target.learned[_NAME]
    return found


def _singled_out(records: ComparedRecords, drawing: np.random.Generator) -> int:
    """How many conditions single a published row out and a person too; a try without is lost."""
    found = tried = asked = 0
    step = max(records.rows // _FIRST[0], 1)
    conditions = _conditions(records, drawing)
    while some := list(islice(conditions, _AT_ONCE)):
        asked += len(some) * -(-records.rows // step)
        for (row, columns), is_open in zip(some, _left_open(records, some, step), strict=True):
            if not is_open:
                continue
            alone, rows = is_one([column.rows_like(row) for column in columns], records.rows)
            asked += rows
            if alone:
                tried += 1
                people = [column.people_like(row) for column in columns]
                found += int(is_one(people, records.people)[0])
            if tried == ATTEMPTS or asked > _MOST:
                return found
    return found


def _left_open(records: ComparedRecords, some: Sequence[_Asked], step: int) -> np.ndarray:
    """Which conditions hold of one row at most, among each so manieth (bool)."""
    holds = np.ones((len(some), -(-records.rows // step)), dtype=bool)
    rows = np.array([row for row, _ in some])
    for column in records.columns:
        chosen = np.flatnonzero([any(one is column for one in columns) for _, columns in some])
        holds[chosen] &= column.rows_like_each(rows[chosen], step)
    return np.asarray(np.count_nonzero(holds, axis=1) <= 1)


def _conditions(records: ComparedRecords, drawing: np.random.Generator) -> Iterator[_Asked]:
    """Published rows and three columns of each, at random; none that means the same again."""
    number, met = len(records.columns), set[_Chosen]()
    rows = drawing.integers(records.rows, size=_MADE)
    drawn = drawing.permuted(np.tile(np.arange(number), (_MADE, 1)), axis=1)[:, :_COLUMNS]
    for row, chosen in zip(rows.tolist(), np.sort(drawn, axis=1).tolist(), strict=True):
        condition = tuple((at, int(records.columns[at].cells[row])) for at in chosen)
        if condition not in met:
            met.add(condition)
            yield row, [records.columns[at] for at in chosen]


def _by_chance(records: ComparedRecords, drawing: np.random.Generator) -> bool:
    """Whether conditions drawn at random hold for one person."""
    number = len(records.columns)
    chosen = drawing.choice(number, min(_COLUMNS, number), replace=False).tolist()
    return is_one([records.columns[at].drawn(drawing) for at in chosen], records.people)[0]


def is_one(conditions: Sequence[Condition], number: int) -> tuple[bool, int]:
    """Decide whether all conditions hold of one row, or person, alone.

    Some are asked first: where two of them are found, the others need not be.

    Args:
        conditions: at least one.
        number: how many rows or people there are.

    Returns:
        Whether they do, and of how many it was asked.
    """
    asked = 0
    for step in (*(max(number // some, 1) for some in _FIRST), 1):
        asked += -(-number // step)
        holding = int(np.count_nonzero(_all(conditions, step)))
        if holding > 1 or step == 1:
            return holding == 1, asked
    return False, asked


def _all(conditions: Sequence[Condition], step: int) -> np.ndarray:
    found = conditions[0](step)
    for condition in conditions[1:]:
        found = found & condition(step)
    return found
