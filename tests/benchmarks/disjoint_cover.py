"""The disjoint cover: errors of counts that it never saw on UCI Adult, and time on many rows."""

import time
from collections.abc import Mapping
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.covering import covering
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.measures.occurrences import occurrences
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata, seeded_keys
from sfumato.tasks.partitions.disjoint_cover import disjoint_cover
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from tests.benchmarks.ke import cpu
from tests.benchmarks.lattice import adult

QI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE = "occupation"
SETTINGS = ((".2", ".34"), (".1", ".2"), (".05", ".2"), (".01", ".2"), (".01", ".1"))
SEEDS = (1, 2, 3)
QUERIES = 1_500
LEAST = 50
PARAMETERS = DisjointCoverParameters(method="disjoint-cover")
ROWS = (500_000, 1_000_000)
SIZES = (78, 2, 17, 6, 9, 10, 83)


def main() -> None:
    """Print errors and seconds for Adult, and seconds for half a million rows and a million."""
    table = adult(QI, SENSITIVE)
    queries_asked = questions(table, np.random.default_rng(5))
    for (alpha, beta), seed in product(SETTINGS, SEEDS):
        report(table, promise(alpha, beta), queries_asked, seed)
    for rows in ROWS:
        time_cover(people(rows, 1))


def time_cover(many: Microdata) -> None:
    """Print seconds for a table, for the cover and for what its tables show together."""
    sort = cpu(lambda: np.sort(np.random.default_rng(1).integers(0, 2**62, many.rows)))
    for alpha, beta in SETTINGS[:4]:
        partition = disjoint_cover.partition(
            many, [], [promise(alpha, beta)], PARAMETERS, seeded_keys(1)
        )
        taken = cpu(lambda a=alpha, b=beta: make_groups(many, promise(a, b), 1), times=1)
        covers_of_groups = covering(
            Groups(np.bincount(partition.group), {}, covers(many, partition.group)), QI
        )
        joined = cpu(lambda covers_of_groups=covers_of_groups: joint_presence(covers_of_groups))
        print(
            f"disjoint-cover, {many.rows:,} rows x {len(QI)}, ({alpha},{beta}): {taken:.2f} s, "
            f"{taken / sort:.0f} x np.sort, joint presence {joined:.2f} s, "
            f"{joined / sort:.0f} x, {partition.facts}",
            flush=True,
        )


def covers(table: Microdata, group: np.ndarray) -> dict[str, Cover]:
    """The values that each group admits."""
    return {name: cover(group, *table[name].category()) for name in QI}


def promise(alpha: str, beta: str) -> AlphaBeta:
    """(α,β)-privacy of the sensitive attribute."""
    return AlphaBeta(alpha=Decimal(alpha), beta=Decimal(beta), sensitive=SENSITIVE)


def make_groups(table: Microdata, promise_wanted: AlphaBeta, seed: int) -> np.ndarray:
    """The group of each row."""
    return disjoint_cover.partition(
        table, [], [promise_wanted], PARAMETERS, seeded_keys(seed)
    ).group


def report(
    table: Microdata, promise_wanted: AlphaBeta, queries_asked: np.ndarray, seed: int
) -> None:
    """Print the errors of both estimates for one promise."""
    what = f"Adult ({promise_wanted.alpha},{promise_wanted.beta})"
    start = time.process_time()
    try:
        partition = disjoint_cover.partition(
            table, [], [promise_wanted], PARAMETERS, seeded_keys(seed)
        )
    except PromiseError as error:
        print(f"{what}: {error}")
        return
    taken = time.process_time() - start
    both = {
        name: np.abs(
            estimates(table, partition.group, queries_asked, fitted) - queries_asked[:, -1]
        )
        / queries_asked[:, -1]
        for name, fitted in (("EM+", True), ("l/m", False))
    }
    errors = ", ".join(f"{n} {np.median(e):.3f}/{e.mean():.3f}" for n, e in both.items())
    facts: Mapping[str, object] = partition.facts
    print(f"{what}: {taken:.1f} s, median/mean {errors}; {facts}", flush=True)


def questions(table: Microdata, rng: np.random.Generator) -> np.ndarray:
    """Queries with enough rows: three attributes, from, up to, sensitive value, true count."""
    codes = np.stack([table[name].codes for name in (*QI, SENSITIVE)], axis=1)
    domains = codes.max(axis=0) + 1
    queries_found = []
    while len(queries_found) < QUERIES:
        positions = rng.choice(len(QI), 3, replace=False)
        width = np.maximum(np.round(0.4 * domains[positions]), 1).astype(int)
        low = rng.integers(0, domains[positions] - width + 1)
        value = rng.integers(0, domains[-1])
        inside = ((codes[:, positions] >= low) & (codes[:, positions] < low + width)).all(axis=1)
        truth = int((inside & (codes[:, -1] == value)).sum())
        if truth >= LEAST:
            queries_found.append((*positions, *low, *(low + width), value, truth))
    return np.array(queries_found)


def estimates(
    table: Microdata, group: np.ndarray, queries_asked: np.ndarray, fitted: bool
) -> np.ndarray:
    """Return readers' estimates: with expected occurrences, or each admitted value alike."""
    sizes = np.bincount(group)
    up_to = []
    for name in QI:
        codes, values = table[name].category()
        covers_of_groups = cover(group, codes, values)
        many = occurrences(sizes, covers_of_groups) / sizes[covers_of_groups.group]
        shares = many if fitted else 1 / covers_of_groups.sizes(len(sizes))[covers_of_groups.group]
        matrix = np.zeros((len(sizes), values + 1))
        matrix[covers_of_groups.group, covers_of_groups.value + 1] = shares
        up_to.append(matrix.cumsum(axis=1))
    counts = np.zeros((len(sizes), len(table[SENSITIVE].values)))
    np.add.at(counts, (group, table[SENSITIVE].codes), 1)
    estimates = []
    for query in queries_asked:
        parts = counts[:, query[9]].copy()
        for a, low, high in zip(query[:3], query[3:6], query[6:9], strict=True):
            parts *= up_to[a][:, high] - up_to[a][:, low]
        estimates.append(parts.sum())
    return np.array(estimates)


def people(rows: int, seed: int) -> Microdata:
    """Rows whose values are skewed and depend on each other."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows)
    names = (*QI, SENSITIVE)
    columns = []
    for name, size in zip(names, (*SIZES, 50), strict=True):
        spread = rng.gamma(1.5, 0.12, rows) if size > 10 else rng.gamma(0.8, 0.2, rows)
        codes = np.minimum((spread + 0.3 * kind * rng.random(rows)) * size, size - 1)
        role = "sensitive" if name == SENSITIVE else "quasi-identifier"
        columns.append(Column(name, role, pa.array(range(size)), codes.astype(np.int32)))
    return Microdata(tuple(columns), rows)


if __name__ == "__main__":
    main()
