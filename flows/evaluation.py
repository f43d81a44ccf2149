"""Evaluating and attacking a published version, apart from the run that published it."""

from os import environ
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.flows.life.delivery import deliver_known
from sfumato.flows.overrides import Overrides
from sfumato.flows.passphrases import passphrases
from sfumato.flows.resolved import ResolvedRun, resolve_run
from sfumato.flows.source import coded_source, ingest_source
from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.linkage import link
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.line import fingerprint
from sfumato.tasks.private.people.keys import names_of, people_key
from sfumato.tasks.private.progress import say
from sfumato.tasks.private.references.reference import ReferenceFile
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.stages.evaluate import evaluate_release, represented_rows

REGISTER = "register"
"""What scores of linking a register stand under, where those of a column have its name."""


def ingest_again(resolved: ResolvedRun) -> Microdata:
    """The rows that a run of a spec is about, read from its source, coded as its versions."""
    return coded_source(resolved, ingest_source(resolved).microdata)


def names_in_source(resolved: ResolvedRun, source: Microdata) -> np.ndarray | None:
    """The name of each row's person (S16), None where it makes no difference to a fingerprint."""
    if not resolved.terms.tells_whose or resolved.unit is None:
        return None
    return names_of(source[resolved.unit], people_key(resolved.line.work))


@passphrases(environ)
def evaluate_again(directory: Path, spec: Path, overrides: Overrides) -> MeasuredBounds:
    """Measure a version on the spec's workloads, against the original.

    Raises:
        InputError: where the version is not one of this line, or of another source.
    """
    resolved = _resolved_for(directory, spec, overrides)
    line = resolved.line
    with sanitised("evaluate"):
        original = _original(directory, resolved)
        try:
            return evaluate_release(
                directory.resolve(),
                original,
                resolved.spec.evaluate,
                line,
                operating_system,
                lambda _, __: None,
            )
        finally:  # the record has changed, also where the version was withdrawn
            for said in (said for one in deliver_known(line) for said in one.said):
                say(said)


@passphrases(environ)
def attack_again(
    directory: Path, spec: Path, overrides: Overrides, register: Path | None = None
) -> tuple[dict[str, list[Score]], list[JudgedBar]]:
    """What attackers guess of a version, and which bars of the spec it keeps.

    Args:
        directory: the version.
        spec: of its line.
        overrides: what is changed of it.
        register: a file of everybody whom it could be about, which is linked with it.

    Returns:
        The scores by sensitive column, those of the register under its own name; and the bars.

    Raises:
        InputError: where the version is not one of this line, of another source, or one of
            several parts.
    """
    resolved = _resolved_for(directory, spec, overrides)
    with sanitised("attack"):
        release = open_release(directory.resolve())
        if release.declared.parts is not None or release.declared.composed:
            raise InputError(f"{directory}: in parts, or composed: no attack is scored there yet")
        people = represented_rows(release, resolved.line, _original(directory, resolved))
        tables = read_tables(release.declared, release.directory / "data")
        targets = targets_of(release.declared, tables, people)
        scores = attack_release(targets)
        if register is not None:
            whole = AttackedRelease(release.declared, tables, people, "")
            scores[REGISTER] = list(link(whole, _read_register(release.declared, register)))
        return scores, judge_bars(resolved.spec.attacks.root, targets)


def _read_register(declared: Declared, place: Path) -> Microdata:
    """The quasi-identifiers of a register, of the types of the release's.

    Raises:
        InputError: where it cannot be read or lacks a column, or the release's were coded.
    """
    names = declared.named("quasi-identifier")
    if coded := [name for name in names if declared.columns[name].codings]:
        raise InputError(f"--register: {coded[0]!r} of the release is coded, and a register is not")
    return ReferenceFile(place).read(names, {name: declared.columns[name].type for name in names})


def _resolved_for(directory: Path, spec: Path, overrides: Overrides) -> ResolvedRun:
    resolved = resolve_run(spec, overrides)
    if directory.resolve().parent != resolved.line.public.resolve():
        raise InputError(
            f"{directory}: is not a version of the spec's line, {resolved.line.public}"
        )
    return resolved


def _original(directory: Path, resolved: ResolvedRun) -> Microdata:
    """The rows of which a version was made, read again.

    Raises:
        InputError: where it was made of others.
    """
    line, version = resolved.line, directory.resolve().name
    original = ingest_again(resolved)
    names = names_in_source(resolved, original)
    original = original.keep(original[name] for name in resolved.terms.columns)
    known = read_state(line.private).versions.get(version)
    if known is None or known.rows != fingerprint(original, line_key(line.private), names):
        raise InputError(f"{directory}: was not made of this source")
    return original
