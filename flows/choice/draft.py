"""A draft of the next version, whole or in parts: all of a release but its publication.

Nothing of a draft is ever published: a release draws anew. The line does not remember it.

A version is rehearsed in a private directory that goes when it ends. Everything is made as for a
release. Exposure together with other lines is not judged, and the line does not remember it.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import environ
from pathlib import Path
from typing import Any

from sfumato.expectations.rules import verdicts
from sfumato.expectations.rules.owned import columns_of_rules
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.passphrases import passphrases, source_secrets
from sfumato.flows.inputs.policies import missing_statements
from sfumato.flows.inputs.resolved import (
    ResolvedRun,
    require_in_memory,
    resolve_run,
    with_references,
)
from sfumato.flows.inputs.source import divide_source
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.choose.draft import at_best_lines, draft_content, line_apart
from sfumato.tasks.choose.left_out import removed_rows, without_those_above
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.parts_gate import require_combined
from sfumato.tasks.lines.same_people import require_other_people
from sfumato.tasks.lines.standing import standing_version
from sfumato.tasks.microdata.source import require
from sfumato.tasks.microdata.table import load, operating_system
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.draft import draft_content_of_parts
from sfumato.tasks.parts.original import original_of_candidate
from sfumato.tasks.parts.validate import seal_candidates
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.private.failure import sanitise_errors, stage
from sfumato.tasks.private.scratch import draft_directory, run_directory
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.report.steward.draft import DraftContent, write_draft_page
from sfumato.tasks.report.steward.policy import policy_document
from sfumato.tasks.stages.anonymize import RELEASE, declaration, write_candidate
from sfumato.tasks.stages.deidentify import (
    choose_terms,
    identity,
    judge_texts,
    warnings_of_texts,
    write_deidentified,
)
from sfumato.tasks.stages.evaluate import evaluate_candidate
from sfumato.tasks.stages.ingest import (
    rows_of_one_person,
    source_table,
    write_ingested,
    write_related_source,
    write_source,
    write_with_related,
)
from sfumato.tasks.stages.stage import gate_documents, read_note
from sfumato.tasks.stages.validate import (
    assess_candidate,
    seal_candidate,
    sealed_candidate,
)
from sfumato.tasks.stages.verify import measure_feasibility, measure_risks
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.workers.workers import InTurn

KEPT_HOURS = 24
"""Hours for which a draft stays, unless the spec retains a run's stages for longer."""
Advisor = Callable[[Path, Overrides, DraftContent], list[str]]
"""Returns what would answer more narrowly than a draft, given its spec and the changed keys."""
_OF_A_LINE: Mapping[str, tuple[str, ...]] = {
    "people_continued": ("continued",),
    "people_new": ("new", "refilled"),
    "people_waiting": ("waiting",),
    "groups_continued": ("groups_continued",),
    "groups_new": ("groups_new",),
    "groups_retired": ("groups_retired",),
}
"""What a rehearsal says of a line that goes on, by the notes of a candidate that it adds up."""


@dataclass(frozen=True)
class Draft:
    """A draft.

    Attributes:
        place: its private directory.
        page: the private page about it.
        summary: what it would be, in counts and widths.
    """

    place: Path
    page: Path
    summary: dict[str, Any]


@passphrases(environ)
def draft(
    path: Path, overrides: Overrides, hours: int | None = None, advise: Advisor | None = None
) -> Draft:
    """Draft the next version of a line in private.

    Args:
        path: of the spec.
        overrides: what is changed of it.
        hours: for which the draft stays; what the spec retains, or a day.
        advise: returns what would answer more narrowly, if the draft's answers are too wide.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where the source is not as declared.
        PromiseError: where a release would be refused.
        Fault: where a truth lies outside its bounds.
    """
    resolved = resolve_run(path, overrides)
    hours_kept = hours or resolved.spec.retain or KEPT_HOURS
    with (
        draft_directory(resolved.line.work, hours_kept) as place,
        line_apart(resolved.line, place) as line,
        sanitise_errors("plan"),
        source_secrets(resolved.spec.source, environ),
    ):
        run = private_directory(place / "run")
        closed = encrypted_below(run) if resolved.spec.stages == "encrypted" else nullcontext()
        with closed:
            try:
                here = with_references(replace(resolved, line=line))
                advise_here = None if advise is None else partial(advise, path, overrides)
                return _make_draft(here, place, run, advise_here)
            finally:
                shutil.rmtree(run)


