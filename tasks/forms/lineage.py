"""`lineage`: how each group of a composed version goes on from the version before, and its size.

One row per group, in the order of the ids: `group_id`, `previous_group_id` (null for a group of
newcomers), `rows` (people shown), `vacant` (values of people who were in the group before).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.schema.names import GROUP_ID

LINEAGE, PREVIOUS, ROWS, VACANT_ROWS = "lineage", "previous_group_id", "rows", "vacant"

SCHEMA = pa.schema(
    [
        pa.field(GROUP_ID, pa.int64(), nullable=False),
        pa.field(PREVIOUS, pa.int64()),
        pa.field(ROWS, pa.int64(), nullable=False),
        pa.field(VACANT_ROWS, pa.int64(), nullable=False),
    ]
)


def lineage_of(
    group: np.ndarray, previous: np.ndarray, rows: np.ndarray, vacant: np.ndarray
) -> pa.Table:
    """Return the table of groups (all int64, one per group); -1 is no previous group."""
    before = pa.array(previous, pa.int64(), mask=previous < 0)
    return pa.table([group, before, rows, vacant], schema=SCHEMA)


def rows_of(lineage: pa.Table) -> np.ndarray:
    """Return the people shown in each of the groups 0, 1, … (int64, one per group)."""
    return as_integers(lineage[ROWS])


def vacant_of(lineage: pa.Table) -> np.ndarray:
    """Return the vacant values of each of the groups 0, 1, … (int64, one per group)."""
    return as_integers(lineage[VACANT_ROWS])


@dataclass(frozen=True)
class LineageTotals:
    """The numbers of groups that continue, that are new, and that somebody has left."""

    continued: int
    new: int
    left: int


def totals_of(lineage: pa.Table) -> LineageTotals:
    """Count the groups of a version."""
    new = lineage[PREVIOUS].null_count
    return LineageTotals(lineage.num_rows - new, new, int((vacant_of(lineage) > 0).sum()))


def rules(people: int, withheld: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules: groups occur once, have people, continue different groups; rows add up."""
    of_any = rules_of_published(SCHEMA, None, _is_sound, withheld, SCHEMA.names)
    return (*of_any, TotalCount(ROWS, people))


def _is_sound(table: pa.Table) -> bool:
    """Decide whether groups are 0, 1, …, continue different groups, and count nothing below 0."""
    ids, before = as_integers(table[GROUP_ID]), as_integers(table[PREVIOUS].drop_null())
    return (
        np.array_equal(ids, np.arange(len(ids)))
        and len(distinct(before)) == len(before)
        and before.min(initial=0) >= 0
        and (pc.min(table[VACANT_ROWS]).as_py() or 0) >= 0
    )
