"""Text files of any encoding as UTF-8, in which what could not be decoded stays invalid."""

import codecs
import io
from pathlib import Path

from sfumato.expectations.errors import SpecError


def _as_surrogate(error: UnicodeError) -> tuple[str, int]:
    """A character that no text has and no UTF-8 encodes, in place of what is wrong."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udc80", error.end


codecs.register_error("sfumato-surrogate", _as_surrogate)


def in_utf8(path: Path, encoding: str) -> Path | bytes:
    """The file itself where it is UTF-8, else its content in UTF-8.

    Raises:
        SpecError: where the encoding is not known.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding).close()
        if codecs.lookup(encoding).name == "utf-8":
            return path
        text = path.read_bytes().decode(encoding, "sfumato-surrogate")
    except (LookupError, ValueError):
        raise SpecError(f"source.csv.encoding: {encoding!r} is not a text encoding") from None
    return text.encode(errors="surrogatepass")
