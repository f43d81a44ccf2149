"""The published tables as a page holds them, so that its script answers questions without a server.

Each column is its different values, ascending, and the code of each row, in as few bits as the
codes need. The text follows from the tables alone: whoever checks a release makes it again. No
compressor is used, since its bytes would depend on its version.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.sorting import stable_order, starts
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, VACANT_ROWS
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.query.question.ways import (
    bundles_of_facts,
    facts_of,
    relations,
    tables_of_counts,
)
from sfumato.tasks.report.stated import (
    MOST_TEXT,
    Document,
    factors_of_script,
    json_value,
    pack_table,
)
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import AIMS, COUNT, GROUP_ID, TARGET, TARGETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.tables import TABLES, form_of
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    from sfumato.tasks.forms.labels import Admitted
    from sfumato.tasks.forms.targets import PublishedTargets
    from sfumato.tasks.query.help_tables.subdomains import Nodes

_MARKUP = re.compile("[<\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that JSON escapes here, since they begin markup, or hide or reorder text."""
_NODE = "node"
_FETCHED = '{"fetched":true,'


def page_data(tables: Tables, declared: Declared) -> str | None:
    """Return the published tables as JSON, in the way that the script of a page reads.

    Where the text would be too long, it names the columns of the Parquet files beside the page.
    Returns None if that is too long as well, if a table has values that JSON cannot hold (NaN,
    infinity), or if the script answers no questions about such a release: without rows, in parts,
    with labels whose versions are composed, or of a form that shows a person in a way of its own.

    Args:
        tables: the published tables.
        declared: the release as its manifest declares it.
    """
    if _is_unanswered(declared, tables) or declared.form.shows not in _TABLES:
        return None
    fits = _least_length(tables) <= MOST_TEXT
    text = _text(declared, tables, fetched=False) if fits else None
    return _text(declared, tables, fetched=True) if text is None else text


def _is_unanswered(declared: Declared, tables: Tables) -> bool:
    """Decide whether the script answers no questions about a release."""
    composed_labels = declared.is_composed and declared.form.shows == "labels"
    unread = bool(declared.made_of) or composed_labels or not declared.rows.published
    return unread or (declared.has_related_rows and not _knows_all(tables, declared))


def _knows_all(tables: Tables, declared: Declared) -> bool:
    """Decide whether the script of this layout knows all that two related tables publish."""
    columns_known = {name: {*columns} for name, columns in _two_tables(declared).items()}
    same = columns_known == {name: {*table.column_names} for name, table in tables.items()}
    own = {*declared.names_with_roles("sensitive")} - {*declared.form.related_columns}
    are_facts = own == {*facts_of(declared)}
    return same and are_facts and tells("two tables", declared.software)


def way_of_script(declared: Declared) -> str:
    """Return the name of the script of a page, and of its engine: that of the form's way.

    Two related tables with facts of people have one of their own.
    """
    return "facts" if facts_of(declared) else declared.form.shows


def is_fetched(data: str) -> bool:
    """Decide whether a page's data names files in place of holding tables."""
    return data.startswith(_FETCHED)


def _text(declared: Declared, tables: Tables, *, fetched: bool) -> str | None:
    """Return a description of the tables as JSON, or None if it would be too long."""
    shows = declared.form.shows
    describe = (_FILES if fetched else _TABLES)[shows]
    try:
        document = {
            **({"fetched": True} if fetched else {}),
            "shows": way_of_script(declared),
            "counts": declared.form.counts_alone,
            "columns": [_description(name, column) for name, column in declared.columns.items()],
            **factors_of_script(declared),
            **describe(tables, declared),
        }
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # of NaN, infinity, or too many different values
        return None
    if len(text) > MOST_TEXT:
        return None
    return _MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _least_length(tables: Tables) -> int:
    """Return a length that the text of some tables has at least."""
    cells = sum(int(table.num_rows * table.num_columns) for table in tables.values())
    return cells // 8


def _description(name: str, column: DeclaredColumn) -> Document:
    description: Document = {
        "name": name,
        "type": column.type,
        "scale": column.scale or 0,
        "role": column.role,
        "nulls": column.nulls,
    }
    if column.round is None and (isinstance(column.bottom, str) or isinstance(column.top, str)):
        description["ends"] = [
            end if isinstance(end, str) else None for end in (column.bottom, column.top)
        ]
    return description


