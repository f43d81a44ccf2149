"""Canonical JSON (RFC 8785), and files of it read strictly."""

from pathlib import Path
from typing import Any

import rfc8785

from sfumato.tasks.schema.files import MANIFEST_BYTES, read_bytes
from sfumato.tasks.schema.nesting import parse_json


def canonical_json(document: Any) -> bytes:
    """The one way in which a document is written."""
    return rfc8785.dumps(document)


def read_canonical(path: Path) -> Any:
    """Read a document, and make sure that its bytes are the canonical ones.

    Raises:
        ValueError: where they are not, or it is nested too deep.
    """
    content = read_bytes(path, MANIFEST_BYTES)
    document = parse_json(content)
    if canonical_json(document) != content:
        raise ValueError("not canonical JSON")
    return document
