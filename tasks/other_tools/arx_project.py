"""Projects of ARX (`.deid`): roles, hierarchies, privacy models and the suppression limit.

Source: `WorkerSave` and `WorkerLoad` of ARX 3.9 (`src/gui/.../gui/worker`), vocabulary 2.0. A
project is a ZIP archive with `metadata.xml` (versions), `project.xml` (name, separator),
`input/config.xml` (criteria, suppression limit, measure of loss), `input/definition.xml` (one
`assigment` per column) and `input/hierarchies/COLUMN.csv`. Its data (`data/*`) and its
serialized Java objects (`*.dat`) are never read, nor is what ARX computed (`output/*`,
`lattice.*`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.arx_criteria import promise_of
from sfumato.tasks.other_tools.arx_hierarchies import read_rows
from sfumato.tasks.other_tools.hostile import (
    Archive,
    Element,
    exact_number,
    open_archive,
    parse_xml,
)
from sfumato.tasks.other_tools.setup import (
    ForeignColumn,
    ForeignSetup,
    Omission,
    Rows,
    harmless_text,
    is_name,
    name_list,
)
from sfumato.tasks.schema.columns import ColumnType, Role

_TOOL = "ARX project"
_VOCABULARY = "2.0"
_MOST_COLUMNS = 2_000
_HIERARCHIES = "input/hierarchies/"
_ROLES: Mapping[str, tuple[Role, str]] = {
    "IDENTIFYING_ATTRIBUTE": ("identifier", "identifying in ARX"),
    "QUASI_IDENTIFYING_ATTRIBUTE": ("quasi-identifier", "quasi-identifying in ARX"),
    "SENSITIVE_ATTRIBUTE": ("sensitive", "sensitive in ARX"),
    "INSENSITIVE_ATTRIBUTE": ("insensitive", "insensitive in ARX"),
}
_TYPES: Mapping[str, ColumnType] = {
    "String": "string",
    "Ordinal": "string",
    "Integer": "integer",
    "Decimal": "decimal",
    "Date/Time": "date",
}
_METRICS = (
    ("Loss", "ncp"),
    ("Height", "height"),
    ("Monotonic precision", "precision"),
    ("Non-monotonic precision", "precision"),
    ("Average equivalence class size", "average-class-size"),
    ("Monotonic discernability", "discernibility"),
    ("Non-monotonic discernability", "discernibility"),
    ("Non-uniform entropy", "entropy"),
    ("Non-monotonic non-uniform entropy", "entropy"),
    ("Normalized non-uniform entropy", "entropy"),
    ("KL-Divergence", "kl"),
)
_ALL_BUT_NOTHING = Decimal("0.999999")
_DATES = {"yyyy": "%Y", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"}
_CLOCK = {"HH": "%H", "H": "%H", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S"}
_ALL = "All"  # what ARX writes where a level is not limited


@dataclass(frozen=True)
class _Config:
    """The settings of `config.xml` for the whole table.

    Attributes:
        criteria: the criteria in their words.
        limit: the largest share of rows that may be suppressed.
        metric: the measure of loss in ARX's words.
        weights: the columns whose weight in the measure is not that of the others.
        suppressed: the kinds of attributes of which suppressed rows lose their values.
    """

    criteria: tuple[str, ...]
    limit: str
    metric: str
    weights: tuple[str, ...]
    suppressed: tuple[str, ...]


def read_project(path: Path, file: str) -> ForeignSetup:
    """Return the set-up of an ARX project.

    Args:
        path: of the project.
        file: its name in errors.

    Raises:
        InputError: if it is no whole project of ARX, or exceeds a limit.
    """
    with open_archive(path, file) as archive:
        _require_known_vocabulary(archive, file)
        definition = "input/definition.xml"
        records = list(_records(parse_xml(archive.text(definition), f"{file}: {definition}")))
        _require_columns(records, f"{file}: {definition}")
        config = _config(parse_xml(archive.text("input/config.xml"), f"{file}: input/config.xml"))
        separator = _separator(archive, file)
        columns: dict[str, ForeignColumn] = {}
        omissions: list[Omission] = []
        for record in records:
            name = record["name"]
            columns[name] = _column(archive, file, record, separator, omissions)
        return _setup(columns, config, omissions)


def _require_known_vocabulary(archive: Archive, file: str) -> None:
    if "metadata.xml" not in archive.names:
        raise InputError(f"{file}: is a ZIP archive, but no project of ARX: no metadata.xml in it")
    called = f"{file}: metadata.xml"
    facts = dict(_leaves(parse_xml(archive.text("metadata.xml"), called)))
    if facts.get("vocabulary") != _VOCABULARY:
        vocabulary = harmless_text(facts.get("vocabulary", "none"), 20)
        raise InputError(
            f"{called}: has vocabulary {vocabulary}, and only {_VOCABULARY} is read. Open "
            "the project in a current ARX, and save it again"
        )


def _leaves(elements: Sequence[Element]) -> Iterator[tuple[str, str]]:
    """Yield the last tag of each path, and the text."""
    return ((path[-1], text) for path, text in elements)


def _separator(archive: Archive, file: str) -> str | None:
    """Return the separator of the project's CSV files; None if it does not say."""
    if "project.xml" not in archive.names:
        return None
    facts = dict(_leaves(parse_xml(archive.text("project.xml"), f"{file}: project.xml")))
    written = facts.get("separator", "")
    return written if len(written) == 1 and written not in '"\\' else None


