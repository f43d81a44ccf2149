"""Guesses of a person's value from the factors of likely intervals.

    python -m tests.benchmarks.factors [rows …]

Two originals differ in one thing: two people of a group, with its least and its greatest value,
have each other's. Both give the same published tables, so that the factors alone can tell which it
was. An attacker who knows everything but that sees factors of many draws for each original, and
then guesses from the factors of one draw (naive Bayes over families). Without factors half of the
guesses are right. The second share is for an attacker who even knows which queries were drawn: the
share of swaps after which any factor differs.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.query.intervals.calibration.factors import FamilyKey
from tests.intervals.releases import DECLARED, factors_of, publish_permuted, wages

ROWS = (236, 1_000)
SWAPS, LEARNED, GUESSED = 4, 24, 24
SIZE = 5
Factors = dict[FamilyKey, str]


def main(rows: Sequence[int] = ROWS) -> None:
    """Print a line for each number of rows."""
    print(f"Guesses from factors: {SWAPS} swaps, {GUESSED} guesses for each of two originals")
    print("| rows | right | without factors | swaps that change a factor, queries known |")
    print("|---|---|---|---|")
    for number in rows:
        right, changed = measure(number)
        print(f"| {number:,} | {right:.1%} | 50 % | {changed:.0%} |", flush=True)


def measure(rows: int) -> tuple[float, float]:
    """Return the share of right guesses, and of draws in which the swap changes a factor."""
    people = wages(rows)
    tables, original = publish_permuted(people)
    age, town, _ = people
    in_groups = np.lexsort((age, town))  # as the release has them
    right, changed = [], []
    for swap in range(SWAPS):
        first = swap * rows // SWAPS // SIZE * SIZE
        originals = [original, swap_ends(original, in_groups[first : first + SIZE])]
        draws = [
            [factors(tables, rows_of_one, seed) for seed in range(LEARNED + GUESSED)]
            for rows_of_one in originals
        ]
        changed += [first_factors != others for first_factors, others in zip(*draws, strict=True)]
        learned = [of_original[:LEARNED] for of_original in draws]
        for truth, of_original in enumerate(draws):
            right += [guess(learned, seen) == truth for seen in of_original[LEARNED:]]
    return float(np.mean(right)), float(np.mean(changed))


def swap_ends(original: Microdata, members: np.ndarray) -> Microdata:
    """Return the original where the least and the greatest value of some rows change places."""
    *columns, wage = original.columns
    low, high = (members[place] for place in np.argsort(wage.codes[members])[[0, -1]])
    codes = wage.codes.copy()
    codes[[low, high]] = codes[[high, low]]
    return Microdata((*columns, replace(wage, codes=codes)), original.rows)


def factors(tables: dict[str, pa.Table], original: Microdata, seed: int) -> Factors:
    """Return the factors that a publisher would state, of queries drawn by a seed."""
    stated = factors_of(tables, original, seeded_keys(seed), DECLARED)
    return {(family.family, family.of): str(family.factor) for family in stated.families}


def guess(learned: Sequence[Sequence[Factors]], seen: Factors) -> int:
    """Return the original under which some factors are likelier, by those that were learned."""
    likelihoods = []
    for of_original in learned:
        logs = 0.0
        for family, factor in seen.items():
            times = sum(stated.get(family) == factor for stated in of_original)
            logs += float(np.log((times + 0.5) / (len(of_original) + 1)))
        likelihoods.append(logs)
    return int(np.argmax(likelihoods))


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or ROWS)
