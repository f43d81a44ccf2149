"""The target distributions that a p-privacy promise asks for, of each stratum or of all.

The header names the columns `value` and `probability`, in any order, and the columns that tell
strata apart, where each stratum has a distribution of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import SpecError
from sfumato.expectations.exact import exact, is_number, is_ordered
from sfumato.expectations.models.p_privacy import File, Given, Nearest, Normal, PPrivacy, Zipf
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.targets.distribution import normal, of_counts, uniform, zipf
from sfumato.tasks.partitions.targets.given import Lines, Rows, from_rows

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


@dataclass(frozen=True, eq=False)
class CountsOfAllRows:
    """Counts of the values of a sensitive attribute, where a table is a part of another one.

    Attributes:
        values: of each value, in all rows (int64).
        piece: that each grouped row is of: a stratum, or a piece of one (int64).
        strata: of each value, in all rows of the stratum that a piece was cut from, by pieces;
            those that are whole lack.
    """

    values: np.ndarray
    piece: np.ndarray
    strata: Mapping[int, np.ndarray]

    def of_strata(self, own: Sequence[np.ndarray], stratum: np.ndarray) -> list[np.ndarray]:
        """The counts of strata (int64, one array per stratum), all their rows among them.

        Args:
            own: those in the grouped rows.
            stratum: of each grouped row (int64; 0, 1, …).
        """
        first = np.unique(stratum, return_index=True)[1]
        pieces = self.piece[first].tolist()
        return [self.strata.get(piece, of) for piece, of in zip(pieces, own, strict=True)]


def target_distributions(
    promise: PPrivacy,
    microdata: Microdata,
    strata: Sequence[str],
    stratum: np.ndarray,
    number: int,
    of_all: CountsOfAllRows | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """The different distributions, and the index of each stratum's (int64, one per stratum).

    A distribution is the whole-number weights of the attribute's values (int64, or Python
    integers).

    Args:
        promise: what is promised of a sensitive attribute without nulls.
        microdata: the table.
        strata: the columns that tell strata apart.
        stratum: the stratum of each row (int64), below `number`.
        number: the number of strata.
        of_all: how often its values occur in all rows, where the table is a part of them.

    Raises:
        SpecError: where the values have no such distribution.
        InputError: where a file gives none.
    """
    column = microdata[str(promise.sensitive)]
    match promise.target:
        case File():
            raise SpecError("target: its file was not read")
        case Nearest():
            raise SpecError("target: that of each group is found when there are groups")
        case Given(given=lines):
            first = np.unique(stratum, return_index=True)[1]
            columns = [microdata[name] for name in strata]
            found = given_targets(lines, column.values, columns, first)
        case "source" if promise.per == "stratum":
            own = _counts(column, stratum, number)
            found = [of_counts(row) for row in (of_all.of_strata(own, stratum) if of_all else own)]
        case _:
            found = [_common(promise, column, of_all)] * number
    keys = [tuple(weights.tolist()) for weights in found]
    distinct = dict(zip(keys, found, strict=True))
    place = {key: at for at, key in enumerate(distinct)}
    return list(distinct.values()), np.array([place[key] for key in keys], dtype=np.int64)


def _counts(column: Column, stratum: np.ndarray, number: int) -> list[np.ndarray]:
    values = len(column.values)
    pairs = stratum * values + column.codes
    return list(np.bincount(pairs, minlength=number * values).reshape(number, values))


def _common(promise: PPrivacy, column: Column, of_all: CountsOfAllRows | None) -> np.ndarray:
    values = len(column.values)
    match promise.target:
        case "uniform":
            return uniform(values)
        case Zipf(zipf=s):
            return zipf(values, s)
        case Normal(normal=given):
            if not is_ordered(column.values.type):
                raise SpecError(f"target: {column.name!r} has no order for a normal distribution")
            return normal(exact(column.values, column.name), given.mean, given.variance)
    own = np.bincount(column.codes, minlength=values)
    return of_counts(own if of_all is None else of_all.values)
