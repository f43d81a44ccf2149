"""Care of a line's private state: backup, restoration, other passphrases and keys."""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError, SpecError
from sfumato.flows.inputs.overrides import Overrides, SourceOverrides
from sfumato.flows.inputs.passphrases import NEW_PASSPHRASE, passphrases
from sfumato.flows.inputs.resolved import resolve_run, with_references
from sfumato.flows.life.evaluation import ingest_again, names_in_source
from sfumato.tasks.approval.history import with_past
from sfumato.tasks.attacks.refusals import KeyedIdentity, rekeyed_refusals, with_refusals
from sfumato.tasks.lines.line import Line, hold, owner_mark, take_ownership
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.keys import KEY, PASSPHRASE, key_file, line_key, new_secret, rewrap
from sfumato.tasks.private.people.backup import (
    backup,
    finish_restoring,
    kept_files,
    replace_state,
    state_files,
    state_in,
    take_people_key,
    unpack,
)
from sfumato.tasks.private.people.forget import (
    forget_units,
    rename_units,
    with_forgotten,
)
from sfumato.tasks.private.people.frozen import require_no_shift
from sfumato.tasks.private.people.identity import fingerprint, unit_hash, unit_hashes
from sfumato.tasks.private.people.keys import (
    PEOPLE,
    name_of,
    people_key,
    rewrap_people_key,
)
from sfumato.tasks.private.people.spelled import spelled_unit
from sfumato.tasks.private.people.store import erased_names
from sfumato.tasks.private.state import STATE, LineState, PublishedVersion, read_state
from sfumato.tasks.private.workdir import private_directory, private_work_directory
from sfumato.tasks.private.wrapping import passphrase_in
from sfumato.tasks.publication.amendments import SignedVersion
from sfumato.tasks.publication.amendments import sign_version as publish_signature
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.schema.files import read_bytes, unreadable
from sfumato.tasks.terms.opened import require_release
from sfumato.tasks.verification.key_backup import backup_keys, restore_keys
from sfumato.tasks.verification.signing_keys import PublicKey, open_signer, signing_key

REFUSED_SOURCE = "refused"
"""The prefix of names of sources without a version: bars on attacks refused their candidates."""


@dataclass(frozen=True)
class SourceReadAgain:
    """A source as it is known by one key, and by another.

    Attributes:
        before: its rows and terms by the present key.
        after: by the other one.
        units: whom it is about, hashed by the other key; None where rows are people.
    """

    before: KeyedIdentity
    after: KeyedIdentity
    units: bytes | None


def read_again(spec: Path, source: str, old: bytes, new: bytes) -> SourceReadAgain:
    """Read the source of a version, or of a candidate, again."""
    resolved = resolve_run(spec, Overrides(source=SourceOverrides(uri=source)))
    rows = ingest_again(resolved)
    published = rows.with_columns([rows[name] for name in resolved.terms.columns])
    names = names_in_source(resolved, rows)
    before, after = (
        KeyedIdentity(
            fingerprint(published, key, names), with_references(resolved, key).terms.digest()
        )
        for key in (old, new)
    )
    units = unit_hashes(rows[resolved.unit], new).tobytes() if resolved.unit else None
    return SourceReadAgain(before, after, units)


def rekey_version(
    number: str, version: PublishedVersion, source: SourceReadAgain
) -> tuple[PublishedVersion, bytes | None]:
    """Return a version as the line knows it by another key, and the units it is about.

    Raises:
        InputError: where its source is not what it was made of.
    """
    if source.before.rows != version.rows:
        raise InputError(
            f"--source {number}: version {number} was not made from this source. Name the "
            "source of that version"
        )
    spec = source.after.spec if version.spec == source.before.spec else version.spec
    return version.model_copy(update={"rows": source.after.rows, "spec": spec}), source.units


