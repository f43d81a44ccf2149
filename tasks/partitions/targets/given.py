"""A distribution that a CSV file gives: one line per value, with its probability.

The separator is `;` if the header has one, otherwise `,`. Row n of errors is line n of the file.
Values that the file leaves out have probability 0.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import File, Given, PPrivacy
from sfumato.expectations.shared.exact import is_number
from sfumato.tasks.microdata.hierarchies import read_side_file
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.partitions.targets.distribution import whole

_DIGITS = 38  # decimals of a probability
_TOLERANCE = Fraction(1, 10**9)

Lines = tuple[tuple[str, ...], ...]
"""The fields of every line; a blank line has none."""

Rows = Sequence[tuple[str, str] | None]
"""The value and the probability of each line, None for a line without them."""


def read_given_target(promise: PrivacyModel, base: Path) -> PrivacyModel:
    """Return the promise with the lines of its target's file in place of the file's name.

    A promise without a file is returned as it is.

    Raises:
        InputError: if the file cannot be read, or is no CSV.
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
        InputError: if it cannot be read, or a line has more or fewer fields than the first.
    """
    fields = [tuple(line) for line in read_side_file(path, file)]
    for row, line in enumerate(fields):
        if line and len(line) != len(fields[0]):
            raise input_error(file, f"{len(line)} fields, {len(fields[0])} in the header", row=row)
    return tuple(fields)


def weights_from_rows(rows: Rows, domain: pa.Array, file: str) -> np.ndarray:
    """Return the weights of the domain's values (distinct), from the lines of a file.

    Numbers are compared as numbers, everything else as text.

    Raises:
        InputError: with its line, if a value is not in the domain or occurs twice, or if a text
            is no probability; without a line, if the probabilities do not add up to 1, within 1e-9.
    """
    place = _places(domain)
    probabilities: dict[int, Fraction] = {}
    for row, pair in enumerate(rows):
        if pair is None:
            continue
        index = place.get(_key(pair[0], domain.type))
        if index is None:
            raise input_error(file, "the column does not have this value", row=row)
        if index in probabilities:
            raise input_error(file, "an earlier line has the same value", row=row)
        probabilities[index] = _probability(pair[1], file, row)
    if abs(sum(probabilities.values(), Fraction(0)) - 1) > _TOLERANCE:
        raise input_error(file, "the probabilities do not add up to 1")
    weights = [probabilities.get(index, Fraction(0)) for index in range(len(domain))]
    return whole([int(weight * 10**_DIGITS) for weight in weights])


def _places(domain: pa.Array) -> Mapping[Hashable, int]:
    texts = pc.cast(domain, pa.string()).to_pylist()
    if is_number(domain.type):
        texts = [str(value) for value in domain.to_pylist()]
    return {_key(text, domain.type): index for index, text in enumerate(texts)}


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
