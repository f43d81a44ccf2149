"""Validate part after part, and then the whole that they make."""

import gc
from collections.abc import Sequence
from pathlib import Path

from sfumato.expectations.verdicts import require
from sfumato.tasks.declaration.assessment import Judge, SeenGroups
from sfumato.tasks.declaration.canonical import read_canonical
from sfumato.tasks.declaration.cuts import PARTS
from sfumato.tasks.declaration.opened import MANIFEST, open_release
from sfumato.tasks.declaration.software import software
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.partitions.continued.parameters import rule_of
from sfumato.tasks.parts.divided import read_parts
from sfumato.tasks.publication.in_parts.files import complete_whole
from sfumato.tasks.publication.in_parts.whole import JudgePromises, SeenParts, findings_of
from sfumato.tasks.publication.seal import seal
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, write_assessment


def seal_candidates(
    candidate: Path,
    divided: Path,
    terms: Terms,
    withheld: Sequence[str],
    judge: Judge,
    judge_promises: JudgePromises,
) -> SeenParts:
    """Judge every part as it is read back, and make the release of all of them.

    Args:
        candidate: the stage of all parts.
        divided: the stage that they were made of.
        terms: what is declared of the whole.
        withheld: names that no column may have.
        judge: what evaluates the rules and promises of a part.
        judge_promises: what evaluates promises that compare groups with all rows.

    Raises:
        PromiseError: where anything is broken.
    """
    seen, release = SeenParts(terms), candidate / RELEASE
    (release / PARTS).mkdir(parents=True)
    parts = read_parts(divided)
    for part in parts:
        of_part = candidate / part.name / "candidate"
        assessment = assess_candidate(of_part, withheld, judge)
        seal_candidate(of_part, assessment)
        seen.add(assessment)
        del assessment
        gc.collect()  # what refers to itself would hold the tables of part after part
        (of_part / RELEASE).rename(release / PARTS / part.name)
    if seen.compared:
        for number, part in enumerate(parts):
            opened = open_release(release / PARTS / part.name)
            tables = read_tables(opened.declared, opened.directory / "data")
            seen.compare(number, SeenGroups(opened.declared, tables), judge_promises)
            del tables
            gc.collect()
    require(findings_of(seen.all_verdicts()))
    published, first = [], 0
    for number, part in enumerate(parts):
        groups = len(seen.sizes[number])
        digest = read_canonical(release / PARTS / part.name / MANIFEST)["sfumato"]["digest"]
        published.append(part.published(seen.rows[number].published, groups, first, digest))
        first += groups
    lost = read_note(divided, "counts")
    complete_whole(release, seen.declared(published, lost, software()), seen)
    write_assessment(candidate, rule_of(terms.versions), seal(release))
    return seen
