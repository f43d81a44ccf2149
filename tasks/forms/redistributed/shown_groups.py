"""Groups as the tables of a redistributed release show them, once found to agree."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Subdomains
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.redistributed.targets import (
    LOWER,
    UPPER,
    Told,
    locate,
    read,
)
from sfumato.tasks.schema.names import AIMS, COUNT, GROUP_ID, TARGET, TARGETS
from sfumato.tasks.schema.published import Schema, names_with_roles

QIT = "qit"


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """The groups of published tables, as an adversary sees them.

    Attributes:
        sizes: rows of each group (int64, one per group).
        told: the targets, with their domain.
        row: the node in `told` that each row of `st` shows (int64, one per row of `st`).
        shown: the subdomains of each group.
    """

    sizes: np.ndarray
    told: Told
    row: np.ndarray
    shown: Subdomains


def shown_groups(tables: Tables, schema: Schema) -> ShownGroups:
    """The groups that the tables show.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    name = sensitive_name(schema)
    told = read(tables[TARGETS], name, schema[name])
    sizes = _sizes(tables)
    aim = _aim(tables[AIMS], len(sizes), len(told.targets))
    table = tables[st.ST]
    group, count = as_integers(table[GROUP_ID]), as_integers(table[COUNT])
    row = locate(told, aim[group], table[LOWER], table[UPPER])
    ordered, ancestors = told.domain.numbers is not None, told.domain.ancestors
    shown = Subdomains(group, told.node[row], count, aim, told.targets, ordered, ancestors)
    return ShownGroups(sizes, told, row, shown)


def _sizes(tables: Tables) -> np.ndarray:
    """The rows of each group, none of which has fewer subdomains."""
    known, sizes = np.unique(as_integers(tables[QIT][GROUP_ID]), return_counts=True)
    subdomains = st.totals(tables[st.ST], len(known))
    if not np.array_equal(known, np.arange(len(known))) or subdomains is None:
        raise PromiseError(f"{st.ST}: its groups are not those of {QIT}, 0, 1, …, or count nothing")
    if (subdomains < sizes).any():
        raise PromiseError(f"{st.ST}: a group has fewer subdomains than rows in {QIT}")
    return sizes


def _aim(table: pa.Table, groups: int, targets: int) -> np.ndarray:
    """The target of each group, where every target is some group's."""
    order = stable_order(as_integers(table[GROUP_ID]))
    target: np.ndarray = as_integers(table[TARGET])[order]
    if not np.array_equal(as_integers(table[GROUP_ID])[order], np.arange(groups)):
        raise PromiseError(f"{AIMS}: not every group of {QIT} has one target")
    if not np.array_equal(np.unique(target), np.arange(targets)):
        raise PromiseError(f"{AIMS}: its targets are not those of {TARGETS}")
    return target


def sensitive_name(schema: Schema) -> str:
    """The one sensitive column; a spec with others is refused."""
    return names_with_roles(schema, "sensitive")[0]
