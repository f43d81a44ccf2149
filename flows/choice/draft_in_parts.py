"""A draft of a release in parts: the same stages, whose parts are judged one after the other."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.flows.resolved import ResolvedRun
from sfumato.flows.source import divide_source
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.parts_gate import require_combined
from sfumato.tasks.lines.same_people import ComparedPeople, require_other_people
from sfumato.tasks.lines.standing import standing_version
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.draft import draft_content_of_parts
from sfumato.tasks.parts.original import original_of_candidate
from sfumato.tasks.parts.validate import seal_candidates
from sfumato.tasks.private.failure import stage
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication.parts import SeenParts
from sfumato.tasks.report.steward.draft import write_draft_page
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.deidentify import identity, said_of_texts
from sfumato.tasks.stages.evaluate import evaluate_candidate
from sfumato.tasks.stages.stage import gate_documents
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.terms.assessment import Judge
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.workers.workers import InTurn


def draft_parts(resolved: ResolvedRun, place: Path, run: Path) -> tuple[Path, dict[str, Any]]:
    """The page of a draft in parts, and what it would be, in counts and widths.

    Args:
        resolved: the run of a spec that asks for parts, whose line is apart.
        place: the draft's private directory.
        run: where stages are written.

    Raises:
        InputError: where the source is not as declared.
        PromiseError: where a release would be refused.
        Fault: where a truth lies outside its bounds.
    """
    spec, terms, line = resolved.spec, resolved.terms, resolved.line
    with stage("ingest"):
        divided = divide_source(resolved, run, keep_rows=True)
    with stage("verify"):
        stands = standing_version(line, identity(divided), rule_of(terms.versions))
        compared = ComparedPeople()
        if stands is None:
            compared = require_other_people(line, identity(divided), rule_of(terms.versions))
    with stage("anonymize"):
        candidate = write_candidates(
            divided, terms, run, operating_system, InTurn(), resolved.continuing, keep_rows=True
        )
    with stage("validate"):
        seen = _judged(candidate, divided, resolved)
        if stands is None:
            require_combined(line, sealed_candidate(candidate), candidate / RELEASE)
    report = private_directory(place / "report")
    with stage("evaluate"):
        original = original_of_candidate(divided, candidate)
        measured = evaluate_candidate(
            candidate, original, spec.evaluate, report, operating_system, lambda _, __: None
        )
    release = open_release(candidate / RELEASE)
    content = draft_content_of_parts(
        divided,
        release.directory,
        release.declared,
        seen,
        measured,
        spec.attacks.below(resolved.base),
        refuses=spec.evaluate.refuses,
    )
    shutil.copytree(candidate / RELEASE, place / RELEASE)
    page = write_draft_page(report, open_release(place / RELEASE), content)
    told = content.document()
    told["warnings"] = [*said_of_texts(divided), *compared.notices, *told["warnings"]]
    return page, {"stands": stands, **told}


def _judged(candidate: Path, divided: Path, resolved: ResolvedRun) -> SeenParts:
    """What is seen of all parts, each judged as in a release, and all of them together."""
    line, terms = resolved.line, resolved.terms
    judging = partial(_judge_in, line.name)
    together = partial(judging(candidate), {}, {})
    return seal_candidates(
        candidate,
        divided,
        terms,
        resolved.withheld,
        judging,
        together,
        InTurn(),
        line.said,
        line.bars,
        line.private,
    )


def _judge_in(line: str, place: Path) -> Judge:
    from sfumato.expectations.suites.gate import judge  # imports Great Expectations: seconds

    return partial(judge, line, documents=gate_documents(place))
