"""The distributions of a line's first version, which all its cohorts are made to follow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.continued.line import LineSoFar
from sfumato.tasks.partitions.continued.rows import Drawn
from sfumato.tasks.partitions.partition import TargetDistributions

_STRATA, _GROUPS, _DISTRIBUTIONS = "of_stratum", "of_group", "distributions"


def with_frozen_targets(drawn: Drawn, line: LineSoFar, strata: Sequence[str]) -> Drawn:
    """Groups that follow the distributions of the first version, over the values it had.

    Nothing changes where the partition gives no distributions.
    """
    if drawn.aims is None and not line.slots.targets:
        return drawn
    told = line.slots.targets or _first(drawn, line, strata)
    name = str(told["name"])
    places = _first_rows(drawn)
    of_stratum = {tuple(key): index for key, index in told[_STRATA]}
    before: list[int] = list(told[_GROUPS])
    new = range(len(before), int(drawn.line_group.max()) + 1)
    of_group = before + [of_stratum[_stratum(line, strata, places[group])] for group in new]
    distributions = tuple(tuple(map(Fraction, of)) for of in told[_DISTRIBUTIONS])
    target = np.array(of_group, dtype=np.int64)[drawn.line_group]
    used, target = np.unique(target, return_inverse=True)
    aims = TargetDistributions(name, target, tuple(distributions[at] for at in used))
    return replace(
        drawn,
        microdata=_with_domain(drawn.microdata, name, drawn.slots.rows[name].values),
        partition=replace(drawn.partition, target_distributions=aims),
        slots=replace(drawn.slots, targets={**told, _GROUPS: of_group}),
    )


def has_strata(line: LineSoFar, strata: Sequence[str], rows: np.ndarray) -> bool:
    """Decide whether the first version had the strata of these rows (int64)."""
    if not line.slots.targets:
        return True
    known = {tuple(key) for key, _ in line.slots.targets[_STRATA]}
    return all(_stratum(line, strata, row) in known for row in rows.tolist())


def _first(drawn: Drawn, line: LineSoFar, strata: Sequence[str]) -> Mapping[str, Any]:
    """The distributions of the first version, for all that come."""
    assert drawn.aims is not None  # noqa: S101 - seen by the caller
    places, target = _first_rows(drawn), drawn.aims.target.tolist()
    of_stratum = {_stratum(line, strata, places[g]): target[g] for g in range(len(target))}
    return {
        "name": drawn.aims.name,
        _STRATA: [[list(key), index] for key, index in of_stratum.items()],
        _GROUPS: target,
        _DISTRIBUTIONS: [[str(chance) for chance in of] for of in drawn.aims.distributions],
    }


def _first_rows(drawn: Drawn) -> dict[int, int]:
    """By each new group of the line, a row of the source that is in it."""
    new = np.flatnonzero(drawn.line_group[drawn.partition.group] >= drawn.first_new)
    groups, first = np.unique(drawn.line_group[drawn.partition.group[new]], return_index=True)
    return dict(zip(groups.tolist(), drawn.source[new[first]].tolist(), strict=True))


def _stratum(line: LineSoFar, strata: Sequence[str], row: int) -> tuple[str, ...]:
    """The stratum of a row, as texts."""
    return tuple(_text(line.table[name], row) for name in strata)


def _text(column: Column, row: int) -> str:
    code = int(column.codes[row])
    return "null" if code < 0 else f"= {column.values[code].as_py()}"


def _with_domain(microdata: Microdata, name: str, values: pa.Array) -> Microdata:
    """The table with a column over all these values, ascending, whether or not a row has them."""
    column = microdata[name]
    place = pc.index_in(column.values, value_set=values).to_numpy(zero_copy_only=False)
    whole = replace(
        column, values=values, codes=np.append(place, -1).astype(np.int32)[column.codes]
    )
    return microdata.keep(whole if c.name == name else c for c in microdata.columns)