def _rows_of_groups(tables: Tables, declared: Declared) -> Document:
    """Return exact rows with their groups, and the values of each group with their counts."""
    names = relations(declared)
    rows = tables[names.rows]
    exact = [n for n in (GROUP_ID, *declared.columns) if n in rows.column_names]
    rows = rows.select([n for n in exact if not _is_sensitive(n, declared)])
    return {"rows": pack_table(rows), **_values_of_groups(tables, declared)}


def _is_sensitive(name: str, declared: Declared) -> bool:
    return name in declared.columns and declared.columns[name].role == "sensitive"


def _values_of_groups(tables: Tables, declared: Declared) -> Document:
    """Return the values of each group in each set of sensitive columns, with their counts."""
    composed = declared.is_composed
    whole = VACANCIES[declared.form.method].whole(tables) if composed else tables
    packed = []
    for columns in tables_of_counts(declared):
        table = next(table for table in whole.values() if columns[0] in table.column_names)
        packed.append(pack_table(_with_counts(table.select([GROUP_ID, *columns]), _times(table))))
    return {"values": packed}


def _times(table: pa.Table) -> np.ndarray:
    """Return how often each row of a table of values occurs (int64, one per row)."""
    if COUNT in table.column_names:
        return as_integers(table[COUNT])
    return np.ones(table.num_rows, dtype=np.int64)


def _with_counts(table: pa.Table, times: np.ndarray) -> pa.Table:
    """Return each different row once, ascending, with the sum of `times` (int64, one per row)."""
    columns = [encode(name, "insensitive", table[name]) for name in table.column_names]
    keys, _ = key(columns, table.num_rows)
    order = stable_order(keys)
    first = starts(keys[order])
    counts = np.add.reduceat(times[order], first)
    return table.take(as_array(order[first], pa.int64())).append_column(
        COUNT, as_array(counts, pa.int64())
    )


def _columns_apart(tables: Tables, declared: Declared) -> Document:
    """Return the values of each quasi-identifier that groups admit, and their sensitive values."""
    from sfumato.tasks.forms.ambiguous import table_of

    names = declared.names_with_roles("quasi-identifier")
    document = {
        "admitted": [
            pack_table(_by_group(tables[table_of(name)].select([GROUP_ID, name]))) for name in names
        ],
        **_marginals(declared, lambda table, _: pack_table(tables[table])),
        **_values_of_groups(tables, declared),
        **_rounds(declared),
    }
    if declared.is_composed:
        document["lineage"] = pack_table(tables[LINEAGE].select([VACANT_ROWS]))
    return document


def _marginals(declared: Declared, packed: Callable[[str, str], Document]) -> Document:
    """Return the published marginals, each as `packed` makes it of its table and column."""
    from sfumato.tasks.forms.counts_table import marginal_table

    names = declared.form.counted_columns
    return {"marginals": [packed(marginal_table(n), n) for n in names]} if names else {}


def _rounds(declared: Declared) -> Document:
    """Return for how many rounds frequencies are fitted, where it is stated."""
    return {"rounds": dict(sorted(declared.rounds.items()))} if declared.rounds else {}


def _by_group(table: pa.Table) -> pa.Table:
    order = stable_order(as_integers(table[GROUP_ID]))
    return table.take(as_array(order, pa.int64()))


def _labelled_rows(tables: Tables, declared: Declared) -> Document:
    """Return rows with labels, and the values that each label admits."""
    table = tables[TABLE]
    rows = pack_table(table.select(list(declared.columns)))
    return {"rows": rows, "labels": _labels(table, declared)}


def _labels(table: pa.Table, declared: Declared) -> Document:
    """Return the values that each label admits, by column, in the order of the labels."""
    from sfumato.tasks.forms.optional import reader_for

    reader_of = reader_for(form_of(declared))
    labels = {}
    for name in declared.names_with_roles("quasi-identifier"):
        column = encode(name, "quasi-identifier", table[name])
        read = reader_of(name, declared.columns[name])
        texts = [*column.values.to_pylist(), *([None] if column.has_null else [])]
        labels[name] = [_label(read(text)) for text in texts]
    return labels


