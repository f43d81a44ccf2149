"""What is done with a line's private state: kept elsewhere, put back, given another key."""

import os
from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import InputError, PromiseError, SfumatoError, SpecError
from sfumato.flows.evaluation import ingest_again
from sfumato.flows.plan import plan_run
from sfumato.flows.spec import Overrides, SourceOverrides
from sfumato.tasks.private.backup import (
    backup,
    replace_state,
    state_files,
    state_in,
    unpack,
)
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.keys import KEY, PASSPHRASE, key_file, line_key, new_secret, rewrap
from sfumato.tasks.private.line import fingerprint, unit_hashes
from sfumato.tasks.private.state import STATE, LineState, PublishedVersion, read_state
from sfumato.tasks.publication.line import Line, hold
from sfumato.tasks.publication.ownership import owner_mark, take_ownership
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.publication.versions import read_record
from sfumato.tasks.schema.files import unreadable

NEW_PASSPHRASE = "SFUMATO_NEW_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable


def back_up(spec: Path, file: Path) -> None:
    """Write a line's private state to a file that its owner alone can read.

    Raises:
        InputError: where there is no state yet, or the file cannot be written.
    """
    content = backup(plan_run(spec).line.private)
    try:
        write_atomically(file, content)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({type(error).__name__})") from None


def restore(spec: Path, file: Path) -> None:
    """Put a line's private state back from a backup.

    Raises:
        InputError: where the file is no whole backup of this line.
        PromiseError: where the state that is there, or the public record, is newer.
    """
    line = plan_run(spec).line
    if reason := unreadable(file):
        raise InputError(f"{file}: {reason}")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({type(error).__name__})") from None
    files = unpack(file, content, line.name)
    saved = state_in(file, files).counter
    with hold(line):
        newest = max(_present_counter(line), read_record(line.public).counter)
        if saved < newest:
            raise PromiseError(
                f"{file}: is older than the line, {saved} < {newest}: versions that it does not "
                "know would be forgotten"
            )
        replace_state(line.private, files)


def _present_counter(line: Line) -> int:
    """That of the state in its place; a state that cannot be read is what a backup is for."""
    try:
        recover(line)
        return read_state(line.private).counter
    except SfumatoError:
        return 0


def change_passphrase(spec: Path, environ: Mapping[str, str], *, unwrap: bool) -> None:
    """Wrap the line's key with `$SFUMATO_NEW_KEY_PASSPHRASE`, or leave it unwrapped.

    Raises:
        InputError: where a passphrase is missing or wrong.
    """
    new = environ.get(NEW_PASSPHRASE)
    if not unwrap and not new:
        raise InputError(f"{NEW_PASSPHRASE}: is not set")
    line = plan_run(spec).line.private
    rewrap(line, environ.get(PASSPHRASE), None if unwrap else new)


def rekey(spec: Path, sources: Mapping[str, str], specs: Mapping[str, Path]) -> None:
    """Draw another key, and make every keyed digest and hash of the line anew with it.

    Args:
        spec: the line's spec.
        sources: the address of every version's source, by its number.
        specs: the spec of a version, where it is not `spec`.

    Raises:
        SpecError: where a version has no source, or a number is no version.
        InputError: where a source is not what its version was made of.
    """
    line = plan_run(spec).line
    with hold(line), sanitised("rekey"):
        recover(line)
        state = read_state(line.private)
        _require_all(state, sources)
        old, new = line_key(line.private), new_secret()
        files = state_files(line.private)
        files = {path: files[path] for path in files if not path.startswith("state")}
        versions = {}
        for number, known in state.versions.items():
            place = specs.get(number, spec)
            versions[number], units = _rekeyed(number, known, place, sources[number], old, new)
            if units is not None:
                files[f"units/{number}"] = units
        changed = {"versions": versions, "former_mark": owner_mark(old)}
        files[KEY] = key_file(new, os.environ.get(PASSPHRASE))
        files[STATE] = state.model_copy(update=changed).model_dump_json(exclude_none=True).encode()
        replace_state(line.private, files)
        take_ownership(line)


def _require_all(state: LineState, sources: Mapping[str, str]) -> None:
    for number in sorted(state.versions.keys() ^ sources.keys()):
        rule = "give its source" if number in state.versions else "is no version of the line"
        raise SpecError(f"--source {number}: {rule}")


def _rekeyed(
    number: str, known: PublishedVersion, spec: Path, source: str, old: bytes, new: bytes
) -> tuple[PublishedVersion, bytes | None]:
    plan = plan_run(spec, Overrides(source=SourceOverrides(uri=source)))
    rows = ingest_again(plan)
    shown = rows.keep(rows[name] for name in plan.terms.columns)
    if fingerprint(shown, old) != known.rows:
        raise InputError(f"--source {number}: is not what version {number} was made of")
    units = unit_hashes(rows[plan.unit], new).tobytes() if plan.unit else None
    return known.model_copy(update={"rows": fingerprint(shown, new)}), units