def _records(elements: Sequence[Element]) -> Iterator[dict[str, str]]:
    """Yield the assignments of a definition, each as its texts by tag."""
    record: dict[str, str] | None = None
    for path, text in elements:
        if path[-1] in ("assigment", "assignment"):
            if record is not None:
                yield record
            record = {}
        elif record is not None and len(path) > 1 and path[-2] in ("assigment", "assignment"):
            record.setdefault(path[-1], text)
    if record is not None:
        yield record


def _require_columns(records: Sequence[Mapping[str, str]], file: str) -> None:
    if not records:
        raise InputError(f"{file}: defines no column. Import data in ARX, and save the project")
    if len(records) > _MOST_COLUMNS:
        raise InputError(f"{file}: defines more than {_MOST_COLUMNS:,} columns")
    names = [record.get("name", "") for record in records]
    for number, name in enumerate(names, start=1):
        if not is_name(name):
            raise InputError(f"{file}: column {number} has no name that a column can have")
    if len(set(names)) < len(names):
        raise InputError(f"{file}: defines a column twice")


def _config(elements: Sequence[Element]) -> _Config:
    texts: dict[str, list[str]] = {}
    for name, text in _leaves(elements):
        texts.setdefault(name, []).append(text)

    def first(name: str, default: str = "") -> str:
        return texts.get(name, [default])[0]

    pairs = list(zip(texts.get("attribute", []), texts.get("weight", []), strict=False))
    usual = {weight for _, weight in pairs}
    return _Config(
        tuple(dict.fromkeys(texts.get("criterion", []))),
        first("relativeMaxOutliers", "0"),
        first("metric"),
        tuple(name for name, _ in pairs) if len(usual) > 1 else (),
        tuple(path for path in texts.get("type", [])),
    )


