"""datapackage.json: a Frictionless Data Package that lists every file and every promise.

Source: Data Package 2.0, https://datapackage.org (Data Resource, Table Schema, Table Dialect).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.schema.files import regular, sha256_of
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import GROUP_ID, safe_name
from sfumato.tasks.schema.stated import CodeLabels, PublishedWords, mail_address, web_address
from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE
from sfumato.tasks.terms.tables import FORMULA, schemas
from sfumato.tasks.terms.terms import Declared, RowCounts
from sfumato.tasks.verification.integrity import digest

MEDIA = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".sql": "application/sql",
}
"""The media types of published files, by their endings."""
_OF_SEALING = {"observed", "digest"}  # follow from the tables and the manifest
_NOT_AS_WRITTEN = "is not as a manifest states it. The release is damaged or was changed"
_TIME = "%Y-%m-%d %H:%M:%S.%f"  # as Arrow writes times into CSV files
_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"


def resources(directory: Path, paths: Sequence[Path], declared: Declared) -> list[dict[str, Any]]:
    """Describe files of a release directory, whose paths are relative to it."""
    tables, names = schemas(declared), _names(paths, declared)
    described = tells("schemas", declared.software)
    listed = []
    for path, name in zip(paths, names, strict=True):
        resource = _file(directory, path, name)
        if path.parent.name == "data":
            fields = [_data_field(directory, path, field, declared) for field in tables[path.stem]]
            keys = _keys(path, declared, dict(zip(paths, names, strict=True)))
            resource |= {"type": "table", "schema": {"fields": fields, **keys}}
        elif described:
            resource |= _help_table(directory, path, declared)
        if described and path.suffix != ".parquet":
            resource["encoding"] = "utf-8"
        listed.append(resource)
    return listed


def _keys(path: Path, declared: Declared, names: Mapping[Path, str]) -> dict[str, Any]:
    """Return the key of the table of groups, or that of a table that refers to it, or nothing."""
    if not declared.has_related_rows or not tells("keys", declared.software):
        return {}
    from sfumato.tasks.forms.related.parameters import GROUPS

    if path.stem == GROUPS:
        return {"primaryKey": [GROUP_ID]}
    groups = names[path.with_stem(GROUPS)]
    reference = {"resource": groups, "fields": [GROUP_ID]}
    return {"foreignKeys": [{"fields": [GROUP_ID], "reference": reference}]}


def _file(directory: Path, path: Path, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "path": path.as_posix(),
        "format": path.suffix[1:],
        "mediatype": MEDIA[path.suffix],
        "bytes": (directory / path).stat().st_size,
        "hash": f"sha256:{sha256_of(directory / path)}",
    }


def _names(paths: Iterable[Path], declared: Declared) -> list[str]:
    """Return a name for each file, made of its whole path if two files have the same name."""
    short = [path.name.replace(".", "-") for path in paths]
    if not tells("schemas", declared.software):
        return short
    times = Counter(short)
    whole = ("-".join(path.parts).replace(".", "-") for path in paths)
    return [long if times[name] > 1 else name for name, long in zip(short, whole, strict=True)]


def _data_field(
    directory: Path, path: Path, arrow_field: pa.Field, declared: Declared
) -> dict[str, Any]:
    words, field = declared.words, _field(arrow_field)
    if arrow_field.name in words.columns:
        field["description"] = words.columns[arrow_field.name]
    if path.suffix == ".csv" and pa.types.is_timestamp(arrow_field.type):
        field |= {"format": _TIME} if tells("schemas", declared.software) else {}
    if arrow_field.name in words.labels:
        field |= _categories(
            directory / path, arrow_field, words.labels[arrow_field.name], declared
        )
    if not arrow_field.nullable:
        field["constraints"] = {"required": True}
    return field


def _categories(
    place: Path, arrow_field: pa.Field, labels: CodeLabels, declared: Declared
) -> Mapping[str, Any]:
    """Return the codes of a field that has no other values: categories exclude all others."""
    whole = pa.types.is_integer(arrow_field.type)
    if not (whole or pa.types.is_string(arrow_field.type)):
        return {}
    quoted = place.suffix == ".csv" and declared.csv.formulas == "quote" and not whole
    if quoted and any(re.match(FORMULA, code) for code in labels.codes):
        return {}
    values = pq.read_table(regular(place.with_suffix(".parquet")), columns=[arrow_field.name])[
        arrow_field.name
    ]
    standing = pc.cast(pc.unique(values), pa.string()).to_pylist()
    if not {*standing} - {None} <= {*labels.codes}:
        return {}
    return {
        "categories": [
            {"value": int(code) if whole else code, "label": label}
            for code, label in sorted(labels.codes.items())
        ]
    }


def _schema_of(file: Path) -> dict[str, Any]:
    """Return the schema of a Parquet file; {} for a damaged file, which no check lets pass."""
    try:
        fields = [_field(field) for field in pq.read_schema(regular(file))]
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        return {}
    return {"type": "table", "schema": {"fields": fields}}


def _help_table(directory: Path, path: Path, declared: Declared) -> dict[str, Any]:
    """Return the schema of a table beside the data: of its file, or of a hierarchy's levels."""
    if path.suffix == ".parquet":
        return _schema_of(directory / path)
    if path.parent.name != "hierarchies":
        return {}
    rows = next(
        hierarchy for c, hierarchy in declared.hierarchies.items() if safe_name(c) == path.stem
    )
    levels = len(rows[0]) if isinstance(rows, tuple) else 0
    names = ["value", *(f"level {n}" for n in range(1, levels))]
    return {
        "type": "table",
        "dialect": {"header": False},
        "schema": {"fields": [{"name": name, "type": "string"} for name in names]},
    }


