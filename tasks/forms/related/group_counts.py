"""The table of groups beside two related tables: people, related rows, and the most of one person.

One row per group, in the order of the ids: `group_id`, `people`, `related_rows`, and `most_rows`,
the related rows of whoever has the most. The last number lets everybody decide what those learn who
know how many rows each person has; it says of nobody how many that person has.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.order import is_sorted
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS
from sfumato.tasks.schema.names import GROUP_ID

SCHEMA = pa.schema(
    [pa.field(name, pa.int64(), nullable=False) for name in (GROUP_ID, PEOPLE, ROWS, MOST)]
)


def count_groups(group: np.ndarray, owner: np.ndarray) -> pa.Table:
    """Return the table of groups, in any order.

    Args:
        group: the group of each person (int64, 0, 1, …).
        owner: the person to whom each related row belongs (int64).
    """
    groups = int(group.max(initial=-1)) + 1
    of_person = np.bincount(owner, minlength=len(group))
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, group, of_person)
    numbers = {
        GROUP_ID: np.arange(groups),
        PEOPLE: np.bincount(group, minlength=groups),
        ROWS: np.bincount(group[owner], minlength=groups),
        MOST: most,
    }
    return pa.table({name: as_array(n.astype(np.int64), pa.int64()) for name, n in numbers.items()})


def numbers_of(table: pa.Table) -> Mapping[str, np.ndarray]:
    """Return the columns of the table of groups (int64, one per group)."""
    return {name: as_integers(table[name]) for name in SCHEMA.names}


def require_agreement(
    numbers: Mapping[str, np.ndarray], people: np.ndarray, rows: np.ndarray
) -> None:
    """Make sure that the numbers of groups are those of the tables, and possible.

    Args:
        numbers: the columns of the table of groups (int64, one per group).
        people: the group of each person (int64).
        rows: the group of each related row (int64).

    Raises:
        PromiseError: where they are not.
    """
    groups = len(numbers[GROUP_ID])
    if not np.array_equal(numbers[GROUP_ID], np.arange(groups)):
        raise PromiseError(f"{GROUPS}: its groups are not 0, 1, … in order")
    for name, ids in ((PEOPLE, people), (ROWS, rows)):
        inside = not len(ids) or (ids.min() >= 0 and ids.max() < groups)
        if not inside or not np.array_equal(np.bincount(ids, minlength=groups), numbers[name]):
            raise PromiseError(f"{GROUPS}: {name} of a group differs from the tables")
    sizes, times, most = numbers[PEOPLE], numbers[ROWS], numbers[MOST]
    # whoever has the most has no more than there are, and the others have no more each
    possible = (most <= times) & (most * np.maximum(sizes, 1) >= times) & (sizes > 0)
    if not possible.all():
        raise PromiseError(f"{GROUPS}: {MOST} of a group contradicts its people and rows")


def rules(people: int, withheld: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules: groups occur once, in order, and their people add up."""
    of_any = rules_of_published(SCHEMA, None, is_sorted, withheld, SCHEMA.names)
    return (*of_any, TotalCount(PEOPLE, people))
