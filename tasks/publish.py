"""The tasks that make a judged candidate the line's next version."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from os import environ
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.approval.decisions import read_text
from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.approval.publication import complete, find_approved, note_approvals
from sfumato.tasks.approval.request import REQUEST
from sfumato.tasks.events import tell
from sfumato.tasks.lines.composition import CombinableVersion, JudgeAtoms
from sfumato.tasks.lines.line import Line
from sfumato.tasks.outcomes import identify
from sfumato.tasks.policy import private_task, say_in_run, say_that_it_stands
from sfumato.tasks.publication.publish import Published, after_appearance
from sfumato.tasks.publication.publish import publish as publish_version
from sfumato.tasks.report.watched import composition_rows
from sfumato.tasks.shown import show_link, show_table
from sfumato.tasks.stages.anonymize import keep_private_diagnostics
from sfumato.tasks.stages.deidentify import identity, keep_texts
from sfumato.tasks.stages.hold import keep_report, keep_risk, read_measured
from sfumato.tasks.stages.stage import gate_documents, keep_documents
from sfumato.tasks.stages.validate import sealed_candidate


@private_task()
def publish(
    candidate: Path,
    deidentified: Path,
    line: Line,
    page_of: Callable[[Path], str],
    show_counts: bool,
    pending: bool,
) -> tuple[Path, bool]:
    """Stage, check, rename, record: a whole version appears, or none.

    How a composed one goes on is an artifact, with what is not published where that is to be shown.
    A pending version is current once its accuracy was measured.

    Returns:
        The version, and whether it stood before.
    """
    published = _publish(candidate, deidentified, line, pending=pending)
    with after_appearance(published.directory):
        if published.existed:
            say_that_it_stands(published.directory)
        else:
            _keep(candidate, published.directory, line)
            keep_risk(deidentified, line.reports(published.directory.name))
            keep_texts(deidentified, line.reports(published.directory.name))
            tell("published", line.name, identify(published.directory))
        _show(published, line, page_of, all_counts=show_counts)
    return published.directory, published.existed


@private_task()
def publish_approved(
    digest: str,
    spec: str,
    signatures: Sequence[str],
    line: Line,
    page_of: Callable[[Path], str],
    show_counts: bool,
) -> tuple[Path, bool]:
    """Publish the candidate that has a digest, if the line's reviewers approve of it.

    Args:
        digest: of the candidate's manifest.
        spec: the digest of what the spec declares now.
        signatures: decisions as text, beside those that lie with the candidate.
        line: the line.
        page_of: the address of a version's page.
        show_counts: whether counts that are not published may be shown.

    Returns:
        The version, and whether it stood before.
    """
    waiting = find_approved(line, digest, spec)
    if isinstance(waiting, Path):
        say_that_it_stands(waiting)
        return waiting, True
    _require_its_own(waiting)
    decisions = [read_text(text) for text in signatures]
    ask = partial(note_approvals, line, waiting, decisions, environ)
    published = _publish(waiting.candidate, waiting.identity, line, ask, digest)
    version = published.directory
    if identify(version)["digest"] != digest:
        raise PromiseError(
            f"version {version.name} was already made from this source and spec, so "
            f"candidate {digest[:12]}… cannot become another one. Take it back "
            "(sfumato review withdraw)"
        )
    with after_appearance(version):
        _finish(waiting, version, line)
        _show(published, line, page_of, all_counts=show_counts)
    return version, False


def _require_its_own(candidate: HeldCandidate) -> None:
    """Refuse a request that names another source or spec than is sealed: nobody signs these.

    Raises:
        PromiseError: where it does.
    """
    if not candidate.request.is_of(identity(candidate.identity)):
        raise PromiseError(
            f"{candidate.place / REQUEST}: is about another source or spec. Ask reviewers again"
        )


def _finish(candidate: HeldCandidate, version: Path, line: Line) -> None:
    """Keep what the line needs of a candidate, and record who approved it."""
    candidate.require_sealed()
    _keep(candidate.candidate, version, line)
    keep_report(candidate, line.reports(version.name))
    for notice in complete(line, candidate, version.name, read_measured(candidate), environ):
        say_in_run(notice)
    tell("published", line.name, identify(version))


def _publish(
    candidate: Path,
    deidentified: Path,
    line: Line,
    require_approved: Callable[[], None] | None = None,
    digest: str | None = None,
    *,
    pending: bool = False,
) -> Published:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    sealed, source = sealed_candidate(candidate, digest), identity(deidentified)
    judge = _judge_of_atoms(candidate, line) if sealed.versions == "composed" else None
    return publish_version(line, sealed, source, now, judge, require_approved, pending=pending)


def _keep(candidate: Path, version: Path, line: Line) -> None:
    """Keep the private documents of a candidate among the reports of its version."""
    reports = line.reports(version.name)
    keep_private_diagnostics(candidate, reports)
    if (page := keep_documents(candidate, reports)) is not None:
        show_link(page.resolve().as_uri(), "Data Docs", key=f"{line.name}-data-docs")


def _show(
    published: Published, line: Line, page_of: Callable[[Path], str], *, all_counts: bool
) -> None:
    """Show what a run published, and how it continues the versions before."""
    for notice in published.notices:
        say_in_run(notice)
    for notice in published.private_notices:
        say_in_run(notice, logged=False)
    if published.together is not None:
        _show_composition(line, published.together, all_counts=all_counts)
    page = page_of(published.directory)
    show_link(page, "The release's page", key=f"{line.name}-page")


def _judge_of_atoms(candidate: Path, line: Line) -> JudgeAtoms:
    """Let Great Expectations judge the exposure of versions together."""
    # Great Expectations takes seconds to import, and locks are held when it judges.
    from sfumato.expectations.suites.gate import judge_atoms

    documents = gate_documents(candidate.parent, "composition")
    return partial(judge_atoms, line.name, documents=documents)


def _show_composition(line: Line, combined: CombinableVersion, *, all_counts: bool) -> None:
    if combined.composition.declared.is_composed:
        show_table(
            composition_rows(combined.composition.totals(), published_only=not all_counts),
            key=f"{line.name}-composition",
            description="How this version continues those before it (counts)",
        )
