"""Rules about published tables: columns, rows, groups, order, labels and values."""

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import SfumatoError
from tests.conformance.arithmetic import are_kept
from tests.conformance.drafts import Document, Draft, Tables, parquet_bytes
from tests.conformance.rulebook import VALID, Expected, refusal, refuses, require, valid

MEASURED = ("observed-wrong", "promise-broken", "promise-unmeasurable", "order-wrong")
"""What applies, too, if a table has other rows than those that its release was made from."""
DERIVED = ("help-table-differs", "validation-wrong", "resources-wrong", "leaves-unpublished")


def _pick(draft: Draft, rng: Random) -> tuple[str, pa.Table]:
    """Return a table with a row, and its name."""
    tables = {name: table for name, table in draft.tables().items() if table.num_rows}
    name = rng.choice(sorted(tables))
    return name, tables[name]


def _exact(draft: Draft) -> str:
    """Return the table that has the rows of people as they are."""
    names = {"generalized": "microdata", "suppressed": "microdata", "permuted": "microdata"}
    names |= {"split": "qit", "redistributed": "qit"}
    require(draft.form in names)
    return names[draft.form]


def rule_edit(table: pa.Table, change: Callable[[list[Document]], object]) -> pa.Table:
    """Return a table whose rows were changed in a list."""
    rows = table.to_pylist()
    change(rows)
    return pa.Table.from_pylist(rows, schema=table.schema)


@refuses("order-wrong")
def rows_exchanged(draft: Draft, rng: Random) -> None:
    """Exchange two neighbours that differ."""
    name, table = _pick(draft, rng)
    rows = table.to_pylist()
    places = [i for i in range(len(rows) - 1) if rows[i] != rows[i + 1]]
    require(places)
    place = rng.choice(places)

    def exchange(rows: list[Document]) -> None:
        rows[place], rows[place + 1] = rows[place + 1], rows[place]

    draft.put_table(name, rule_edit(table, exchange))


@valid
def equal_rows_exchanged(draft: Draft, rng: Random) -> None:
    """Exchange two equal rows, which gives the same file."""
    name, table = _pick(draft, rng)
    rows = table.to_pylist()
    places = [i for i in range(len(rows) - 1) if rows[i] == rows[i + 1]]
    require(places and draft.files[f"data/{name}.parquet"] == _bytes_now(draft, name, table))
    place = rng.choice(places)
    order = list(range(len(rows)))
    order[place], order[place + 1] = order[place + 1], order[place]
    draft.put_table(name, table.take(pa.array(order)))


def _bytes_now(draft: Draft, name: str, table: pa.Table) -> bytes:
    """Return the file that today's software makes of a table: old files may differ."""
    copy = draft.copy()
    copy.put_table(name, table)
    return copy.files[f"data/{name}.parquet"]


@refuses("order-wrong")
def rows_reversed(draft: Draft, rng: Random) -> None:
    """Write all rows of a table in reverse."""
    name, table = _pick(draft, rng)
    backwards = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    require(not backwards.equals(table))
    draft.put_table(name, backwards)


@refuses("table-schema", "resources-wrong")
def column_renamed(draft: Draft, rng: Random) -> None:
    """Give a column of a table another name."""
    name, table = _pick(draft, rng)
    names = table.column_names
    place = rng.randrange(len(names))
    names[place] = names[place].upper() if names[place] != names[place].upper() else "other"
    draft.put_table(name, table.rename_columns(names))


@refuses("table-schema", "resources-wrong")
def column_added(draft: Draft, rng: Random) -> None:
    """Add a column to a table."""
    name, table = _pick(draft, rng)
    field = pa.field("person", pa.int64(), nullable=False)
    values = pa.array(rng.sample(range(10**6), table.num_rows), pa.int64())
    draft.put_table(name, table.append_column(field, values))


@refuses("table-schema", "resources-wrong")
def column_removed(draft: Draft, rng: Random) -> None:
    """Remove a column from a table."""
    name, table = _pick(draft, rng)
    require(table.num_columns > 1)
    draft.put_table(name, table.remove_column(rng.randrange(table.num_columns)))


