"""A release from elsewhere as a directory here, in a private cache of the reader's.

    $XDG_CACHE_HOME/sfumato/elsewhere/<hash of the line's address>/<version>/
    $XDG_CACHE_HOME/sfumato/elsewhere/<hash of the line's address>/releases.json, and other files

Files listed by a manifest are fetched once for each manifest. The manifest itself, its signature,
and the files beside a line are requested each time, so that withdrawals and revocations are known.
Every file has the size and the SHA-256 that the manifest states before it gets its name; the way in
verifies the directory again, as it does any other.
"""

import hashlib
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.tasks.microdata.notation.address import local_path, scheme_of
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes
from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE, open_release
from sfumato.tasks.terms.tombstone import WITHDRAWAL, WITHDRAWAL_SIGNATURE
from sfumato.tasks.verification.elsewhere.place import PlaceElsewhere
from sfumato.tasks.verification.elsewhere.registry import PLACES
from sfumato.tasks.verification.integrity import listed_files
from sfumato.tasks.verification.line_log import LOG
from sfumato.tasks.verification.offered_keys import KEYS_FILE
from sfumato.tasks.verification.record import cache_directory

GIGABYTES = 4.0
"""The largest size of a release from elsewhere, unless the reader accepts larger ones."""

_RECORD = "releases.json"
_ATTEMPTS = 3
_DOCUMENT = 1 << 26  # bytes of a manifest, record or signature
_VERSION = re.compile(r"\w[\w.-]*")


def is_elsewhere(address: str) -> bool:
    """Decide whether an address is that of a release that has to be copied before it is read.

    >>> is_elsewhere("https://example.org/wages/0001"), is_elsewhere("releases/wages/0001")
    (True, False)
    """
    return scheme_of(address) in PLACES


def directory_of(place: str, environ: Mapping[str, str], gigabytes: float = GIGABYTES) -> Path:
    """Return the directory of a release, or of its copy here if it is elsewhere.

    Args:
        place: a path, file://, or what `copy_release` takes.
        environ: the reader's.
        gigabytes: the largest size of a release from elsewhere.

    Raises:
        SpecError, InputError, PromiseError, TransientFault: as `copy_release`.
    """
    if is_elsewhere(place):
        return copy_release(place, environ, gigabytes)
    return Path(place) if scheme_of(place) is None else local_path(place, Path(), environ)


def copy_release(address: str, environ: Mapping[str, str], gigabytes: float = GIGABYTES) -> Path:
    """Copy a release into the reader's private cache, except what is there already.

    Args:
        address: of its version's directory, https://… or s3://….
        environ: the reader's, which says where the cache is, and has a store's keys.
        gigabytes: its largest size.

    Returns:
        Its directory; copies of the files beside the line are beside it.

    Raises:
        SpecError: where the address is none of a version.
        InputError: where there is no release, it is larger, or the place refuses.
        PromiseError: where a file is not as the manifest states.
        TransientFault: where the place cannot be reached, or breaks off.
    """
    line, slash, version = address.rstrip("/").rpartition("/")
    if not slash or _VERSION.fullmatch(version) is None:
        raise SpecError(f"{address}: must end with the number of a version, such as …/wages/0001")
    beside = PLACES[str(scheme_of(address))](line, environ)
    name = hashlib.sha256(line.encode()).hexdigest()[:32]
    cache = private_directory(cache_directory(environ) / "elsewhere" / name)
    with hold_lock(cache / ".lock"):
        _bring_beside(beside, cache)
        place = cache / version
        _bring(beside, version, place, address, gigabytes)
    return place


def document_elsewhere(address: str, name: str, environ: Mapping[str, str]) -> bytes | None:
    """Return a small file below an address, or None if there is none.

    Raises:
        SpecError: where the address is none.
        InputError: where the place refuses, or the file is larger than such files are.
        TransientFault: where the place cannot be reached, or breaks off.
    """
    return _document(PLACES[str(scheme_of(address))](address, environ), name)


def _bring_beside(line: PlaceElsewhere, cache: Path) -> None:
    """Copy the files beside a release, as they are together.

    A publisher replaces them one after another, the log last: if it changed meanwhile, they are
    requested again.
    """
    for _ in range(_ATTEMPTS):
        log = _document(line, LOG)
        documents = {file: _document(line, file) for file in (_RECORD, KEYS_FILE)}
        documents[LOG] = None if log is None else _document(line, LOG)
        if documents[LOG] == log:
            break
    for file, content in documents.items():
        _keep(cache / file, content)


