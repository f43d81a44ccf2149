"""The task that makes a judged candidate the line's next version."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prefect.artifacts import create_link_artifact, create_table_artifact

from sfumato.tasks.outcomes import identify, tell
from sfumato.tasks.policy import private_task, say_in_run, say_that_it_stands
from sfumato.tasks.publication.combined.composition import HeldTogether, JudgeAtoms
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.publish import publish as publish_version
from sfumato.tasks.report.watched.composition import composition_rows
from sfumato.tasks.stages.anonymize import keep_private_diagnostics
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.documents import gate_documents, keep_documents
from sfumato.tasks.stages.validate import sealed_candidate


@private_task()
def publish(
    candidate: Path,
    deidentified: Path,
    line: Line,
    page_of: Callable[[Path], str],
    shown: bool,
) -> tuple[Path, bool]:
    """Stage, check, rename, record: a whole version appears, or none.

    How a composed one goes on is an artifact, with what is not published where that is to be shown.

    Returns:
        The version, and whether it stood before.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    sealed, source = sealed_candidate(candidate), identity(deidentified)
    judge = _judge_of_atoms(candidate, line) if sealed.versions == "composed" else None
    published = publish_version(line, sealed, source, now, judge)
    release = published.directory
    if published.existed:
        say_that_it_stands(release)
    else:
        reports = line.reports(release.name)
        keep_private_diagnostics(candidate, reports)
        _link_documents(keep_documents(candidate, reports), line)
        tell("published", line.name, identify(release))
    for notice in published.notices:
        say_in_run(notice)
    if published.together is not None:
        _show_composition(line, published.together, shown=shown)
    create_link_artifact(page_of(release), "The release's page", key=f"{line.name}-page")
    return release, published.existed


def _link_documents(page: Path | None, line: Line) -> None:
    """Link Great Expectations' Data Docs of the version, which nobody but its owner can open."""
    if page is not None:
        create_link_artifact(page.resolve().as_uri(), "Data Docs", key=f"{line.name}-data-docs")


def _judge_of_atoms(candidate: Path, line: Line) -> JudgeAtoms:
    """Let Great Expectations judge what versions tell together."""
    # Great Expectations takes seconds to import, and locks are held when it judges.
    from sfumato.expectations.suites.gate import judge_atoms

    documents = gate_documents(candidate.parent, "composition")
    return partial(judge_atoms, line.name, documents=documents)


def _show_composition(line: Line, found: HeldTogether, *, shown: bool) -> None:
    if found.composition.declared.composed:
        create_table_artifact(
            composition_rows(found.composition.totals(), published_only=not shown),
            key=f"{line.name}-composition",
            description="How this version goes on from those before it (counts)",
        )
