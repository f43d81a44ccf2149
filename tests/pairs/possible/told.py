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


def groups_of(of: Shape, declared: Declared, part: Part) -> list[Group]:
    """Return the groups of a part."""
    if of.labels:
        return _labelled(of, declared, part)
    if of.method == "ambiguous":
        return _covered(declared, part)
    return _exact(of, declared, part)


def _exact(of: Shape, declared: Declared, part: Part) -> list[Group]:
    exact = [name for name, c in declared.columns.items() if c.role != "sensitive"]
    sensitive = declared.names_with_roles("sensitive")
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


def is_complete(part: Part) -> bool:
    """Tell whether no label stands for any value at all."""
    shown = part.tables["microdata"]
    return not any("*" in shown[name].to_pylist() for name in ("age", "sex", "kind"))


def _covered(declared: Declared, part: Part) -> list[Group]:
    rows = part.tables.get("lineage")
    live = {} if rows is None else {row["group_id"]: row["rows"] for row in rows.to_pylist()}
    found: list[Group] = []
    for number in range(part.groups):
        admitted = [
            [
                row[name]
                for row in part.tables[f"at_{name}"].to_pylist()
                if row["group_id"] == number
            ]
            for name in declared.names_with_roles("quasi-identifier")
        ]
        counted = _counted(part, number, declared.names_with_roles("sensitive"))
        found.append(Covered(admitted, counted, live.get(number, len(counted))))
    return found
