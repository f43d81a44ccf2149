"""Small random releases in memory of every form, plain, composed and in parts, and their worlds."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.declaration.tables import schemas
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.composed.registry import form_named
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded.labels import admits
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.randomness import seeded_keys
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.partitions.partition import Continued, Partition, TargetDistributions
from sfumato.tasks.query.engines.engine import Files, Source
from sfumato.tasks.query.help_tables.build import build_help_tables
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.parted import TableInParts
from tests.pairs.worlds import Covered, Dealt, Group, Labelled, Spread, Values, Worlds, worlds_of
from tests.query.composed import composed as as_composed
from tests.query.worlds import column, declare, shape

METHODS = ("generalized", "suppressed", "permuted", "split", "ambiguous", "redistributed")
KINDS = (("cat", "pet", "*"), ("dog", "pet", "*"), ("wolf", "wild", "*"))
UNIVERSE: Mapping[str, Sequence[Any]] = {
    "age": range(-1, 6),
    "sex": ("f", "m", "x", None),
    "kind": ("cat", "dog", "wolf"),
}
"""Values that labels are read as; those that admit anything admit more."""
DOMAINS = ((1, 2, 3, 9), (-3, -1, 2), (0, 1, 2), (1, 2, 4, 8), (1, 5))
"""Sensitive values of a release."""


@dataclass(frozen=True)
class Shape:
    """What is drawn of a release beforehand.

    Attributes:
        method: of the form.
        together: whether sensitive columns are published together.
        composed: whether some values are of people who left.
        parts: how many there are; 1 for a release that is one table.
    """

    method: str
    together: bool = True
    composed: bool = False
    parts: int = 1

    @property
    def name(self) -> str:
        """Return how figures call it."""
        kinds = [self.method, *(["composed"] if self.composed else [])]
        return " ".join([*kinds, *(["in parts"] if self.parts > 1 else [])])

    @property
    def labels(self) -> bool:
        """True where quasi-identifiers are labels."""
        return self.method in ("generalized", "suppressed")


@dataclass
class Part:
    """Rows that are published together: columns, groups, and who of them is still there."""

    columns: Mapping[str, list[Any]]
    group: list[int]
    left: list[int]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """Return how many there are."""
        return max(self.group) + 1

    def rows(self) -> Iterator[Values]:
        """Yield the represented rows."""
        for row, group, left in zip(
            zip(*self.columns.values(), strict=True), self.group, self.left, strict=True
        ):
            if group >= 0 and not left:
                yield tuple(map(exactly, row))


def exactly(value: Any) -> Any:
    """Return a number as an integer or Fraction."""
    return Fraction(value) if isinstance(value, Decimal | float) else value


@dataclass(frozen=True)
class PairedRelease:
    """A release with its worlds.

    Attributes:
        complete: whether all values that a label admits are in the worlds.
    """

    shape: Shape
    declared: Declared
    files: Files
    worlds: Worlds
    complete: bool

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every row of some world."""
        return [dict(zip(self.declared.columns, row, strict=True)) for row in self.worlds.rows]

    def named(self, *roles: str) -> list[str]:
        """Return the columns with one of these roles."""
        return self.declared.named(*roles)


def random_shape(rng: random.Random) -> Shape:
    """Return the shape of some release."""
    method = rng.choice(METHODS)
    parts = rng.choice([1, 1, 1, 2])
    return Shape(method, rng.random() < 0.5, rng.random() < 0.3, parts)


