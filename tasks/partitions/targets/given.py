"""A distribution that a CSV file gives: one line per value, with its probability.

`;` separates where the header has one, else `,`. Row n of errors is line n of the file. Values that
the file leaves out have probability 0.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.exact import is_number
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import File, Given, PPrivacy
from sfumato.tasks.microdata.hierarchies import read_side_file
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.partitions.targets.distribution import whole

_DIGITS = 38  # decimals of a probability
_TOLERANCE = Fraction(1, 10**9)

Lines = tuple[tuple[str, ...], ...]
"""The fields of every line, none of a blank one."""

Rows = Sequence[tuple[str, str] | None]
"""The value and the probability that each line writes, None where it has none."""


def read_given_target(promise: PrivacyModel, base: Path) -> PrivacyModel:
    """The promise with the lines of its target's file in place of the file's name, if it has one.

    Raises:
        InputError: where the file cannot be read, or is no CSV.
    """
    if not isinstance(promise, PPrivacy) or not isinstance(promise.target, File):
        return promise
    file = promise.target.file
    return replace(promise, target=Given(read_lines(base / file, file)))


def read_lines(path: Path, file: str) -> Lines:
    """Read a CSV file line by line, as text.

    Args:
        path: the file.
        file: what to call it in errors.

    Raises:
        InputError: where it cannot be read, or a line has more or fewer fields than the first.
    """
    fields = [tuple(of) for of in read_side_file(path, file)]
    for row, of in enumerate(fields):
        if of and len(of) != len(fields[0]):
            raise input_error(file, f"{len(of)} fields, {len(fields[0])} in the header", row=row)
    return tuple(fields)


def from_rows(rows: Rows, domain: pa.Array, file: str) -> np.ndarray:
    """The weights of the domain's values (distinct), from the lines that a file has for some.

    Numbers are compared as numbers, everything else as text.

    Raises:
        InputError: with its line, where a value is not in the domain or occurs twice, or where a
            probability is none; where the probabilities do not add up to 1, within 1e-9.
    """
    place = _places(domain)
    found: dict[int, Fraction] = {}
    for row, pair in enumerate(rows):
        if pair is None:
            continue
        at = place.get(_key(pair[0], domain.type))
        if at is None:
            raise input_error(file, "the value is not in the domain", row=row)
        if at in found:
            raise input_error(file, "the value stands in an earlier line", row=row)
        found[at] = _probability(pair[1], file, row)
    if abs(sum(found.values(), Fraction(0)) - 1) > _TOLERANCE:
        raise input_error(file, "the probabilities do not add up to 1")
    weights = [found.get(at, Fraction(0)) for at in range(len(domain))]
    return whole([int(weight * 10**_DIGITS) for weight in weights])


def _places(domain: pa.Array) -> Mapping[Hashable, int]:
    texts = pc.cast(domain, pa.string()).to_pylist()
    if is_number(domain.type):
        texts = [str(value) for value in domain.to_pylist()]
    return {_key(text, domain.type): at for at, text in enumerate(texts)}


def _key(text: str, type_: pa.DataType) -> Hashable:
    return _decimal(text) if is_number(type_) else text


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text) if Decimal(text).is_finite() else None
    except InvalidOperation:
        return None


def _probability(text: str, file: str, row: int) -> Fraction:
    number = _decimal(text)
    if number is None or not 0 <= number <= 1:
        raise input_error(file, "not a probability from 0 to 1", row=row)
    if not number:
        return Fraction(0)
    if -int(number.as_tuple().exponent) > _DIGITS:
        raise input_error(file, f"a probability with more than {_DIGITS} decimals", row=row)
    return Fraction(number)
