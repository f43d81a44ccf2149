"""Singling out: conditions that hold for one published record, and for one person as well.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), multivariate singling out, as Anonymeter computes it; after Cohen and
Nissim, Towards formalizing the GDPR's notion of singling out (PNAS 2020). Rows are counted as they
are, where that tool counts equal ones once.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.records.columns import ComparedColumn, Condition
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.records.sampling import ATTEMPTS, most_likely

_COLUMNS = 3
_MADE = 40 * ATTEMPTS  # conditions, of which most hold for several rows
_MOST = 600_000_000  # rows of which conditions are asked
_FIRST = 1_000, 30_000  # about as many are asked before all are
_Chosen = tuple[tuple[int, int], ...]


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Make conditions of three columns of published records, and ask them of people."""
    records = compared_records(target)
    if records is None:
        return ()
    drawing = target.drawing("singling-out")
    found = _singled_out(records, drawing)
    tries = min(ATTEMPTS, max(ATTEMPTS // 10, _MOST // records.people))
    by_chance = sum(_by_chance(records, drawing) for _ in range(tries))
    references = {
        "by conditions drawn at random": by_chance / tries,
        "at most, with 95 %": most_likely(found, ATTEMPTS),
    }
    measure = f"{ATTEMPTS} conditions that one published row meets: somebody is singled out"
    return (Score(measure, found / ATTEMPTS, references),)


def _singled_out(records: ComparedRecords, drawing: np.random.Generator) -> int:
    """How many conditions single a published row out and a person too; a try without is lost."""
    found = tried = asked = 0
    for row, columns in _conditions(records, drawing):
        alone, rows = is_one([column.rows_like(row) for column in columns], records.rows)
        asked += rows
        if alone:
            tried += 1
            people = [column.people_like(row) for column in columns]
            found += int(is_one(people, records.people)[0])
        if tried == ATTEMPTS or asked > _MOST:
            break
    return found


def _conditions(
    records: ComparedRecords, drawing: np.random.Generator
) -> Iterator[tuple[int, list[ComparedColumn]]]:
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
