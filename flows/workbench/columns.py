"""The step of columns: the role of each with the draft's reason, and what its values look like."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.workbench.counts import CountedTable
from sfumato.flows.workbench.two_tables import key_of, tables_of
from sfumato.flows.workbench.visit import Visit, read_mapping
from sfumato.flows.workbench.yaml_edits import flow_text
from sfumato.tasks.microdata.suspect_values import far_values
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.report.codebook import CodebookValues, Marginal, marginal
from sfumato.tasks.report.numbers import percent
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType, Role

MEANINGS: Mapping[str, str] = {
    "identifier": "identifies a person, is never published",
    "quasi-identifier": "a neighbour may know it, is protected by groups",
    "sensitive": "others must not learn it about a person",
    "insensitive": "harmless, is published as it is",
    "drop": "is not published",
    "weight": "the number of people that a row represents",
}
"""The roles, in words for a steward."""
_NULLS: Mapping[str, str] = {
    "": "refuse the table",
    "drop-row": "leave these rows out",
    "category": "keep them as a value of their own",
}
_CHOSEN = ("role", "type", "nulls")  # settings that a form of the page has for every column
_ROW = "row"
_MOST_FAR = 5


@dataclass(frozen=True)
class ShownColumn:
    """A column as its page shows it.

    Attributes:
        name: its name.
        role: its role.
        type: its type.
        nulls: its policy for missing values, empty for the default.
        reason: the draft's reason for its role, or the comment that someone wrote above it.
        facts: the facts about its values; None if they were not counted.
        missing: the share of rows without a value.
        look: the pattern of its values, in words.
        marginal: how often values occur; None if that was not counted.
        far: values far from all others, with their counts.
        written: its settings as the spec has them; empty for a column that is not listed.
    """

    name: str
    role: str
    type: str
    nulls: str
    reason: str
    facts: ColumnFacts | None
    missing: str = ""
    look: str = ""
    marginal: Marginal | None = None
    far: tuple[tuple[str, int], ...] = ()
    written: str = ""


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: columns in the order of the source, and unique people."""
    table, uncounted = visit.table_or_fault()
    columns = list(_columns(visit, table))
    return {
        "columns": columns,
        "roles": MEANINGS,
        "types": get_args(ColumnType),
        "nulls": _NULLS,
        "counting": visit.progress_of(table, uncounted),
        "uncounted": uncounted,
        "table": table,
        "groups": None if table is None else table.groups(),
        "known": [] if table is None else table.quasi_identifiers(),
        "unit": _unit(visit),
        "null_words": _null_words(visit),
        "file": _file_of_folder(visit),
        "tables": tables_of(visit.spec),
        "shown_table": visit.table_name,
        "key": key_of((visit.spec.document.get("tables") or {}).get(visit.table_name) or {}),
    }


def _columns(visit: Visit, table: CountedTable | None) -> Iterator[ShownColumn]:
    written = visit.one_table.document.get("columns") or {}
    seen = (visit.one_table.document.get("source") or {}).get("seen") or ()
    names = list(dict.fromkeys([*seen, *written]))
    reasons = reasons_in(text_of_table(visit.spec.text, visit.table_name), names)
    for name in names:
        facts = None if table is None else table.facts.get(name)
        keys = written.get(name) or _keys_to_begin_with(table, name, facts)
        column = ShownColumn(
            name,
            str(keys.get("role", "")),
            str(keys.get("type", "string")),
            str(keys.get("nulls", "")),
            reasons.get(name, ""),
            facts,
            written=flow_text(keys) if name in written else "",
        )
        yield column if facts is None else _with_facts(column, facts)


def _keys_to_begin_with(
    table: CountedTable | None, name: str, facts: ColumnFacts | None
) -> dict[str, str]:
    """Return the settings that a column has if it is published, and that is not listed yet."""
    nulls = {"nulls": "category"} if facts is not None and facts.missing else {}
    kind = {"type": "" if facts is None else "string", **_type_of(table, name)}
    return {"role": "drop", **kind, **nulls}


def _with_facts(column: ShownColumn, facts: ColumnFacts) -> ShownColumn:
    rows = facts.rows_with_value + facts.missing
    far = np.flatnonzero(far_values(facts.column))[:_MOST_FAR]
    return ShownColumn(
        **{
            **vars(column),
            "missing": percent(facts.missing / max(rows, 1)) if facts.missing else "",
            "look": facts.look or "",
            "marginal": _marginal(facts),
            "far": tuple((str(facts.column.values[n].as_py()), int(facts.rows[n])) for n in far),
        }
    )


