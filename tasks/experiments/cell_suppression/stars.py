"""Suppressed cells by k and by rows: the forest, Mondrian's boxes, and how many are needed."""

from collections.abc import Iterator

import numpy as np

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.tasks.experiments.shared.adult import EIGHT, complete_people
from sfumato.tasks.experiments.shared.candidates import Method, partition_by, scope
from sfumato.tasks.experiments.shared.claim_tests import EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import (
    Claim,
    Experiment,
    Figure,
    Inputs,
    Point,
    RowsAndLevels,
)
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.cell_suppression.clusters import stars

_STARS = "% of cells suppressed"
_K = 5
_FOREST, _MONDRIAN, _BOUND = "forest", "Mondrian", "needed at least"


def measure(scale: RowsAndLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the share of cells that each partition suppresses, so that groups become equal."""
    people = complete_people(inputs, EIGHT, "salary-class", scale.rows, seed)
    for k in scale.levels:
        for series, share in _shares(people, int(k), seed):
            yield Point("salaries", series, k, _STARS, share)


def measure_sizes(scale: RowsAndLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the share of cells that each partition suppresses, by the number of people."""
    for rows in scale.levels:
        people = complete_people(inputs, EIGHT, "salary-class", rows, seed)
        for series, share in _shares(people, _K, seed):
            yield Point("salaries", series, rows, _STARS, share)


def _shares(people: Microdata, k: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the percentage of cells that each partition suppresses, and the lower bound on it."""
    quasi_identifiers = people.with_roles("quasi-identifier")
    codes = np.stack([column.category()[0] for column in quasi_identifiers], axis=1)
    promise = KAnonymity(k=k, quasi_identifiers=scope(people)["quasi_identifiers"])
    form = {"method": "suppressed"}
    forest = partition_by(people, Method((promise,), {"method": "forest"}, form), seed)
    boxes = partition_by(people, Method((promise,), {"method": "mondrian"}, form), seed)
    suppressed = {
        _FOREST: stars(codes, forest.group),
        _MONDRIAN: stars(codes, boxes.group),
        _BOUND: int(forest.facts["lower_bound"]),
    }
    for series, number in suppressed.items():
        yield series, 100 * number / codes.size


EXPERIMENT = Experiment(
    name="stars",
    paper="cell-suppression",
    shows="The forest algorithm (the paper has no experiments)",
    title="Cells suppressed by k",
    setting=(
        "The share of cells to suppress so that the rows of each group become equal, for people "
        "drawn from Adult and eight quasi-identifiers. The distances to the (k-1)-th nearest rows "
        "give a lower bound on that share."
    ),
    ours="all of it: the paper has no experiments",
    data=("salaries",),
    full=RowsAndLevels(1_500, (2, 3, 5, 7, 10)),
    quick=RowsAndLevels(100, (2, 5)),
    measure=measure,
    figures=(Figure(_STARS, "k", "% of cells suppressed"),),
    claims=(
        Claim(
            "The forest suppresses fewer cells than Mondrian's boxes would",
            "salaries",
            EverywhereBelow(_STARS, _FOREST, _MONDRIAN),
            by="project",
        ),
        Claim(
            "More cells are suppressed as k grows",
            "salaries",
            Trend(_STARS, _FOREST, rises=True),
            by="project",
        ),
    ),
)
SIZES = Experiment(
    name="stars-by-rows",
    paper="cell-suppression",
    shows="The forest algorithm on samples of Adult (the paper has no experiments)",
    title="Cells suppressed by the size of the table",
    setting=f"The same share for k = {_K}, by how many people are drawn from Adult.",
    ours="all of it: the paper has no experiments",
    data=("salaries",),
    full=RowsAndLevels(0, (200, 1_000, 5_000, 30_162)),
    quick=RowsAndLevels(0, (100, 300)),
    measure=measure_sizes,
    figures=(Figure(_STARS, "rows", "% of cells suppressed"),),
    claims=(
        Claim(
            "The forest suppresses fewer cells than Mondrian's boxes would at every size",
            "salaries",
            EverywhereBelow(_STARS, _FOREST, _MONDRIAN),
            by="project",
        ),
        Claim(
            "Fewer cells are suppressed as the table grows",
            "salaries",
            Trend(_STARS, _FOREST, rises=False),
            by="project",
        ),
    ),
)