@dataclass(frozen=True)
class _JudgedDraft:
    """A candidate that keeps its promises, of a draft in one table or in parts.

    Attributes:
        deidentified: the stage of its rows.
        candidate: its stage.
        stands: the number of the version of this source and spec, None if there is none.
        notices: messages about other versions of the same people.
        content: returns the content of the draft, given the accuracy of its answers.
    """

    deidentified: Path
    candidate: Path
    stands: str | None
    notices: Sequence[str]
    content: Callable[[MeasuredBounds], DraftContent]


def _make_draft(
    resolved: ResolvedRun,
    place: Path,
    run: Path,
    advise: Callable[[DraftContent], list[str]] | None,
) -> Draft:
    judge_draft = _judge_whole if resolved.terms.parts is None else _judge_parts
    made = judge_draft(resolved, run)
    if made.stands is None:
        with stage("validate"):
            staged = made.candidate / RELEASE
            require_combined(resolved.line, sealed_candidate(made.candidate), staged)
    report = private_directory(place / "report")
    with stage("evaluate"):
        original = original_of_candidate(made.deidentified, made.candidate)
        evaluation, draw = resolved.spec.evaluate, operating_system
        measured = evaluate_candidate(
            made.candidate, original, evaluation, report, draw, lambda _, __: None
        )
    shutil.copytree(made.candidate / RELEASE, place / RELEASE)
    content = made.content(measured)
    if advise is not None:
        content = replace(content, advice=advise(content))
    page = write_draft_page(report, open_release(place / RELEASE), content)
    summary = content.document()
    about_texts = warnings_of_texts(made.deidentified)
    summary["warnings"] = [*about_texts, *made.notices, *summary["warnings"]]
    decided = _policy(resolved, open_release(place / RELEASE))
    return Draft(place, page, {"stands": made.stands, **summary, **decided})


def _policy(resolved: ResolvedRun, release: Release) -> dict[str, Any]:
    """Return what the draft keeps of the spec's policy, and what nobody has stated yet."""
    decided = policy_document(release, None)
    if decided is None:
        return {}
    missing = [statement.name for statement in missing_statements(resolved.spec.policy)]
    rules = [rule["found"] for rule in decided["decided"]]
    edition = f"{decided['name']} of {decided['date']}"
    return {"policy": {"name": edition, "found": rules, "not_stated": missing, "note": NO_ADVICE}}


def _judge_whole(resolved: ResolvedRun, run: Path) -> _JudgedDraft:
    spec, terms, line = resolved.spec, resolved.terms, resolved.line
    with stage("ingest"):
        whole, ingested = _ingest(resolved, run)
    with stage("deidentify"):
        deidentified = write_deidentified(
            ingested, terms, resolved.identifiers, line.private, run, spec.remember
        )
        judge_texts(deidentified, spec.columns, line)
        terms = choose_terms(deidentified, terms, spec.choosing, line.private, operating_system)
    with stage("verify"):
        measure_risks(deidentified, terms)
        stakes = measure_feasibility(deidentified, terms, resolved.references)
        stands, notices = _compare(deidentified, terms, line)
    with stage("anonymize"):
        draw, go_on = operating_system, resolved.continuing
        with_intervals = spec.evaluate.intervals is not None
        candidate = write_candidate(
            deidentified, terms, run, draw, go_on, line, intervals=with_intervals
        )
    with stage("validate"):
        assessment = _judge(candidate, resolved)

    def content(measured: MeasuredBounds) -> DraftContent:
        people = load(whole)
        removed = removed_rows(people, spec.source, spec.own_columns, spec.nulls)
        if (related := spec.related) is not None and related.cap is not None:
            key, most = related.key, f"people with more than {related.cap:,} rows (maximum.at-most)"
            removed = without_those_above(removed, people[key], load(ingested)[key], most)
        refuses, bars = spec.evaluate.refuses, spec.attacks.with_local_registers(resolved.base).root
        return replace(
            draft_content(
                deidentified, candidate, assessment, removed, measured, bars, refuses=refuses
            ),
            at_best=() if related is None else at_best_lines(terms.promises, stakes),
        )

    return _JudgedDraft(deidentified, candidate, stands, notices, content)


def _judge_parts(resolved: ResolvedRun, run: Path) -> _JudgedDraft:
    spec, terms, line = resolved.spec, resolved.terms, resolved.line
    with stage("ingest"):
        divided = divide_source(resolved, run, keep_rows=True)
    with stage("verify"):
        stands, notices = _compare(divided, terms, line)
    with stage("anonymize"):
        candidate = write_candidates(
            divided, terms, run, operating_system, InTurn(), resolved.continuing, keep_rows=True
        )
    with stage("validate"):
        seen = seal_candidates(candidate, divided, terms, resolved.withheld, line, InTurn())

    def content(measured: MeasuredBounds) -> DraftContent:
        refuses, bars = spec.evaluate.refuses, spec.attacks.with_local_registers(resolved.base)
        release = open_release(candidate / RELEASE)
        return draft_content_of_parts(divided, release, seen, measured, bars, refuses=refuses)

    return _JudgedDraft(divided, candidate, stands, notices, content)