@refuses("table-schema", "resources-wrong")
def columns_in_another_order(draft: Draft, rng: Random) -> None:
    """Write the columns of a table in reverse."""
    name, table = _pick(draft, rng)
    require(table.num_columns > 1)
    draft.put_table(name, table.select(table.column_names[::-1]))


@refuses("table-schema", "resources-wrong")
def column_of_another_type(draft: Draft, rng: Random) -> None:
    """Write a column as texts, or whole numbers with another width."""
    name, table = _pick(draft, rng)
    place = rng.randrange(table.num_columns)
    field = table.schema.field(place)
    type_ = pa.int32() if pa.types.is_integer(field.type) else pa.large_binary()
    if pa.types.is_integer(field.type):
        numbers = [n for n in table.column(place).to_pylist() if n is not None]
        require(all(abs(n) < 2**31 for n in numbers))
        values = table.column(place).cast(type_)
    else:
        texts = [None if v is None else str(v).encode() for v in table.column(place).to_pylist()]
        values = pa.chunked_array([pa.array(texts, pa.binary())])
    other = table.set_column(place, pa.field(field.name, values.type, field.nullable), values)
    draft.put(f"data/{name}.parquet", parquet_bytes(other))


@refuses("table-schema", "bytes-differ")
def nulls_allowed_otherwise(draft: Draft, rng: Random) -> None:
    """Let a column allow missing values that may have none, or the reverse."""
    name, table = _pick(draft, rng)
    places = [i for i in range(table.num_columns) if not table.column(i).null_count]
    require(places)
    place = rng.choice(places)
    field = table.schema.field(place)
    schema = table.schema.set(place, field.with_nullable(not field.nullable))
    draft.put(f"data/{name}.parquet", parquet_bytes(table.cast(schema)))


@refuses("null-unexpected", "table-schema", "csv-differs", *MEASURED, *DERIVED)
def value_missing(draft: Draft, rng: Random) -> None:
    """Take a value away in a column that allows no missing ones."""
    name, table = _pick(draft, rng)
    fields = [field for field in table.schema if not field.nullable]
    require(fields)
    field = rng.choice(fields)
    place = table.schema.get_field_index(field.name)
    values = table.column(place).to_pylist()
    values[rng.randrange(len(values))] = None
    nullable = field.with_nullable(True)
    other = table.set_column(place, nullable, pa.array(values, field.type))
    draft.put(f"data/{name}.parquet", parquet_bytes(other))


@refuses("table-metadata")
def metadata_in_the_footer(draft: Draft, rng: Random) -> None:
    """Write a note into the footer of a table, or the schema of another library."""
    name, table = _pick(draft, rng)
    noted = table.replace_schema_metadata(rng.choice([None, {"note": "more"}]))
    draft.put(f"data/{name}.parquet", parquet_bytes(noted, store_schema=True))


@refuses("table-unreadable")
def table_damaged(draft: Draft, rng: Random) -> None:
    """Put something that is no Parquet in the place of a table, and seal."""
    name, _ = _pick(draft, rng)
    content = draft.files[f"data/{name}.parquet"]
    damaged = rng.choice([b"", b"PAR1", b"a,b\n1,2\n", content[:-1], content[4:], content[:-8]])
    draft.put(f"data/{name}.parquet", damaged)


@refuses("value-hidden", "bytes-differ", core="either")
def value_in_a_dictionary(draft: Draft, rng: Random) -> None:
    """Hide a value in the dictionary of a column that no row has."""
    name, table = _pick(draft, rng)
    fields = [field for field in table.schema if pa.types.is_string(field.type)]
    require(fields)
    field = rng.choice(fields)
    encoded = pc.dictionary_encode(table[field.name].combine_chunks())
    dictionary = pa.concat_arrays([encoded.dictionary, pa.array(["somebody left out"])])
    hidden = pa.DictionaryArray.from_arrays(encoded.indices, dictionary)
    place = table.schema.get_field_index(field.name)
    kept_field = pa.field(field.name, hidden.type, field.nullable)
    draft.put(f"data/{name}.parquet", parquet_bytes(table.set_column(place, kept_field, hidden)))


@refuses("table-empty", "row-count-wrong", "count-wrong", "tables-disagree", *MEASURED, *DERIVED)
def table_emptied(draft: Draft, rng: Random) -> None:
    """Leave no row of a table."""
    name, table = _pick(draft, rng)
    require(name != "vacant")
    draft.put_table(name, table.slice(0, 0))


