"""The power of rows to tell if two tables are about the same people: tables that are, and are not.

Unrelated pairs are samples without a person in common of Adult and of two years of ACS: halves,
people of two kinds (by one column), and the two surveys beside each other. Related pairs share a
fifth of the smaller table's people or more, sizes are within a factor of 3, and one value was
changed in up to 30 % of the rows.

    python -m tests.benchmarks.same_people [--pairs 1000] [--seed 1]
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.same_people import RowsOfTwo
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people.source_rows import (
    RowsInCommon,
    RowsInFile,
    compare_rows,
    normal_rows,
    read_rows,
    write_rows,
)
from tests.benchmarks.comers import acs, acs_is_here, adult

_SECRET = b"k" * 32
_SIZES = ((100, 1_000), (1_000, 12_000))
_MOST = 10


def populations(rng: np.random.Generator) -> dict[str, pa.Table]:
    """Tables about people of whom none is in two of them."""
    tables = {"adult": adult(rng)}
    if acs_is_here():
        people, first = acs(rng)
        tables |= {"acs 2018": people[:first], "acs 2019": people[first:]}
    return tables


def compare(first: pa.Table, other: pa.Table) -> RowsInCommon:
    """Return what the rows of two tables have in common, as a release finds it."""
    rows = compare_rows(*(normal_rows(_code_table(table), _SECRET) for table in (first, other)))
    return rows or RowsInCommon((), RowsOfTwo(0, 0, 0), are_related=False)


def _code_table(table: pa.Table) -> Microdata:
    columns = [encode(name, "insensitive", table[name]) for name in table.column_names]
    return Microdata(tuple(columns), table.num_rows)


def _some(rng: np.random.Generator, names: list[str], number: int) -> list[str]:
    return sorted(rng.choice(names, min(number, len(names)), replace=False).tolist())


def _size(rng: np.random.Generator, low: int, high: int) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def unrelated_pairs(
    rng: np.random.Generator, tables: Mapping[str, pa.Table]
) -> Iterator[RowsInCommon]:
    """Pairs of tables without a person in common."""
    while True:
        names = list(tables)
        people = tables[names[int(rng.integers(len(names)))]]
        kind = rng.integers(4)
        columns = _some(rng, people.column_names, int(rng.integers(1, _MOST + 1)))
        size, other = _size(rng, 100, 12_000), _size(rng, 100, 12_000)
        order = rng.permutation(len(people))
        if kind == 0:  # halves
            half = min(size, len(people) // 2)
            rows = order[:half], order[half : 2 * half]
        elif kind == 1:  # samples
            rows = order[:size], order[size : size + other]
        elif kind == 2:  # people of two kinds
            key_column = people[people.column_names[int(rng.integers(len(people.column_names)))]]
            codes = key_column.dictionary_encode().combine_chunks().indices.to_numpy()
            mine = codes[order] <= rng.integers(codes.max() + 1)
            rows = order[mine][:size], order[~mine][:other]
        else:  # two surveys, under the same names
            yield from _surveys(rng, tables, size, other)
            continue
        if min(map(len, rows)) < 20:
            continue
        yield compare(*(people.select(columns).take(pa.array(positions)) for positions in rows))


def _surveys(
    rng: np.random.Generator, tables: Mapping[str, pa.Table], size: int, other: int
) -> Iterator[RowsInCommon]:
    if len(tables) < 3:
        return
    years = [
        tables[year].take(pa.array(rng.permutation(len(tables[year])))) for year in list(tables)[1:]
    ]
    columns = _some(rng, years[0].column_names, int(rng.integers(1, 7)))
    yield compare(years[0].select(columns)[:size], years[1].select(columns)[:other])


def related_pairs(
    rng: np.random.Generator, tables: Mapping[str, pa.Table], columns: int, sizes: tuple[int, int]
) -> tuple[RowsInCommon, float, float]:
    """A pair of tables about some of the same people; their share, and that of changed rows."""
    fit = [name for name in tables if len(tables[name].column_names) >= columns]
    people = tables[fit[int(rng.integers(len(fit)))]]
    names = _some(rng, people.column_names, columns)
    size = _size(rng, *sizes)
    second = int(np.clip(size * np.exp(rng.uniform(-np.log(3), np.log(3))), *sizes))
    share, changed = rng.uniform(0.2, 1), rng.uniform(0, 0.3)
    both = int(share * min(size, second))
    order = rng.permutation(len(people))[: size + second - both]
    first, other = people.select(names), people.select(names)
    second_rows = np.append(order[:both], order[size:])
    other = _with_changes(rng, other.take(pa.array(second_rows)), changed)
    return compare(first.take(pa.array(order[:size])), other), share, changed


def _with_changes(rng: np.random.Generator, table: pa.Table, share: float) -> pa.Table:
    """The table with another row's value in one column of some rows."""
    rows = rng.permutation(len(table))[: int(share * len(table))]
    column = rng.integers(len(table.column_names), size=len(rows))
    for position, name in enumerate(table.column_names):
        place = np.arange(len(table))
        place[rows[column == position]] = rng.integers(
            len(table), size=int((column == position).sum())
        )
        table = table.set_column(position, name, table[name].take(pa.array(place)))
    return table


