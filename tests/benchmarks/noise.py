"""Answers with noise by OpenDP: alone, sharing one privacy budget, or from one planned histogram.

A unit is a person, who is one row: neighbouring tables differ by one row. OpenDP draws the noise,
and states the privacy loss of each measurement, which the script compares with what it may spend.
AVG is a quotient: half of its budget is for the count, half for the sum of deviations from the
middle of the public range. Budgets are ε, spent by Laplace noise; or ρ of zero-concentrated
privacy, spent by Gaussian noise, which OpenDP translates to ε with δ (Bun and Steinke, 2016).
`OPENDP` names the interpreter of OpenDP's environment, which the Makefile makes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.peers import Peer
from tests.benchmarks.selections import CELLS, Limits, People, Selection

EPSILON, DELTA = 1.0, 1e-6
SEPARATE = ("alone", "together", "gaussian")
_HEAD = """
import json, sys
import opendp.prelude as dp

dp.enable_features("contrib")
task = json.loads(open(sys.argv[1], encoding="utf-8").read())
low, high, middle, radius = (task[name] for name in ("low", "high", "middle", "radius"))
values = {}
for cell, value in zip(task["cell"], task["value"]):
    values.setdefault(cell, []).append(value)
vectors = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
"""
_SCRIPT = """
def laplace(start):
    return lambda scale: start >> dp.m.then_laplace(scale)

def gaussian(start):
    return lambda scale: start >> dp.m.then_gaussian(scale)

def noisy(with_noise, budget, distance=1):
    scale = dp.binary_search_param(with_noise, d_in=distance, d_out=budget, bounds=(1e-6, 1e9))
    assert with_noise(scale).map(distance) <= budget
    return with_noise(scale)

def concentrated(epsilon, delta):
    def is_enough(scale):
        approximate = dp.c.make_zCDP_to_approxDP(gaussian(count)(scale))
        try:
            return approximate.map(1).epsilon(delta) <= epsilon
        except (OverflowError, dp.OpenDPException):
            return False
    scale = dp.binary_search(is_enough, bounds=(1e-4, 1e6))
    assert is_enough(scale)
    return gaussian(count)(scale).map(1)

count = dp.t.make_count(*vectors)
total = vectors >> dp.t.then_clamp((low, high)) >> dp.t.then_sum()
deviations = vectors >> dp.t.then_clamp((-radius, radius)) >> dp.t.then_sum()

def answer(selections, noise, budget):
    whole, sums = noisy(noise(count), budget), noisy(noise(total), budget)
    half_count, half_sums = noisy(noise(count), budget / 2), noisy(noise(deviations), budget / 2)
    for cells in selections:
        rows = [value for cell in cells for value in values.get(cell, ())]
        above = [value for value in rows if value > task["above"]]
        centred = [value - middle for value in rows]
        yield [
            [whole(rows), whole(above), sums(rows), half_count(rows), half_sums(centred)]
            for _ in range(task["draws"])
        ]

def plan(epsilon):
    codes = [2 * cell + (value > task["above"]) for cell, rows in values.items() for value in rows]
    categories = list(range(2 * task["cells"]))
    by_category = dp.t.make_count_by_categories(
        *vectors, categories=categories, null_category=False
    )
    counts = noisy(laplace(by_category), epsilon / 2)
    clamped = lambda value: max(-radius, min(value - middle, radius))
    sums = [sum(map(clamped, values.get(cell, ()))) for cell in range(task["cells"])]
    each_cell = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    deviations_of_cells = noisy(laplace(each_cell), epsilon / 2, distance=radius)
    return [[counts(codes), deviations_of_cells(sums)] for _ in range(task["draws"])]