def _bring(line: PlaceElsewhere, version: str, place: Path, address: str, gigabytes: float) -> None:
    """Make a directory equal to what is elsewhere now: a version, or the tombstone of one."""
    manifest = _document(line, f"{version}/{MANIFEST}")
    signature = _document(line, f"{version}/{SIGNATURE}")
    if manifest is not None and _content(place / MANIFEST) == manifest:
        _keep(place / SIGNATURE, signature)
        return
    documents = {MANIFEST: manifest, SIGNATURE: signature}
    if manifest is None:
        names = (WITHDRAWAL, WITHDRAWAL_SIGNATURE)
        documents = {name: _document(line, f"{version}/{name}") for name in names}
    if documents.get(WITHDRAWAL, manifest) is None:
        raise InputError(
            f"{address}: there is no release here ({MANIFEST} is missing or may not be "
            "read). Check the address"
        )
    staged = private_directory(place.with_name(f".{version}.{secrets.token_hex(8)}"))
    try:
        for name, content in documents.items():
            _keep(staged / name, content)
        if manifest is not None:
            _fetch_listed(line, version, staged, address, gigabytes)
        shutil.rmtree(place, ignore_errors=True)
        staged.rename(place)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _fetch_listed(
    line: PlaceElsewhere, version: str, staged: Path, address: str, gigabytes: float
) -> None:
    """Fetch the files that the manifest lists, if they are not too large."""
    release = open_release(staged)
    hashes, sizes = listed_files(release), _sizes(release.manifest)
    total = sum(sizes.values())
    if total > gigabytes * 10**9:
        size = f"{total / 10**9:.2g} GB, but the limit is {gigabytes:g}"
        raise InputError(
            f"{address}: the release has {size}. To open it, give sfumato.open a larger "
            "limit (gigabytes=)"
        )
    if total > shutil.disk_usage(staged).free:
        raise InputError(
            f"{address}: is larger than the free space on the disk. Set XDG_CACHE_HOME to "
            "a directory on a larger disk"
        )
    for name, stated in hashes.items():
        file = _new_file(staged, name)
        _fetch_file(line, f"{version}/{name}", file, (sizes[name], stated))


def _new_file(staged: Path, name: str) -> Path:
    """Return a new empty file at the path of one that is listed.

    Raises:
        PromiseError: where another file is there, or no file can be.
    """
    file = staged / name
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600, exist_ok=False)
    except (OSError, ValueError):
        raise PromiseError(
            f"{MANIFEST}: lists a path at which no file can be written. The release is "
            "damaged or was changed"
        ) from None
    return file


def _sizes(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of every file that a manifest lists, by its path."""
    try:
        sizes = {str(resource["path"]): resource["bytes"] for resource in manifest["resources"]}
    except (KeyError, TypeError):
        raise PromiseError(
            f"{MANIFEST}: does not list the files with their sizes. The release is damaged "
            "or was changed"
        ) from None
    if not all(type(size) is int and size >= 0 for size in sizes.values()):
        raise PromiseError(
            f"{MANIFEST}: does not list the files with their sizes. The release is damaged "
            "or was changed"
        )
    return sizes


def _fetch_file(line: PlaceElsewhere, name: str, file: Path, stated: tuple[int, str]) -> None:
    """Write a file, and require the size and the hash that the manifest states for it.

    Raises:
        PromiseError: where the file differs.
    """
    size, hashed = stated
    digest, remaining = hashlib.sha256(), size
    with line.pieces(name) as pieces, file.open("wb") as written:
        if pieces is None:
            raise PromiseError(f"{name}: is missing")
        for piece in pieces:
            remaining -= len(piece)
            if remaining < 0:
                break
            digest.update(piece)
            written.write(piece)
    if remaining or f"sha256:{digest.hexdigest()}" != hashed:
        raise PromiseError(
            f"{name}: its SHA-256 is not the one that {MANIFEST} states. The file was "
            "changed or damaged"
        )


def _document(place: PlaceElsewhere, name: str) -> bytes | None:
    """Return a small file, or None if there is none.

    Raises:
        InputError: where it is larger than any of its kind.
    """
    content = bytearray()
    with place.pieces(name) as pieces:
        for piece in _any(pieces):
            content += piece
            if len(content) > _DOCUMENT:
                raise InputError(
                    f"{name}: is larger than {_DOCUMENT} bytes, the limit for such a document"
                )
        return None if pieces is None else bytes(content)


def _any(pieces: Iterator[bytes] | None) -> Iterator[bytes]:
    return iter(()) if pieces is None else pieces


def _content(path: Path) -> bytes | None:
    return read_bytes(path) if path.is_file() else None


def _keep(path: Path, content: bytes | None) -> None:
    """Give a file this content, or delete it if that is None; an equal file stays as it is."""
    if content is None:
        path.unlink(missing_ok=True)
    elif _content(path) != content:
        write_atomically(path, content)
