"""Frozen folders as archives: one `.tar.xz` for each, unpacked once for all runs of the tests."""

import hashlib
import io
import lzma
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

ARCHIVES = Path(__file__).parent
UNPACKED = ARCHIVES.parents[1] / "build" / "corpus"


def unpack_archives() -> Path:
    """Return the directory of all frozen folders; unpacks the archives unless that was done.

    The directory is named by the archives' bytes, and appears whole.
    """
    archives = sorted(ARCHIVES.glob("*.tar.xz"))
    digest = hashlib.sha256()
    for archive in archives:
        digest.update(archive.name.encode() + archive.read_bytes())
    place = UNPACKED / digest.hexdigest()[:16]
    if not place.exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=UNPACKED) as scratch:
            whole = Path(scratch) / "whole"
            for archive in archives:
                with tarfile.open(archive) as tar:
                    extract(tar, whole)
            with suppress(OSError):  # another worker was first
                whole.rename(place)
    return place


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack an archive of ours; Python before 3.11.4 knows no filters."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)


def pack(folder: Path) -> Path:
    """Pack a folder; return its archive beside this module. Equal files give equal bytes."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder.parent).as_posix()
            tar.add(path, name, recursive=False, filter=_anonymous)
    archive = ARCHIVES / f"{folder.name}.tar.xz"
    archive.write_bytes(lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return archive


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out of a member what differs between machines: owners, times and most of the mode."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o755 if member.isdir() else 0o644
    return member
