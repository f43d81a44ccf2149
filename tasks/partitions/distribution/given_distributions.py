"""Distributions that a CSV file gives, with a line for each value, or each value of each stratum.

The header names the columns `value` and `probability`, in any order, and the columns that tell
strata apart, where each stratum has a distribution of its own.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.exact import is_number
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.targets.given import Lines, Rows, from_rows

_VALUE, _PROBABILITY = "value", "probability"


def given_targets(
    lines: Lines, domain: pa.Array, strata: Sequence[Column], first: np.ndarray
) -> list[np.ndarray]:
    """The weights of the domain's values in each stratum (int64, or Python integers).

    Args:
        lines: of the file, its header first.
        domain: the values of the sensitive attribute, distinct.
        strata: the columns that tell strata apart.
        first: the position of a row of each stratum (int64).

    Raises:
        InputError: where the file gives no distribution, or leaves a stratum out.
    """
    file, header = "target", list(lines[0])
    told = {column.name: column for column in strata}
    apart = [name for name in header if name not in (_VALUE, _PROBABILITY)]
    if not {_VALUE, _PROBABILITY} <= set(header) or len(set(header)) < len(header):
        raise input_error(
            file, "the header lacks `value` or `probability`, or has a column twice", row=0
        )
    if not set(apart) <= set(told):
        raise input_error(file, "a column is neither a stratum's, `value` nor `probability`", row=0)
    texts = [_texts(told[name], first) for name in apart]
    keys = [tuple(of[at] for of in texts) for at in range(len(first))]
    given = _by_stratum(header, lines, apart)
    if not set(keys) <= set(given):
        raise input_error(file, "a stratum of the table has no probabilities")
    found = {key: from_rows(given[key], domain, file) for key in dict.fromkeys(keys)}
    return [found[key] for key in keys]


def _by_stratum(
    header: Sequence[str], lines: Sequence[Sequence[str]], apart: Sequence[str]
) -> dict[tuple[str, ...], Rows]:
    """The value and the probability of each line, where it is one of the stratum's."""
    by = [header.index(name) for name in apart]
    value, probability = header.index(_VALUE), header.index(_PROBABILITY)
    found: dict[tuple[str, ...], dict[int, tuple[str, str]]] = {}
    for row, of in enumerate(lines):
        if of and row:
            pairs = found.setdefault(tuple(of[at] for at in by), {})
            pairs[row] = of[value], of[probability]
    return {key: [pairs.get(row) for row in range(len(lines))] for key, pairs in found.items()}


def _texts(column: Column, rows: np.ndarray) -> list[str]:
    """The values of some rows as a file writes them; a null is the empty text."""
    if is_number(column.values.type):
        texts = [str(value) for value in column.values.to_pylist()]
    else:
        texts = pc.cast(column.values, pa.string()).to_pylist()
    return [texts[code] if code >= 0 else "" for code in column.codes[rows].tolist()]
