"""The names by which a work directory knows people: 16 bytes each, under one key for all lines.

A *unit* is the identifier of the person or household that a row is about; its *name* is the
beginning of a keyed hash of it. A unit has the same name in every line of a work directory, so that
lines about the same people can be compared; elsewhere the name means nothing. Hashes are one-way:
with a key for each line, lines could never be compared.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.private.keys import (
    KEY,
    hashes_of,
    key_file,
    keyed_hashes,
    new_secret,
    rewrap,
    secret_in,
    unwrap_key,
)
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.private.wrapping import passphrase_in
from sfumato.tasks.schema.files import read_bytes

PEOPLE = "people"
PASSPHRASE = "SFUMATO_PEOPLE_PASSPHRASE"  # noqa: S105 - the name of a variable
FORMER_PASSPHRASE = "SFUMATO_FORMER_PEOPLE_PASSPHRASE"  # noqa: S105 - the name of a variable
NAME_BYTES = 16
NAME = np.dtype(f"S{NAME_BYTES}")
"""The type of arrays of names: S16."""
_IN_USE = "in-use"  # a file that marks that the key was used, so that its loss is noticed


def people_directory(work: Path) -> Path:
    """Return the private directory in which a work directory keeps its knowledge of people."""
    return private_directory(private_directory(work) / PEOPLE)


def people_key(work: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the work directory's secret: 32 bytes, drawn once, wrapped if there is a passphrase.

    Raises:
        InputError: where it is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost, because with another one nobody would be recognised; or
            where the file is no key.
    """
    place = people_directory(work)
    path = place / KEY
    with hold_lock(place / ".lock"):
        if not path.exists():
            if (place / _IN_USE).exists():
                raise PromiseError(
                    f"{path}: the key is missing, and without it no person can be "
                    "recognised. Restore it from a backup: sfumato line restore SPEC "
                    "FILE"
                )
            write_atomically(path, key_file(new_secret(), passphrase_in(environ, PASSPHRASE)))
            write_atomically(place / _IN_USE, b"")
        return unwrap_key(path, passphrase_in(environ, PASSPHRASE), PASSPHRASE)


def rewrap_people_key(work: Path, new: str | None, environ: Mapping[str, str] = os.environ) -> None:
    """Wrap the work directory's secret with another passphrase, or with none; it stays the same.

    Raises:
        InputError: where the environment lacks its passphrase, or there is no key.
    """
    rewrap(people_directory(work), passphrase_in(environ, PASSPHRASE), new, PASSPHRASE)


def restore_people_key(
    place: Path, work: Path, saved: bytes, environ: Mapping[str, str] = os.environ
) -> None:
    """Put the key of a backup back if it is missing; `place` is the backup, for messages.

    Raises:
        InputError: where the work directory has another key, or the two cannot be compared without
            a passphrase.
    """
    directory = people_directory(work)
    with hold_lock(directory / ".lock"):
        path = directory / KEY
        if not path.exists():
            write_atomically(path, saved)
            write_atomically(directory / _IN_USE, b"")
        elif read_bytes(path) != saved and not _are_the_same(path, place, saved, environ):
            raise InputError(
                f"{place}: uses another key for people's names than {path}. Restore it "
                "into another work directory (set SFUMATO_WORK)"
            )


def _are_the_same(path: Path, place: Path, saved: bytes, environ: Mapping[str, str]) -> bool:
    """Decide whether a backup has the present key, which may have another passphrase since."""
    there = unwrap_key(path, passphrase_in(environ, PASSPHRASE), PASSPHRASE)
    for variable in (PASSPHRASE, FORMER_PASSPHRASE):
        with suppress(InputError):  # it is not the passphrase of then
            return there == secret_in(place, saved, passphrase_in(environ, variable), variable)
    raise InputError(
        f"{place}: its key of people's names is under an earlier passphrase, so it "
        f"cannot be compared with {path}. Set {FORMER_PASSPHRASE} to that passphrase"
    )


def name_of(unit: str, secret: bytes) -> bytes:
    """Return the name of a unit, given as text."""
    return keyed_hashes([unit.encode()], secret).tobytes()[:NAME_BYTES]


def text_of(value: Any) -> str:
    """Return a value as a text: equal numbers are equal texts, whatever their type."""
    number = Decimal(repr(value)) if isinstance(value, float) else value
    return format(number.normalize(), "f") if isinstance(number, Decimal) else str(number)


def spellings_of(values: pa.Array) -> pa.Array:
    """Return values as texts (string), but whole numbers as they are: they have one spelling."""
    if pa.types.is_integer(values.type) or pa.types.is_string(values.type):
        return values
    return pa.array([text_of(value) for value in values.to_pylist()], pa.string())


def names_of(unit: Column, secret: bytes) -> np.ndarray:
    """Return the name of each row's unit (S16, one per row)."""
    return np.asarray(names_of_values(unit.values, secret)[unit.codes])


def names_of_values(values: pa.Array, secret: bytes) -> np.ndarray:
    """Return the name of each of some units (S16, one per value)."""
    hashes = hashes_of(values, text_of, secret)
    return np.ascontiguousarray(hashes[:, :NAME_BYTES]).view(NAME).ravel()