epsilon, together, selections = task["epsilon"], task["together"], task["selections"]
print(json.dumps({
    "alone": list(answer(selections, laplace, epsilon)),
    "together": list(answer(selections, laplace, epsilon / together)),
    "gaussian": list(
        answer(selections, gaussian, concentrated(epsilon, task["delta"]) / together)
    ),
    "planned": plan(epsilon),
}))
"""
OPENDP = Peer("OpenDP", "OPENDP", _SCRIPT, _HEAD)


@dataclass(frozen=True, eq=False)
class NoisyAnswers:
    """The answers of each measure by way, or the reason why there are none.

    Arrays of float64: a row for each selection, a column for each draw of the noise.
    """

    by_way: Mapping[str, Mapping[str, np.ndarray]]
    reason: str = ""


def ask_with_noise(
    people: People, selections: Sequence[Selection], together: int, draws: int, folder: Path
) -> NoisyAnswers:
    """Let OpenDP answer the questions about these selections, with ε = 1.

    Args:
        people: all rows of the table.
        selections: each asked COUNT, COUNT above the limit, SUM and AVG.
        together: number of questions that share ε in the ways `together` and `gaussian`.
        draws: number of times that noise is drawn for each question.
        folder: private place of the task's file.
    """
    place = folder / "task.json"
    place.write_text(json.dumps(_task(people, selections, together, draws)), encoding="utf-8")
    result = OPENDP.run(place)
    if isinstance(result, str):
        return NoisyAnswers({}, f"OpenDP {result}")
    limits = people.limits
    histograms = [(np.array(counts), np.array(sums)) for counts, sums in result["planned"]]
    planned = [plan_answers(*histogram, selections, limits) for histogram in histograms]
    return NoisyAnswers(
        {
            **{way: separate_answers(np.array(result[way]), limits) for way in SEPARATE},
            "planned": {
                name: np.stack([answers[name] for answers in planned], axis=1)
                for name in planned[0]
            },
        }
    )


def _task(
    people: People, selections: Sequence[Selection], together: int, draws: int
) -> dict[str, Any]:
    limits = people.limits
    return {
        "cell": people.cell.tolist(),
        "value": people.value.tolist(),
        "cells": CELLS,
        "selections": [np.flatnonzero(selection.cells).tolist() for selection in selections],
        "low": limits.low,
        "high": limits.high,
        "middle": limits.middle,
        "radius": limits.radius,
        "above": limits.above,
        "epsilon": EPSILON,
        "delta": DELTA,
        "together": together,
        "draws": draws,
    }


def separate_answers(parts: np.ndarray, limits: Limits) -> dict[str, np.ndarray]:
    """Return the answers of questions that are asked one by one.

    Args:
        parts: by selection, draw and part: rows, rows above the limit, sum; for AVG rows again, and
            the sum of deviations from the middle.
        limits: of the values.
    """
    rows, above, total, again, deviations = np.moveaxis(parts.astype(np.float64), -1, 0)
    mean = mean_of_deviations(again, deviations, limits)
    return {"rows": rows, "above": above, "total": total, "mean": mean}


def plan_answers(
    counts: np.ndarray, deviations: np.ndarray, selections: Sequence[Selection], limits: Limits
) -> dict[str, np.ndarray]:
    """Return all answers from one noisy histogram.

    Args:
        counts: two for each cell, of rows that are not above the limit and of those above it.
        deviations: for each cell the sum of deviations from the middle.
        selections: of cells.
        limits: of the values.
    """
    cells = np.stack([selection.cells for selection in selections]).astype(np.float64)
    rows, above = cells @ counts.reshape(-1, 2).sum(axis=1), cells @ counts[1::2]
    distance = cells @ deviations
    total = distance + limits.middle * rows
    mean = mean_of_deviations(rows, distance, limits)
    return {"rows": rows, "above": above, "total": total, "mean": mean}


def mean_of_deviations(rows: np.ndarray, deviations: np.ndarray, limits: Limits) -> np.ndarray:
    """Return means from counts and sums of deviations; none lies outside the public range."""
    mean = limits.middle + deviations / np.maximum(rows, 1)
    return np.clip(mean, limits.low, limits.high)
