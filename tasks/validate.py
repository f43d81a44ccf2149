"""The task that judges the files that are about to be published."""

from functools import partial
from pathlib import Path

from prefect.artifacts import create_table_artifact

from sfumato.expectations.rules.owned import OwnedRule
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.private.references.reference import NO_REFERENCES, References
from sfumato.tasks.report.watched.verdicts import finding_rows
from sfumato.tasks.stages.documents import gate_documents
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate


@private_task()
def validate(
    candidate: Path,
    withheld: tuple[str, ...],
    name: str,
    owned: tuple[OwnedRule, ...] = (),
    references: References = NO_REFERENCES,
) -> Path:
    """Read the candidate back, let Great Expectations judge it, and make the release of it.

    Whatever fails is refused, rules of the owner's own among it.
    """
    # Great Expectations takes seconds to import.
    from sfumato.expectations.suites.gate import judge

    judging = partial(judge, name, documents=gate_documents(candidate.parent), owned=owned)
    assessment = assess_candidate(candidate, withheld, judging, references)
    create_table_artifact(
        finding_rows(assessment.findings),
        key=f"{name}-promises",
        description="Promises and structure, required and observed on the files to be published",
    )
    seal_candidate(candidate, assessment)
    held = len(assessment.findings)
    say_in_run(f"validate: {held} expectations hold", {"expectations": held})
    return candidate
