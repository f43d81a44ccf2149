"""The dossier of a version, gathered from its files, the public record, and private reports."""

from dataclasses import replace
from os import environ
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import InputError, SfumatoError
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from sfumato.tasks.approval.history import read_history
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.policy import say_in_run
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.stages.hold import RISK, STATED_POLICY
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tombstone import read_tombstone
from sfumato.tasks.verification.signing import author_of


@passphrases(environ)
def dossier_of(directory: Path, spec: Path) -> tuple[Path, dict[str, Any]]:
    """Write the dossier of a version again.

    Args:
        directory: the version, as published.
        spec: of its line, with what its steward states.

    Returns:
        Its page among the private reports of the version, and all of it for JSON.

    Raises:
        InputError: where it is no version of the spec's line.
        SpecError: where the spec is wrong.
    """
    resolved = resolve_run(spec)
    with sanitise_errors("dossier"):
        return make_dossier(resolved, directory.resolve())


def make_dossier(resolved: ResolvedRun, version: Path) -> tuple[Path, dict[str, Any]]:
    """Write the dossier of a version that a run has made or found; return page and document."""
    # Most releases have no dossier.
    from sfumato.tasks.report.steward.dossier import (
        VersionFacts,
        dossier,
        dossier_of_withdrawn,
        write_dossier,
    )

    line, record = resolved.line, read_record(resolved.line.public)
    if version.parent != line.public.resolve() or version.name not in record.versions:
        raise InputError(
            f"{version}: is not a version of the spec's line {line.public}. Name a version "
            "of that line"
        )
    reports, tombstone = line.reports(version.name), read_tombstone(version)
    if tombstone is not None:
        withdrawn = dossier_of_withdrawn(reports, tombstone, resolved.spec.dossier)
        if withdrawn is None:
            raise InputError(
                f"{version}: was withdrawn before a dossier was written, so there is no dossier"
            )
        return write_dossier(reports, withdrawn), withdrawn
    release = open_release(version)
    digest = release.manifest["sfumato"]["digest"]
    release = replace(release, author=author_of(version, line.name, digest, environ).words)
    past = [
        past_candidate
        for past_candidate in read_history(line.private).past
        if past_candidate.end != "approved"
    ]
    facts = VersionFacts(
        record=record.versions[version.name].model_dump(mode="json"),
        number=version.name,
        withheld=resolved.withheld,
        risk=_read(reports / f"{RISK}.json") or {},
        attacks=_read(reports / ATTACKED),
        past=[
            past_candidate.model_dump(mode="json", exclude={"rows", "spec"})
            for past_candidate in past
        ],
        policy=_stated_policy(resolved, reports),
    )
    document = dossier(release, facts, resolved.spec.dossier)
    return write_dossier(reports, document), document


def keep_dossier(resolved: ResolvedRun, version: Path) -> None:
    """Write the dossier of a version that has just appeared, whose steward asks for one.

    The version is published: a dossier that fails is reported, and the run goes on.
    """
    try:
        page, _ = make_dossier(resolved, version.resolve())
    except SfumatoError as error:
        say_in_run(f"warning: dossier: {error}", logged=False)
    else:
        say_in_run(f"dossier: {page}", logged=False)


def _stated_policy(resolved: ResolvedRun, reports: Path) -> Any:
    """Return a policy's questions with the answers: as reviewers approved them, or of the spec."""
    return _read(reports / STATED_POLICY) or resolved.line.policy


def _read(place: Path) -> Any:
    return read_json(place, None) if place.exists() else None
