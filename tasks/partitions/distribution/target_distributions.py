"""The target distributions that a p-privacy promise asks for, of each stratum or of all rows.

A target's file has a header that names the columns `value` and `probability`, in any order. It also
names the columns that identify strata, if each stratum has a distribution of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.models.p_privacy import File, Given, Nearest, Normal, PPrivacy, Zipf
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.exact import exact, is_number, is_ordered
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.targets.distribution import normal, uniform, weights_of_counts, zipf
from sfumato.tasks.partitions.targets.given import Lines, Rows, weights_from_rows

_VALUE, _PROBABILITY = "value", "probability"


def given_targets(
    lines: Lines, domain: pa.Array, strata: Sequence[Column], first: np.ndarray
) -> list[np.ndarray]:
    """Return the weights of the domain's values in each stratum (int64, or Python integers).

    Args:
        lines: the lines of the file, its header first.
        domain: the values of the sensitive attribute, distinct.
        strata: the columns that identify strata.
        first: the position of a row of each stratum (int64).

    Raises:
        InputError: if the file gives no distribution, or leaves a stratum out.
    """
    file, header = "target", list(lines[0])
    columns = {column.name: column for column in strata}
    apart = [name for name in header if name not in (_VALUE, _PROBABILITY)]
    if not {_VALUE, _PROBABILITY} <= set(header) or len(set(header)) < len(header):
        raise input_error(
            file, "the header lacks `value` or `probability`, or has a column twice", row=0
        )
    if not set(apart) <= set(columns):
        raise input_error(
            file, "a column is neither `value`, nor `probability`, nor one of strata", row=0
        )
    texts = [_texts(columns[name], first) for name in apart]
    keys = [
        tuple(texts_of_column[index] for texts_of_column in texts) for index in range(len(first))
    ]
    rows_by_stratum = _pairs_by_stratum(header, lines, apart)
    if not set(keys) <= set(rows_by_stratum):
        raise input_error(file, "a stratum of the table has no probabilities")
    weights = {
        key: weights_from_rows(rows_by_stratum[key], domain, file) for key in dict.fromkeys(keys)
    }
    return [weights[key] for key in keys]


def _pairs_by_stratum(
    header: Sequence[str], lines: Sequence[Sequence[str]], apart: Sequence[str]
) -> dict[tuple[str, ...], Rows]:
    """Return, by stratum, the value and the probability of each line.

    None is in place of lines of other strata, of blank ones and of the header. A stratum is named
    by its texts in the columns `apart`.
    """
    places = [header.index(name) for name in apart]
    value, probability = header.index(_VALUE), header.index(_PROBABILITY)
    pairs_of_stratum: dict[tuple[str, ...], dict[int, tuple[str, str]]] = {}
    for row, line in enumerate(lines):
        if line and row:
            pairs = pairs_of_stratum.setdefault(tuple(line[place] for place in places), {})
            pairs[row] = line[value], line[probability]
    return {
        key: [pairs.get(row) for row in range(len(lines))]
        for key, pairs in pairs_of_stratum.items()
    }


def _texts(column: Column, rows: np.ndarray) -> list[str]:
    """Return the values of some rows as a file writes them; a null is the empty text."""
    if is_number(column.values.type):
        texts = [str(value) for value in column.values.to_pylist()]
    else:
        texts = pc.cast(column.values, pa.string()).to_pylist()
    return [texts[code] if code >= 0 else "" for code in column.codes[rows].tolist()]


@dataclass(frozen=True, eq=False)
class CountsOfAllRows:
    """Counts of the values of a sensitive attribute in all rows, of which a table is a part.

    Attributes:
        values: the number of all rows that have each value (int64, one per value).
        piece: the piece that each grouped row is of: a stratum, or a part of one (int64).
        strata: by piece, the number of rows that have each value in the whole stratum that the
            piece was cut from (int64, one per value); a piece that is a whole stratum has no entry.
    """

    values: np.ndarray
    piece: np.ndarray
    strata: Mapping[int, np.ndarray]

    def of_strata(self, own: Sequence[np.ndarray], stratum: np.ndarray) -> list[np.ndarray]:
        """Return the counts of strata in all rows (int64, one array per stratum).

        Args:
            own: the counts of each stratum in the grouped rows (int64, one array per stratum).
            stratum: the stratum of each grouped row (int64; 0, 1, …).
        """
        first = np.unique(stratum, return_index=True)[1]
        pieces = self.piece[first].tolist()
        return [self.strata.get(piece, counts) for piece, counts in zip(pieces, own, strict=True)]


def target_distributions(
    promise: PPrivacy,
    microdata: Microdata,
    strata: Sequence[str],
    stratum: np.ndarray,
    number: int,
    of_all: CountsOfAllRows | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the distinct distributions, and the index of each stratum's (int64).

    A distribution is the whole-number weights of the attribute's values (int64, or Python
    integers).

    Args:
        promise: p-privacy of a sensitive attribute without nulls.
        microdata: the table.
        strata: the columns that identify strata.
        stratum: the stratum of each row (int64), below `number`.
        number: the number of strata.
        of_all: how often the attribute's values occur in all rows, if the table is a part of them;
            None if it has all rows.

    Raises:
        SpecError: if the values have no such distribution.
        InputError: if a file gives none.
    """
    column = microdata[str(promise.sensitive)]
    match promise.target:
        case File():
            raise SpecError("target: its file was not read")
        case Nearest():
            raise SpecError("target: `nearest` needs groups, and there are no groups yet")
        case Given(given=lines):
            first = np.unique(stratum, return_index=True)[1]
            columns = [microdata[name] for name in strata]
            distributions = given_targets(lines, column.values, columns, first)
        case "source" if promise.per == "stratum":
            own = _counts(column, stratum, number)
            distributions = [
                weights_of_counts(row)
                for row in (of_all.of_strata(own, stratum) if of_all else own)
            ]
        case _:
            distributions = [_common(promise, column, of_all)] * number
    keys = [tuple(weights.tolist()) for weights in distributions]
    distinct = dict(zip(keys, distributions, strict=True))
    place = {key: index for index, key in enumerate(distinct)}
    return list(distinct.values()), np.array([place[key] for key in keys], dtype=np.int64)


def _counts(column: Column, stratum: np.ndarray, number: int) -> list[np.ndarray]:
    values = len(column.values)
    pairs = stratum * values + column.codes
    return list(np.bincount(pairs, minlength=number * values).reshape(number, values))


def _common(promise: PPrivacy, column: Column, of_all: CountsOfAllRows | None) -> np.ndarray:
    """Return the weights of a target that all strata share (int64, or Python integers).

    Raises:
        SpecError: if the values have no such distribution.
    """
    values = len(column.values)
    match promise.target:
        case "uniform":
            return uniform(values)
        case Zipf(zipf=s):
            return zipf(values, s)
        case Normal(normal=moments):
            if not is_ordered(column.values.type):
                raise SpecError(
                    f"target: {column.name!r} has no order, which a normal distribution needs"
                )
            return normal(exact(column.values, column.name), moments.mean, moments.variance)
    own = np.bincount(column.codes, minlength=values)
    return weights_of_counts(own if of_all is None else of_all.values)