def _column(
    archive: Archive,
    file: str,
    record: Mapping[str, str],
    separator: str | None,
    omissions: list[Omission],
) -> ForeignColumn:
    """Return a column of the definition; add what is not taken over to the omissions."""
    name = record["name"]
    role, reason = _ROLES.get(record.get("type", ""), _ROLES["IDENTIFYING_ATTRIBUTE"])
    if record.get("type") not in _ROLES:
        kind = harmless_text(record.get("type", "none"), 40)
        omissions.append(
            Omission(f"the attribute type {kind} of {name!r}", "is not known; it is not published")
        )
    if record.get("response") == "true":
        omissions.append(_no(name, "is the target of predictions", "releases have no such target"))
    omissions += _of_levels(name, record)
    if "microaggregationFunction" in record:
        omissions.append(
            _no(
                name,
                "is microaggregated in ARX",
                "no form replaces values by means; its labels are those of its hierarchy",
            )
        )
    type_, written = _type(name, record, omissions)
    rows = _hierarchy(archive, file, name, separator, omissions)
    used = role == "quasi-identifier" or (rows is not None and _is_tree_needed(role))
    return ForeignColumn(
        role,
        reason,
        type_,
        written,
        rows if used else None,
        words="the one of ARX",
        bare=rows is None,
    )


def _is_tree_needed(role: Role) -> bool:
    """Decide whether a hierarchy means something: of a sensitive column it gives distances."""
    return role == "sensitive"


def _no(name: str, what: str, why: str) -> Omission:
    return Omission(f"{name!r} {what}", why)


def _of_levels(name: str, record: Mapping[str, str]) -> Iterator[Omission]:
    """Yield the limits of a column's levels."""
    for key, words in (("min", "least"), ("max", "highest")):
        if record.get(key, _ALL) != _ALL:
            level = harmless_text(record[key], 20)
            yield _no(
                name,
                f"has {level} as {words} level",
                "levels are not limited here. Leave levels out of its hierarchy's file instead",
            )


def _type(
    name: str, record: Mapping[str, str], omissions: list[Omission]
) -> tuple[ColumnType | None, str | None]:
    """Return the type of a column, and the format of its dates."""
    type_ = _TYPES.get(record.get("datatype", ""))
    written = record.get("format", "")
    if record.get("datatype") == "Ordinal":
        omissions.append(
            _no(name, "has an order of its values", "write it as `hierarchy: {ordered: […]}`")
        )
    if type_ == "decimal" and written:
        omissions.append(
            _no(
                name,
                "has a format of numbers",
                "write `source.decimal` and `source.csv.thousands` for it",
            )
        )
    if type_ != "date":
        return type_, None
    date_format = _date_format(written)
    if date_format is None:
        omissions.append(
            _no(name, "has a format of dates that is not known here", "write source.date-formats")
        )
        return None, None
    return ("timestamp" if "%H" in date_format else "date"), date_format


def _date_format(written: str) -> str | None:
    """Return a format of Java as a spec writes it, None for one that it cannot write.

    >>> _date_format("dd.MM.yyyy HH:mm"), _date_format("EEE, d MMM yy")
    ('%d.%m.%Y %H:%M', None)
    """
    parts = re.findall(r"[A-Za-z]+|[^A-Za-z]", written[:40])
    letters = _DATES | _CLOCK
    if any((part.isalpha() and part not in letters) or part in "'%" for part in parts):
        return None
    codes = [letters[part] for part in parts if part.isalpha()]
    if len(set(codes)) < len(codes) or not {"%Y", "%m", "%d"} <= set(codes):
        return None
    return "".join(letters.get(part, part) for part in parts)


def _hierarchy(
    archive: Archive,
    file: str,
    name: str,
    separator: str | None,
    omissions: list[Omission],
) -> Rows | None:
    """Return the hierarchy of a column; one that does not nest is an omission."""
    entry = f"{_HIERARCHIES}{name}.csv"
    if entry not in archive.names:
        return None
    text = archive.text(entry)
    try:
        rows, _ = read_rows(text, f"{file}: {entry}", separator)
    except InputError as error:
        fault = str(error).removeprefix(f"{file}: {entry}: ")
        omissions.append(Omission(f"the hierarchy of {name!r}", f"{fault}. Write it anew"))
        return None
    return rows