def main(argv: list[str] | None = None) -> None:
    """Print both sides, and what a comparison takes beside reading its rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    rng = np.random.default_rng(options.seed)
    tables = populations(rng)
    pairs = unrelated_pairs(rng, tables)
    comparisons = [next(pairs) for _ in range(options.pairs)]
    refused, blind = (
        sum(comparison.are_related for comparison in comparisons),
        sum(not comparison.rows.can_tell for comparison in comparisons),
    )
    print(
        f"unrelated pairs: {refused} of {len(comparisons)} refused, "
        f"of {blind} the columns cannot tell"
    )
    print("related pairs that are found, in % (and where the columns are said to tell)")
    print(f"{'rows':>15} {'columns':>9}" + "".join(f"{n:>6}" for n in range(1, _MOST + 1)))
    for sizes in _SIZES:
        rates, shares_told = [], []
        for columns in range(1, _MOST + 1):
            some = [
                related_pairs(rng, tables, columns, sizes)[0] for _ in range(options.pairs // 10)
            ]
            can = [comparison for comparison in some if comparison.rows.can_tell]
            rates.append(100 * sum(comparison.are_related for comparison in some) / len(some))
            shares_told.append(
                100 * sum(comparison.are_related for comparison in can) / max(len(can), 1)
            )
        rows = f"{sizes[0]:,}–{sizes[1]:,}"
        print(f"{rows:>15} {'all':>9}" + "".join(f"{rate:>6.0f}" for rate in rates))
        print(f"{'':>15} {'can tell':>9}" + "".join(f"{rate:>6.0f}" for rate in shares_told))
    _print_cost(rng)


def _print_cost(rng: np.random.Generator, rows: int = 1_000_000) -> None:
    """CPU seconds of comparing two files of hashed rows, beside counting the rows of each."""
    columns = {f"c{n}": pa.array(rng.integers(0, 50, rows)) for n in range(9)}
    with tempfile.TemporaryDirectory() as place:
        for version in ("0001", "0002"):
            write_rows(Path(place), version, normal_rows(_code_table(pa.table(columns)), _SECRET))
        first, other = (read_rows(Path(place), version) for version in ("0001", "0002"))
        assert first is not None
        assert other is not None
        floor = _seconds(lambda: [_count_rows(rows_file) for rows_file in (first, other)])
        compared = _seconds(lambda: compare_rows(first, other))
    print(
        f"two versions of {rows:,} rows, 9 columns: compared in {compared:.2f} CPU s, read and "
        f"counted apart in {floor:.2f} (ratio {compared / floor:.2f})"
    )


def _count_rows(rows_file: RowsInFile) -> int:
    """Read a file, and count its different rows, as any comparison has to."""
    rows = np.zeros(rows_file.num_rows, dtype=np.uint64)
    for name in rows_file.column_names:
        values = rows_file.column(name).cast(pa.uint64()).to_numpy()
        rows = (rows ^ values) * np.uint64(0x9E3779B97F4A7C15)
    return len(np.unique(rows, return_counts=True)[0])


def _seconds(run: Callable[[], object], times: int = 5) -> float:
    """The median of CPU seconds."""
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        run()
        seconds.append(time.process_time() - begun)
    return float(np.median(seconds))


if __name__ == "__main__":
    main()