@refuses("row-count-wrong", "tables-disagree", *MEASURED, *DERIVED)
def row_removed(draft: Draft, rng: Random) -> None:
    """Remove a row of somebody, and leave the numbers of rows as they are."""
    name = _exact(draft)
    table = draft.tables()[name]
    require(table.num_rows > 1)
    row = rng.randrange(table.num_rows)
    draft.put_table(name, rule_edit(table, lambda rows: rows.pop(row)))


@refuses("row-count-wrong", "tables-disagree", *MEASURED, *DERIVED)
def row_repeated(draft: Draft, rng: Random) -> None:
    """Repeat a row of somebody."""
    name = _exact(draft)
    table = draft.tables()[name]
    row = rng.randrange(table.num_rows)
    draft.put_table(name, rule_edit(table, lambda rows: rows.insert(row, rows[row])))


@refuses("row-count-wrong", "count-wrong", "tables-disagree", *DERIVED)
def published_rows_otherwise(draft: Draft, rng: Random) -> None:
    """State that one row more was published, and read."""
    require(not draft.in_parts)
    key = rng.choice(["published"])

    def change(terms: Document) -> None:
        terms["rows"][key] += 1
        terms["rows"]["read"] += 1

    draft.declare(change)


def _groups(table: pa.Table) -> list[int]:
    return sorted(set(table["group_id"].to_pylist()))


def _new_numbers(tables: Tables, numbers: dict[int, int]) -> Tables:
    """Return tables whose groups have other numbers."""
    return {
        name: rule_edit(
            table,
            lambda rows: [
                row.update(group_id=numbers.get(row["group_id"], row["group_id"])) for row in rows
            ],
        )
        if "group_id" in table.column_names
        else table
        for name, table in tables.items()
    }


def _put_all(draft: Draft, tables: Tables) -> None:
    before = draft.tables()
    for name, table in tables.items():
        if not table.equals(before[name]):
            draft.put_table(name, table)


@refuses("order-wrong", "tables-disagree")
def groups_with_a_gap(draft: Draft, rng: Random) -> object:
    """Leave a number of groups out."""
    tables = draft.tables()
    grouped = [table for table in tables.values() if "group_id" in table.column_names]
    require(grouped)
    ids = _groups(grouped[0])
    start = rng.choice(ids)
    numbers = {number: number + 1 for number in ids if number >= start}
    _put_all(draft, _new_numbers(tables, numbers))
    return refusal("order-wrong", "tables-disagree", *DERIVED)


@refuses("order-wrong", "tables-disagree")
def groups_numbered_otherwise(draft: Draft, rng: Random) -> Expected:
    """Exchange the numbers of two groups with different content, and sort rows by number."""
    tables = draft.tables()
    first = next((n for n in ("microdata", "qit") if n in tables), "")
    require(first and "group_id" in tables[first].column_names)
    ids = _groups(tables[first])
    require(len(ids) > 1)
    a, b = rng.sample(ids, 2)
    require(_content(tables[first], a) != _content(tables[first], b))
    numbered = _new_numbers(tables, {a: b, b: a})
    _put_all(draft, {n: _in_order(t, by_group=n != first) for n, t in numbered.items()})
    return refusal("order-wrong", "tables-disagree", *DERIVED)


def _content(table: pa.Table, group: int) -> list[tuple[Any, ...]]:
    names = [name for name in table.column_names if name != "group_id"]
    rows = [row for row in table.to_pylist() if row["group_id"] == group]
    return [tuple(row[name] for name in names) for row in rows]


def _in_order(table: pa.Table, *, by_group: bool) -> pa.Table:
    """Return a table with ascending rows, nulls first (T6.3, T6.4)."""
    if "group_id" not in table.column_names:
        return table
    others = [name for name in table.column_names if name != "group_id"]
    names = ["group_id", *others] if by_group else [*others, "group_id"]
    rows = sorted(table.to_pylist(), key=lambda row: [_ascending(row[name]) for name in names])
    return pa.Table.from_pylist(rows, schema=table.schema)


def _ascending(value: Any) -> tuple[bool, Any]:
    """Return a value as it is compared: a missing one is before all others (T5.1)."""
    return value is not None, 0 if value is None else value