def _label(admitted: "Admitted") -> Document:
    from sfumato.tasks.forms.labels import Between, ListedValues, Prefixed

    label: Document = {}
    if isinstance(admitted, ListedValues):
        label["listed"] = [json_value(value) for value in admitted.values]
    elif isinstance(admitted, Between):
        label["between"] = [json_value(admitted.low), json_value(admitted.high)]
    elif isinstance(admitted, Prefixed):
        label["prefix"] = [admitted.kept, admitted.length]
    return label | ({"null": True} if admitted.null else {})


def _rows_and_subdomains(tables: Tables, declared: Declared) -> Document:
    """Return exact rows with their groups, the subdomains of groups, and those of all targets."""
    from sfumato.tasks.forms.targets import LOWER, UPPER, locate

    nodes = _nodes(tables, declared)
    (values_table,) = tables_of_counts(declared).values()
    subdomains = tables[values_table]
    group = as_integers(subdomains[GROUP_ID])
    aim = _aims(tables[AIMS])[group]
    node = locate(nodes.subdomains, aim, subdomains[LOWER], subdomains[UPPER])
    places = pa.table({GROUP_ID: group, _NODE: node, COUNT: subdomains[COUNT]})
    rows = tables[relations(declared).rows]
    exact = [n for n in (GROUP_ID, *declared.columns) if n in rows.column_names]
    return {
        "rows": pack_table(rows.select(exact)),
        "shown": pack_table(_by_group(places)),
        "domain": _domain(nodes),
    }


def _two_tables(declared: Declared) -> dict[str, list[str]]:
    """Return the columns of people, of their related rows, and of groups, by table."""
    from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS

    form = declared.form
    own = [name for name in declared.columns if name not in form.related_columns]
    return {
        form.table_of_rows: [GROUP_ID, *own],
        form.related_table: [GROUP_ID, *form.related_columns],
        GROUPS: [GROUP_ID, PEOPLE, ROWS, MOST],
    }


def _people_and_rows(tables: Tables, declared: Declared) -> Document:
    """Return people with their groups, the related rows of each group, and its numbers."""
    people, related, groups = (tables[n].select(c) for n, c in _two_tables(declared).items())
    facts = [people.select([GROUP_ID, *names]) for names in bundles_of_facts(declared)]
    return {
        **_names_of_tables(declared),
        "rows": pack_table(_by_group(people.drop_columns(list(facts_of(declared))))),
        "values": [pack_table(_with_counts(table, _times(table))) for table in (related, *facts)],
        "groups": pack_table(_by_group(groups)),
    }


def _names_of_tables(declared: Declared) -> Document:
    """Return the names by which questions call two tables, their key and related columns."""
    form = declared.form
    names = {"people": form.table_of_rows, "related": form.related_table, "key": form.person_key}
    return {"tables": {**names, "columns": list(form.related_columns)}}


def _nodes(tables: Tables, declared: Declared) -> "Nodes":
    from sfumato.tasks.query.help_tables.subdomains import read_nodes

    (name,) = declared.names_with_roles("sensitive")
    return read_nodes(tables[TARGETS], name, declared.columns[name])


def _domain(nodes: "Nodes") -> Document:
    """Return the values of a redistributed column, and the subdomains of all targets."""
    published = nodes.subdomains
    return {
        "values": [json_value(value) for value in nodes.values.to_pylist()],
        "order": nodes.order.tolist(),
        "first": published.first.tolist(),
        "last": published.last.tolist(),
        "parent": _parents(published),
        "weight": np.concatenate([t.weight for t in published.targets]).tolist(),
    }


def _aims(table: pa.Table) -> np.ndarray:
    """Return the target of each group (int64)."""
    order = stable_order(as_integers(table[GROUP_ID]))
    target: np.ndarray = as_integers(table[TARGET])[order]
    return target


def _parents(published: "PublishedTargets") -> list[int]:
    """Return the node above each node of all targets, -1 for those of whole domains."""
    parent = np.concatenate([target.parent for target in published.targets])
    first = np.arange(len(parent)) - published.node
    above: list[int] = np.where(parent < 0, -1, parent + first).tolist()
    return above