def _marginal(facts: ColumnFacts) -> Marginal | None:
    if not facts.distinct:
        return None
    values = CodebookValues(
        (), False, False, facts.column.values, None, facts.rows.astype(np.int64), facts.missing
    )
    return marginal(values, facts.type, facts.name, separates=True)


def reasons_in(text: str, names: list[str]) -> dict[str, str]:
    r"""Return the comment above each column in the text of a spec, on one line.

    >>> reasons_in("columns:\n  # known\n  # to many\n  age: {}\n", ["age"])
    {'age': 'known to many'}
    """
    reasons = _reasons_for_dropping(text, names)
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("# "))
            continue
        key = re.match(r"""\s+(?:"([^"]+)"|'([^']+)'|([^:#]+?))\s*:""", line)
        name = next(filter(None, key.groups()), "") if key else ""
        if name in names and name not in reasons:
            reasons[name] = " ".join(comment)
        comment = []
    return reasons


def text_of_table(text: str, table: str | None) -> str:
    r"""Return the part of a spec's text that is about one of two tables; all of it for None.

    >>> text_of_table("tables:\n  a:\n    of: b\n  b:\n    x: 1\npromises: []\n", "a")
    '    of: b\n'
    """
    if table is None:
        return text
    inside = re.search(rf"^  {re.escape(table)}:\n((?:    .*\n|\s*\n)*)", text, re.MULTILINE)
    return text if inside is None else inside[1]


def _reasons_for_dropping(text: str, names: list[str]) -> dict[str, str]:
    r"""Return the reason for each dropped column in the comment that a draft has on them.

    >>> _reasons_for_dropping("# Dropped columns:\n#   id: its values\n# differ\n", ["id"])
    {'id': 'its values differ'}
    """
    reasons: dict[str, str] = {}
    name = None
    for line in text.splitlines():
        listed = re.match(r"#   (\S.*?): (.+)", line)
        if listed and listed[1] in names:
            name = listed[1]
            reasons[name] = listed[2]
        elif name is not None and line.startswith("# "):
            reasons[name] += f" {line[2:].strip()}"
        else:
            name = None
    return reasons


def _null_words(visit: Visit) -> str | None:
    """Return the words that mean a missing value, as a text; None if the source is no CSV file."""
    source = visit.one_table.document.get("source") or {}
    if source.get("format", "csv") != "csv" or "query" in source:
        return None
    return ", ".join(filter(None, (source.get("csv") or {}).get("null_values") or ()))


def _file_of_folder(visit: Visit) -> str | None:
    """Return the name of the source if it is a file of the folder, from which to draft again."""
    source = visit.one_table.document.get("source") or {}
    path, folder = visit.spec.path.parent / str(source.get("uri", "")), visit.bench.desk.folder
    is_inside = path.resolve().is_relative_to(folder) and path.is_file()
    return path.resolve().relative_to(folder).as_posix() if is_inside else None


def _unit(visit: Visit) -> dict[str, Any]:
    """Return whom rows are about, and which columns could say so."""
    written = visit.one_table.document.get("columns") or {}
    identifiers = [name for name, keys in written.items() if keys.get("role") == "identifier"]
    chosen = next((name for name in identifiers if written[name].get("unit")), _ROW)
    return {"chosen": chosen, "identifiers": identifiers}


def change_roles(visit: Visit) -> None:
    """Write the roles, types and policies for missing values that were chosen."""
    visit.set_in_table(_changes_of_roles(visit), "roles of columns")


def _changes_of_roles(visit: Visit) -> dict[tuple[str | int, ...], Any]:
    table, _ = visit.table_or_fault()
    changes: dict[tuple[str | int, ...], Any] = {}
    written = visit.one_table.document.get("columns") or {}
    for name in visit.sent.all("column"):
        if name == key_of((visit.spec.document.get("tables") or {}).get(visit.table_name) or {}):
            continue
        keys = written.get(name)
        role = _choice(visit.sent.get(f"role:{name}", "drop"), get_args(Role))
        if keys is None:
            if role != "drop":
                changes[("columns", name)] = _new_keys(visit, table, name, role)
            continue
        changes |= _changed_keys(visit, name, keys, role)
    return changes


def _new_keys(visit: Visit, table: CountedTable | None, name: str, role: str) -> dict[str, str]:
    """Return the settings of a column that was not listed, as the form has them."""
    kind = visit.sent.get(f"type:{name}")
    kinds = {"type": _choice(kind, get_args(ColumnType))} if kind else _type_of(table, name)
    nulls = _choice(visit.sent.get(f"nulls:{name}"), tuple(_NULLS))
    kinds = {} if kinds.get("type") == "string" else kinds
    return {"role": role, **kinds, **({"nulls": nulls} if nulls else {})}


