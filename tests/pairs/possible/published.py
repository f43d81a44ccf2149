"""Rows as the forms themselves publish them, in memory or in files of parts."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.forms.composed import form_named
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column, Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Continued, Partition, TargetDistributions
from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.tables import schemas
from sfumato.tasks.terms.terms import Declared
from tests.pairs.possible.shapes import Part


def publish(rng: random.Random, declared: Declared, part: Part) -> dict[str, pa.Table]:
    """Return the published tables of a part, and its help tables."""
    microdata = Microdata(
        tuple(
            _column(name, column, part.columns[name]) for name, column in declared.columns.items()
        ),
        len(part.group),
    )
    group, method = np.array(part.group, dtype=np.int64), declared.form.method
    continued = Continued(np.array(part.left, dtype=np.int8), np.full(part.groups, -1))
    partition = Partition(
        group,
        continued=continued if declared.is_composed else None,
        target_distributions=_targets(microdata["s"], part.groups),
    )
    keys = seeded_keys(rng.randrange(10**6))
    form = form_named(method, composed=declared.is_composed, vacant=sum(part.left))
    if declared.is_composed:
        tables, _ = form.compose(microdata, partition, declared.form, keys)
    else:
        tables = form.publish(microdata, partition, declared.form, keys)
    tables = {name: tables[name].cast(arrow) for name, arrow in schemas(declared).items()}
    return tables | build_help_tables(tables, declared)


def _column(name: str, declared: DeclaredColumn, values: Sequence[Any]) -> Column:
    encoded = encode(name, declared.role, pa.array(values, declared.arrow_type))
    rule = declared.hierarchy
    return encoded if rule is None else with_ancestors(encoded, hierarchy_of(encoded, rule))


def _targets(column: Column, groups: int) -> TargetDistributions:
    """Return the distribution of all values as that of each group."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    shares = tuple(Fraction(int(count), int(counts.sum())) for count in counts)
    return TargetDistributions(column.name, np.zeros(groups, dtype=np.int64), (shares,))


def in_files(folder: Path, declared: Declared, parts: Sequence[Part]) -> dict[str, Source]:
    """Return the tables of all parts, in files, with numbers that run on."""
    sources: dict[str, Source] = {}
    for name in parts[0].tables:
        paths, added, first = [], [], Counter[str]()
        for number, part in enumerate(parts):
            path = folder / f"{name}-{number}.parquet"
            pq.write_table(part.tables[name], path)
            paths.append(path)
            added.append({column: first[column] for column in declared.numbered_columns(name)})
            first["group_id"] += part.groups
            targets = part.tables.get("targets")
            first["target"] += 0 if targets is None else len(set(targets["target"].to_pylist()))
        sources[name] = TableInParts(tuple(paths), tuple(added))
    return sources
