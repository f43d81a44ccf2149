"""Aimed partitions against the best fixed one: `python -m tests.benchmarks.aimed`.

Of each seed a table is drawn, `auto` chooses, and all candidates and the choice are made anew and
asked fresh queries of the families that were aimed at, held out of the choice. A fixed partition is
`ke` under one of its objectives, as a spec would name it; the best of them is known only
afterwards. Prints, for each table and aim, how often the choice is at most 2 % wider, and the gain
by seeds.

With `--rows N` the time that cuts take of N rows is measured instead.
"""

import argparse
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.choosing import choose
from sfumato.tasks.candidates.scores import draw_queries, score_rows
from sfumato.tasks.candidates.wished import Choice, Choosing, WishedTerms
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.aimed.queries import queries_of
from sfumato.tasks.partitions.partition import with_strata
from sfumato.tasks.partitions.registry import PARTITIONS

ADULT = Path(__file__).parents[2] / "deployments" / "data" / "adult.parquet"
RANGES = {"kind": "range", "over": "age", "spans": [5, 10, 20, 40]}
SETS = {"kind": "arbitrary", "selected": [50, 100, 200, 400]}
AIMS = {"ranges": [RANGES], "ranges and sets": [RANGES, SETS]}
FIXED = ("sum", "weighted", "max")
FORM = {"method": "permuted"}
COLUMNS = [
    {"name": "age", "role": "quasi-identifier", "type": "integer", "nulls": False},
    {"name": "loss", "role": "sensitive", "type": "integer", "nulls": False},
]


def adult(rng):
    """Two thirds of the people of Adult with a capital loss, whoever they are."""
    table = pq.read_table(ADULT, columns=["age", "capital-loss"])
    table = table.filter(pc.greater(table["capital-loss"], 0))
    rows = np.sort(rng.choice(table.num_rows, 2 * table.num_rows // 3, replace=False))
    sample = table.take(pa.array(rows))
    return sample["age"].to_numpy(), sample["capital-loss"].to_numpy()


def tables_of_strength(strength):
    """Tables of 1,500 people whose losses go with age more or less."""

    def draw(rng):
        age = np.clip(rng.normal(42, 14, 1500), 17, 90).round().astype(int)
        noise = rng.normal(0, 1, 1500)
        level = strength * (age - 42) / 14 + np.sqrt(1 - strength**2) * noise
        return age, 10 * np.round(150 + 50 * level).astype(int)

    return draw


TABLES = {"adult": adult, "unrelated": tables_of_strength(0.0), "related": tables_of_strength(0.5)}


def microdata(ages, losses):
    """The table as it is anonymized."""
    age = encode("age", "quasi-identifier", pa.array(ages))
    return Microdata((age, encode("loss", "sensitive", pa.array(losses))), len(ages))


def promise():
    """Return the promise."""
    scope = {"quasi_identifiers": ("age",), "sensitive": "loss"}
    return KEAnonymity(k=5, e=Decimal(500), **scope)


def terms():
    """The terms of a line whose partition is to be chosen."""
    return WishedTerms(
        name="losses",
        title="Losses",
        unit="row",
        versions="disjoint",
        columns=COLUMNS,
        strata=(),
        promises=(promise(),),
        partition={"method": "auto"},
        form=FORM,
        formats=("parquet",),
    )


def candidates(aims):
    """Return what a spec with this promise may choose from."""
    fixed = [{"method": "ke", "objective": objective} for objective in FIXED]
    aimed = [{"method": method, "aims": aims} for method in ("hybrid", "contiguous")]
    return [Choice(partition=p, strata=(), form=FORM) for p in (*fixed, *aimed)]


def width(table, choice, aims, seed):
    """The width of fresh queries, of a partition that is made anew; None where it is refused."""
    within, strata = with_strata(table, choice.strata)
    make = PARTITIONS[choice.partition.method]
    try:
        made = make(within, strata, [promise()], choice.partition, seeded_keys(seed))
    except PromiseError:
        return None
    queries_drawn = draw_queries(queries_of(table, aims), seeded_keys(10_000 + seed))
    return score_rows(table, made, {}, "loss", queries_drawn)


def compare(table, seed, aims):
    """Return what was chosen, its width and that of the best fixed partition."""
    choosing = Choosing(candidates=candidates(aims), aims=aims)
    best, _ = choose(table, terms(), choosing, seeded_keys(seed))
    fixed = [
        width(table, candidate, choosing.aims, seed) for candidate in candidates(aims)[: len(FIXED)]
    ]
    widths = [width_found for width_found in fixed if width_found is not None]
    name = best.partition.method + (" in bands" if best.strata else "")
    return name, width(table, best, choosing.aims, seed), min(widths)


def measure(seeds, tables):
    """Print a line for each of these kinds of table and each aim."""
    print("| table | aimed at | within 2 % | refused | gain: median [least, most] | chosen |")
    print("|---|---|---|---|---|---|")
    for name in tables:
        for words, aims in AIMS.items():
            comparisons = []
            for seed in range(seeds):
                table = microdata(*TABLES[name](np.random.default_rng(seed)))
                comparisons.append(compare(table, seed, aims))
            made = [(aimed, fixed) for _, aimed, fixed in comparisons if aimed is not None]
            gains = np.array([1 - aimed / fixed for aimed, fixed in made])
            within = sum(aimed <= 1.02 * fixed for aimed, fixed in made)
            chosen = Counter(method for method, *_ in comparisons)
            counts = ", ".join(f"{method} {times}" for method, times in chosen.most_common())
            band = f"{np.median(gains):.1%} [{gains.min():.1%}, {gains.max():.1%}]"
            refused = len(comparisons) - len(made)
            print(
                f"| {name} | {words} | {within}/{len(made)} | {refused} | {band} | {counts} |",
                flush=True,
            )


def time_cuts(rows):
    """Print the processor's time for cuts of so many rows, beside `ke` alone."""
    rng = np.random.default_rng(0)
    ages = np.clip(rng.normal(45, 15, rows), 17, 95).round().astype(int)
    table = microdata(ages, np.round(np.exp(rng.normal(7.5, 0.6, rows))).astype(int))
    for candidate in candidates([RANGES])[1:]:
        if candidate.partition.method == "ke" and candidate.partition.objective != "weighted":
            continue
        make = PARTITIONS[candidate.partition.method]
        for _ in range(2):
            start = time.process_time()
            made = make(table, [], [promise()], candidate.partition, seeded_keys(1))
            spent = time.process_time() - start
        print(f"{candidate.partition.method}: {spent:.2f} s of CPU, {made.facts['groups']} groups")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--rows", type=int)
    options = parser.parse_args()
    if options.rows:
        time_cuts(options.rows)
    else:
        measure(options.seeds, options.tables)
