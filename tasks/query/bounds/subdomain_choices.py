"""The choices of cells among the subdomains of groups, as intervals of numbers."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.bounds.subdomain_extremes import Held, Selected


def choices_of_cells(held: Held, selected: Selected, digits: int) -> Iterator[Choices]:
    """The choices of each cell: of each group as many intervals as rows may count."""
    order = stable_order(held.group)
    start = np.searchsorted(held.group[order], np.arange(len(held.sizes) + 1))
    sure, by_cell = held.sure(selected), stable_order(selected.cell)
    ends = np.searchsorted(selected.cell[by_cell], np.arange(selected.cells + 1))
    for first, last in pairwise(ends):
        of_cell = by_cell[first:last]
        groups, hits = selected.group[of_cell], selected.hits[of_cell]
        sizes = start[groups + 1] - start[groups]
        number = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        node = order[start[groups][number] + within]
        times = np.minimum(held.times[node], hits[number])
        copies, able = np.repeat(node, times), np.zeros(len(groups), dtype=np.int64)
        np.add.at(able, number, held.times[node])
        yield Choices(
            group=np.repeat(number, times),
            low=held.units[held.least[copies]],
            high=held.units[held.greatest[copies]],
            least=sure[of_cell],
            most=np.minimum(hits, able),
            digits=digits,
        )
