"""Queries with conditions on columns, drawn among what is published of these."""

from typing import Protocol

import numpy as np

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.query.accuracy.workloads.conditions import draw_share, end_of_window
from sfumato.tasks.query.accuracy.workloads.drawn import DrawnQuery, Exactly, InWindow, OneOf
from sfumato.tasks.query.accuracy.workloads.frequent import FrequentValues
from sfumato.tasks.query.accuracy.workloads.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.schema.columns import ORDERED


class Drawing(Protocol):
    """Draws queries of a workload."""

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next query; None where there is nothing to be asked."""
        ...


class RangeDrawing:
    """Windows [x, x + span] of a quasi-identifier, x drawn among what is published of it."""

    def __init__(self, workload: RangeWorkload, asking: Engine) -> None:
        """Find what is published of the quasi-identifier."""
        self._over = workload.over
        self._starts = asking.starts(workload.over)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next window; None where the column has no values."""
        if not self._starts:
            return None
        low = self._starts[int(randomness(1)[0]) % len(self._starts)]
        return DrawnQuery((InWindow(self._over, low, end_of_window(low, level)),))


class CountsDrawing:
    """Ranges of random quasi-identifiers, and the sensitive value of a random row."""

    def __init__(
        self, workload: CountsWorkload, asking: Engine, declared: Declared, values: FrequentValues
    ) -> None:
        """Find what is published of each quasi-identifier."""
        starts = {name: asking.starts(name) for name in declared.named("quasi-identifier")}
        self._starts = {name: found for name, found in starts.items() if found}
        self._names = list(self._starts)
        self._attributes = min(workload.attributes, len(self._names))
        self._ordered = {name: declared.columns[name].type in ORDERED for name in self._names}
        self._values = values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns on which there may be conditions."""
        return (*self._names, self._values.name)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next query; None where nothing is represented."""
        if not self._values.rows:
            return None
        value = Exactly(self._values.name, self._values.draw(randomness))
        share = (level / 100) ** (1 / max(self._attributes, 1))
        order = np.argsort(randomness(len(self._names)), kind="stable")[: self._attributes]
        ranges = (self._share_of(self._names[at], share, randomness) for at in order)
        return DrawnQuery((value, *ranges))

    def _share_of(self, name: str, share: float, randomness: Randomness) -> InWindow | OneOf:
        """A share of a column's values, neighbours where they have an order."""
        ordered = self._ordered[name]
        drawn = draw_share(self._starts[name], share, randomness, ordered=ordered)
        return InWindow(name, drawn[0], drawn[-1]) if ordered else OneOf(name, tuple(drawn))
