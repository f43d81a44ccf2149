"""Objects of S3-compatible stores, fetched into a private directory to be read there as files."""

import glob
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from sfumato.expectations.shared.errors import SfumatoError, SpecError, TransientFault
from sfumato.tasks.arrays.at_rest import is_encrypted
from sfumato.tasks.microdata.notation.address import resolve
from sfumato.tasks.microdata.places.input_error import input_error
from sfumato.tasks.microdata.readers.declared import Source

_PIECE = 1 << 22  # bytes
_PATIENCE = 10.0  # seconds without an answer
_ATTEMPTS = 3
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REFUSALS = {
    "ACCESS_DENIED": "the store refuses these keys (AWS_ACCESS_KEY_ID and the secret one)",
    "INVALID_ACCESS_KEY_ID": "the store does not know the access key (AWS_ACCESS_KEY_ID)",
    "SIGNATURE_DOES_NOT_MATCH": "the store refuses the secret key (AWS_SECRET_ACCESS_KEY)",
    "NO_SUCH_BUCKET": "there is no such bucket",
    "NO_SUCH_KEY": "there is no such object",
    "HTTP response code: 403": "the store refuses these keys, or does not show them the object",
    "HTTP status 403": "the store refuses these keys, or does not show them the object",
    "HTTP status 404": "there is no such bucket or object",
}


def fetch(source: Source, environ: Mapping[str, str], scratch: Path | None) -> Path:
    """Fetch the object of an address, all below it or of a pattern, into a private directory.

    Args:
        source: its address is s3://bucket/key.
        environ: what `${NAME}` in the address stands for; AWS_… are the store's endpoint and keys.
        scratch: the directory; what an earlier attempt left there goes.

    Returns:
        The file, the folder of files, or the pattern that they have there.

    Raises:
        SpecError: where the address names no bucket and key.
        InputError: where there is no such object, it is too large, or the store refuses.
        TransientFault: where it cannot be reached, or breaks off.
    """
    from pyarrow import fs

    if scratch is None or is_encrypted(scratch):
        rule = "stages: encrypted: an object would lie on disk as it is: fetch it yourself"
        raise SpecError(f"{source.uri}: {rule}")
    place = resolve(source.uri, environ)[len("s3://") :]
    bucket, _, key = unquote(place).partition("/")
    if not bucket or not key.strip("/") or "@" in bucket or ":" in bucket:
        raise SpecError(f"{source.uri}: must be s3://bucket/key")
    store = connect_store(source.uri, environ, source.endpoint)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700, parents=True)
    root = PurePosixPath(bucket, key.strip("/"))
    try:
        (about,) = store.get_file_info([str(root)])
        if about.type == fs.FileType.File and not key.endswith("/"):
            return _fetched(store, [about], root.parent, scratch, source)[0]
        if about.type != fs.FileType.NotFound:
            _fetched(store, _below(store, root), root, scratch, source)
            return scratch
        if not glob.has_magic(key):
            raise input_error(source.uri, "there is no such object, or the keys do not show it")
        fixed, pattern = _pattern_of(root)
        listed = _below(store, fixed)
        wanted = [one for one in listed if _is_of(_parts(one, fixed), pattern)]
        _fetched(store, wanted, fixed, scratch, source)
        return scratch.joinpath(*pattern)
    except OSError as error:
        raise store_error(error, source.uri) from None
    except ValueError:  # PyArrow's own, of a path
        raise input_error(source.uri, "a key has nothing between two slashes") from None


def _below(store: Any, folder: PurePosixPath) -> list[Any]:
    """All objects below a folder; none where there is no such folder."""
    from pyarrow import fs

    listed = store.get_file_info(fs.FileSelector(str(folder), allow_not_found=True, recursive=True))
    return [one for one in listed if one.type == fs.FileType.File]


def _pattern_of(root: PurePosixPath) -> tuple[PurePosixPath, tuple[str, ...]]:
    """The folder above the first part of a key that is a pattern, and the parts from there."""
    first = next(n for n, part in enumerate(root.parts) if n and glob.has_magic(part))
    return PurePosixPath(*root.parts[:first]), root.parts[first:]