def _changed_keys(
    visit: Visit, name: str, keys: Mapping[str, Any], role: str
) -> dict[tuple[str | int, ...], Any]:
    """Return the keys of a column that a form has other values for."""
    kind = _choice(visit.sent.get(f"type:{name}", "string"), get_args(ColumnType))
    nulls = _choice(visit.sent.get(f"nulls:{name}"), tuple(_NULLS))
    chosen: dict[str, Any] = {"role": role}
    if kind != keys.get("type", "string"):
        chosen["type"] = None if kind == "string" else kind
    if nulls != keys.get("nulls", ""):
        chosen["nulls"] = nulls or None
    if role != keys.get("role") or "type" in chosen:
        new = {key: value for key, value in {**keys, **chosen}.items() if value is not None}
        chosen |= dict.fromkeys(new.keys() - keys_that_fit(new).keys())
    return {
        ("columns", name, key): value for key, value in chosen.items() if value != keys.get(key)
    }


def keys_that_fit(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a column without those that its role or its type does not admit.

    >>> keys_that_fit({"role": "drop", "type": "integer", "hierarchy": {"intervals": [5]}})
    {'role': 'drop', 'type': 'integer'}
    """
    fitting = {key: keys[key] for key in _CHOSEN if key in keys}
    number = 0
    while number < len(fitting):
        number = len(fitting)
        for key in keys.keys() - fitting.keys():
            if _is_column({**fitting, key: keys[key]}):
                fitting[key] = keys[key]
    return fitting


def _is_column(keys: Mapping[str, Any]) -> bool:
    try:
        ColumnSpec.model_validate(keys)
    except ValidationError:
        return False
    return True


def _choice(value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise SpecError(f"{value!r} cannot be chosen here. Choose from {', '.join(choices)}")
    return value


def _type_of(table: CountedTable | None, name: str) -> dict[str, str]:
    """Return the type that all values of an unlisted column have, as a key; none for texts."""
    if table is None or not table.whole.has(name):
        return {}
    values = table.whole[name].values
    kinds = (("integer", pa.int64()), ("float", pa.float64()), ("date", pa.date32()))
    for kind, arrow in kinds if len(values) else ():
        try:
            pc.cast(pc.utf8_trim_whitespace(pc.cast(values, pa.string())), arrow)
        except pa.ArrowInvalid:
            continue
        return {"type": kind}
    return {}


def change_unit(visit: Visit) -> None:
    """Write whom rows are about: a column that identifies people, or each row a person."""
    chosen, written = visit.sent.get("unit"), visit.one_table.document.get("columns") or {}
    changes: dict[tuple[str | int, ...], Any] = {}
    for name, keys in written.items():
        if keys.get("unit") and name != chosen:
            changes[("columns", name, "unit")] = None
            changes[("columns", name, "repeat")] = None
    if chosen == _ROW:
        changes[("unit",)] = _ROW
    elif chosen in written:
        changes |= {("unit",): None, ("columns", chosen, "unit"): True}
        table, _ = visit.table_or_fault()
        facts = None if table is None else table.facts.get(chosen)
        if facts is not None and facts.distinct < facts.rows_with_value:
            changes[("columns", chosen, "repeat")] = "keep-one"
    else:
        raise SpecError(f"{chosen}: is not a column of the spec. Choose an identifier")
    visit.set_in_table(changes, "whom rows are about")


def write_keys(visit: Visit) -> None:
    """Write the settings of a column as the steward typed them: codings, hierarchy, and others.

    Raises:
        SpecError: where the text is no mapping in YAML.
    """
    name = visit.sent.get("column")
    visit.set_in_table(
        {("columns", name): read_mapping(name, visit.sent.get("keys"))}, f"column {name}"
    )


def write_null_words(visit: Visit) -> None:
    """Write the words of a CSV file that mean a missing value; an empty field always does."""
    words = [word.strip() for word in visit.sent.get("words").split(",")]
    chosen = list(dict.fromkeys(["", *words]))
    visit.set_in_table({("source", "csv", "null_values"): chosen}, "words for missing values")


def confirm(visit: Visit) -> str:
    """Write the roles that were chosen, and confirm them, which a release needs; go on."""
    changes = {**_changes_of_roles(visit), ("roles",): "confirmed"}
    visit.set_in_table(changes, "confirmation of the roles")
    return visit.bench.address("hierarchies", visit.spec.name)


ACTIONS = {
    "roles": change_roles,
    "unit": change_unit,
    "keys": write_keys,
    "null-words": write_null_words,
    "confirm": confirm,
}
"""What the forms of the page do."""