def sources_of_refused(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the sources of refused candidates, of which no version was made."""
    return {name: uri for name, uri in sources.items() if name.startswith(REFUSED_SOURCE)}


def back_up(spec: Path, file: Path) -> None:
    """Write a line's private state to a file that only its owner can read.

    Raises:
        InputError: where there is no state yet, or the file cannot be written.
    """
    _write(file, backup(resolve_run(spec).line.private))


def back_up_keys(file: Path) -> None:
    """Write all signing keys, wrapped as they are, to a file that only its owner can read.

    Raises:
        InputError: where there are none, or the file cannot be written.
    """
    _write(file, backup_keys(private_work_directory(os.environ)))


def restore_signing_keys(file: Path) -> list[PublicKey]:
    """Put back the signing keys of a backup that are missing, and return them.

    Raises:
        InputError: where the file is no whole backup of signing keys, or another key has the name
            of one of them.
    """
    return restore_keys(private_work_directory(os.environ), file, _content(file))


def _write(file: Path, content: bytes) -> None:
    try:
        write_atomically(file, content)
    except OSError as error:
        raise InputError(with_remedies(f"{file}: cannot be written", error)) from None


def _content(file: Path) -> bytes:
    if reason := unreadable(file):
        raise InputError(f"{file}: {reason}")
    try:
        return read_bytes(file)
    except OSError as error:
        raise InputError(with_remedies(f"{file}: cannot be read", error)) from None


@passphrases(os.environ)
def restore(spec: Path, file: Path) -> None:
    """Put a line's private state back from a backup.

    Raises:
        InputError: where the file is no whole backup of this line.
        PromiseError: where the state that is there, or the public record, is newer.
    """
    line = resolve_run(spec).line
    files = unpack(file, _content(file), line.name)
    saved = state_in(file, files).counter
    with hold(line):
        newest = max(_present_counter(line), read_record(line.public).counter)
        if saved < newest:
            raise PromiseError(
                f"{file}: is older than the line ({saved} < {newest}), and would lose "
                "later versions. Use a newer backup"
            )
        take_people_key(file, line.private, files)
        files = with_past({**kept_files(line.private), **files}, line.private)
        files = with_refusals(files, line.private)
        replace_state(line.private, with_forgotten(files, erased_names(line.private)))


def _present_counter(line: Line) -> int:
    """Return the counter of the present state, or 0 if it cannot be read.

    A backup is for a state that cannot be read.
    """
    try:
        recover(line)
        return read_state(line.private).counter
    except SfumatoError:
        return 0


@passphrases(os.environ)
def change_passphrase(
    spec: Path, environ: Mapping[str, str], *, unwrap: bool, people: bool
) -> None:
    """Wrap a key with `$SFUMATO_NEW_KEY_PASSPHRASE`, or leave it unwrapped.

    Args:
        spec: the line's spec.
        environ: has the passphrases.
        unwrap: whether to leave it unwrapped.
        people: whether the key is that of people's names, which all lines have in common.

    Raises:
        InputError: where a passphrase is missing or wrong.
    """
    new = passphrase_in(environ, NEW_PASSPHRASE)
    if not unwrap and not new:
        raise InputError(f"{NEW_PASSPHRASE}: is not set. Set it to the passphrase")
    line, wrapped_by = resolve_run(spec).line, None if unwrap else new
    if people:
        rewrap_people_key(line.work, wrapped_by, environ)
    else:
        rewrap(line.private, passphrase_in(environ, PASSPHRASE), wrapped_by)


@passphrases(os.environ)
def forget(spec: Path, file: Path) -> int:
    """Delete which slots people have in a line, and keep them out of its later versions.

    Args:
        spec: the line's spec.
        file: the units of these people as the source writes them, one a line.

    Returns:
        The number of people.

    Raises:
        InputError: where the file cannot be read, or a unit has no slot.
    """
    line = resolve_run(spec).line
    units = [text for text in _content(file).decode("utf-8", "replace").splitlines() if text]
    if not units:
        raise InputError(f"{file}: has no unit. Write one unit on each line")
    with hold(line), sanitise_errors("forget"):
        recover(line)
        secret = people_key(line.private.parent)
        files = state_files(line.private)
        replace_state(line.private, forget_units(file, files, [name_of(u, secret) for u in units]))
        take_ownership(line)
    return len(set(units))


@passphrases(os.environ)
def rename(spec: Path, file: Path) -> int:
    """Know people of a line by other units from now on.

    Args:
        spec: the line's spec.
        file: an old and a new unit of each, as sources write them, a line each, with a comma.

    Returns:
        The number of people.

    Raises:
        InputError: where the file cannot be read, a unit has no slot, two would become one, or
            dates are moved by unit.
    """
    line = resolve_run(spec).line
    rows = list(csv.reader(_content(file).decode("utf-8", "replace").splitlines()))
    if not rows or any(len(row) != 2 for row in rows):
        raise InputError(
            f"{file}: a line has no pair of units. Write an old and a new unit on each "
            "line, separated by a comma"
        )
    with hold(line), sanitise_errors("rename"):
        recover(line)
        require_no_shift(line.private)
        secret = people_key(line.work)
        names = {name_of(old, secret): name_of(new, secret) for old, new in rows}
        key = line_key(line.private)
        hashes = {unit_hash(old, key): unit_hash(new, key) for old, new in rows}
        spelled = {name_of(old, secret): spelled_unit(new, secret) for old, new in rows}
        files = rename_units(file, state_files(line.private), names, hashes, spelled)
        replace_state(line.private, files)
        take_ownership(line)
    return len(names)


@passphrases(os.environ)
def rekey(spec: Path, sources: Mapping[str, str], specs: Mapping[str, Path]) -> Path | None:
    """Draw another key, and compute every keyed digest and hash of the line again with it.

    Args:
        spec: the line's spec.
        sources: the address of every version's source, by its number; those of candidates that
            bars on attacks refused are called `refused`, `refused-2` and so on.
        specs: the spec of a version, where it is not `spec`.

    Returns:
        The key of people's names, which stays as it is; None where there is none.

    Raises:
        SpecError: where a version has no source, or a number is no version.
        InputError: where a source is not what its version was made of.
    """
    line = resolve_run(spec).line
    with hold(line), sanitise_errors("rekey"):
        recover(line)
        state = read_state(line.private)
        _require_all(state, sources)
        old, new = line_key(line.private), new_secret()
        files = state_files(line.private)
        files = {path: files[path] for path in files if not path.startswith("state")}
        versions, identities = {}, []
        for number, version in state.versions.items():
            place = specs.get(number, spec)
            read = read_again(place, sources[number], old, new)
            versions[number], units = rekey_version(number, version, read)
            identities.append((read.before, read.after))
            if units is not None:
                files[f"units/{number}"] = units
        for name, uri in sources_of_refused(sources).items():
            read = read_again(specs.get(name, spec), uri, old, new)
            identities.append((read.before, read.after))
        files |= rekeyed_refusals(line.private, identities)
        changed = {"versions": versions, "former_mark": owner_mark(old)}
        files[KEY] = key_file(new, passphrase_in(os.environ, PASSPHRASE))
        files[STATE] = state.model_copy(update=changed).model_dump_json(exclude_none=True).encode()
        replace_state(line.private, files)
        take_ownership(line)
    stays = line.work / PEOPLE / KEY
    return stays if stays.exists() else None


@passphrases(os.environ)
def sign_version(directory: Path, key: str) -> tuple[PublicKey, SignedVersion]:
    """Sign a published version with the signing key of that name.

    Returns:
        The key, and what became of the version.

    Raises:
        InputError: where there is no release, or the key cannot be opened or is not to sign it.
        PromiseError: where no line of this work directory published it in this state.
    """
    require_release(directory)
    release, work = directory.resolve(), private_work_directory(os.environ)
    name = release.parent.name
    private = work / name
    if not (private / STATE).is_file():
        raise PromiseError(
            f"{directory}: was not published by a line {name} in {work}. Set SFUMATO_WORK "
            "to the work directory of its line"
        )
    signer = open_signer(signing_key(work, key))
    with sanitise_errors("sign"):
        finish_restoring(private_directory(private))
        line = Line(name, release.parent, private)
        return signer.key, publish_signature(line, release.name, signer)


def _require_all(state: LineState, sources: Mapping[str, str]) -> None:
    numbers = sources.keys() - sources_of_refused(sources)
    for number in sorted(state.versions.keys() ^ numbers):
        rule = (
            "its source is missing. Add --source NUMBER=URI"
            if number in state.versions
            else "is not a version of the line. Leave it out"
        )
        raise SpecError(f"--source {number}: {rule}")
