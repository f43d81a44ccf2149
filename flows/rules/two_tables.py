"""A spec of two related tables as one spec with the columns of both.

`tables` names a table of people and one of rows that belong to them. The spec that everything else
reads has the columns of both, the source of the people, and the related table beside it.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from sfumato.tasks.schema.codings import KEYS

_TABLE = frozenset({"source", "columns"})
_PEOPLE = frozenset({*_TABLE, "sensitive"})
_RELATED = frozenset({*_TABLE, "of", "show", "numbers", "maximum", "orphans"})
_ONLY = {"show": "apart"}
_WORDS_OF_ONLY = ("related rows are shown apart from their people, in the same groups",)
Numbers = Literal["hidden", "shuffled", "published"]
_WORDS_OF_NUMBERS = (
    "how many rows each person has: in no file (hidden), in any order within the group (shuffled), "
    "or beside the person (published)"
)
_COUNT = "COUNT(*)"
_ABOUT_NUMBERS = frozenset({"people", "related-l-diversity"})
"""Promises that say whether an adversary knows numbers of rows."""
_OF_GROUPS = "of-groups"
_WORDS_OF_MAXIMUM = (
    "the most rows of one person are published for each group. With `at-most`, people with more "
    "rows are left out, and a person who is known to be missing may be one of them"
)
_TOGETHER = {
    "enum": ["independent", "together"],
    "default": "independent",
    "description": "together keeps the facts of one person in one row (table of people)",
}
_INSTEAD = ("source", "columns", "unit", "form", "related")
_WHY_NOT = {
    "unit": "the key names people",
    "form": "two tables have one form, apart",
    "related": "is no key here",
}
APART = "apart"


def as_one_spec(document: Any) -> Any:
    """Return a spec with `tables` as one with the columns of both; anything else unchanged.

    Raises:
        ValueError: where the two tables cannot be told apart, or their columns clash.
    """
    if not isinstance(document, Mapping) or "tables" not in document:
        return document
    people, related = _names_of_tables(document["tables"])
    for key in _INSTEAD:
        if key in document:
            raise ValueError(
                f"{key}: {_WHY_NOT.get(key, 'is written for each table')}. Leave it out"
            )
    tables = document["tables"]
    of_people, of_related = tables[people], tables[related]
    key = _key(tables, people, related)
    cap = _cap(related, of_related.get("maximum", _OF_GROUPS))
    rows = {name: column for name, column in of_related["columns"].items() if name != key}
    if clash := sorted(rows.keys() & of_people["columns"].keys()):
        raise ValueError(
            f"tables.{related}.columns.{clash[0]}: {people} has a column of this name. Give it "
            f"another one: `source.rename: {{{clash[0]}: {related}_{clash[0]}}}`"
        )
    numbers = _numbers(related, of_related.get("numbers", "hidden"))
    of_people = _with_number(of_people, rows, numbers, related, document.get("promises"))
    published = [n for n, column in rows.items() if _role(column) not in ("drop", "identifier")]
    form = {
        "method": APART,
        "people": people,
        "related": related,
        "key": key,
        "columns": published,
        **({} if cap is None else {"cap": cap}),
        **({"sensitive": of_people["sensitive"]} if "sensitive" in of_people else {}),
    }
    without = {name: value for name, value in document.items() if name != "tables"}
    if numbers == "published" and isinstance(without.get("promises"), list):
        without["promises"] = [_against_known(promise) for promise in without["promises"]]
    orphans = {"orphans": of_related["orphans"]} if "orphans" in of_related else {}
    return {
        **without,
        "source": of_people["source"],
        "columns": {**of_people["columns"], **rows},
        "unit": key,
        "form": form,
        "related": {
            "name": related,
            "source": of_related["source"],
            "key": key,
            "columns": list(rows),
            **orphans,
            "cap": cap,
        },
    }


def _numbers(related: str, numbers: Any) -> Numbers:
    """Return how numbers of rows are shown.

    Raises:
        ValueError: where it is written in another way.
    """
    for way in get_args(Numbers):
        if numbers == way:
            return way  # type: ignore[no-any-return]
    raise ValueError(f"tables.{related}.numbers: must be hidden, shuffled or published")


def _with_number(
    people: Mapping[str, Any],
    rows: Mapping[str, Any],
    numbers: Numbers,
    related: str,
    promises: Any,
) -> Mapping[str, Any]:
    """Return the table of people with a column of each person's number of rows, if it is shown.

    Shuffled, it is a fact as any other; a fact that is this number is not added a second time.
    """
    role = {"published": "insensitive", "shuffled": "sensitive"}.get(numbers)
    columns = people["columns"]
    beside = [name for name, column in columns.items() if _is_number(column, "insensitive")]
    if beside and numbers != "published":
        raise ValueError(
            f"tables.{related}.numbers: must be published, because the column {beside[0]} is the "
            "number of rows beside each person. Write `numbers: published`, or give the column "
            "role sensitive"
        )
    if role is None or any(_is_number(column, role) for column in columns.values()):
        return people
    name = f"number_of_{related}"
    if name in columns or name in rows:
        raise ValueError(
            f"tables.{related}.numbers: the number of rows would be the column {name}, and a "
            f"table has a column of this name. Name it yourself, among the columns of people: "
            f"`times: {{role: {role}, type: integer, derive: {_COUNT}}}`"
        )
    column = {"role": role, "type": "integer", "derive": _COUNT}
    stated = [promise for promise in promises or () if isinstance(promise, Mapping)]
    if role == "sensitive" and all(promise.get("sensitive") != name for promise in stated):
        column["unprotected"] = "numbers: shuffled"
    return {**people, "columns": {**columns, name: column}}


def _is_number(column: Any, role: str) -> bool:
    """Return True if a column of people is their number of rows as it is, with a role."""
    if _role(column) != role or not isinstance(column.get("derive"), str):
        return False
    if any(key in column for key in KEYS):  # codings change its values
        return False
    return "".join(column["derive"].split()).upper() == _COUNT


def _against_known(promise: Any) -> Any:
    """Return a promise that is kept against those who know numbers of rows, unless it says so."""
    if not isinstance(promise, Mapping) or promise.get("model") not in _ABOUT_NUMBERS:
        return promise
    return {"numbers": "known", **promise}


def with_tables(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a spec of one table as that of a spec of one or two tables.

    Args:
        schema: the schema of `ReleaseSpec`, whose `related` stands for what is under `tables`.
    """
    parts = {key: value for key, value in schema["properties"].items() if key != "related"}
    definitions = dict(schema["$defs"])
    described = definitions.pop("RelatedSource")["properties"]
    table = _schema_of_table(parts["source"], parts["columns"], described["orphans"])
    tables = {
        "type": "object",
        "minProperties": 2,
        "maxProperties": 2,
        "additionalProperties": {"$ref": "#/$defs/TableOfTwo"},
        "description": "in place of source, columns and form: people, and rows that belong to them",
    }
    either = [key for key in schema["required"] if key in _INSTEAD]
    return {
        **schema,
        "$defs": {**definitions, "TableOfTwo": table},
        "properties": {**parts, "tables": tables},
        "required": [key for key in schema["required"] if key not in either],
        "if": {"required": ["tables"]},
        "then": {"not": {"anyOf": [{"required": [key]} for key in _INSTEAD]}},
        "else": {"required": either},
    }