def _merge(tables: Tables, rng: Random) -> tuple[Tables, int, int]:
    """Return tables in which two groups are one, and the numbers of these."""
    ids = _groups(next(t for t in tables.values() if "group_id" in t.column_names))
    require(len(ids) > 1)
    a, b = sorted(rng.sample(ids, 2))
    numbers = {b: a} | {number: number - 1 for number in ids if number > b}
    merged = _new_numbers(tables, numbers)
    return {n: _added_up(t) if "count" in t.column_names else t for n, t in merged.items()}, a, b


def _added_up(table: pa.Table) -> pa.Table:
    """Return a table of counts without equal rows: their counts are added."""
    names = [name for name in table.column_names if name != "count"]
    counts: dict[tuple[Any, ...], int] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in names)
        counts[key] = counts.get(key, 0) + row["count"]
    rows = [{**dict(zip(names, key, strict=True)), "count": n} for key, n in counts.items()]
    return pa.Table.from_pylist(rows, schema=table.schema)


def _judgement(draft: Draft, tables: Tables) -> Expected:
    """Write a release of these tables; the promises decide by own arithmetic."""
    still = are_kept(draft.terms, tables)
    draft.rebuild(lambda terms: terms, draft.in_order(tables))
    if still:
        return VALID
    figures = [figure for entry in draft.terms["observed"] for figure in entry["observed"].values()]
    unwritten = ["manifest-schema"] if None in figures else []  # a figure that is none (M6.2)
    return refusal("promise-broken", "validation-wrong", *unwritten)


@valid
def groups_merged(draft: Draft, rng: Random) -> Expected:
    """Make one group of two: arithmetic says whether the promises are still kept."""
    require(draft.form in ("permuted", "split") and not draft.is_composed)
    merged, _, _ = _merge(draft.tables(), rng)
    return _judgement(draft, merged)


@refuses("promise-broken")
def row_in_a_group_of_its_own(draft: Draft, rng: Random) -> Expected:
    """Move one row out of its group into a new one."""
    require(draft.form == "permuted" and not draft.is_composed)
    tables = draft.tables()
    row = rng.randrange(tables["microdata"].num_rows)
    new = max(_groups(tables["microdata"])) + 1
    moved = rule_edit(tables["microdata"], lambda rows: rows[row].update(group_id=new))
    return _judgement(draft, {**tables, "microdata": moved})


@refuses("promise-broken")
def row_in_another_group(draft: Draft, rng: Random) -> Expected:
    """Move one row into another group; arithmetic says what follows."""
    require(draft.form == "permuted" and not draft.is_composed)
    tables = draft.tables()
    ids = _groups(tables["microdata"])
    require(len(ids) > 1)
    row, group = rng.randrange(tables["microdata"].num_rows), rng.choice(ids)
    moved = rule_edit(tables["microdata"], lambda rows: rows[row].update(group_id=group))
    require(len(_groups(moved)) == len(ids))
    return _judgement(draft, {**tables, "microdata": moved})


@valid
def sensitive_values_exchanged(draft: Draft, rng: Random) -> Expected:
    """Exchange the sensitive values of two rows; arithmetic says what follows."""
    require(draft.form in ("permuted", "generalized", "suppressed") and not draft.is_composed)
    name = rng.choice([c["name"] for c in draft.terms["columns"] if c["role"] == "sensitive"])
    tables = draft.tables()
    require(tables["microdata"].num_rows > 1)
    a, b = rng.sample(range(tables["microdata"].num_rows), 2)

    def exchange(rows: list[Document]) -> None:
        rows[a][name], rows[b][name] = rows[b][name], rows[a][name]

    return _judgement(draft, {**tables, "microdata": rule_edit(tables["microdata"], exchange)})


@refuses("promise-broken")
def sensitive_values_made_equal(draft: Draft, rng: Random) -> Expected:
    """Give all rows of a group, or those of equal labels, the same sensitive value."""
    require(draft.form in ("permuted", "generalized", "suppressed") and not draft.is_composed)
    name = rng.choice([c["name"] for c in draft.terms["columns"] if c["role"] == "sensitive"])
    tables = draft.tables()
    table = tables["microdata"]
    roles = {c["name"]: c["role"] for c in draft.terms["columns"]}
    names = [n for n in table.column_names if roles.get(n) == "quasi-identifier"]
    names = ["group_id"] if draft.form == "permuted" else names
    chosen = rng.choice(table.to_pylist())

    def equal(rows: list[Document]) -> None:
        for row in rows:
            if all(row[n] == chosen[n] for n in names):
                row[name] = chosen[name]

    changed = rule_edit(table, equal)
    require(not changed.equals(table) and not _numbers_rows(changed))
    return _judgement(draft, {**tables, "microdata": changed})


