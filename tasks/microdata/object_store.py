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
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.input_error import input_error

_PIECE = 1 << 22  # bytes
_PATIENCE = 10.0  # seconds without an answer
_ATTEMPTS = 3
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_REFUSALS = {
    "ACCESS_DENIED": "the store refuses these keys (AWS_ACCESS_KEY_ID and the secret one)",
    "INVALID_ACCESS_KEY_ID": "the store does not know the access key (AWS_ACCESS_KEY_ID)",
    "SIGNATURE_DOES_NOT_MATCH": "the store refuses the secret key (AWS_SECRET_ACCESS_KEY)",
    "NO_SUCH_BUCKET": "the bucket does not exist. Correct its name",
    "NO_SUCH_KEY": "the object does not exist. Correct its key",
    "HTTP response code: 403": "the store refuses these keys, or they may not read the object",
    "HTTP status 403": "the store refuses these keys, or they may not read the object",
    "HTTP status 404": "the bucket or the object does not exist. Correct the address",
}


def fetch(source: Source, environ: Mapping[str, str], scratch: Path | None) -> Path:
    """Fetch the object of an address, all below it or of a pattern, into a private directory.

    Args:
        source: a source with an address s3://bucket/key.
        environ: the values of `${NAME}` in the address; AWS_… are the store's endpoint and keys.
        scratch: the directory; files of an earlier attempt are deleted.

    Returns:
        The file, the folder of files, or the pattern that they have there.

    Raises:
        SpecError: if the address names no bucket and key.
        InputError: if there is no such object, it is too large, or the store refuses.
        TransientFault: if it cannot be reached, or breaks off.
    """
    from pyarrow import fs

    if scratch is None or is_encrypted(scratch):
        rule = (
            "stages: `encrypted` does not work with a store, because the fetched object "
            "would be on disk unencrypted. Fetch it yourself"
        )
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
            return _download(store, [about], root.parent, scratch, source)[0]
        if about.type != fs.FileType.NotFound:
            _download(store, _objects_below(store, root), root, scratch, source)
            return scratch
        if not glob.has_magic(key):
            raise input_error(
                source.uri, "the object does not exist, or these keys may not read it"
            )
        fixed, pattern = _pattern_of(root)
        listed = _objects_below(store, fixed)
        matching = [entry for entry in listed if _is_of(_parts(entry, fixed), pattern)]
        _download(store, matching, fixed, scratch, source)
        return scratch.joinpath(*pattern)
    except OSError as error:
        raise store_error(error, source.uri) from None
    except ValueError:  # PyArrow's own, of a path
        raise input_error(
            source.uri, "a key of an object has two slashes in a row. Rename the object"
        ) from None


def _objects_below(store: Any, folder: PurePosixPath) -> list[Any]:
    """Return all objects below a folder; empty if there is no such folder."""
    from pyarrow import fs

    listed = store.get_file_info(fs.FileSelector(str(folder), allow_not_found=True, recursive=True))
    return [entry for entry in listed if entry.type == fs.FileType.File]


def _pattern_of(root: PurePosixPath) -> tuple[PurePosixPath, tuple[str, ...]]:
    """Return the folder above the first part of a key that is a pattern, and the other parts."""
    first = next(n for n, part in enumerate(root.parts) if n and glob.has_magic(part))
    return PurePosixPath(*root.parts[:first]), root.parts[first:]


def _parts(entry: Any, folder: PurePosixPath) -> tuple[str, ...]:
    return PurePosixPath(entry.path).relative_to(folder).parts


def _is_of(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether an object is to be fetched for a pattern, which is matched in full later.

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
    """Return the file system of a store.

    Args:
        uri: the address for errors.
        environ: has its keys (AWS_…), and its endpoint if `endpoint` is None.
        endpoint: the endpoint of the store.
        anonymous: whether to connect without keys.

    Raises:
        InputError: if there are no keys, or the endpoint is none.
    """
    from pyarrow import fs

    key, secret = (environ.get(name) for name in _KEYS)
    if not anonymous and not (key and secret):
        raise input_error(
            uri,
            (
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set both names with "
                "_BLOCK to the name of a Prefect Secret block"
            ),
        )
    endpoint = endpoint or environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    scheme, separator, host = (endpoint or "").partition("://")
    keys = {
        "access_key": key,
        "secret_key": secret,
        "session_token": environ.get("AWS_SESSION_TOKEN") or None,
    }
    try:
        return fs.S3FileSystem(
            **({"anonymous": True} if anonymous else keys),
            endpoint_override=(host if separator else endpoint) or None,
            scheme=scheme if separator else "https",
            region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
            connect_timeout=_PATIENCE,
            request_timeout=_PATIENCE,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        )
    except (OSError, ValueError):
        raise input_error(
            uri, "the store's endpoint is not an address. Write https://host:port"
        ) from None


def _download(
    store: Any, objects: list[Any], root: PurePosixPath, scratch: Path, source: Source
) -> list[Path]:
    """Write the objects below a root to files below the scratch directory, and return these."""
    size = sum(entry.size for entry in objects)
    if size > source.max_gigabytes * 10**9:
        raise input_error(source.uri, "is larger than source.max-gigabytes. Raise this number")
    if size > shutil.disk_usage(scratch).free:
        raise input_error(
            source.uri,
            (
                "is larger than the free space on disk. Make room, or set SFUMATO_WORK to "
                "another disk"
            ),
        )
    files = []
    for entry in objects:
        below = PurePosixPath(entry.path).relative_to(root)
        if ".." in below.parts or below.is_absolute():
            raise input_error(
                source.uri,
                (
                    "the key of an object contains `..`, which would leave its folder. Rename "
                    "the object"
                ),
            )
        files.append(scratch / below)
        files[-1].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy(store, entry, files[-1], source)
    return files


def _copy(store: Any, entry: Any, file: Path, source: Source) -> None:
    """Write an object to a file, and require as many bytes as the store promised."""
    bytes_left = entry.size
    with (
        store.open_input_stream(entry.path, compression=None) as stream,
        file.open("wb") as written,
    ):
        while piece := stream.read(_PIECE):
            bytes_left -= len(piece)
            if bytes_left < 0:
                break
            written.write(piece)
    if bytes_left:
        raise TransientFault(
            f"{source.uri}: changed while it was fetched, or the connection broke off. Run again"
        )


def is_not_shown(error: OSError) -> bool:
    """Return whether an object does not exist; a store that lists nothing calls it forbidden."""
    refusals = ("ACCESS_DENIED", "HTTP response code: 403", "HTTP status 403")
    return isinstance(error, FileNotFoundError) or any(word in str(error) for word in refusals)


def store_error(error: OSError, uri: str) -> SfumatoError:
    """Return the error as ours: PyArrow gives no code, and its text is searched but never shown."""
    if error.filename is not None or error.errno in (28, 13, 30):  # of the disk that is written
        raise error
    rule = next((rule for word, rule in _REFUSALS.items() if word in str(error)), None)
    if isinstance(error, FileNotFoundError):
        rule = "the object does not exist. Correct its key"
    if rule is not None:
        return input_error(uri, rule)
    return TransientFault(f"{uri}: the store cannot be reached, or broke the connection off")