def _schema_of_table(source: Any, columns: Any, orphans: Any) -> dict[str, Any]:
    """Return the schema of one of two tables, made of those of its keys."""
    key = {
        "title": "KeyColumn",
        "type": "object",
        "properties": {"role": {"const": "key"}},
        "required": ["role"],
        "additionalProperties": False,
        "description": "The column by which related rows name people.",
    }
    only = {
        name: {"const": value, "default": value, "description": words}
        for (name, value), words in zip(_ONLY.items(), _WORDS_OF_ONLY, strict=True)
    }
    kinds = [columns["additionalProperties"], key]
    return {
        "title": "TableOfTwo",
        "type": "object",
        "properties": {
            "of": {"type": "string", "description": "the table of people to whom the rows belong"},
            "source": source,
            "columns": {**columns, "additionalProperties": {"anyOf": kinds}},
            **only,
            "numbers": {
                "enum": list(get_args(Numbers)),
                "default": "hidden",
                "description": _WORDS_OF_NUMBERS,
            },
            "maximum": _schema_of_maximum(),
            "orphans": orphans,
            "sensitive": dict(_TOGETHER),
        },
        "required": sorted(_TABLE),
        "additionalProperties": False,
        "dependentRequired": {name: ["of"] for name in sorted(_RELATED - _TABLE - {"of"})},
        "dependentSchemas": {"of": {"not": {"required": ["sensitive"]}}},
        "description": "A table of people, or one of rows that belong to them.",
    }


def _schema_of_maximum() -> dict[str, Any]:
    most = {"type": "integer", "minimum": 1, "description": "the most rows of a person"}
    capped = {
        "title": "LargestNumberOfRows",
        "type": "object",
        "properties": {"at-most": most, "else": {"const": "leave-out"}},
        "required": ["at-most", "else"],
        "additionalProperties": False,
    }
    either = [{"const": _OF_GROUPS}, capped]
    return {"anyOf": either, "default": _OF_GROUPS, "description": _WORDS_OF_MAXIMUM}


