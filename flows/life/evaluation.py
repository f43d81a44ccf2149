"""Evaluating and attacking a published version, apart from the run that published it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import environ
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from sfumato.flows.inputs.source import coded_source, divide_source, ingest_source
from sfumato.flows.life.delivery import deliver_known
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars, pool_limits, pool_scores
from sfumato.tasks.attacks.linking.composition import compose
from sfumato.tasks.attacks.linking.linkage import link
from sfumato.tasks.attacks.linking.register import read_register
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata, operating_system
from sfumato.tasks.parts.attack import attack_all_parts
from sfumato.tasks.parts.original import original_of_version
from sfumato.tasks.private.failure import sanitise_errors, say
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.identity import fingerprint
from sfumato.tasks.private.people.keys import names_of, people_key
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.query.engines.truth import Original
from sfumato.tasks.stages.deidentify import identity, names_for_fingerprint, persons_counted
from sfumato.tasks.stages.evaluate import evaluate_release, represented_rows
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.verification.integrity import require_intact
from sfumato.tasks.workers.workers import InTurn

REGISTER = "register"
"""The key of scores of linking a register; scores of a column have the column's name."""
TOGETHER = "{} (all versions together)"
"""The key of scores of a column in several versions."""


def ingest_again(resolved: ResolvedRun) -> Microdata:
    """Return the rows that a run of a spec is about, read from its source and coded."""
    return coded_source(resolved, ingest_source(resolved).microdata)


def names_in_source(resolved: ResolvedRun, source: Microdata) -> np.ndarray | None:
    """Return the name of each row's person (S16), or None if fingerprints need no names."""
    return names_for_fingerprint(
        source, resolved.terms, resolved.identifiers, resolved.line.private
    )


@passphrases(environ)
def evaluate_again(directory: Path, spec: Path, overrides: Overrides) -> MeasuredBounds:
    """Measure a version on the spec's workloads, against the original.

    Raises:
        InputError: where the version is not one of this line, or of another source.
    """
    resolved = _resolved_for(directory, spec, overrides)
    line = resolved.line
    with sanitise_errors("evaluate"), _read_again(directory, resolved) as original:
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
            for message in (message for copy in deliver_known(line) for message in copy.messages):
                say(message)


@passphrases(environ)
def attack_again(
    directory: Path,
    spec: Path,
    overrides: Overrides,
    register: Path | None = None,
    others: Sequence[tuple[Path, Path]] = (),
    runs: int = 0,
) -> tuple[dict[str, list[Score]], list[JudgedBar]]:
    """Attack a version; return the scores, and which bars of the spec it keeps.

    Args:
        directory: the version.
        spec: of its line.
        overrides: what is changed of it.
        register: a file of everybody whom it could be about, which is linked with it.
        others: versions about the same people with their specs, which are read beside it.
        runs: on so many drawn worlds its partition is run again, where that has to be.

    Returns:
        The scores by sensitive column, those of the register, and of the versions together, under
        names of their own; and the bars.

    Raises:
        InputError: where the version is not one of this line, of another source, or in parts or
            composed while its people are asked for.
    """
    resolved = _resolved_for(directory, spec, overrides)
    bars = resolved.spec.attacks.with_local_registers(resolved.base)
    if others and resolved.terms.has_related_rows:
        raise InputError(
            "--also: versions of two tables are about different people, so they are not attacked "
            "together. Leave the option out"
        )
    with sanitise_errors("attack"):
        if resolved.terms.parts is not None or resolved.terms.is_composed:
            options = {"--register": register, "--also": others, "--runs": runs}
            more = next((option for option, value in options.items() if value), None)
            if more is not None:
                _refuse_option(directory, resolved.terms, more)
        if resolved.terms.parts is not None:
            require_intact(open_release(directory.resolve()))
            parts, _ = attack_all_parts(directory.resolve(), bars, InTurn())
            return pool_scores(parts), [measured.judged_bar for measured in pool_limits(parts)]
        targets = [replace(target, runs=runs) for target in _targets(directory, resolved)]
        scores = attack_release(targets)
        if register is not None:
            whole = replace(targets[0], sensitive="")
            scores[REGISTER] = list(link(whole, read_register(whole.declared, register)))
        if others:
            scores |= _attack_together([(directory, resolved), *map(_resolve_pair, others)])
        return scores, judge_bars(bars.root, targets)


def _refuse_option(directory: Path, terms: Terms, option: str) -> None:
    """Refuse an option that needs people, on a version in parts or a composed one."""
    why = "in parts" if terms.parts is not None else "composed"
    raise InputError(
        f"{directory}: is {why}, and {option} does not work for such versions. Leave the option out"
    )