def _field(arrow_field: pa.Field) -> dict[str, Any]:
    return {"name": arrow_field.name, "type": _frictionless(arrow_field.type)}


def _frictionless(type_: pa.DataType) -> str:
    if pa.types.is_integer(type_):
        return "integer"
    if pa.types.is_decimal(type_) or pa.types.is_floating(type_):
        return "number"
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_timestamp(type_):
        return "datetime"
    return "boolean" if pa.types.is_boolean(type_) else "string"


def manifest(directory: Path, declared: Declared, observed: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe every file in a release directory, and seal the description with its digest."""
    document: dict[str, Any] = {
        "$schema": _PROFILE,
        "name": declared.name,
        "title": declared.title,
        **_package_words(declared.words),
        "resources": resources(directory, files(directory), declared),
        "sfumato": {
            **declaration(declared),
            "observed": observed,
            "digest": "",
        },
    }
    document["sfumato"]["digest"] = digest(document)
    return document


def declaration(declared: Declared) -> dict[str, Any]:
    """Return the terms and statements of a release as its manifest has them, with their format."""
    return {
        **({"format": declared.format} if declared.format else {}),
        **declared.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def require_declaration(declared: Declared, stated: Mapping[str, Any]) -> None:
    """Make sure that a manifest states its declaration in the one way in which it is written.

    Args:
        declared: the declaration that was read.
        stated: the object of the manifest from which it was read.

    Raises:
        PromiseError: naming the first key that is unknown, missing, at its default, or has a value
            that is written otherwise; or where the format is not the lowest that has all keys.
    """
    written = declaration(declared)
    for key in sorted((written.keys() | stated.keys()) - _OF_SEALING):
        if key not in stated or key not in written or stated[key] != written[key]:
            rule = "is not the lowest that has its keys" if key == "format" else _NOT_AS_WRITTEN
            raise PromiseError(f"{MANIFEST}: {key} {rule}")


def files(directory: Path) -> list[Path]:
    """Return every file of a release except its manifest and signature, relative and sorted."""
    paths = {path.relative_to(directory) for path in directory.rglob("*") if not path.is_dir()}
    return sorted(paths - {Path(MANIFEST), Path(SIGNATURE)}, key=Path.as_posix)


def _package_words(words: PublishedWords) -> dict[str, Any]:
    """Return words as in a Data Package: `description`, `licenses` and `contributors`."""
    properties: dict[str, Any] = (
        {} if words.description is None else {"description": words.description}
    )
    if words.licence is not None:
        key = "path" if web_address(words.licence) else "name"
        properties["licenses"] = [{key: words.licence}]
    contributors = []
    if words.publisher is not None:
        contributors.append({"title": words.publisher, "roles": ["publisher"]})
    if words.contact is not None:
        contributors.append({**_contact(words.contact), "roles": ["contact"]})
    return properties | ({"contributors": contributors} if contributors else {})


def _contact(text: str) -> dict[str, str]:
    if mail_address(text):
        return {"title": text, "email": text}
    return {"title": text, "path": text} if web_address(text) else {"title": text}


def require_counts(rows: RowCounts) -> None:
    """Make sure that rows were published, or left out, as many as were read.

    Raises:
        PromiseError: where row counts contradict each other.
    """
    lost = rows.dropped_by_filter + rows.dropped_for_nulls + rows.dropped_as_repeats
    lost += rows.suppressed + rows.not_represented_versions
    if min(rows.model_dump().values()) < 0 or rows.read - lost != rows.published:
        raise PromiseError(f"{MANIFEST}: its row counts contradict each other")


def _require_capped(declared: Declared, tables: Tables) -> None:
    """Make sure that nobody has more related rows than the form declares.

    Raises:
        PromiseError: where somebody does.
    """
    cap = declared.form.most_related_rows
    if cap is None:
        return
    from sfumato.tasks.forms.related.parameters import GROUPS, MOST

    most = pc.max(tables[GROUPS][MOST]).as_py()
    if most > cap:
        raise PromiseError(f"{MANIFEST}: form.cap is {cap}, but {GROUPS} has {MOST} of {most}")


def require_related(declared: Declared, tables: Tables) -> None:
    """Make sure that a release says what became of related rows if it has some, and only then.

    Raises:
        PromiseError: where its counts, or the columns of the related table, differ from the tables.
    """
    counts, form = declared.related_rows, declared.form
    if counts is not None or any(column.derive for column in declared.columns.values()):
        from sfumato.tasks.forms.related.facts import require_stated_facts  # few have such tables

        require_stated_facts(declared.columns, form.related_columns, declared.promises)
    if (counts is None) == declared.has_related_rows:
        raise PromiseError(f"{MANIFEST}: related_rows does not fit the form {form.method}")
    if counts is None:
        return
    if counts.published != tables[form.related_table].num_rows:
        raise PromiseError(f"{MANIFEST}: its counts of related rows differ from the tables")
    _require_capped(declared, tables)
    if missing := [name for name in form.related_columns if name not in declared.columns]:
        raise PromiseError(f"{MANIFEST}: form.columns names {missing[0]!r}, which is no column")
