"""Backups: a line's private state as one file, and back (key, versions, units, suppressed rows).

The file is as secret as the state itself, unless the key is wrapped. A restore is journalled first:
the next command that opens the line finishes a restore that was cut short.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private.durable import sync_directory, write_atomically
from sfumato.tasks.private.keys import KEY
from sfumato.tasks.private.people.frozen import CHOICES, CODINGS, FACTORS
from sfumato.tasks.private.people.keys import PEOPLE, restore_people_key
from sfumato.tasks.private.people.source_rows import ROWS, ROWS_NORMAL
from sfumato.tasks.private.people.spelled import UNITS_NORMAL
from sfumato.tasks.private.people.store import ERASED, MAP
from sfumato.tasks.private.state import STATE, LineState, parse_state
from sfumato.tasks.private.workdir import private_directory, state_lock
from sfumato.tasks.schema.files import parse_json, read_bytes
from sfumato.tasks.schema.formats import require_readable

_FORMAT = 8
_CONTENTS = "backup.json"  # the list of an archive's files
PEOPLE_KEY = "people-key"
_JOURNAL = ".restoring"  # a restore that was begun: an archive, in the line's directory
WITHDRAWN = "withdrawn"
"""The folder of the files that are kept of a withdrawn version; in backups since format 2."""
REVIEWS = "reviews.json"
"""The file of the fates of candidates that waited for approval; in backups since format 3."""
ATTACKED = "attacks.json"
"""The file of attackers' guesses about the last candidate that bars refused; since format 6."""
REFUSED = "refusals.json"
"""The file of candidates that bars on attacks refused, and of these bars; since format 7."""
_NORMAL = (UNITS_NORMAL, ROWS_NORMAL)
"""The folders of units and rows in their normal forms, which backups have since format 8."""
_FOLDERS = ("units", "left-out", MAP, ROWS, *_NORMAL, WITHDRAWN)
_DOCUMENTS = (  # documents of older formats are kept as well
    "state*.json",
    "cuts.json",
    CODINGS,  # since format 4
    FACTORS,  # since format 5
    CHOICES,  # since format 5
    "releases.format-*.json",
    REVIEWS,
    ATTACKED,
    REFUSED,
)


def state_files(line: Path) -> dict[str, bytes]:
    """Return the content of every file of the line's state, by its path from there."""
    single = [line / KEY, *(path for names in _DOCUMENTS for path in line.glob(names))]
    many = [path for folder in _FOLDERS for path in (line / folder).glob("*")]
    return {
        path.relative_to(line).as_posix(): read_bytes(path)
        for path in sorted([*single, *many])
        if path.is_file()
    }


def backup(line: Path) -> bytes:
    """Return the line's state as a tar archive that lists its own files with their SHA-256.

    Raises:
        InputError: where the line has no state yet.
    """
    with state_lock(line):
        files = state_files(line)
    if STATE not in files:
        raise InputError(
            f"{line}: there is no state to back up yet. Release the line first: sfumato "
            "release SPEC"
        )
    return pack(line.name, {**files, **_people_key(line)})


def kept_files(line: Path) -> dict[str, bytes]:
    """Return the kept files of withdrawn versions, which no backup made before has."""
    files = state_files(line)
    return {path: files[path] for path in files if path.startswith(f"{WITHDRAWN}/")}


def _people_key(line: Path) -> dict[str, bytes]:
    """Return the secret of the names of people and of rows, if the line has any."""
    path = line.parent / PEOPLE / KEY
    named = any((line / folder).exists() for folder in (MAP, ROWS, *_NORMAL, CODINGS))
    return {PEOPLE_KEY: read_bytes(path)} if named and path.exists() else {}


def take_people_key(place: Path, line: Path, files: dict[str, bytes]) -> None:
    """Put back the secret of the names of people, and take it out of a backup's files.

    Args:
        place: the backup, for messages.
        line: the line's private directory.
        files: the files of the backup, which are changed.

    Raises:
        InputError: where the work directory has another secret.
    """
    saved = files.pop(PEOPLE_KEY, None)
    if saved is None:
        return
    restore_people_key(place, line.parent, saved)


