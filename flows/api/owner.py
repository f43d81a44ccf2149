"""Functions for owners: measure a table, plan a version, compare alternatives, release."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.api.frames import Place, spec_file, table_file
from sfumato.flows.api.private_result import PrivateResult, ReleasedVersion


def measure(
    table: Any,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    promises: Sequence[Mapping[str, Any]] = (),
    *,
    population: Place | None = None,
    hierarchies: Mapping[str, str] | None = None,
    types: Mapping[str, Any] | None = None,
    household: str | None = None,
    unit: str | None = None,
) -> PrivateResult:
    """Measure every privacy model on a table as it is; a missing value is a category.

    Args:
        table: a data frame (pandas, Polars), an Arrow table, or a path or pattern of files. Of a
            CSV file quasi-identifiers are texts, unless `types` says otherwise.
        quasi_identifiers: the columns whose equal values make a group.
        sensitive: the sensitive attributes.
        promises: models to decide, as a spec writes them:
            `{"model": "t-closeness", "t": 0.2, "distance": "equal"}`.
        population: a file of the people whom the rows are drawn from.
        hierarchies: files of hierarchies by the sensitive attribute that they are of.
        types: of columns of a CSV file: integer, decimal, float, date, timestamp, string, boolean.
        household: the column that says whose household a row is of.
        unit: the column that says whose a row is, where people have several.

    Returns:
        Totals, and the whole document (as `sfumato measure --json`) on request. A promise that
        does not hold is no error.

    Raises:
        SpecError: where a promise is none, or does not say what it is about.
        InputError: where the table cannot be read, or lacks a column.
    """
    from sfumato.tasks.microdata.inferred_table import Written
    from sfumato.tasks.stages.measure import measure as measure_file

    with table_file(table) as file:
        document = measure_file(
            file,
            _names("quasi_identifiers", quasi_identifiers),
            _names("sensitive", sensitive),
            [_promise(promise) for promise in promises],
            None if population is None else os.fspath(population),
            hierarchies,
            Written(types=types or {}),
            household,
            unit,
        )
    totals = {"rows": document["rows"], "groups": document["groups"]}
    for verdict in document.get("promises", []):
        totals[verdict["promise"]["model"]] = "kept" if verdict["holds"] else "not kept"
    return PrivateResult("what a table reveals about its people", totals, document)


def plan(
    table: Any,
    spec: Place | Mapping[str, Any],
    *,
    settings: Mapping[str, str] | None = None,
    hours: int | None = None,
) -> PrivateResult:
    """Draft the next version of a line in private, and tell what it would be; nothing is published.

    Args:
        table: what is released in place of the spec's own source, as for `measure`; None for that
            source.
        spec: a path, or the content of a spec, whose paths are relative to the current directory.
        settings: keys that are overridden, as `sfumato plan --set`.
        hours: for which the draft and its private page stay.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where the source is not as declared.
        PromiseError: where a release would be refused.
    """
    from sfumato.flows.choice.draft import draft
    from sfumato.flows.inputs.overrides import read_overrides
    from sfumato.tasks.report.utility import accuracy_lines

    with spec_file(table, spec) as path:
        drafted = draft(path, read_overrides(settings or {}), hours)
    summary = drafted.summary
    counted = [promise["groups"] for promise in summary["promises"] if promise.get("groups")]
    totals = {
        "rows read": summary["rows"]["read"],
        "would be published": summary["rows"].get("published", 0),
        "left out": sum(summary["left_out"].values()),
        "groups": max(counted, default=0),
        "accuracy": "; ".join(accuracy_lines(summary["accuracy"])) or "not measured",
        "warnings": ", ".join(map(_topic, summary["warnings"])) or "none",
    }
    return PrivateResult("what the next version would be", totals, summary, drafted.page)


def compare(
    table: Any,
    spec: Place | Mapping[str, Any],
    grid: Mapping[str, Any] | None = None,
    *,
    queries: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    processes: int = 1,
) -> PrivateResult:
    """Compare partitions, forms and parameters on the same queries; nothing is published.

    Args:
        table: as for `plan`.
        spec: as for `plan`.
        grid: what is tried: lists under `partition`, `form`, `strata` and `promises`; without it
            every partition in every form, and what `auto` chooses.
        queries: SQL that is asked besides the spec's workloads.
        settings: keys that are overridden.
        processes: how many alternatives are tried at once.

    Returns:
        Totals and the recommended alternative; in `document` the `alternatives` that keep their
        promises (name, width and guessed as shares, groups and suppressed as counts), the
        `recommended` one, None where none does, and `spec`: the path of its spec beside the given
        one, or the content where the table is from memory.

    Raises:
        SpecError: where the spec is wrong, asks for no workload, or admits no alternative.
        InputError: where the source is not as declared, or a reference cannot be read.
        PromiseError: where a reference lacks people of the table.
    """
    from sfumato.flows.choice.compare import AskedComparison, compare_alternatives
    from sfumato.flows.inputs.overrides import read_overrides

    request = AskedComparison(dict(grid or {}), tuple(queries), processes)
    with spec_file(table, spec) as path:
        changes = read_overrides(settings or {})
        comparison = compare_alternatives(path, changes, request, lambda *_progress: None)
        document = comparison.document()
        if comparison.spec is not None and not _is_given(path, spec):
            document["spec"] = _take_spec(comparison.spec)
    totals = {
        "alternatives": str(len(comparison.ranked)),
        "recommended": document["recommended"] or "none",
    }
    return PrivateResult("alternatives to a spec", totals, document, comparison.page)


def release(
    table: Any,
    spec: Place | Mapping[str, Any],
    *,
    settings: Mapping[str, str] | None = None,
    as_of: date | None = None,
) -> ReleasedVersion:
    """Publish the next version of a line; where the spec asks for approval, a candidate waits.

    The flow runs in this process, on Prefect's embedded server unless PREFECT_API_URL names one.
    The same table and spec give the version that stands.

    Args:
        table: as for `plan`.
        spec: as for `plan`; `publish.uri` says where the version appears.
        settings: keys that are overridden, as `sfumato release --set`.
        as_of: the day of which the version tells.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where the source is not as declared.
        PromiseError: where a promise cannot be kept, or what was published before forbids it.
        Fault: where this machine fails.
    """
    from sfumato.flows.cli.steward.release import publish_version
    from sfumato.flows.inputs.overrides import read_overrides

    changes = read_overrides(settings or {})
    if as_of is not None:
        changes = changes.model_copy(update={"as_of": as_of})
    with spec_file(table, spec) as path:
        return _released_version(Path(publish_version(path, changes)))


def _take_spec(path: Path) -> dict[str, Any]:
    """Read and delete a recommended spec; return its content without the source."""
    from sfumato.flows.inputs.documents import read_yaml

    content = {key: value for key, value in read_yaml(path).items() if key != "source"}
    path.unlink()
    return content


def _released_version(directory: Path) -> ReleasedVersion:
    from sfumato.flows.life.version_summary import summarise_version

    version = summarise_version(directory)
    totals = {
        **version.rows,
        "groups": version.groups or 0,
        "accuracy": "; ".join(version.accuracy) or "not measured",
    }
    document, published = version.document(), version.published
    return ReleasedVersion(directory, totals, document, version.page, published=published)


def _is_given(path: Path, spec: Place | Mapping[str, Any]) -> bool:
    return not isinstance(spec, Mapping) and path == Path(spec)


def _promise(document: Mapping[str, Any]) -> Any:
    """Return a promise as a spec writes it."""
    import yaml

    from sfumato.flows.inputs.spec import read_promise

    return read_promise(yaml.safe_dump(dict(document)))


def _names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SpecError(f'{what}: is a text. Give a list of names, such as ["age", "town"]')
    return tuple(names)


def _topic(warning: str) -> str:
    """Return the topic of a warning, without its numbers."""
    return warning.partition(":")[0]
