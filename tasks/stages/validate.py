"""Validate: read a candidate back, judge it, and complete the release that would be published."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sfumato.expectations.rules.verdicts import examine, require
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.remember import (
    map_followed,
    map_in,
    map_sha256,
    version_before,
    whose_in,
)
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Candidate, CandidateMap
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.publication.check import require_agreement
from sfumato.tasks.publication.files import complete_release
from sfumato.tasks.publication.staging import require_sealed, seal, seal_of
from sfumato.tasks.schema.files import sha256_of
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED, declaration
from sfumato.tasks.stages.stage import read_note, write_note
from sfumato.tasks.terms.assessment import Assessment, Judge, assess, documents
from sfumato.tasks.terms.tables import TABLES, read_tables, write_tables

_ASSESSMENT = "assessment"
_JUDGED = "judged"  # the SHA-256 of the data files, from before they were read


def assess_candidate(
    candidate: Path,
    withheld: Sequence[str] = (),
    judge: Judge = examine,
    references: References = NO_REFERENCES,
) -> Assessment:
    """Judge a candidate by its data files, as they are read back; an earlier seal becomes void.

    Raises:
        PromiseError: if promises are to be kept over people, and whose the rows are is missing,
            or not of the groups of these files; if a person or a related row is in another group.
    """
    (candidate / f"{_ASSESSMENT}.json").unlink(missing_ok=True)
    declared, data = declaration(candidate), candidate / RELEASE / "data"
    write_note(candidate, _JUDGED, seal(data))
    tables, whose = read_tables(declared, data), whose_in(candidate)
    if declared.over_people and whose is None:
        raise PromiseError(
            f"{candidate.name}: the record of which rows belong to which people is "
            "missing. Make the candidate again"
        )
    if whose is not None and declared.has_related_rows:
        from sfumato.tasks.forms.related.links import require_links  # few have such tables

        require_links(tables, declared.form, whose.group, whose.rows)
    return assess(declared, tables, judge, withheld, references, whose)


def seal_candidate(candidate: Path, assessment: Assessment) -> None:
    """Write all other files of the release beside its data, and record which were assessed.

    Everything is made from the tables as they were read back, as every later check does.

    Raises:
        PromiseError: if the assessment found that anything is broken, or a data file is not as
            it was read, or not what its tables give.
    """
    require(assessment.findings)
    require_agreement(assessment.declared, assessment.tables)
    release = candidate / RELEASE
    judged = read_note(candidate, _JUDGED)
    require_sealed(release / "data", judged)
    _keep_only_data(release)
    _complete_data(release / "data", assessment, judged)
    complete_release(release, assessment)
    sealed = seal_of(release)
    for name, sha256 in judged.items():
        if Path(name).suffix == f".{TABLES}" and sealed[f"data/{name}"] != sha256:
            raise PromiseError(f"{name}: was changed after validation. Validate it again")
    findings = documents(assessment.findings)
    write_assessment(candidate, rule_of(assessment.declared.versions), sealed, findings)


def _complete_data(data: Path, assessment: Assessment, judged: Mapping[str, str]) -> None:
    """Make sure that the tables give the same files when written again; write other formats."""
    tables, declared = assessment.tables, assessment.declared
    with scratch_directory() as scratch:
        write_tables(tables, declared, scratch / "data", (TABLES,))
        for name, sha256 in seal(scratch / "data").items():
            if judged.get(name) != sha256:
                raise PromiseError(f"{name}: differs from its rows as they are read back")
    expected = {f"{name}.{format_}" for name in tables for format_ in declared.formats}
    if extra := sorted(judged.keys() - expected):
        raise PromiseError(f"{extra[0]}: does not belong to the release")
    write_tables(
        tables, declared, data, [format_ for format_ in declared.formats if format_ != TABLES]
    )


def write_assessment(
    candidate: Path,
    rule: str,
    sealed: Mapping[str, str],
    findings: Sequence[Mapping[str, object]] = (),
) -> None:
    """Record with a candidate that it was assessed.

    Args:
        candidate: its stage.
        rule: whether people may be in several versions.
        sealed: the SHA-256 of each file of its release.
        findings: for JSON.
    """
    document = {
        "versions": rule,
        "sha256": dict(sealed),
        "suppressed": _suppressed_sha256(candidate),
        "map": map_sha256(candidate),
        "findings": list(findings),
        "made-again": True,
    }
    write_note(candidate, _ASSESSMENT, document)


def sealed_candidate(candidate: Path, digest: str | None = None) -> Candidate:
    """Return a candidate that was assessed, with the seal of its release.

    `digest` is that of the manifest which was approved, where somebody was asked.

    Raises:
        PromiseError: if it was not assessed, or says of other rows that they are suppressed.
    """
    try:
        document = read_note(candidate, _ASSESSMENT)
    except FileNotFoundError:
        raise PromiseError(f"{candidate.name}: was not validated") from None
    if document["suppressed"] != _suppressed_sha256(candidate):
        raise PromiseError(f"{SUPPRESSED}: was changed after validation. Validate it again")
    place = map_in(candidate)
    if document["map"] != map_sha256(candidate):
        raise PromiseError("the candidate's map was changed after validation. Validate it again")
    path = candidate / SUPPRESSED
    return Candidate(
        release=candidate / RELEASE,
        sha256=document["sha256"],
        versions=document["versions"],
        suppressed=np.load(path) if path.exists() else None,
        map=None if place is None else CandidateMap(place, document["map"]),
        made_after=version_before(candidate),
        followed=map_followed(candidate),
        counts=read_note(candidate, "counts"),
        digest=digest,
        made_again=document.get("made-again", False),
    )


def _keep_only_data(release: Path) -> None:
    """Remove the files of an earlier validation beside the data."""
    for path in release.iterdir():
        if path.name != "data":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _suppressed_sha256(candidate: Path) -> str | None:
    path = candidate / SUPPRESSED
    return sha256_of(path) if path.exists() else None