def _compare(deidentified: Path, terms: Terms, line: Line) -> tuple[str | None, Sequence[str]]:
    """Return the number of the version of this source and spec, or notices about other people.

    Raises:
        PromiseError: where what others published of the same people forbids a new version.
    """
    rows_identity, rule = identity(deidentified), rule_of(terms.versions)
    stands = standing_version(line, rows_identity, rule)
    if stands is not None:
        return stands, ()
    return None, require_other_people(line, rows_identity, rule).notices


def _ingest(resolved: ResolvedRun, run: Path) -> tuple[Path, Path]:
    """Return the stage of the whole source, judged as in a release, and of the kept rows."""
    from sfumato.expectations.suites.gate import judge_source  # imports Great Expectations: seconds

    spec, owned, base = resolved.spec, resolved.spec.expectations, resolved.base
    columns = spec.own_columns
    judged = columns_of_rules(owned.source, columns)
    whole = write_source(spec.source, columns, base, run, judged)
    table, rules = source_table(whole, columns)
    documents = gate_documents(run, "source")
    findings = judge_source(resolved.line.name, table, rules, documents, owned.source)
    require(columns, table, spec.source.uri)
    verdicts.require(findings)
    ingested = write_ingested(whole, spec.source, columns, spec.nulls, base, run)
    if spec.version > 1 and (fault := rows_of_one_person(ingested, columns)):
        raise InputError(fault)
    if spec.related is None:
        return whole, ingested
    of_related = spec.columns_with_key
    rows = write_related_source(spec.related, of_related, base, run, spec.columns_of_facts)
    table, rules = source_table(rows, of_related)
    documents = gate_documents(run, "related")
    findings = judge_source(resolved.line.name, table, rules, documents)
    require(of_related, table, spec.related.source.uri)
    verdicts.require(findings)
    return whole, write_with_related(
        ingested, rows, spec.related, of_related, spec.nulls, base, run, spec.facts
    )


def _judge(candidate: Path, resolved: ResolvedRun) -> Assessment:
    from sfumato.expectations.suites.gate import judge

    owned, documents = resolved.spec.expectations, gate_documents(candidate.parent)
    judging = partial(judge, resolved.line.name, documents=documents, owned=owned.release)
    assessment = assess_candidate(candidate, resolved.withheld, judging, resolved.references)
    seal_candidate(candidate, assessment)
    return assessment


@passphrases(environ)
def rehearse(path: Path, overrides: Overrides) -> dict[str, Any]:
    """Rehearse the next version of a line; return what it would be, in counts.

    Returns:
        `rows` as a release declares them; of a composed line also the people who would stay, come
        and wait for a later version, and the groups that would go on, come and be retired;
        `stands`, a version's number, where this source and spec have one.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where the source cannot be read.
        PromiseError: where a promise cannot be kept, groups cannot go on, or what the line or
            others published forbids it.
    """
    resolved = with_references(require_in_memory(resolve_run(path, overrides)))
    spec, line = resolved.spec, resolved.line.private
    with (
        run_directory(line) as run,
        sanitise_errors("rehearse"),
        source_secrets(spec.source, environ),
    ):
        whole = write_source(spec.source, spec.columns, resolved.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, resolved.base, run)
        deidentified = write_deidentified(
            ingested, resolved.terms, resolved.identifiers, line, run, spec.remember
        )
        terms = choose_terms(
            deidentified, resolved.terms, spec.choosing, line, operating_system, keep=False
        )
        rows_identity = identity(deidentified)
        stands = standing_version(resolved.line, rows_identity, rule_of(resolved.terms.versions))
        if stands is not None:
            return {"stands": stands}
        require_other_people(resolved.line, rows_identity, rule_of(resolved.terms.versions))
        candidate = write_candidate(
            deidentified, terms, run, operating_system, resolved.continuing, resolved.line
        )
        facts = read_note(candidate, "facts")
        rows = declaration(candidate).rows.model_dump(mode="json")
        counts = {
            name: sum(facts[note] for note in notes)
            for name, notes in _OF_A_LINE.items()
            if facts.keys() >= set(notes)
        }
        return {"rows": rows, **counts}
