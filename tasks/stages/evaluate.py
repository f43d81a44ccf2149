"""Evaluate: how wide the published bounds are, and whether each contains the truth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import Fault, InputError
from sfumato.tasks.declaration.opened import Release, open_release
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.tables import schemas
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.private.line import represented_part
from sfumato.tasks.private.people.kinds import LIVE
from sfumato.tasks.private.people.store import has_map, read_map
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.diagnostics.exposure import exposure
from sfumato.tasks.publication.life.accuracy import record_accuracy
from sfumato.tasks.publication.life.withdrawal import withdraw_after_evaluation
from sfumato.tasks.publication.line import Line
from sfumato.tasks.query.accuracy.evaluate import Measured, evaluate, summaries
from sfumato.tasks.query.accuracy.workloads.parameters import Evaluation
from sfumato.tasks.report.accuracy import write_accuracy_report


def evaluate_release(
    release: Path,
    original: Microdata,
    evaluation: Evaluation,
    line: Line,
    randomness: Randomness,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Measure a published version on the workloads, and record what may be known of it.

    `original` are the rows that were anonymized, the suppressed ones included.
    The report with truths stays in the line's private directory; the public record gets widths.

    Raises:
        Fault: where a truth lies outside its bounds, or groups that show which values they admit do
            not cover the rows; the version is withdrawn.
    """
    opened = open_release(release)
    original = _represented(opened, line, original)
    measured = evaluate(opened, original, evaluation.workloads, randomness, progress)
    reports = line.reports(release.name)
    try:
        exposed = exposures(opened, original)
    except InputError:
        withdraw_after_evaluation(line, release.name, "it does not cover the rows it represents")
        raise Fault(f"{release}: withdrawn: it does not cover the rows it represents") from None
    declared = opened.declared
    write_accuracy_report(measured, reports, declared.title, exposed, sorted(declared.coded))
    if outside := sum(not query.inside for query in measured):
        withdraw_after_evaluation(line, release.name, "bounds do not contain the truth")
        raise Fault(
            f"{release}: withdrawn: the truth is outside the bounds of {outside} of "
            f"{len(measured)} queries"
        )
    public = public_summary(measured)
    record_accuracy(line, release.name, public)
    return public


def _represented(release: Release, line: Line, original: Microdata) -> Microdata:
    """The rows that a version represents: where versions are composed, as its map has them.

    Raises:
        InputError: where the map is kept no more.
    """
    version = release.directory.name
    if not release.declared.composed:
        return represented_part(line.private, version, original)
    known = read_state(line.private).versions.get(version)
    if known is None or known.map is None or not has_map(line.private, version):
        raise InputError(f"{release.directory}: whom it represents is not known here any more")
    slots = read_map(line.private, version, known.map)
    return slots.rows.take(np.flatnonzero((slots.kind == LIVE) & (slots.published >= 0)))


def exposures(release: Release, original: Microdata) -> list[dict[str, Any]]:
    """How present the represented people are, for each promise that bounds presence.

    By several readings, among them that of an attacker who fits how frequent values are, against
    whom no promise is made.

    Raises:
        InputError: where a row is covered by no group.
    """
    declared = release.declared
    form, found = form_of(declared), []
    for promise in declared.promises:
        names, most = promise.quasi_identifiers, promise.most_present
        if most is not None and names:
            tables = {name: release.table(name) for name in schemas(declared)}
            shown = {name: table[name] for table in tables.values() for name in table.column_names}
            groups = form.groups(tables, declared.columns, names, declared.named("sensitive"))
            codes = [_as_published(original[name], shown[name]) for name in names]
            seen = exposure(groups, np.stack(codes, axis=1), most, names)
            found += [] if seen is None else [seen.document()]
    return found


def _as_published(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """The codes of a column's rows as forms number the published values; -1 for another value."""
    shown = encode(column.name, "quasi-identifier", values)
    place = pc.index_in(column.values.cast(shown.values.type), value_set=shown.values)
    known: np.ndarray = np.append(place.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if shown.has_null:
        known[known >= 0] += 1
        known[column.codes < 0] = 0
    return known


def public_summary(measured: list[Measured]) -> list[dict[str, Any]]:
    """Per workload and level the queries and the relative widths: nothing of the truth."""
    return [summary.public() for summary in summaries(measured)]
