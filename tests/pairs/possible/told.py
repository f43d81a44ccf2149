"""Everything that published tables tell of groups, read without the product's engines."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared
from tests.pairs.possible.groups import Covered, Dealt, Group, Labelled, Spread, Values
from tests.pairs.possible.shapes import Part, Shape, exactly

UNIVERSE: Mapping[str, Sequence[Any]] = {
    "age": range(-1, 6),
    "sex": ("f", "m", "x", None),
    "kind": ("cat", "dog", "wolf"),
}
"""Values that labels are read as; those that admit anything admit more."""


def groups_of(shape: Shape, declared: Declared, part: Part) -> list[Group]:
    """Return the groups of a part."""
    if shape.labels:
        return _labelled_groups(shape, declared, part)
    if shape.method == "ambiguous":
        return _covered_groups(declared, part)
    return _exact(shape, declared, part)


def _exact(shape: Shape, declared: Declared, part: Part) -> list[Group]:
    exact = [name for name, c in declared.columns.items() if c.role != "sensitive"]
    sensitive = declared.names_with_roles("sensitive")
    rows_shown = part.tables["microdata" if shape.method == "permuted" else "qit"].to_pylist()
    bundles = [sensitive] if shape.together or len(sensitive) == 1 else [[n] for n in sensitive]
    groups_read: list[Group] = []
    for number in range(part.groups):
        rows = [_values(row, exact) for row in rows_shown if row["group_id"] == number]
        if shape.method == "redistributed":
            groups_read.append(Spread(rows, _subdomains(part, number)))
        else:
            groups_read.append(
                Dealt(rows, [_counted_values(part, number, names) for names in bundles])
            )
    return groups_read


def _values(row: Mapping[str, Any], names: Sequence[str]) -> Values:
    return tuple(exactly(row[name]) for name in names)


def _counted_values(part: Part, number: int, names: Sequence[str]) -> list[Values]:
    """Return the values of a group in some columns, those of people who left among them."""
    values_read = []
    for table, rows in part.tables.items():
        if table.startswith(("help_", "lineage", "qit")) or names[0] not in rows.column_names:
            continue
        for row in rows.to_pylist():
            if row["group_id"] == number:
                values_read += [_values(row, names)] * row.get("count", 1)
    return values_read


def _subdomains(part: Part, number: int) -> list[Values]:
    """Return the values of each subdomain of a group."""
    ends = part.tables["targets"].to_pylist()
    domain = sorted({row[side] for row in ends for side in ("lower", "upper")})
    values_read = []
    for row in part.tables["st"].to_pylist():
        if row["group_id"] == number:
            within = tuple(value for value in domain if row["lower"] <= value <= row["upper"])
            values_read += [within] * row["count"]
    return values_read


def _labelled_groups(shape: Shape, declared: Declared, part: Part) -> list[Group]:
    rows_shown = part.tables["microdata"].to_pylist()
    leaves = [_leaves(shape, declared, row) for row in rows_shown]
    if not shape.composed:
        return [Labelled([rows], 1) for rows in leaves]
    live = {row["group_id"]: row["rows"] for row in part.tables["lineage"].to_pylist()}
    groups_read: list[Group] = []
    for number, people in live.items():
        members = [
            rows for rows, row in zip(leaves, rows_shown, strict=True) if row["group_id"] == number
        ]
        groups_read.append(Labelled(members, people))
    return groups_read


def _leaves(shape: Shape, declared: Declared, row: Mapping[str, Any]) -> list[Values]:
    """Return the rows that a row of labels may be."""
    behind = [
        _admitted_values(shape.method, name, column, row[name])
        if column.role == "quasi-identifier"
        else (exactly(row[name]),)
        for name, column in declared.columns.items()
    ]
    return list(product(*behind))


@cache
def _admitted_values(
    method: str, name: str, column: DeclaredColumn, label: str | None
) -> tuple[Any, ...]:
    read = reader_for(FORMS[method])(name, column)
    return tuple(value for value in UNIVERSE[name] if admits(read(label), value))


def is_complete(part: Part) -> bool:
    """Tell whether no label stands for any value at all."""
    table = part.tables["microdata"]
    return not any("*" in table[name].to_pylist() for name in ("age", "sex", "kind"))


def _covered_groups(declared: Declared, part: Part) -> list[Group]:
    rows = part.tables.get("lineage")
    live = {} if rows is None else {row["group_id"]: row["rows"] for row in rows.to_pylist()}
    groups_read: list[Group] = []
    for number in range(part.groups):
        admitted = [
            [
                row[name]
                for row in part.tables[f"at_{name}"].to_pylist()
                if row["group_id"] == number
            ]
            for name in declared.names_with_roles("quasi-identifier")
        ]
        counted = _counted_values(part, number, declared.names_with_roles("sensitive"))
        groups_read.append(Covered(admitted, counted, live.get(number, len(counted))))
    return groups_read
