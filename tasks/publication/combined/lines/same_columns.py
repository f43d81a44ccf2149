"""A column that is called otherwise in another line, or banded there: one name, and one domain.

The values are those of the line that has the fewest: a value of another line is the one that most
of its people have there. Whoever is in one line alone has no say in this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.private.people.kinds import WITNESS
from sfumato.tasks.private.people.slots import SlotMap


def maps_with_one_column(
    maps: Sequence[SlotMap], names: Sequence[str | None], name: str
) -> list[SlotMap]:
    """The maps of several lines in which a column has one name and one domain.

    Args:
        maps: the private maps.
        names: what the column is called in each, None where there is none.
        name: what it is called then; another column of that name is taken away.
    """
    if all(one in (None, name) for one in names):
        return list(maps)
    have = [at for at, one in enumerate(names) if one is not None]
    coarse = min(have, key=lambda at: len(_column(maps, names, at).values))
    told = _texts_of_people(maps[coarse], _column(maps, names, coarse))
    found = []
    for at, (one, called) in enumerate(zip(maps, names, strict=True)):
        others = [c for c in one.rows.columns if c.name not in (name, called)]
        if called is not None:
            column = _column(maps, names, at)
            texts = _as_text(column) if at == coarse else _told(one, column, told)
            others.append(encode(name, column.role, texts))
        found.append(replace(one, rows=one.rows.keep(others)))
    return found


def _column(maps: Sequence[SlotMap], names: Sequence[str | None], at: int) -> Column:
    return maps[at].rows[str(names[at])]


def _as_text(column: Column) -> pa.Array:
    return column.array().cast(pa.string())


def _people(slots: SlotMap) -> np.ndarray:
    return np.flatnonzero(slots.held & (slots.kind != WITNESS))


def _texts_of_people(slots: SlotMap, column: Column) -> Mapping[bytes, str]:
    """Everybody's value as a text."""
    rows = _people(slots)
    texts = _as_text(column).take(pa.array(rows)).to_pylist()
    return dict(zip(slots.key[rows].tolist(), texts, strict=True))


def _told(slots: SlotMap, column: Column, told: Mapping[bytes, str]) -> pa.Array:
    """The column's values, each as the one that most of its people have in `told`."""
    values = _as_text(column).to_pylist()
    seen: dict[str, dict[str, int]] = {}
    for row in _people(slots).tolist():
        other = told.get(slots.key[row])
        if other is not None:
            counts = seen.setdefault(values[row], {})
            counts[other] = counts.get(other, 0) + 1
    most = {value: max(counts, key=counts.__getitem__) for value, counts in seen.items()}
    return pa.array([most.get(value, value) for value in values], pa.string())
