"""Evaluate: measure how wide the published bounds are, and that each contains the truth."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import Fault, InputError, PromiseError
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import pending_versions
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.private.durable import copy_atomically
from sfumato.tasks.private.people.identity import represented_part, without_suppressed
from sfumato.tasks.private.people.slots import from_table
from sfumato.tasks.private.people.store import has_map, read_map
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.amendments import record_accuracy
from sfumato.tasks.query.accuracy.evaluate import Measured, evaluate, summaries
from sfumato.tasks.query.accuracy.noise import reference_of
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.accuracy.usefulness import (
    MeasuredBounds,
    PublicationFault,
    judge_usefulness,
)
from sfumato.tasks.query.accuracy.vectors import codes_as_published
from sfumato.tasks.query.engines.truth import Original
from sfumato.tasks.report.accuracy import write_accuracy_report
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.tables import form_of, schemas

_UNCOVERED = "it does not cover all of its rows"


def evaluate_release(
    release: Path,
    original: Original,
    evaluation: Evaluation,
    line: Line,
    randomness: Randomness,
    progress: Callable[[int, int], None],
) -> MeasuredBounds:
    """Measure a published version on the workloads, and record its public figures.

    `original` are the rows that were anonymized, the suppressed ones included; in parts, those that
    are represented.
    The report with truths stays in the line's private directory; the public record gets widths.

    Raises:
        Fault: if a truth lies outside its bounds, or groups that show which values they admit do
            not cover the rows; the version is withdrawn.
        PromiseError: if a pending version misses a goal that refuses; it stays pending.
    """
    opened = open_release(release)
    if isinstance(original, Microdata):
        original = represented_rows(opened, line, original)
    reports = line.reports(release.name)
    measured = measure_bounds(opened, original, evaluation, randomness, progress, reports)
    if measured.fault is not None:
        from sfumato.tasks.publication.withdrawal import withdraw_after_evaluation

        withdrawn = withdraw_after_evaluation(line, release.name, measured.fault.reason)
        reasons = "; ".join((measured.fault.told, *withdrawn.notices))
        raise Fault(f"{release}: withdrawn: {reasons}")
    missed = measured.useful.missed if evaluation.refuses else ""
    if missed and release.name in pending_versions(line.public):
        raise PromiseError(f"evaluate.require: {missed}. Version {release.name} stays pending")
    return replace(measured, notices=record_accuracy(line, release.name, measured))


def record_measured(
    measured: MeasuredBounds, reports: Path, version: Path, line: Line
) -> tuple[str, ...]:
    """Record the figures that a version had as a candidate, and copy its reports.

    Returns:
        What could not be written beside the public record, in words.
    """
    for file in reports.iterdir():
        copy_atomically(file, line.reports(version.name) / file.name)
    return record_accuracy(line, version.name, measured)


def evaluate_candidate(
    candidate: Path,
    original: Original,
    evaluation: Evaluation,
    reports: Path,
    randomness: Randomness,
    progress: Callable[[int, int], None],
) -> MeasuredBounds:
    """Measure a validated candidate on the workloads, before anybody may see it.

    The report with truths stays in the private directory `reports`.

    Raises:
        Fault: if a truth lies outside its bounds, or groups that show which values they admit do
            not cover the rows.
    """
    opened = open_release(candidate / RELEASE)
    if isinstance(original, Microdata):
        original = keep_represented(candidate, original)
    measured = measure_bounds(opened, original, evaluation, randomness, progress, reports)
    if measured.fault is not None:
        raise Fault(f"the candidate could not be kept for review: {measured.fault.told}")
    return measured


def keep_represented(candidate: Path, original: Microdata) -> Microdata:
    """Return the rows that a validated candidate represents, of those that were to be published."""
    sealed, opened = sealed_candidate(candidate), open_release(candidate / RELEASE)
    if opened.declared.is_composed and sealed.map is not None:
        return from_table(sealed.map.read(), candidate).shown_rows
    if sealed.suppressed is not None:
        return without_suppressed(original, sealed.suppressed)
    return original


def measure_bounds(
    opened: Release,
    original: Original,
    evaluation: Evaluation,
    randomness: Randomness,
    progress: Callable[[int, int], None],
    reports: Path,
) -> MeasuredBounds:
    """Answer the workloads' queries on a release and on the rows that it represents.

    The report with truths is written into the private directory `reports`. How present people are
    is not found of parts.
    """
    measured = evaluate(opened, original, evaluation.workloads, randomness, progress)
    try:
        exposed = exposures(opened, original) if isinstance(original, Microdata) else []
    except InputError:
        return MeasuredBounds([], fault=PublicationFault(_UNCOVERED, _UNCOVERED))
    declared = opened.declared
    reference = None
    if isinstance(original, Microdata) and not declared.over_people:
        reference = reference_of(evaluation.workloads, original)
    coded = sorted(declared.codings_by_column)
    write_accuracy_report(measured, reports, declared.title, exposed, coded, reference)
    fault = None
    if outside := sum(not query.inside for query in measured):
        detail = f"the truth is outside the bounds for {outside} of {len(measured)} queries"
        fault = PublicationFault("bounds do not contain the truth", detail)
    useful = judge_usefulness(measured, evaluation.require, one_group=_is_one_group(opened))
    return MeasuredBounds(public_summary(measured), useful, fault)


def _is_one_group(release: Release) -> bool:
    """Return True if all rows are in one group, and values are shown as they are."""
    groups = [entry["groups"] for entry in release.manifest["sfumato"]["observed"]]
    return not release.declared.form.declares and max(groups, default=0) == 1


def represented_rows(release: Release, line: Line, original: Microdata) -> Microdata:
    """Return the rows that a version represents; of a composed version, those of its map.

    Raises:
        InputError: if the map is kept no more.
    """
    version = release.directory.name
    if not release.declared.is_composed:
        return represented_part(line.private, version, original)
    version_state = read_state(line.private).versions.get(version)
    if version_state is None or version_state.map is None or not has_map(line.private, version):
        raise InputError(
            f"{release.directory}: the record of its people is not here any more, so it "
            "cannot be measured"
        )
    return read_map(line.private, version, version_state.map).shown_rows


def exposures(release: Release, original: Microdata) -> list[dict[str, Any]]:
    """Return the presence of the represented people, for each promise that bounds presence.

    Presence is measured in several readings. One is that of an attacker who fits the frequency of
    values, against whom no promise is made.

    Raises:
        InputError: if a row is covered by no group.
    """
    declared = release.declared
    form, documents = form_of(declared), []
    for promise in declared.promises:
        names, most = promise.quasi_identifiers, promise.most_present
        if most is not None and names:
            from sfumato.tasks.publication.exposure import exposure

            tables = {name: release.table(name) for name in schemas(declared)}
            columns = {
                name: table[name] for table in tables.values() for name in table.column_names
            }
            groups = form.groups(
                tables, declared.columns, names, declared.names_with_roles("sensitive")
            )
            codes = [codes_as_published(original[name], columns[name]) for name in names]
            seen = exposure(groups, np.stack(codes, axis=1), most, names)
            documents += [] if seen is None else [seen.document()]
    return documents


def public_summary(measured: list[Measured]) -> list[dict[str, Any]]:
    """Return the queries and relative widths per workload and level, without truths."""
    return [summary.public() for summary in summaries(measured)]