def random_release(rng: random.Random, of: Shape, folder: Path, rows: int) -> PairedRelease:
    """Return a release of about so many rows; one in parts is in files in a folder."""
    declared = random_columns(rng, of)
    domain = rng.choice(DOMAINS)
    parts = [_part(rng, of, declared, rows // of.parts, domain) for _ in range(of.parts)]
    return release_of(rng, of, declared, parts, folder)


def release_of(
    rng: random.Random, of: Shape, declared: Declared, parts: Sequence[Part], folder: Path
) -> PairedRelease:
    """Return the release of these rows, and its worlds.

    Raises:
        AssertionError: if what is published does not admit these rows.
    """
    for part in parts:
        part.tables = _published(rng, declared, part)
    groups = [group for part in parts for group in _groups(of, declared, part)]
    original = [row for part in parts for row in part.rows()]
    files = parts[0].tables if of.parts == 1 else _written(folder, declared, parts)
    complete = all(map(_is_complete, parts)) if of.labels else True
    return PairedRelease(of, declared, files, worlds_of(groups, original, rng), complete)


def random_columns(rng: random.Random, of: Shape) -> Declared:
    """Return the declaration of a release of this shape."""
    beside = "quasi-identifier" if of.method in ("ambiguous", "redistributed") else "insensitive"
    several = of.method in ("permuted", "split")
    may_miss = of.method != "redistributed" and rng.random() < 0.5
    fractional = rng.choice(["decimal", "float"])
    columns = {
        "age": column("quasi-identifier", "integer"),
        "sex": column("quasi-identifier", "string", nulls=True),
        **({"kind": column("quasi-identifier", "string", hierarchy=KINDS)} if of.labels else {}),
        "y": column(beside, "integer", nulls=True),
        "w": column(beside, fractional, scale=2 if fractional == "decimal" else None),
        "s": column("sensitive", "integer", nulls=may_miss),
        **({"t": column("sensitive", "integer")} if several else {}),
    }
    if of.method == "ambiguous":
        columns = {name: columns[name] for name in ("age", "sex", "s")}
    form: dict[str, Any] = {"method": of.method}
    form |= {"sensitive": "together" if of.together else "independent"} if several else {}
    form |= {"fakes": 1} if of.method == "redistributed" else {}
    declared = declare(of.method, **columns).model_copy(update={"form": shape(**form)})
    return as_composed(declared) if of.composed else declared


def _part(
    rng: random.Random, of: Shape, declared: Declared, rows: int, domain: Sequence[int]
) -> Part:
    sizes = [rng.choice([2, 2, 3, 3, 4] if rows < 13 else [2, 3, 4, 5])]
    while sum(sizes) < max(rows, len(domain)):
        sizes.append(rng.choice([1, 2, 2, 3, 3]))
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    left = [0] * len(group)
    if of.composed:
        for number, size in enumerate(sizes):
            for place in range(rng.randrange(size)):
                left[group.index(number) + place] = 1
    elif rng.random() < 0.3:
        group += [-1]  # is suppressed
        left += [0]
    columns = _columns(rng, declared, group, domain)
    if of.method == "redistributed":  # all parts are of the same values
        some = rng.sample(range(len(group)), min(len(group), len(domain)))
        for place, value in zip(some, domain, strict=False):
            columns["s"][place] = value
    return Part(columns, group, left)


def _columns(
    rng: random.Random, declared: Declared, group: Sequence[int], domain: Sequence[int]
) -> dict[str, list[Any]]:
    """Return random values; those of exact columns are often alike within a group."""
    alike = rng.choice([0.5, 0.8, 0.9, 1.0]) if "kind" in declared.columns else rng.random()
    values = {
        "age": range(4),
        "sex": ("f", "m", None),
        "kind": ("cat", "dog", "wolf"),
        "y": rng.choice([(0, 1, 2, None), (None, 1, 4), (-2, 0, 3, None)]),
        "w": rng.choice([(0.25, 0.5, 0.75), (0.25, 1.0, 2.5), (-0.5, 0.25, 3.0), (0.0, 0.25, 1.0)]),
        "s": domain,
        "t": (-1, 0, 1, 3),
    }
    found = {}
    for name, of in declared.columns.items():
        usual = {number: rng.choice(values[name]) for number in set(group)}
        drawn = [
            usual[number] if of.role != "sensitive" and rng.random() < alike else None
            for number in group
        ]
        drawn = [rng.choice(values[name]) if value is None else value for value in drawn]
        if name == "s" and of.nulls:
            drawn = [None if rng.random() < 0.25 else value for value in drawn]
        if of.type == "decimal":
            drawn = [Decimal(str(value)).quantize(Decimal("0.01")) for value in drawn]
        found[name] = drawn
    return found


def _published(rng: random.Random, declared: Declared, part: Part) -> dict[str, pa.Table]:
    microdata = Microdata(
        tuple(_column(name, of, part.columns[name]) for name, of in declared.columns.items()),
        len(part.group),
    )
    group, method = np.array(part.group, dtype=np.int64), declared.form.method
    continued = Continued(np.array(part.left, dtype=np.int8), np.full(part.groups, -1))
    partition = Partition(
        group,
        continued=continued if declared.composed else None,
        target_distributions=_targets(microdata["s"], part.groups),
    )
    keys = seeded_keys(rng.randrange(10**6))
    form = form_named(method, composed=declared.composed, vacant=sum(part.left))
    if declared.composed:
        tables, _ = form.compose(microdata, partition, declared.form, keys)  # type: ignore[attr-defined]
    else:
        tables = form.publish(microdata, partition, declared.form, keys)
    tables = {name: tables[name].cast(arrow) for name, arrow in schemas(declared).items()}
    return tables | build_help_tables(tables, declared)


def _column(name: str, declared: DeclaredColumn, values: Sequence[Any]) -> Column:
    encoded = encode(name, declared.role, pa.array(values, declared.arrow_type))
    rule = declared.hierarchy
    return encoded if rule is None else with_ancestors(encoded, hierarchy_of(encoded, rule))


def _targets(of: Column, groups: int) -> TargetDistributions:
    """Return the distribution of all values as that of each group."""
    counts = np.bincount(of.codes[of.codes >= 0], minlength=len(of.values))
    shares = tuple(Fraction(int(count), int(counts.sum())) for count in counts)
    return TargetDistributions(of.name, np.zeros(groups, dtype=np.int64), (shares,))


def _written(folder: Path, declared: Declared, parts: Sequence[Part]) -> dict[str, Source]:
    """Return the tables of all parts, in files, with numbers that run on."""
    found: dict[str, Source] = {}
    for name in parts[0].tables:
        paths, added, first = [], [], Counter[str]()
        for number, part in enumerate(parts):
            path = folder / f"{name}-{number}.parquet"
            pq.write_table(part.tables[name], path)
            paths.append(path)
            added.append({of: first[of] for of in declared.numbered(name)})
            first["group_id"] += part.groups
            targets = part.tables.get("targets")
            first["target"] += 0 if targets is None else len(set(targets["target"].to_pylist()))
        found[name] = TableInParts(tuple(paths), tuple(added))
    return found


def _groups(of: Shape, declared: Declared, part: Part) -> list[Group]:
    if of.labels:
        return _labelled(of, declared, part)
    if of.method == "ambiguous":
        return _covered(declared, part)
    return _exact(of, declared, part)


def _exact(of: Shape, declared: Declared, part: Part) -> list[Group]:
    exact = [name for name, c in declared.columns.items() if c.role != "sensitive"]
    sensitive = declared.named("sensitive")
    shown = part.tables["microdata" if of.method == "permuted" else "qit"].to_pylist()
    bundles = [sensitive] if of.together or len(sensitive) == 1 else [[n] for n in sensitive]
    found: list[Group] = []
    for number in range(part.groups):
        rows = [_values(row, exact) for row in shown if row["group_id"] == number]
        if of.method == "redistributed":
            found.append(Spread(rows, _subdomains(part, number)))
        else:
            found.append(Dealt(rows, [_counted(part, number, names) for names in bundles]))
    return found


def _values(row: Mapping[str, Any], names: Sequence[str]) -> Values:
    return tuple(exactly(row[name]) for name in names)


def _counted(part: Part, number: int, names: Sequence[str]) -> list[Values]:
    """Return the values of a group in some columns, those of people who left among them."""
    found = []
    for table, rows in part.tables.items():
        if table.startswith(("help_", "lineage", "qit")) or names[0] not in rows.column_names:
            continue
        for row in rows.to_pylist():
            if row["group_id"] == number:
                found += [_values(row, names)] * row.get("count", 1)
    return found


def _subdomains(part: Part, number: int) -> list[Values]:
    """Return the values of each subdomain of a group."""
    ends = part.tables["targets"].to_pylist()
    domain = sorted({row[side] for row in ends for side in ("lower", "upper")})
    found = []
    for row in part.tables["st"].to_pylist():
        if row["group_id"] == number:
            within = tuple(value for value in domain if row["lower"] <= value <= row["upper"])
            found += [within] * row["count"]
    return found


def _labelled(of: Shape, declared: Declared, part: Part) -> list[Group]:
    shown = part.tables["microdata"].to_pylist()
    leaves = [_leaves(of, declared, row) for row in shown]
    if not of.composed:
        return [Labelled([rows], 1) for rows in leaves]
    live = {row["group_id"]: row["rows"] for row in part.tables["lineage"].to_pylist()}
    found: list[Group] = []
    for number, people in live.items():
        members = [
            rows for rows, row in zip(leaves, shown, strict=True) if row["group_id"] == number
        ]
        found.append(Labelled(members, people))
    return found


def _leaves(of: Shape, declared: Declared, row: Mapping[str, Any]) -> list[Values]:
    """Return the rows that a row of labels may be."""
    behind = [
        _admitted(of.method, name, column, row[name])
        if column.role == "quasi-identifier"
        else (exactly(row[name]),)
        for name, column in declared.columns.items()
    ]
    return list(product(*behind))


@cache
def _admitted(method: str, name: str, column: DeclaredColumn, label: str | None) -> tuple[Any, ...]:
    read = reader_for(FORMS[method])(name, column)
    return tuple(value for value in UNIVERSE[name] if admits(read(label), value))


def _is_complete(part: Part) -> bool:
    """Tell whether no label stands for any value at all."""
    shown = part.tables["microdata"]
    return not any("*" in shown[name].to_pylist() for name in ("age", "sex", "kind"))


def _covered(declared: Declared, part: Part) -> list[Group]:
    rows = part.tables.get("lineage")
    live = {} if rows is None else {row["group_id"]: row["rows"] for row in rows.to_pylist()}
    found: list[Group] = []
    for number in range(part.groups):
        admitted = [
            [row[name] for row in part.tables[f"at_{name}"].to_pylist() if row["group_id"] == number]
            for name in declared.named("quasi-identifier")
        ]
        counted = _counted(part, number, declared.named("sensitive"))
        found.append(Covered(admitted, counted, live.get(number, len(counted))))
    return found
