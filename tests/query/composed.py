"""Small releases of composed versions, in which some rows are those of people who left.

In a world, as many rows of each group as its lineage tells are people's, whichever these are, and
each of them has values of its own among those that the group shows.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from sfumato.tasks.forms.composed import composed_form
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column, Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Continued, Partition, TargetDistributions
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.tables import schemas
from sfumato.tasks.terms.terms import Declared
from tests.query.worlds import aggregate

_RULE = TypeAdapter(Declared.model_fields["versions"].annotation)


def as_composed(declared: Declared) -> Declared:
    """The same release, as a version that was made to be combined."""
    return declared.model_copy(
        update={"versions": _RULE.validate_python({"rule": "composed"}), "promises": ()}
    )


def publish_composed(
    declared: Declared,
    columns: Mapping[str, Sequence[Any]],
    group: Sequence[int],
    kind: Sequence[int],
    seed: int = 1,
) -> dict[str, pa.Table]:
    """The tables and help tables of a composed release; each group has somebody who is here.

    A row's kind is 0 where it is somebody's, and 1 where it is of somebody who left.
    """
    microdata = Microdata(
        tuple(_column(name, column, columns[name]) for name, column in declared.columns.items()),
        len(group),
    )
    partition = Partition(
        np.array(group, dtype=np.int64),
        continued=Continued(np.array(kind, dtype=np.int8), np.full(max(group) + 1, -1)),
        target_distributions=_targets(microdata.with_roles("sensitive")[0], max(group) + 1),
    )
    form = composed_form(declared.form.method, sum(map(bool, kind)))
    tables, _ = form.compose(microdata, partition, declared.form, seeded_keys(seed))
    tables = {name: tables[name].cast(schema) for name, schema in schemas(declared).items()}
    return tables | build_help_tables(tables, declared)


def _column(name: str, declared: DeclaredColumn, values: Sequence[Any]) -> Column:
    column = encode(name, declared.role, pa.array(values, declared.arrow_type))
    rule = declared.hierarchy
    return column if rule is None else with_ancestors(column, hierarchy_of(column, rule))


def _targets(column: Column, groups: int) -> TargetDistributions:
    """All groups aim at the distribution of all values."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    shares = tuple(Fraction(int(count), len(column.codes)) for count in counts)
    return TargetDistributions(column.name, np.zeros(groups, dtype=np.int64), (shares,))


FUNCTIONS = ("count", "sum", "avg", "min", "max", "stddev")
ALL = ", ".join(f"{function}(loss)" for function in FUNCTIONS)
AGES, SEXES, WORDS = range(3), ("f", "m", None), ("a", "b")


def random_groups(rng, largest=4):
    """Rows of some groups, and which of them are people's: in each group somebody is."""
    group, kind = [], []
    for number in range(rng.randint(1, 2)):
        size = rng.randint(1, largest)
        live = rng.randint(1, size)
        group += [number] * size
        kind += [0] * live + [1] * (size - live)
    return group, kind


def random_columns(rng, rows, **more):
    columns = {
        "age": [rng.choice(AGES) for _ in range(rows)],
        "sex": [rng.choice(SEXES) for _ in range(rows)],
        "loss": [rng.randint(-3, 3) for _ in range(rows)],
        "word": [rng.choice(WORDS) for _ in range(rows)],
    }
    return columns | {
        name: [rng.choice(values) for _ in range(rows)] for name, values in more.items()
    }


def spread(values):
    """The variance of a sample, None of fewer than two values."""
    if len(values) < 2:
        return None
    mean = aggregate("avg", values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def aggregate_or_spread(function, values):
    return spread(values) if function == "stddev" else aggregate(function, list(values))


def ends(outcomes):
    """Per function the least and greatest answer over all worlds, and whether it may be null."""
    limits_found = {}
    for function in FUNCTIONS:
        seen = {aggregate_or_spread(function, values) for values in outcomes}
        some = seen - {None}
        limits = (min(some), max(some)) if some else (None, None)
        limits_found[function] = (*limits, bool(some) and None in seen)
    return limits_found


def assert_outcomes(row, outcomes, tight=FUNCTIONS):
    """Hold a row of an answer against all worlds."""
    for function, (low, high, empty) in ends(outcomes).items():
        bounds = row[f"{function}(loss)"]
        lower, upper = bounds.lower, bounds.upper
        if function == "stddev" and lower is not None:
            lower, upper = lower**2, upper**2
        if low is None:
            assert lower is upper is None or bounds.may_be_empty, function
            continue
        near = 1e-9 if function == "stddev" else 0
        assert lower - near <= low <= high <= upper + near, function
        assert bounds.may_be_empty or not empty, function
        if function in tight:
            assert (lower, upper) == (pytest.approx(low, abs=near), pytest.approx(high, abs=near))
            assert bounds.may_be_empty == empty, function
        if bounds.estimate is not None:
            assert bounds.lower <= bounds.estimate <= bounds.upper, function


def combine_groups(of_groups):
    """Return what worlds of all groups tell, from what those of each do."""
    return {tuple(sorted(itertools.chain(*world))) for world in itertools.product(*of_groups)}


def values_of(tables, group, names):
    """The values that a group shows of some columns, of people and of nobody."""
    values_found = []
    for name, table in tables.items():
        if name.startswith(("help_", "qit", "lineage")) or names[0] not in table.column_names:
            continue
        for row in table.to_pylist():
            if row["group_id"] == group:
                values_found += [tuple(row[name] for name in names)] * row.get("count", 1)
    return values_found