def _setup(
    columns: Mapping[str, ForeignColumn], config: _Config, omissions: list[Omission]
) -> ForeignSetup:
    promises, without = _promises(columns, config)
    partition, notes = _partition(config)
    protects_values = any(column.role == "sensitive" for column in columns.values())
    form: dict[str, Any] = {"method": "generalized"}
    if not protects_values:
        form["protects"] = "identities"
    with_rows = [name for name, column in columns.items() if column.rows is not None]
    changes = [f"roles of {len(columns)} columns"]
    changes += [f"hierarchies of {name_list(with_rows)}"] if with_rows else []
    changes += [_words_on(promise) for promise in promises]
    changes.append(f"suppression limit {partition['suppression']}, as the partition's budget")
    return ForeignSetup(
        _TOOL,
        columns,
        tuple(promises),
        partition,
        form,
        changes=tuple(changes),
        omissions=(*omissions, *without, *notes, *_ALWAYS),
    )


_ALWAYS = (
    Omission(
        "suppressed rows as rows of *",
        "suppressed rows are left out here. To show them, write `suppressed: star` under partition",
    ),
    Omission(
        "the data, the results and the serialized parts of the project",
        "they are never read. The table is the one that --data names",
    ),
)


def _words_on(promise: Mapping[str, Any]) -> str:
    """Return a promise in words for a message.

    >>> _words_on({"model": "t-closeness", "t": 0.2, "sensitive": "illness"})
    "t-closeness with t 0.2 of 'illness'"
    """
    skipped = ("model", "sensitive")
    values = ", ".join(f"{key} {value}" for key, value in promise.items() if key not in skipped)
    about = f" of {promise['sensitive']!r}" if "sensitive" in promise else ""
    return f"{promise['model']} with {values}{about}"


def _promises(
    columns: Mapping[str, ForeignColumn], config: _Config
) -> tuple[list[Mapping[str, Any]], list[Omission]]:
    """Return the promises, and the criteria that are none."""
    promises: list[Mapping[str, Any]] = []
    without: list[Omission] = []
    for criterion in config.criteria:
        match promise_of(criterion):
            case Omission() as omission:
                without.append(omission)
            case promise if _is_about_sensitive(promise, columns):
                promises.append(promise)
            case _:
                title = harmless_text(criterion)
                without.append(Omission(title, "its column is not sensitive in the project"))
    return promises, without


def _is_about_sensitive(promise: Mapping[str, Any], columns: Mapping[str, ForeignColumn]) -> bool:
    name = promise.get("sensitive")
    return name is None or (name in columns and columns[name].role == "sensitive")


def _partition(config: _Config) -> tuple[dict[str, Any], list[Omission]]:
    """Return the keys of the partition, and what they leave out."""
    notes = []
    limit = exact_number(config.limit)
    if limit is None or not 0 <= limit <= 1:
        notes.append(
            Omission("the suppression limit", "is no share between 0 and 1. The draft has 0")
        )
        limit = Decimal(0)
    if limit == 1:
        notes.append(
            Omission(
                "a suppression limit of 100 %",
                f"a budget here is below 1, so the draft has {_ALL_BUT_NOTHING}. In tables of "
                "fewer than a million rows both allow the same",
            )
        )
        limit = _ALL_BUT_NOTHING
    metric = next((ours for theirs, ours in _METRICS if config.metric.startswith(theirs)), None)
    measure = harmless_text(config.metric, 60)
    if metric is None:
        notes.append(Omission(f"the measure {measure!r}", "no partition has it; the draft has ncp"))
    elif metric != "height":
        notes.append(
            Omission(
                f"factors and the mean of the measure {measure!r}",
                f"the draft has {metric}, in which all columns count alike. Where ARX joins "
                "columns by another mean, it may prefer other levels",
            )
        )
    if config.weights:
        notes.append(
            Omission(
                "weights of attributes in the measure",
                "all columns count alike here, so other levels may be chosen",
            )
        )
    suppression = int(limit) if limit == limit.to_integral_value() else float(limit)
    settings = {"metric": metric or "ncp", "suppression": suppression}
    return {"method": "full-domain", **settings}, notes
