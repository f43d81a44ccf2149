"""A release directory, opened for reading: nothing in it is trusted here beyond its declaration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.schema.files import MANIFEST_BYTES, NestingError, read_json
from sfumato.tasks.schema.formats import require_readable
from sfumato.tasks.terms.tables import read_parquet
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.terms.tombstone import is_missing_and_marked, require_not_withdrawn

MANIFEST = "datapackage.json"
PAGE = "index.html"
SIGNATURE = "datapackage.json.sig"


@dataclass(frozen=True)
class Release:
    """A release on disk and what it declares.

    Attributes:
        directory: the release.
        declared: the declaration in its manifest.
        manifest: all of it.
        verified: whether anything but the release itself vouches for its files.
        author: who signed it, in words, where that was looked at.
        doubts: why nothing vouches for it: files beside it that cannot be read.
        remarks: what is not known of it, since no file beside it says so.
    """

    directory: Path
    declared: Declared
    manifest: dict[str, Any]
    verified: bool = False
    author: str = ""
    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def path(self, name: str) -> Path:
        """Return the path of a published table's Parquet file.

        Raises:
            InputError: where each part has one.
        """
        if self.declared.made_of:
            raise InputError(f"{self.directory}: is in parts, so no file has the whole {name!r}")
        return self.directory / "data" / f"{name}.parquet"

    def table(self, name: str) -> pa.Table:
        """Read a published table whole."""
        return read_parquet(self.path(name))


def require_release(directory: Path) -> None:
    """Make sure that there is a manifest to be read.

    Raises:
        PromiseError: where it was withdrawn.
        InputError: where there is none.
    """
    require_not_withdrawn(directory)
    try:
        there = (directory / MANIFEST).is_file()
    except OSError:
        there = False
    if not there and is_missing_and_marked(directory):
        raise PromiseError(f"{directory}: was withdrawn, according to the record beside it")
    if not there:
        raise InputError(f"{directory}: is not a release: {MANIFEST} is missing")


def open_release(directory: Path) -> Release:
    """Read a release's manifest.

    Raises:
        PromiseError: where it was withdrawn.
        InputError: where there is no release, it was made by newer software, or its manifest
            declares nothing that is understood.
    """
    require_release(directory)
    try:
        manifest = read_json(directory / MANIFEST, MANIFEST_BYTES)
        require_readable(directory / MANIFEST, manifest["sfumato"])
        declaration = {k: v for k, v in manifest["sfumato"].items() if k in Declared.model_fields}
        place = directory.absolute()  # `public:/line` would be an address to Arrow
        return Release(place, Declared.model_validate(declaration), manifest)
    except NestingError as error:
        raise InputError(f"{directory}: {MANIFEST} is {error}") from None
    except PermissionError as error:
        raise InputError(with_remedies(f"{directory}: {MANIFEST} cannot be read", error)) from None
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError, OSError) as error:
        raise InputError(
            f"{directory}: {MANIFEST} does not belong to a release ({type(error).__name__})"
        ) from None
