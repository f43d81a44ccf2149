"""Singling out: conditions that hold for one published record, and for one person as well.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), multivariate singling out, as Anonymeter computes it; after Cohen and
Nissim, Towards formalizing the GDPR's notion of singling out (PNAS 2020). Rows are counted as they
are, where that tool counts equal ones once.
"""

from collections.abc import Iterable
from functools import reduce
from operator import and_

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.records.sampling import ATTEMPTS, generator, most_likely

_COLUMNS = 3
_MADE = 40 * ATTEMPTS  # conditions, of which most hold for several rows
_MOST = 2_000_000_000  # rows of which conditions are asked


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Make conditions of three columns of published records, and ask them of people."""
    records = compared_records(target)
    if records is None:
        return ()
    drawing = generator()
    found = _singled_out(records, drawing)
    by_chance = sum(_by_chance(records, drawing) for _ in range(ATTEMPTS))
    references = {
        "by conditions drawn at random": by_chance / ATTEMPTS,
        "at most, with 95 %": most_likely(found, ATTEMPTS),
    }
    measure = f"{ATTEMPTS} conditions that one published row meets: somebody is singled out"
    return (Score(measure, found / ATTEMPTS, references),)


def _singled_out(records: ComparedRecords, drawing: np.random.Generator) -> int:
    """How many conditions single a published row out and a person too; a try without is lost."""
    asked: set[tuple[tuple[int, int], ...]] = set()
    found = tried = 0
    for _ in range(min(_MADE, _MOST // (_COLUMNS * records.rows))):
        row, chosen = int(drawing.integers(records.rows)), _chosen(records, drawing)
        condition = tuple((at, int(records.columns[at].cells[row])) for at in chosen)
        if condition in asked:
            continue
        asked.add(condition)
        if not _one(records.columns[at].rows_like(row) for at in chosen):
            continue
        tried += 1
        found += int(_one(records.columns[at].people_like(row) for at in chosen))
        if tried == ATTEMPTS:
            break
    return found


def _by_chance(records: ComparedRecords, drawing: np.random.Generator) -> bool:
    """Whether conditions drawn at random hold for one person."""
    return _one(records.columns[at].drawn(drawing) for at in _chosen(records, drawing))


def _one(conditions: Iterable[np.ndarray]) -> bool:
    """Whether all conditions hold of one row, or person, alone (bool, one each)."""
    return int(np.count_nonzero(reduce(and_, conditions))) == 1


def _chosen(records: ComparedRecords, drawing: np.random.Generator) -> list[int]:
    number = len(records.columns)
    chosen: list[int] = drawing.choice(number, min(_COLUMNS, number), replace=False).tolist()
    return sorted(chosen)