def pack(name: str, files: Mapping[str, bytes]) -> bytes:
    """Return a backup of these files."""
    contents = {
        "format": _format_of(files),
        "line": name,
        "sha256": {path: hashlib.sha256(content).hexdigest() for path, content in files.items()},
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in {_CONTENTS: json.dumps(contents).encode(), **files}.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o600
            tar.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def _format_of(files: Mapping[str, bytes]) -> int:
    """Return the lowest format that has these files."""
    if any(path.startswith(tuple(f"{folder}/" for folder in _NORMAL)) for path in files):
        return 8
    if REFUSED in files:
        return 7
    if ATTACKED in files:
        return 6
    if FACTORS in files or CHOICES in files:
        return 5
    if CODINGS in files:
        return 4
    if REVIEWS in files:
        return 3
    return 2 if any(path.startswith(f"{WITHDRAWN}/") for path in files) else 1


def unpack(place: Path, content: bytes, name: str) -> dict[str, bytes]:
    """Return the files of a backup of the line of that name.

    Args:
        place: the backup, for messages.
        content: its content.
        name: the name of the line.

    Raises:
        InputError: where it is no backup, another line's, damaged, or newer software's.
    """
    files = unpack_files(place, content, name)
    if not all(map(_belongs, files)) or not {STATE, KEY} <= files.keys():
        raise InputError(f"{place}: the backup is damaged or incomplete. Use another backup")
    return files


def unpack_files(place: Path, content: bytes, name: str) -> dict[str, bytes]:
    """Return the files of a backup under that name, each with the SHA-256 that the backup lists.

    Raises:
        InputError: where it is no backup, another's, damaged, or newer software's.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            members = [member for member in tar.getmembers() if member.isfile()]
            files = {member.name: _read(tar, member) for member in members}
        contents = parse_json(files.pop(_CONTENTS))
        require_readable(place, contents, _FORMAT)
        listed, line = contents["sha256"], contents["line"]
    except (tarfile.TarError, ValueError, KeyError, TypeError, AttributeError, EOFError):
        raise InputError(
            f"{place}: is not a backup of {name}. Give a file that `backup` wrote"
        ) from None
    if line != name:
        raise InputError(
            f"{place}: is a backup of something other than {name}. Give the backup of {name}"
        )
    digests = {path: hashlib.sha256(part).hexdigest() for path, part in files.items()}
    if digests != listed:
        raise InputError(f"{place}: the backup is damaged or incomplete. Use another backup")
    return files


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _belongs(path: str) -> bool:
    """Decide whether a path is one that a line's state has: nothing else is ever written."""
    folder, _, name = path.rpartition("/")
    if folder:
        return folder in _FOLDERS and (name.isdigit() or (folder, name) == (MAP, ERASED))
    return path in (KEY, PEOPLE_KEY) or any(fnmatchcase(path, names) for names in _DOCUMENTS)


def state_in(place: Path, files: Mapping[str, bytes]) -> LineState:
    """Return the line's state as it was backed up."""
    return parse_state(place, files[STATE])


def replace_state(line: Path, files: Mapping[str, bytes]) -> None:
    """Replace the line's state by these files, all of them or none; its lock is held."""
    write_atomically(line / _JOURNAL, pack(line.name, files))
    _follow_journal(line)


def finish_restoring(line: Path) -> None:
    """Finish a restore that was cut short."""
    if (line / _JOURNAL).exists():
        with state_lock(line):
            _follow_journal(line)


def _follow_journal(line: Path) -> None:
    journal = line / _JOURNAL
    if not journal.exists():
        return
    files = unpack(journal, read_bytes(journal), line.name)
    for path in state_files(line).keys() - files.keys():
        (line / path).unlink()
    for path, content in files.items():
        private_directory((line / path).parent)
        write_atomically(line / path, content)
    journal.unlink()
    sync_directory(line)