def _resolve_pair(other: tuple[Path, Path]) -> tuple[Path, ResolvedRun]:
    directory, spec = other
    return directory, _resolved_for(directory, spec, Overrides())


def _targets(
    directory: Path, resolved: ResolvedRun, followed: bool = False
) -> tuple[AttackedRelease, ...]:
    """Return a version as a target, once for each sensitive column; its people may be followed."""
    release = open_release(directory.resolve())
    require_intact(release)
    if followed and (release.declared.parts is not None or release.declared.is_composed):
        _refuse_option(directory, release.declared, "--also")
    original = _original(directory, resolved, followed)
    people = represented_rows(release, resolved.line, original)
    tables = read_tables(release.declared, release.directory / "data")
    digest = release.manifest["sfumato"]["digest"]
    return targets_of(release.declared, tables, people, digest=digest)


def _attack_together(versions: Sequence[tuple[Path, ResolvedRun]]) -> dict[str, list[Score]]:
    """Attack several versions together; return the scores of the columns that all have."""
    places = [directory.resolve() for directory, _ in versions]
    if len({*places}) < len(places):
        raise InputError("--also: names a version twice. Name different versions")
    by_version = [_targets(*version, followed=True) for version in versions]
    targets = [
        {target.sensitive: target for target in version_targets if target.sensitive}
        for version_targets in by_version
    ]
    named = set.intersection(*({*by_column} for by_column in targets))
    if not named:
        raise InputError(
            "--also: the versions have no sensitive column in common, so they cannot be "
            "attacked together"
        )
    return {
        TOGETHER.format(name): list(compose([by_column[name] for by_column in targets]))
        for name in sorted(named)
    }


def _resolved_for(directory: Path, spec: Path, overrides: Overrides) -> ResolvedRun:
    resolved = resolve_run(spec, overrides)
    if not directory.is_dir():
        raise InputError(f"{directory}: the directory does not exist. Correct the path")
    if directory.resolve().parent != resolved.line.public.resolve():
        raise InputError(
            f"{directory}: is not a version of the spec's line {resolved.line.public}. "
            "Name a version of that line"
        )
    if directory.resolve().name not in read_state(resolved.line.private).versions:
        raise InputError(
            f"{directory}: the work directory {resolved.line.work} does not know this "
            "version. Set SFUMATO_WORK to the work directory that released it"
        )
    return resolved


@contextmanager
def _read_again(directory: Path, resolved: ResolvedRun) -> Iterator[Original]:
    """Read the rows of a version again; yield them as an original, in parts if the spec says so.

    Raises:
        InputError: where it was made of others, or nothing says whose its rows are.
    """
    if resolved.terms.parts is None:
        yield _original(directory, resolved)
        return
    with scratch_directory(environ) as scratch:
        divided = divide_source(resolved, scratch)
        _require_made_of(directory, resolved.line, identity(divided).rows)
        yield original_of_version(divided, directory.resolve(), resolved.line)


def _require_made_of(directory: Path, line: Line, rows: str) -> None:
    version = read_state(line.private).versions.get(directory.resolve().name)
    if version is None or version.rows != rows:
        raise InputError(
            f"{directory}: was not made from this source. Name the source of the version"
        )


def _original(directory: Path, resolved: ResolvedRun, followed: bool = False) -> Microdata:
    """Read the rows of a version again.

    Args:
        directory: the version.
        resolved: the run of its spec.
        followed: whether persons are numbered as in all sources of these people.

    Raises:
        InputError: where it was made of others, or nothing says whose its rows are.
    """
    line = resolved.line
    original = ingest_again(resolved)
    names = names_in_source(resolved, original)
    whose = persons_counted(original, resolved.terms, resolved.identifiers)
    if followed:
        whose = _numbers_of_people(resolved, original)
    original = original.with_columns([original[name] for name in resolved.terms.columns])
    _require_made_of(directory, line, fingerprint(original, line_key(line.private), names))
    return replace(original, person=whose)


def _numbers_of_people(resolved: ResolvedRun, source: Microdata) -> np.ndarray:
    """Return a number for each row's person (int64), the same in all sources."""
    if resolved.unit is None:
        raise InputError(
            "--also: needs a unit that identifies people in all versions, and a spec has no unit"
        )
    names = names_of(source[resolved.unit], people_key(resolved.line.work))
    return names.view(np.int64).reshape(len(names), -1)[:, 0]