_TABLES: Mapping[str, Callable[[Tables, Declared], Document]] = {
    "rows": _rows_of_groups,
    "columns": _columns_apart,
    "labels": _labelled_rows,
    "subdomains": _rows_and_subdomains,
    "apart": _people_and_rows,
}


def _rows_in_files(tables: Tables, declared: Declared) -> Document:
    """Name the files with exact rows and groups, and with the values of groups."""
    rows = relations(declared).rows
    exact = [n for n in tables[rows].column_names if not _is_sensitive(n, declared)]
    return {"rows": _files([rows], exact), **_values_in_files(tables, declared)}


def _values_in_files(tables: Tables, declared: Declared) -> Document:
    """Name the files with the values of groups in each set of sensitive columns."""
    named = []
    for columns in tables_of_counts(declared):
        of_columns = [n for n, table in tables.items() if columns[0] in table.column_names]
        counted = COUNT in tables[of_columns[0]].column_names
        names = [GROUP_ID, *columns, *([COUNT] if counted else [])]
        named.append(_files(of_columns, names, **({} if counted else {"once": True})))
    return {"values": named}


def _columns_in_files(tables: Tables, declared: Declared) -> Document:
    """Name the files with the values that groups admit, and with their sensitive values."""
    from sfumato.tasks.forms.ambiguous import table_of

    names = declared.names_with_roles("quasi-identifier")
    document = {
        "admitted": [_files([table_of(name)], [GROUP_ID, name]) for name in names],
        **_marginals(declared, lambda table, name: _files([table], [name, COUNT])),
        **_values_in_files(tables, declared),
        **_rounds(declared),
    }
    if declared.is_composed:
        document["lineage"] = _files([LINEAGE], [VACANT_ROWS])
    return document


def _labels_in_files(tables: Tables, declared: Declared) -> Document:
    """Name the file with rows, and describe the values that each label admits."""
    names = declared.names_with_roles("quasi-identifier")
    return {
        "rows": _files([TABLE], list(declared.columns), labelled=names),
        "labels": _labels(tables[TABLE], declared),
    }


def _subdomains_in_files(tables: Tables, declared: Declared) -> Document:
    """Name the files with exact rows and with the subdomains of groups; describe all targets."""
    from sfumato.tasks.forms.targets import LOWER, UPPER

    (name,) = declared.names_with_roles("sensitive")
    (values_table,) = tables_of_counts(declared).values()
    rows = relations(declared).rows
    exact = [n for n in (GROUP_ID, *declared.columns) if n in tables[rows].column_names]
    ends = [LOWER, UPPER]
    return {
        "rows": _files([rows], exact),
        "shown": _files([values_table], [GROUP_ID, *ends, COUNT], like=dict.fromkeys(ends, name)),
        "aims": _files([AIMS], [GROUP_ID, TARGET]),
        "domain": _domain(_nodes(tables, declared)),
    }


def _people_and_rows_in_files(_: Tables, declared: Declared) -> Document:
    """Name the files with people, with related rows, and with whole numbers of groups."""
    (people, own), (related, values), (groups, numbers) = _two_tables(declared).items()
    facts = facts_of(declared)
    bundles = [[GROUP_ID, *names] for names in bundles_of_facts(declared)]
    return {
        **_names_of_tables(declared),
        "rows": _files([people], [name for name in own if name not in facts]),
        "values": [
            _files([related], values, once=True),
            *(_files([people], names, once=True) for names in bundles),
        ],
        "groups": _files([groups], numbers, like=dict.fromkeys(numbers, GROUP_ID)),
    }


def _files(tables: list[str], names: list[str], **more: Any) -> Document:
    return {"files": [f"./data/{table}.{TABLES}" for table in tables], "names": names, **more}


_FILES: Mapping[str, Callable[[Tables, Declared], Document]] = {
    "rows": _rows_in_files,
    "columns": _columns_in_files,
    "labels": _labels_in_files,
    "subdomains": _subdomains_in_files,
    "apart": _people_and_rows_in_files,
}
"""Descriptions of tables that stay in files."""
