"""The target distributions that a p-privacy promise asks for, of each stratum or of all."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.errors import SpecError
from sfumato.expectations.exact import exact, is_ordered
from sfumato.expectations.models.p_privacy import File, Given, Nearest, Normal, PPrivacy, Zipf
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.distribution.given_distributions import given_targets
from sfumato.tasks.partitions.distribution.more_rows import CountsOfAllRows
from sfumato.tasks.targets.distribution import normal, of_counts, uniform, zipf


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