def _numbers_rows(table: pa.Table) -> bool:
    """Return True for a table so large that a column may number its rows (F1.4)."""
    return table.num_rows > 20 and any(
        len(set(column.to_pylist())) == table.num_rows for column in table.columns
    )


@refuses("promise-broken")
def label_of_another_row(draft: Draft, rng: Random) -> Expected:
    """Give a row the label of another one; arithmetic says what follows."""
    require(draft.form in ("generalized", "suppressed") and not draft.is_composed)
    quasi = [c["name"] for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    require(not any(c.get("leaves") for c in draft.terms["columns"]))
    name = rng.choice(quasi)
    tables = draft.tables()
    labels = sorted({str(v) for v in tables["microdata"][name].to_pylist() if v is not None})
    require(len(labels) > 1)
    row, label = rng.randrange(tables["microdata"].num_rows), rng.choice(labels)
    changed = rule_edit(tables["microdata"], lambda rows: rows[row].update({name: label}))
    return _judgement(draft, {**tables, "microdata": changed})


UNREADABLE = {
    "intervals": ["30-38", "39-30", "030-039", "+30", "1.0", "", " 30-39", "30 - 39", "-10--1"],
    "dates": ["1999-13", "99", "1999-1", "1999-Q5", "199s", "1999-02-30", "20XX", "", "0000-01-01"],
    "array": ["nowhere", "North", "**", "", " "],
    "integer": ["07", "+7", "1.0", "[1, x]", "{1}", "", "9" * 20, "-0"],
    "float": ["1.0", "1.50", "100000000000", "1,5", "nan", "[2, 1]", "1e400", "", "0x1", ".5"],
    "boolean": ["True", "yes", "1", "{true, false}", ""],
    "date": ["2024-2-1", "2024-02-30", "[2024-01-02, 2024-01-01]", "", "10000-01-01"],
    "timestamp": ["2024-01-01", "2024-01-01 25:00:00.000000", "2024-01-01T00:00:00.000000", ""],
    "string": ["{b, a}", "{a, a}", "{a,b}", "{}", "{a", '{"a}', "[a, b]", ""],
}
"""Texts that are no labels, by the hierarchy or the type of a column in `generalized` (F6).

Of a hierarchy of prefixes every text is a label.
"""


def _kind_of(column: Document) -> str:
    hierarchy = column.get("hierarchy")
    if isinstance(hierarchy, dict):
        return str(next(iter(hierarchy)))
    return "array" if hierarchy else str(column["type"])


@refuses("label-unreadable")
def label_without_meaning(draft: Draft, rng: Random) -> Expected:
    """Write a label that the rules do not read."""
    require(draft.form == "generalized")
    columns = [c for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    columns = [c for c in columns if _kind_of(c) in UNREADABLE]
    require(columns)
    column = rng.choice(columns)
    label = rng.choice(UNREADABLE[_kind_of(column)])
    return _relabel(draft, rng, column["name"], label)


def _relabel(draft: Draft, rng: Random, name: str, label: str) -> Expected:
    """Write a label in the place of another, so that groups stay as they are.

    All files are written anew, unless the project's writers cannot read the label.
    """
    tables = draft.tables()
    table = tables["microdata"]
    before = rng.choice([text for text in table[name].to_pylist() if text not in (None, "*")])
    require(label not in table[name].to_pylist())

    def change(rows: list[Document]) -> None:
        for row in rows:
            row[name] = label if row[name] == before else row[name]

    changed = {**tables, "microdata": rule_edit(table, change)}
    try:
        draft.rebuild(lambda terms: terms, draft.in_order(changed))
    except SfumatoError:
        draft.put_table("microdata", draft.in_order(changed)["microdata"])
    return refusal("label-unreadable", "validation-wrong", "leaves-unpublished")


@refuses("label-unreadable")
def period_that_is_not_declared(draft: Draft, rng: Random) -> Expected:
    """Write a period of dates that the hierarchy does not have."""
    require(draft.form == "generalized")
    periods = {"month": "1999-12", "quarter": "1999-Q4", "year": "1999", "decade": "1990s"}
    columns = [c for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    column = rng.choice([c for c in columns if _kind_of(c) == "dates"])
    declared = column["hierarchy"]["dates"]
    label = rng.choice([text for period, text in periods.items() if period not in declared])
    return _relabel(draft, rng, column["name"], label)


@refuses("label-unreadable")
def decimal_label_of_another_scale(draft: Draft, rng: Random) -> Expected:
    """Write a label of a decimal column with other decimals than the column's."""
    require(draft.form in ("generalized", "suppressed"))
    columns = [c for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    columns = [c for c in columns if c["type"] == "decimal" and c.get("scale")]
    require(columns)
    column = rng.choice(columns)
    label = rng.choice(["1.5", "2", "1.500", "-0.5", "1E+1"])
    return _relabel(draft, rng, column["name"], label)


@refuses("label-unreadable")
def label_of_a_missing_value(draft: Draft, rng: Random) -> Expected:
    """Write a label that stands for a missing value, where there are none."""
    require(draft.form == "generalized")
    columns = [c for c in draft.terms["columns"] if c["role"] == "quasi-identifier"]
    columns = [c for c in columns if not c["nulls"] and "hierarchy" not in c]
    columns = [c for c in columns if c["type"] in ("string", "integer")]
    require(columns)
    column = rng.choice(columns)
    text = {"string": "a or null", "integer": "1 or null"}[column["type"]]
    return _relabel(draft, rng, column["name"], text)


@refuses("value-not-finite", "order-wrong")
def float_without_a_number(draft: Draft, rng: Random) -> Expected:
    """Put infinity into a sensitive column, or what is no number into any column of floats."""
    tables = draft.tables()
    types = {c["name"]: c["role"] for c in draft.terms["columns"] if c["type"] == "float"}
    places = [
        (table, field.name)
        for table in sorted(tables)
        for field in tables[table].schema
        if pa.types.is_floating(field.type) and tables[table].num_rows and field.name in types
    ]
    require(places)
    table, name = rng.choice(places)
    values = [math.nan] if types[name] != "sensitive" else [math.nan, math.inf, -math.inf]
    row, value = rng.randrange(tables[table].num_rows), rng.choice(values)
    draft.put_table(table, rule_edit(tables[table], lambda rows: rows[row].update({name: value})))
    return refusal("value-not-finite", "tables-disagree", "csv-differs", *MEASURED, *DERIVED)


@refuses("count-wrong", "tables-disagree")
def count_otherwise(draft: Draft, rng: Random) -> Expected:
    """Count a value once more, or not at all."""
    tables = {n: t for n, t in draft.tables().items() if "count" in t.column_names}
    require(tables)
    name = rng.choice(sorted(tables))
    row, to = rng.randrange(tables[name].num_rows), rng.choice([0, -1, None])

    def change(rows: list[Document]) -> None:
        rows[row]["count"] = rows[row]["count"] + 1 if to is None else to

    draft.put_table(name, rule_edit(tables[name], change))
    more = ("counts-contradict",) if draft.form == "redistributed" else ()
    return refusal("count-wrong", "tables-disagree", *more, *MEASURED, *DERIVED)


@refuses("tables-disagree")
def counts_of_another_group(draft: Draft, rng: Random) -> Expected:
    """Move one of a value's count from one group to another."""
    names = {"count", "group_id"}
    tables = {n: t for n, t in draft.tables().items() if names <= {*t.column_names}}
    require(tables and draft.form in ("split", "ambiguous"))
    name = rng.choice(sorted(tables))
    rows = tables[name].to_pylist()
    several = [i for i, row in enumerate(rows) if row["count"] > 1]
    require(several)
    a = rng.choice(several)
    others = [i for i, row in enumerate(rows) if row["group_id"] != rows[a]["group_id"]]
    require(others and (draft.form == "split" or len(tables) > 1))
    b = rng.choice(others)

    def move(rows: list[Document]) -> None:
        rows[a]["count"] -= 1
        rows[b]["count"] += 1

    draft.put_table(name, rule_edit(tables[name], move))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


@refuses("order-wrong", "tables-disagree")
def counted_twice(draft: Draft, rng: Random) -> Expected:
    """Count the same value of a group in two rows."""
    tables = {n: t for n, t in draft.tables().items() if "count" in t.column_names}
    require(tables)
    name = rng.choice(sorted(tables))
    rows = [i for i, row in enumerate(tables[name].to_pylist()) if row["count"] > 1]
    require(rows)
    place = rng.choice(rows)

    def apart(rows: list[Document]) -> None:
        rows.insert(place, {**rows[place], "count": 1})
        rows[place + 1]["count"] -= 1
        if rows[place]["count"] > rows[place + 1]["count"]:
            rows[place], rows[place + 1] = rows[place + 1], rows[place]

    draft.put_table(name, rule_edit(tables[name], apart))
    return refusal("order-wrong", "tables-disagree", *DERIVED)


@refuses("tables-disagree")
def admitted_by_nobody(draft: Draft, rng: Random) -> Expected:
    """Leave a group without an admitted value of a quasi-identifier."""
    tables = {n: t for n, t in draft.tables().items() if n.startswith("at_")}
    require(tables)
    name = rng.choice(sorted(tables))
    ids = _groups(tables[name])
    require(len(ids) > 1)
    group = rng.choice(ids)
    fewer = tables[name].filter(pc.not_equal(tables[name]["group_id"], group))
    draft.put_table(name, fewer)
    return refusal("tables-disagree", *MEASURED, *DERIVED)


@refuses("order-wrong", "tables-disagree")
def admitted_twice(draft: Draft, rng: Random) -> Expected:
    """Admit a value of a group twice."""
    tables = {n: t for n, t in draft.tables().items() if n.startswith("at_")}
    require(tables)
    name = rng.choice(sorted(tables))
    row = rng.randrange(tables[name].num_rows)
    draft.put_table(name, rule_edit(tables[name], lambda rows: rows.insert(row, rows[row])))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


@refuses("count-wrong", "tables-disagree", "order-wrong", *DERIVED)
def lineage_otherwise(draft: Draft, rng: Random) -> Expected:
    """Change a number of the lineage of a group."""
    require(draft.is_composed)
    lineage = draft.tables()["lineage"]
    key = rng.choice(["rows", "vacant"])
    row, more = rng.randrange(lineage.num_rows), rng.choice([-1, 1, 100])
    draft.put_table(
        "lineage",
        rule_edit(lineage, lambda rows: rows[row].update({key: rows[row][key] + more})),
    )
    return refusal("count-wrong", "tables-disagree", *MEASURED, *DERIVED)


@refuses("order-wrong")
def two_groups_continue_the_same(draft: Draft, rng: Random) -> Expected:
    """Let two groups continue the same group, or one a group below zero."""
    require(draft.is_composed)
    lineage = draft.tables()["lineage"]
    number = rng.choice([0, -1])
    places = [0, 1] if number == 0 else [0]
    require(lineage.num_rows > 1)

    def change(rows: list[Document]) -> None:
        for place in places:
            rows[place]["previous_group_id"] = number

    draft.put_table("lineage", rule_edit(lineage, change))
    return refusal("order-wrong", "validation-wrong")


@refuses("tables-disagree")
def node_of_no_target(draft: Draft, rng: Random) -> Expected:
    """Show a subdomain that is no node of the target."""
    require(draft.form == "redistributed")
    st = draft.tables()["st"]
    row = rng.randrange(st.num_rows)

    def change(rows: list[Document]) -> None:
        rows[row]["lower"] = rows[row]["upper"] = _elsewhere(rows[row]["upper"])

    draft.put_table("st", rule_edit(st, change))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


def _elsewhere(value: Any) -> Any:
    """Return a value of the same type that no table has."""
    elsewhere = {str: "nowhere", int: 10**9, date: date(2999, 1, 1), Decimal: Decimal("1e9")}
    require(type(value) in elsewhere)
    return elsewhere[type(value)]


@refuses("tables-disagree", "order-wrong")
def weights_otherwise(draft: Draft, rng: Random) -> Expected:
    """Give a target weights that it cannot have: a root above 1, a common divisor, less than 0."""
    require(draft.form == "redistributed")
    targets = draft.tables()["targets"]
    require(targets.num_rows > 1)
    how = rng.choice([_root_of_two, _all_doubled, _below_zero])
    draft.put_table("targets", rule_edit(targets, how))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


def _root_of_two(rows: list[Document]) -> None:
    rows[0]["weight"] = 2


def _all_doubled(rows: list[Document]) -> None:
    for row in rows[1:]:
        if row["target"] == 0:
            row["weight"] *= 2


def _below_zero(rows: list[Document]) -> None:
    rows[1]["weight"] = -1


@refuses("tables-disagree")
def target_that_is_none(draft: Draft, rng: Random) -> Expected:
    """Aim a group at a target that there is not."""
    require(draft.form == "redistributed")
    aims = draft.tables()["aims"]
    row = rng.randrange(aims.num_rows)
    draft.put_table("aims", rule_edit(aims, lambda rows: rows[row].update(target=10**6)))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


@refuses("tables-disagree")
def target_removed(draft: Draft, rng: Random) -> Expected:
    """Leave a node of a target out that is a leaf."""
    require(draft.form == "redistributed")
    targets = draft.tables()["targets"]
    leaves = [
        i
        for i, row in enumerate(targets.to_pylist())
        if row["lower"] == row["upper"] and row["target"] == 0
    ]
    require(len(leaves) > 1)
    leaf = rng.choice(leaves)
    draft.put_table("targets", rule_edit(targets, lambda rows: rows.pop(leaf)))
    return refusal("tables-disagree", *MEASURED, *DERIVED)


@refuses("weight-not-positive")
def weight_of_nothing(draft: Draft, rng: Random) -> Expected:
    """Give a row a weight of 0 or less."""
    weights = [c["name"] for c in draft.terms["columns"] if c.get("weight")]
    require(weights and draft.form in ("generalized", "suppressed", "permuted"))
    table = draft.tables()["microdata"]
    row, value = rng.randrange(table.num_rows), rng.choice([0, -1])
    changed = rule_edit(table, lambda rows: rows[row].update({weights[0]: value}))
    draft.put_table(
        "microdata", draft.in_order({**draft.tables(), "microdata": changed})["microdata"]
    )
    return refusal("weight-not-positive", "csv-differs", *MEASURED, *DERIVED)


def _with_codings(draft: Draft) -> list[tuple[Document, int, int]]:
    """Return whole-number columns that tables show as they are, with their least and greatest."""
    tables = draft.tables()
    roles = ("sensitive", "insensitive")
    roles = (*roles, "quasi-identifier") if draft.form in ("permuted", "split") else roles
    columns = []
    for column in draft.terms["columns"]:
        if column["type"] == "integer" and column["role"] in roles and not column.get("weight"):
            values = [
                value
                for table in tables.values()
                if column["name"] in table.column_names
                for value in table[column["name"]].to_pylist()
                if value is not None
            ]
            if values and not {"top", "bottom", "round", "shift"} & column.keys():
                columns.append((column, min(values), max(values)))
    return columns


def _declare_coding(draft: Draft, name: str, key: str, value: int) -> None:
    def change(terms: Document) -> None:
        column = next(column for column in terms["columns"] if column["name"] == name)
        column[key] = value

    draft.rebuild(change)


@valid
def coding_that_holds(draft: Draft, rng: Random) -> None:
    """Declare that values were cut off where they end in any case."""
    columns = _with_codings(draft)
    require(columns)
    column, least, most = rng.choice(columns)
    key, value = rng.choice([("top", most), ("top", most + 1), ("bottom", least)])
    require(abs(value) < 2**53)
    _declare_coding(draft, column["name"], key, value)


@refuses("value-uncoded", "validation-wrong")
def coding_that_does_not_hold(draft: Draft, rng: Random) -> None:
    """Declare that values were cut off, and leave some beyond."""
    columns = [(c, a, b) for c, a, b in _with_codings(draft) if a < b and max(-a, b) < 2**53]
    require(columns)
    column, least, most = rng.choice(columns)
    key, value = rng.choice([("top", most - 1), ("bottom", least + 1)])
    _declare_coding(draft, column["name"], key, value)
