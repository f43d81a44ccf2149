"""The step of hierarchies: levels with their counts, cut points, groups of values, and imports."""

import csv
import io
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.workbench.counts import CountedTable
from sfumato.flows.workbench.desk import hierarchy_files
from sfumato.flows.workbench.visit import Visit
from sfumato.flows.workbench.yaml_edits import flow_text, with_value
from sfumato.tasks.other_tools.arx_hierarchies import read_rows
from sfumato.tasks.schema.files import read_text
from sfumato.tasks.schema.hierarchy import PERIODS, ROOT, Hierarchy
from sfumato.tasks.schema.names import safe_name

_MOST_LABELS, _MOST_VALUES, _MOST_LEAVES = 60, 120, 20_000
_MOST_BYTES = 1 << 24
_MOST_RANGES = 100
_DIGITS = 9  # of a number in an address
_NICE = 5  # ends of a range of numbers are rounded outwards to its multiples
Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class ShownHierarchy:
    """A quasi-identifier with its hierarchy as the page shows them.

    Attributes:
        name: the name of the column.
        type: its type.
        written: its hierarchy as the spec writes it; empty for none.
        widths: the widths of its intervals, or the lengths of its prefixes, as a text.
        height: the number of levels above the values.
        levels: the labels with their rows, by level from 1.
        more: the number of labels that a level has beyond the listed ones.
        values: its values with their rows and their group at level 1, if they are few.
        text: the content of its file.
        cuts: the cut points of each level, a line each, if it is a file of numbers.
        fault: why the hierarchy is refused, in words.
    """

    name: str
    type: str
    written: str = ""
    widths: str = ""
    height: int = 0
    levels: Sequence[Sequence[tuple[str, int]]] = ()
    more: Sequence[int] = ()
    values: Sequence[tuple[str, int, str]] = ()
    text: str = ""
    cuts: str = ""
    fault: str = ""


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: each quasi-identifier, and groups at chosen levels."""
    table, uncounted = visit.table_or_fault()
    written = visit.spec.document.get("columns") or {}
    columns_by_name = {
        n: keys for n, keys in written.items() if keys.get("role") == "quasi-identifier"
    }
    columns = [_hierarchy_of(visit, table, name, keys) for name, keys in columns_by_name.items()]
    return {
        "columns": columns,
        "counting": visit.progress_of(table, uncounted),
        "uncounted": uncounted,
        "periods": list(PERIODS),
        "files": visit.bench.desk.files((".csv",)),
        "combined": None if table is None else _groups_at_levels(visit, table, columns),
    }


def _hierarchy_of(
    visit: Visit, table: CountedTable | None, name: str, keys: Mapping[str, Any]
) -> Any:
    rule, kind = keys.get("hierarchy"), str(keys.get("type", "string"))
    file = hierarchy_files(visit.spec.document, visit.spec.path).get(name)
    fields: dict[str, Any] = {"name": name, "type": kind}
    if rule is not None:
        fields["written"] = flow_text(rule)
    if isinstance(rule, Mapping):
        numbers = rule.get("intervals") or rule.get("prefixes") or ()
        fields["widths"] = ", ".join(map(str, numbers))
    if file is not None and file.is_file():
        fields["text"] = read_text(file, _MOST_BYTES)
    if table is not None and table.rows.has(name):
        try:
            fields |= _counts_of(table, name)
        except SfumatoError as error:
            fields["fault"] = str(error)
    return ShownHierarchy(**fields)


def _counts_of(table: CountedTable, name: str) -> dict[str, Any]:
    """Return the labels of a column with their rows, by level, and its values if they are few."""
    hierarchy = table.hierarchies.get(name)
    height = 0 if hierarchy is None else hierarchy.height
    levels = [list(table.rows_by_label(name, level).items()) for level in range(1, height + 1)]
    values = table.rows_by_label(name, 0)
    groups = {
        value: hierarchy.generalize(value, 1)
        for value in values
        if hierarchy is not None and value in hierarchy and height > 1
    }
    return {
        "height": height,
        "levels": [labels[:_MOST_LABELS] for labels in levels],
        "more": [max(len(labels) - _MOST_LABELS, 0) for labels in levels],
        "values": [(value, rows, groups.get(value, "")) for value, rows in values.items()]
        if len(values) <= _MOST_VALUES
        else (),
        "cuts": "" if hierarchy is None else _cuts_in(hierarchy),
    }


def _cuts_in(hierarchy: Hierarchy) -> str:
    """Return the cut points of a hierarchy of whole numbers, a line for each level."""
    try:
        leaves = [int(leaf) for leaf in hierarchy.leaves]
    except ValueError:
        return ""
    lines = []
    for level in range(1, hierarchy.height):
        labels = hierarchy.level(level)
        pairs = zip(leaves, labels, [None, *labels], strict=False)
        lines.append(", ".join(str(leaf) for leaf, label, before in pairs if label != before))
    return "\n".join(lines)


def _groups_at_levels(visit: Visit, table: CountedTable, columns: Sequence[Any]) -> dict[str, Any]:
    """Return the groups of people at the levels that were chosen, counted at once."""
    levels = {}
    for column in columns:
        text = visit.sent.get(f"level:{column.name}")
        if text.isdecimal():
            levels[column.name] = min(int(text[:_DIGITS]), column.height)
    size = visit.sent.get("size")
    least = int(size[:_DIGITS]) if size.isdecimal() else 5
    groups = table.groups(levels)
    return {
        "levels": levels,
        "size": least,
        "number": len(groups.sizes),
        "smallest": groups.smallest,
        "alone": groups.alone,
        "below": groups.rows_below(least),
        "rows": groups.rows,
    }


def write_widths(visit: Visit) -> None:
    """Write intervals of numbers, or prefixes of codes, as the hierarchy of a column."""
    name, kind = visit.sent.get("column"), visit.sent.get("kind")
    if kind not in ("intervals", "prefixes"):
        raise SpecError("there is no such hierarchy. Reload the page, and choose again")
    numbers = list(whole_numbers(visit.sent.get("widths")))
    visit.set({("columns", name, "hierarchy"): {kind: numbers}}, f"the hierarchy of {name}")


def write_periods(visit: Visit) -> None:
    """Write periods of dates as the hierarchy of a column."""
    name, periods = visit.sent.get("column"), visit.sent.all("period")
    visit.set({("columns", name, "hierarchy"): {"dates": periods}}, f"the hierarchy of {name}")


def write_cuts(visit: Visit) -> None:
    """Write ranges of whole numbers that begin at cut points, a line of these for each level.

    Raises:
        SpecError: where a cut point is no number, or the levels do not nest.
    """
    name = visit.sent.get("column")
    lines = [line for line in visit.sent.get("cuts").splitlines() if line.strip()]
    cuts = [sorted(set(whole_numbers(line))) for line in lines]
    _write_rows(visit, name, rows_of_cuts(_extent(visit, name), cuts))


def write_quantiles(visit: Visit) -> None:
    """Write ranges of whole numbers with about as many rows each, and half as many above them."""
    name, number = visit.sent.get("column"), visit.sent.number("number")
    if not 1 < number <= _MOST_RANGES:
        raise SpecError(f"{number} ranges: are not possible. Write 2 to {_MOST_RANGES}")
    low, high = _extent(visit, name)
    facts = _table(visit).facts[name]
    values = np.asarray(pc.cast(facts.column.values, pa.int64()))
    ends = np.cumsum(facts.rows)
    shares = [ends[-1] * part / number for part in range(1, number)]
    cuts = sorted({int(values[np.searchsorted(ends, share)]) for share in shares} - {low})
    levels = [cuts, cuts[1::2]] if len(cuts) > 1 else [cuts]
    _write_rows(visit, name, rows_of_cuts((low, high), levels))


def write_groups(visit: Visit) -> None:
    """Write groups of values: values with the same text beside them share a label."""
    name = visit.sent.get("column")
    table = _table(visit)
    if not table.rows.has(name):
        raise SpecError(f"{name}: is not a column of the table. Choose one that is")
    values = list(table.rows_by_label(name, 0))
    labels = {value: visit.sent.get(f"group:{value}").strip() or value for value in values}
    _write_rows(visit, name, [(value, label, ROOT) for value, label in labels.items()])


def write_text(visit: Visit) -> None:
    """Write the file of a hierarchy as the steward typed it: a line for each value."""
    name = visit.sent.get("column")
    rows, _ = read_rows(visit.sent.get("text"), f"the hierarchy of {name}")
    _write_rows(visit, name, list(rows))


def import_file(visit: Visit) -> None:
    """Take over a hierarchy that ARX wrote: a CSV file of the folder, a line for each value."""
    name, file = visit.sent.get("column"), visit.sent.get("file")
    rows, _ = read_rows(read_text(visit.bench.desk.path(file), _MOST_BYTES), file)
    _write_rows(visit, name, list(rows))


def remove(visit: Visit) -> None:
    """Remove the hierarchy of a column; its file stays."""
    name = visit.sent.get("column")
    visit.set({("columns", name, "hierarchy"): None}, f"the hierarchy of {name} removed")


def whole_numbers(text: str) -> Iterator[int]:
    """Yield the whole numbers of a text that separates them by commas.

    Raises:
        SpecError: where one is none.

    >>> list(whole_numbers("5, 10"))
    [5, 10]
    """
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            yield int(part)
        except ValueError:
            raise SpecError(f"{part!r} is not a whole number. Write 5, 10, 20") from None


def rows_of_cuts(extent: tuple[int, int], levels: Sequence[Sequence[int]]) -> Rows:
    """Return the rows of a hierarchy of whole numbers, whose ranges begin at cut points.

    Args:
        extent: the least and the largest number.
        levels: the cut points of each level, ascending.

    >>> rows_of_cuts((1, 4), [[3]])[1:3]
    [('2', '1 to 2', '*'), ('3', '3 to 4', '*')]
    """
    low, high = extent
    labels = [_range_labels(extent, [cut for cut in cuts if low < cut <= high]) for cuts in levels]
    return [
        (str(leaf), *(of_level[leaf - low] for of_level in labels), ROOT)
        for leaf in range(low, high + 1)
    ]


def _range_labels(extent: tuple[int, int], cuts: Sequence[int]) -> list[str]:
    """Return the label of each number of an extent."""
    low, high = extent
    starts, ends = [low, *cuts], [*(cut - 1 for cut in cuts), high]
    texts = [
        str(start) if start == end else f"{start} to {end}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return [texts[bisect_right(starts, leaf) - 1] for leaf in range(low, high + 1)]


def _table(visit: Visit) -> CountedTable:
    """Return the table of the spec.

    Raises:
        SpecError: while it is being counted.
    """
    table = visit.bench.counting.table(visit.spec, patience=60.0)
    if table is None:
        raise SpecError("the rows are still being counted. Try again in a moment")
    return table


def _extent(visit: Visit, name: str) -> tuple[int, int]:
    """Return the range of a column of whole numbers, its ends rounded outwards.

    Raises:
        SpecError: where the column has none, or the range is too long for a list.
    """
    table = _table(visit)
    facts = table.facts.get(name)
    if facts is None or facts.type != "integer" or not facts.distinct:
        raise SpecError(f"{name}: has no whole numbers. Use groups of values instead")
    ends = pc.min_max(pc.cast(facts.column.values, pa.int64())).as_py()
    low = ends["min"] // _NICE * _NICE
    high = ends["max"] // _NICE * _NICE + _NICE - 1
    if high - low > _MOST_LEAVES:
        raise SpecError(f"{name}: its range is too long for cut points. Use widths of intervals")
    return low, high


def _write_rows(visit: Visit, name: str, rows: Rows) -> None:
    """Write the file of a hierarchy, and name it in the spec if it is a new one.

    Raises:
        SpecError: where the labels do not nest.
    """
    try:
        Hierarchy(f"the hierarchy of {name}", tuple(rows))
    except SfumatoError as error:
        raise SpecError(str(error)) from None
    written = visit.spec.document.get("columns") or {}
    if name not in written:
        raise SpecError(f"{name}: is not a column of the spec. Choose one that is")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    file, place = hierarchy_files(visit.spec.document, visit.spec.path).get(name), None
    if file is None or not file.resolve().is_relative_to(visit.bench.desk.folder):
        place = _new_place(visit, name)
        file = visit.spec.path.parent / place
    files: dict[Path, str] = {file: text.getvalue()}
    if place is not None:
        rule = ["columns", name, "hierarchy"]
        files[visit.spec.path] = with_value(visit.spec.text, rule, {"file": place})
    visit.write(files, f"the hierarchy of {name}")


def _new_place(visit: Visit, name: str) -> str:
    """Return a path for a hierarchy beside the spec that no file has."""
    stem = f"hierarchies/{visit.spec.path.stem}-{safe_name(name)}"
    names = [f"{stem}.csv", *(f"{stem}-{number}.csv" for number in range(2, 100))]
    return next(n for n in names if not (visit.spec.path.parent / n).exists())


ACTIONS = {
    "widths": write_widths,
    "periods": write_periods,
    "cuts": write_cuts,
    "quantiles": write_quantiles,
    "groups": write_groups,
    "text": write_text,
    "import": import_file,
    "remove": remove,
}
"""What the forms of the page do."""
