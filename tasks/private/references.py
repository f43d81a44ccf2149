"""Reference tables: the populations that releases are drawn from, for promises about them.

A release names a reference by a keyed digest of its file, an HMAC-SHA256 under the line's key. The
digest is equal for equal files, and does not help to find out which file it is. Only this machine
knows where a table is.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.microdata.notation.address import local_path
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.keys import keyed_hashes
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.files import sha256_of

_PREFIX = "hmac-sha256:"
KEYED_DIGEST = rf"^{_PREFIX}[0-9a-f]{{64}}$"
"""The names that releases use for references."""


@dataclass(frozen=True)
class ReferenceFile:
    """A reference on this machine: its file, and the file's SHA-256 if it must be this one."""

    path: Path
    sha256: str | None = None

    def read(self, columns: Sequence[str], types: Mapping[str, ColumnType]) -> Microdata:
        """Return some columns of the reference.

        Args:
            columns: their names.
            types: the types of the columns of the table that the reference is compared with, by
                which texts are read.

        Raises:
            InputError: where it cannot be read, or lacks a column.
            PromiseError: where the file was changed while it was in use.
        """
        table = read_inferred(str(self.path), columns, Written(types=types))
        if self.sha256 is not None and _sha256(self.path) != self.sha256:
            raise PromiseError(
                f"{self.path}: the reference file changed during the run. Run the command again"
            )
        return table


@dataclass(frozen=True)
class References:
    """The references of promises, by the names that promises use for them."""

    files: Mapping[str, ReferenceFile] = field(default_factory=dict)

    def file_for(self, promise: PrivacyModel) -> ReferenceFile | None:
        """Return the reference of a promise, or None if it is not known here."""
        return self.files.get(promise.reference_uri or "")


NO_REFERENCES = References()


def refer(
    promises: Sequence[PrivacyModel], base: Path, secret: Callable[[], bytes]
) -> tuple[tuple[PrivacyModel, ...], References]:
    """Return promises with keyed digests for their references' addresses, and the references.

    Args:
        promises: the promises as a spec makes them.
        base: the directory that addresses are relative to.
        secret: returns the line's key; called only if a promise has a reference.

    Raises:
        InputError: where a reference is no file that can be read.
    """
    files: dict[str, ReferenceFile] = {}
    made = []
    for promise in promises:
        if promise.reference_uri is not None:
            path = local_path(promise.reference_uri, base, os.environ)
            file = ReferenceFile(path, _sha256(path))
            name = _keyed_digest(str(file.sha256), secret())
            files[name] = file
            promise = promise.referring_to(name)
        made.append(promise)
    return tuple(made), References(files)


def given_references(promises: Sequence[PrivacyModel], paths: Sequence[Path]) -> References:
    """Return the references that a reader gives, in the order in which promises first name them.

    Raises:
        InputError: where some are given, and more or fewer than promises speak of.
    """
    if not paths:
        return NO_REFERENCES
    named = dict.fromkeys(p.reference_uri for p in promises if p.reference_uri is not None)
    if len(named) != len(paths):
        raise InputError(
            f"--reference: the promises use {len(named)} reference tables, but "
            f"{len(paths)} are given. Give each table once, in the order of the "
            "promises"
        )
    return References({n: ReferenceFile(p) for n, p in zip(named, paths, strict=True)})


def _keyed_digest(sha256: str, secret: bytes) -> str:
    (digest,) = keyed_hashes([f"reference {sha256}".encode()], secret)
    return f"{_PREFIX}{digest.tobytes().hex()}"


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a reference.

    Raises:
        InputError: where it is no file, or cannot be read.
    """
    try:
        return sha256_of(path)
    except OSError as error:
        raise InputError(
            with_remedies(f"{path}: cannot be read as a reference table", error)
        ) from None
