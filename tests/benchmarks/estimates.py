"""Errors of estimated counts on ambiguous releases: by column, for several tables and draws.

    python -m tests.benchmarks.estimates [draws]

Each table is released by a number of seeded draws, 20 unless it is said. How many rows have each
value of a column is estimated from the published tables: with equal shares (`uniform`), by
frequencies that are fitted to the end, and by those that a release states. An error is the mean
absolute one over the values of a column, averaged over draws. The last two tables were drawn after
the rule that chooses had been made.
"""

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.help_tables.columns import chosen_rounds, tables_of_columns
from sfumato.tasks.query.help_tables.rows import expected_name, help_name
from sfumato.tasks.terms.terms import Declared
from tests.benchmarks.coverage import FIVE, JOBS, SEVEN, Parts, acs, adult, release_terms

DRAWS = 20
_ACS = acs((*FIVE, "PUMA"), "INDP_CAT", {"AGEP", "EDU"})


def promise(alpha: float, beta: float, presence: str) -> list[dict[str, Any]]:
    return [{"model": "alpha-beta", "alpha": alpha, "beta": beta, "presence": presence}]


TABLES: Mapping[str, Parts] = {
    "Adult, disjoint cover": (
        adult(SEVEN, JOBS),
        promise(0.1, 0.2, "combined"),
        "disjoint-cover",
        "ambiguous",
    ),
    "Adult, greedy": (adult(SEVEN, JOBS), promise(0.1, 0.2, "per-group"), "ambiguity", "ambiguous"),
    "ACS, disjoint cover": (_ACS, promise(0.2, 0.4, "combined"), "disjoint-cover", "ambiguous"),
    "ACS, greedy": (_ACS, promise(0.2, 0.34, "per-group"), "ambiguity", "ambiguous"),
    "ACS by education, disjoint cover": (
        acs(("AGEP", "SEX", "MSP", "RAC1P", "PUMA", "INDP_CAT"), "EDU", {"AGEP"}),
        promise(0.2, 0.5, "combined"),
        "disjoint-cover",
        "ambiguous",
    ),
    "Adult by education, disjoint cover": (
        adult((*(name for name in SEVEN if name != "education"), JOBS), "education"),
        promise(0.1, 0.4, "combined"),
        "disjoint-cover",
        "ambiguous",
    ),
}


def main(draws: int = DRAWS) -> None:
    """Print a line for each column of each table, and the sums."""
    print(f"Mean absolute errors of counts by value, over {draws} draws")
    print("| table | column | uniform | fitted | chosen | rounds | chosen / uniform |")
    print("|---|---|---|---|---|---|---|")
    sums = np.zeros(3)
    for title, parts in TABLES.items():
        errors: dict[str, list[list[float]]] = defaultdict(list)
        rounds: dict[str, Counter[int]] = defaultdict(Counter)
        for seed in range(draws):
            with tempfile.TemporaryDirectory() as folder:
                declared, tables, original = release_terms(parts, Path(folder), seed)
            chosen = chosen_rounds(tables, declared)
            for name, of_column in errors_by_column(declared, tables, original, chosen):
                errors[name].append(of_column)
                rounds[name][chosen.get(name, 100)] += 1
        for name, of_draws in errors.items():
            uniform, fitted, best = mean = np.mean(of_draws, axis=0)
            sums += mean
            times = ", ".join(f"{number} in {n}" for number, n in sorted(rounds[name].items()))
            print(
                f"| {title} | {name} | {uniform:.2f} | {fitted:.2f} | {best:.2f} | {times} "
                f"| {best / uniform if uniform else 1:.2f} |",
                flush=True,
            )
    print(f"all: fitted {sums[1] / sums[0]:.2f}, chosen {sums[2] / sums[0]:.2f} of uniform")


def errors_by_column(
    declared: Declared, tables: Tables, original: Microdata, chosen: Mapping[str, int]
) -> Iterator[tuple[str, list[float]]]:
    """Yield each column with its errors: of equal shares, of fitted ones, and of chosen ones."""
    names = declared.names_with_roles("quasi-identifier")
    stated = [dict.fromkeys(names, 0), {}, chosen]
    built = [
        tables_of_columns(tables, declared.model_copy(update={"rounds": rounds}))
        for rounds in stated
    ]
    for name in names:
        own = original[name]
        times = np.bincount(own.codes, minlength=len(own.values)).tolist()
        truth = dict(zip(own.values.to_pylist(), times, strict=True))
        yield name, [_error(of_estimator[help_name(name)], name, truth) for of_estimator in built]


def _error(table: pa.Table, name: str, truth: Mapping[Any, int]) -> float:
    """Return the mean absolute error of the estimated number of rows with each value."""
    summed = table.group_by(name).aggregate([(expected_name(name), "sum")])
    estimates = summed[f"{expected_name(name)}_sum"].to_pylist()
    pairs = zip(summed[name].to_pylist(), estimates, strict=True)
    return float(np.mean([abs(estimate - truth.get(value, 0)) for value, estimate in pairs]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
