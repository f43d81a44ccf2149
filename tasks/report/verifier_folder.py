"""The second verifier beside a line, with which readers check its versions in their browsers.

    <line>/verifier/index.html    the page; `?version=0001` chooses a version of the line
    <line>/verifier/SHA256SUMS    every other file, as `sha256sum -c` reads it
    <line>/verifier/…             the files of `deployments/verifier`, byte for byte

The folder appears by one rename, so that no browser loads modules of two versions of the software.
"""

import hashlib
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from sfumato.tasks.private.durable import name_in_errors, sync_directory, sync_tree
from sfumato.tasks.schema.files import read_bytes

VERIFIER, SUMS = "verifier", "SHA256SUMS"
_SOURCE = Path(__file__).parents[2] / "deployments" / "verifier"
_STAGED, _REPLACED = ".staging-verifier", ".staging-verifier-before"
"""Names in the line's directory while it is replaced; what a killed run leaves there is swept."""
_MARK = b"# Sfumato's second verifier of releases"


@cache
def verifier_files() -> Mapping[str, bytes]:
    """Return the content of each file of the folder by its path in it, with / between names."""
    paths = sorted(path for path in _SOURCE.rglob("*") if path.is_file())
    files = {path.relative_to(_SOURCE).as_posix(): read_bytes(path) for path in paths}
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in files.items()]
    return {**files, SUMS: b"\n".join([_MARK, *map(str.encode, sums), b""])}


def write_verifier(public: Path) -> bool:
    """Bring the verifier beside a line, whose lock is held, up to date.

    Returns:
        False if something that is not ours has its place, which is left as it is.

    Raises:
        OSError: where it cannot be written.
    """
    place = public / VERIFIER
    if not is_verifier_ours(public):
        return False
    if is_verifier_written(public):
        return True
    staged, replaced = public / _STAGED, public / _REPLACED
    for folder in (staged, replaced):
        shutil.rmtree(folder, ignore_errors=True)
    _write_files(staged)
    sync_tree(staged)
    if place.exists():
        place.rename(replaced)
    staged.rename(place)
    sync_directory(public)
    shutil.rmtree(replaced, ignore_errors=True)
    return True


def _write_files(staged: Path) -> None:
    """Write the files, readable by everyone, into a new directory."""
    staged.mkdir()
    for name, content in verifier_files().items():
        path = staged / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with name_in_errors(path):
            path.write_bytes(content)
        path.chmod(0o644)
    for folder in (staged, *filter(Path.is_dir, staged.rglob("*"))):
        folder.chmod(0o755)


def is_verifier_ours(public: Path) -> bool:
    """Decide whether a line has no folder of this name, or one that says that Sfumato wrote it."""
    place = public / VERIFIER
    if not place.is_symlink() and not place.exists():
        return True
    try:
        return read_bytes(place / SUMS).startswith(_MARK)
    except OSError:
        return False


def is_verifier_written(public: Path) -> bool:
    """Decide whether the verifier beside a line has the files of this software, and no others."""
    place, files = public / VERIFIER, verifier_files()
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    return there == files.keys() and all(
        read_bytes(place / name) == content for name, content in files.items()
    )


def verifier_beside(public: Path) -> dict[str, bytes]:
    """Return the files of the verifier beside a line, for copies of the line; {} if not ours.

    The keys are paths in the directory of the line. The sums come last, so that a copy that has
    them has the others.
    """
    place = public / VERIFIER
    if not place.is_dir() or not is_verifier_ours(public):
        return {}
    paths = sorted(path for path in place.rglob("*") if path.is_file())
    names = [PurePosixPath(path.relative_to(public)).as_posix() for path in paths]
    names.sort(key=lambda name: name == f"{VERIFIER}/{SUMS}")
    return {name: read_bytes(public / name) for name in names}
