"""A release whose manifest is canonical, readable, and sealed by its digest."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from sfumato.expectations.errors import InputError, PromiseError
from sfumato.tasks.declaration.canonical import read_canonical
from sfumato.tasks.declaration.opened import (
    MANIFEST,
    Release,
    open_release,
    require_release,
)
from sfumato.tasks.declaration.terms import Declared, LineName, Title, Word
from sfumato.tasks.private.references.reference import (
    KEYED_DIGEST,
)
from sfumato.tasks.schema.formats import require_readable
from sfumato.tasks.verification.integrity import digest, require_regular_files

_REFERENCE = TypeAdapter(Annotated[str, Field(pattern=KEYED_DIGEST)])


def open_sealed(directory: Path, announced: str | None = None) -> Release:
    """Open a release that is as it was sealed.

    Args:
        directory: the release, as published.
        announced: the digest that the publisher announced, where there is one to compare with.

    Raises:
        InputError: where there is no release, or it was made by newer software.
        PromiseError: where the manifest is not canonical, or its digest is another.
    """
    require_release(directory)
    require_regular_files(directory)
    try:
        document = read_canonical(directory / MANIFEST)
        stated, sealed = document["sfumato"]["digest"], digest(document)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    require_readable(directory / MANIFEST, document["sfumato"])
    try:
        release = open_release(directory)
        for words, kind in _worded(release.declared):
            kind.validate_python(words)
    except (InputError, ValueError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    if stated != sealed:
        raise PromiseError(f"{MANIFEST}: its digest is not that of its content")
    if announced is not None and announced != sealed:
        raise PromiseError(f"{MANIFEST}: its digest is not the announced one")
    return release


def _worded(declared: Declared) -> list[tuple[Any, TypeAdapter[Any]]]:
    """The texts that a forged manifest could put on a terminal, and types that restrict them."""
    references = [p.reference_uri for p in declared.promises if p.reference_uri is not None]
    return [
        *((name, _REFERENCE) for name in references),
        (declared.name, TypeAdapter(LineName)),
        (declared.title, TypeAdapter(Title)),
        (declared.software, TypeAdapter(dict[Word, Word])),
    ]