def changes_of_tables(document: Any, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return changes of a spec's source as changes of its table of people, if it has two tables.

    Raises:
        ValueError: where the two tables cannot be told apart.
    """
    if "tables" not in document or "source" not in changes:
        return changes
    people, _ = _names_of_tables(document["tables"])
    others = {key: value for key, value in changes.items() if key != "source"}
    return {**others, "tables": {people: {"source": changes["source"]}}}


def without_tables(document: Any) -> Any:
    """Return a spec as one of one table where it can be; otherwise unchanged."""
    try:
        return as_one_spec(document)
    except ValueError:
        return document


def faults_in_tables(faults: str, document: Any) -> str:
    """Return faults of a spec with the places that they have under `tables`.

    Args:
        faults: each with its place in `as_one_spec` of the document, after `; ` or first.
        document: as it is written.
    """
    if without_tables(document) is document:
        return faults
    people, related = _names_of_tables(document["tables"])
    places = {
        "source.": f"tables.{people}.source.",
        "related.source.": f"tables.{related}.source.",
        "related.orphans": f"tables.{related}.orphans",
        "form.columns:": f"tables.{related}.columns:",
        "form.people:": f"tables.{people}:",
        "form.sensitive:": f"tables.{people}.sensitive:",
        "form.related:": f"tables.{related}:",
    }
    key = _key(document["tables"], people, related)
    for name in (people, related):
        for column in document["tables"][name]["columns"]:
            if column != key or name == people:
                for end in ".:":
                    place = f"columns.{column}{end}"
                    places[place] = f"tables.{name}.{place}"
    begins = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    return re.sub(rf"(^|; )({begins})", lambda place: place[1] + places[place[2]], faults)


def _names_of_tables(tables: Any) -> tuple[str, str]:
    """Return the table of people and the related one.

    Raises:
        ValueError: where there are not exactly these two, or a key is none of theirs.
    """
    if not isinstance(tables, Mapping) or len(tables) != 2:
        raise ValueError(
            "tables: write two tables, one of people and one of rows that belong to them (of: NAME)"
        )
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise ValueError(f"tables.{name}: must be a mapping of keys")
    related = [name for name, table in tables.items() if "of" in table]
    if len(related) != 1:
        raise ValueError(
            "tables: exactly one table belongs to the other. Write `of: NAME` in the table of "
            "rows, with the name of the table of people"
        )
    (people,) = (name for name in tables if name != related[0])
    if tables[related[0]]["of"] != people:
        raise ValueError(f"tables.{related[0]}.of: must be {people}, the other table")
    for name, keys in ((people, _PEOPLE), (related[0], _RELATED)):
        _require_keys(name, tables[name], keys)
    return str(people), str(related[0])


def _require_keys(name: object, table: Mapping[str, Any], keys: frozenset[str]) -> None:
    for key in table:
        if key not in keys:
            raise ValueError(f"tables.{name}.{key}: is no key here. Use {', '.join(sorted(keys))}")
    for key in sorted(_TABLE):
        if not isinstance(table.get(key), Mapping):
            raise ValueError(f"tables.{name}.{key}: must be a mapping of keys")
    for key, value in _ONLY.items():
        if key in table and table[key] != value:
            raise ValueError(f"tables.{name}.{key}: must be {value!r}. There is no other way yet")


def _cap(related: str, maximum: Any) -> int | None:
    """Return the most rows of a person whose rows are published; None if there is no such limit.

    Raises:
        ValueError: where the maximum is written in another way.
    """
    if maximum == _OF_GROUPS:
        return None
    most = maximum.get("at-most") if isinstance(maximum, Mapping) else None
    is_whole = isinstance(most, int) and not isinstance(most, bool) and most >= 1
    if is_whole and maximum == {"at-most": most, "else": "leave-out"}:
        return most
    raise ValueError(
        f"tables.{related}.maximum: must be {_OF_GROUPS}, or `{{at-most: 6, else: leave-out}}` "
        "with the most rows of a person who is not left out"
    )


def _key(tables: Mapping[str, Any], people: str, related: str) -> str:
    """Return the column by which related rows name people.

    Raises:
        ValueError: where the related table has none, or it is not the unit of the people.
    """
    columns = tables[related]["columns"]
    keys = [name for name, column in columns.items() if _role(column) == "key"]
    if len(keys) != 1:
        raise ValueError(
            f"tables.{related}.columns: exactly one column names the person of each row. Give it "
            "`role: key`"
        )
    if len(columns[keys[0]]) > 1:
        raise ValueError(f"tables.{related}.columns.{keys[0]}: a key has no key but `role`")
    unit = tables[people]["columns"].get(keys[0])
    if _role(unit) != "identifier" or unit.get("unit") is not True:
        raise ValueError(
            f"tables.{people}.columns.{keys[0]}: must be the identifier of people, `{{role: "
            f"identifier, unit: true}}`, because {related} names them by it"
        )
    return str(keys[0])


def _role(column: Any) -> Any:
    return column.get("role") if isinstance(column, Mapping) else None