def _parts(one: Any, folder: PurePosixPath) -> tuple[str, ...]:
    return PurePosixPath(one.path).relative_to(folder).parts


def _is_of(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether an object is to be fetched for a pattern; which files it means is told later.

    >>> _is_of(["2026", "a.csv"], ["*", "*.csv"]), _is_of(["a.csv"], ["**", "*.csv"])
    (True, True)
    """
    if not (parts and pattern):
        return not (parts or pattern)
    if pattern[0] == "**":
        return _is_of(parts, pattern[1:]) or _is_of(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _is_of(parts[1:], pattern[1:])


def connect_store(
    uri: str, environ: Mapping[str, str], endpoint: str | None = None, *, anonymous: bool = False
) -> Any:
    """The file system of a store.

    Args:
        uri: what is told where it cannot be had.
        environ: has its keys (AWS_…), and its endpoint where none is given.
        endpoint: of the store.
        anonymous: ask without keys.

    Raises:
        InputError: where there are no keys, or the endpoint is none.
    """
    from pyarrow import fs

    key, secret = (environ.get(name) for name in _KEYS)
    if not anonymous and not (key and secret):
        raise input_error(
            uri,
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or each with _BLOCK to the name of "
            "a Prefect Secret block",
        )
    endpoint = endpoint or environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    scheme, found, host = (endpoint or "").partition("://")
    keys = {
        "access_key": key,
        "secret_key": secret,
        "session_token": environ.get("AWS_SESSION_TOKEN") or None,
    }
    try:
        return fs.S3FileSystem(
            **({"anonymous": True} if anonymous else keys),
            endpoint_override=(host if found else endpoint) or None,
            scheme=scheme if found else "https",
            region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
            connect_timeout=_PATIENCE,
            request_timeout=_PATIENCE,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        )
    except (OSError, ValueError):
        raise input_error(uri, "the store's endpoint is none (https://host:port)") from None


def _fetched(
    store: Any, objects: list[Any], root: PurePosixPath, scratch: Path, source: Source
) -> list[Path]:
    """The objects below a root as files below the scratch directory."""
    size = sum(one.size for one in objects)
    if size > source.max_gigabytes * 10**9:
        raise input_error(source.uri, "is larger than source.max-gigabytes")
    if size > shutil.disk_usage(scratch).free:
        raise input_error(source.uri, "is larger than what is free on disk (SFUMATO_WORK)")
    files = []
    for one in objects:
        below = PurePosixPath(one.path).relative_to(root)
        if ".." in below.parts or below.is_absolute():
            raise input_error(source.uri, "an object's key leads out of its folder")
        files.append(scratch / below)
        files[-1].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy(store, one, files[-1], source)
    return files


def _copy(store: Any, one: Any, file: Path, source: Source) -> None:
    """Write an object to a file: as many bytes as the store said, or none counts."""
    left = one.size
    with store.open_input_stream(one.path, compression=None) as stream, file.open("wb") as written:
        while piece := stream.read(_PIECE):
            left -= len(piece)
            if left < 0:
                break
            written.write(piece)
    if left:
        raise TransientFault(f"{source.uri}: changed while it was fetched, or broke off")


def is_not_shown(error: OSError) -> bool:
    """True where there is no such object; a store that lists nothing calls it forbidden."""
    told = ("ACCESS_DENIED", "HTTP response code: 403", "HTTP status 403")
    return isinstance(error, FileNotFoundError) or any(word in str(error) for word in told)


def store_error(error: OSError, uri: str) -> SfumatoError:
    """The error as ours: PyArrow gives it no code, and its text is searched and never shown."""
    if error.filename is not None or error.errno in (28, 13, 30):  # of the disk that is written
        raise error
    rule = next((rule for word, rule in _REFUSALS.items() if word in str(error)), None)
    if isinstance(error, FileNotFoundError):
        rule = "there is no such object"
    if rule is not None:
        return input_error(uri, rule)
    return TransientFault(f"{uri}: the store cannot be reached, or broke off")
