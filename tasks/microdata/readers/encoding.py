"""Text files, packed or not, of any encoding, as UTF-8; what cannot be decoded stays invalid."""

import codecs
import io
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.schema.files import read_bytes

PACKED: Mapping[str, str] = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""The ways in which a text file may be packed, by the ending of its name."""


def _as_surrogate(error: UnicodeError) -> tuple[str, int]:
    """A character that no text has and no UTF-8 encodes, in place of what is wrong."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udc80", error.end


codecs.register_error("sfumato-surrogate", _as_surrogate)


def in_utf8(path: Path, encoding: str, file: str) -> Path | bytes:
    """The file itself where it is plain UTF-8, else its content in UTF-8.

    Raises:
        SpecError: where the encoding is not known.
        InputError: where it is packed and cannot be unpacked to its end.
    """
    packed = PACKED.get(path.suffix.lower())
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding).close()
        plain = codecs.lookup(encoding).name == "utf-8"
        if plain and packed is None:
            return path
        content = content_of(path, file)
        text = content if plain else content.decode(encoding, "sfumato-surrogate")
    except (LookupError, ValueError):
        raise SpecError(f"source.csv.encoding: {encoding!r} is not a text encoding") from None
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def content_of(path: Path, file: str) -> bytes:
    """The bytes of a text file, unpacked where it is packed.

    Raises:
        InputError: where it is packed and cannot be unpacked to its end.
    """
    packed = PACKED.get(path.suffix.lower())
    return read_bytes(path) if packed is None else _unpacked(path, packed, file)


def _unpacked(path: Path, codec: str, file: str) -> bytes:
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            content: bytes = stream.read()
    except (pa.ArrowException, OSError):
        raise input_error(file, f"cannot be unpacked to its end as {codec}: is it whole?") from None
    return content
