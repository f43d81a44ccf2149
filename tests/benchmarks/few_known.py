"""Many quasi-identifiers: what is lost if an attacker knows all of them, or only two or three.

    SFUMATO_DATA=... python -m tests.benchmarks.few_known             two tables, each promise
    python -m tests.benchmarks.few_known --check 1000000              the verdict of a large table

The tables are an excerpt of the American Community Survey (22 of its columns; numbers of many
values in ranges of ten) and a made-up hospital of 30 columns. Loss is the normalized certainty
penalty (NCP) of the labels. The width is that of the bounds of a count of the rows with two values,
by the rows there are: the median of 500 that are drawn. Nothing is asserted.
"""

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.expectations.groups.counting import Coded, count
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.benchmarks.processes import describe_machine

SENSITIVE = "sensitive"
_QUERIES = 500


def main() -> None:
    """Print one table for each source, or the seconds of one verdict."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", type=int, help="judge so many rows of 24 columns, L = 3")
    options = parser.parse_args()
    print(describe_machine())
    if options.check:
        _print_check(options.check)
        return
    for name, table in (("ACS", acs()), ("hospital", hospital())):
        if table is not None:
            _print_table(name, table)


def acs() -> Microdata | None:
    """Return the people of 2019 who have an industry; None without the excerpt."""
    place = Path(os.environ.get("SFUMATO_DATA", "")) / "acs" / "national2019.csv"
    if not place.exists():
        return None
    table = pyarrow.csv.read_csv(
        place,
        convert_options=pyarrow.csv.ConvertOptions(null_values=["N"], strings_can_be_null=True),
    )
    table = table.filter(pc.is_valid(table["INDP_CAT"]))
    columns = {}
    for name in table.column_names:
        values = table[name]
        if name in ("PWGTP", "WGTP"):  # weights are not known to anybody
            continue
        if not pa.types.is_string(values.type) and pc.count_distinct(values).as_py() > 60:
            values = pc.floor(pc.divide(values.cast(pa.float64()), 10))
        columns[SENSITIVE if name == "INDP_CAT" else name] = values
    return _microdata(columns)


def hospital(rows: int = 20_000) -> Microdata:
    """Return made-up patients: 29 facts of 2 to 40 values, some rare, and a diagnosis."""
    rng = np.random.default_rng(7)
    columns = {}
    for place in range(29):
        values = int(rng.integers(2, 41))
        likely = 1 / np.arange(1, values + 1) ** rng.uniform(0.5, 1.5)
        columns[f"fact {place + 1}"] = pa.array(rng.choice(values, rows, p=likely / likely.sum()))
    likely = 1 / np.arange(1, 21)
    columns[SENSITIVE] = pa.array(rng.choice(20, rows, p=likely / likely.sum()))
    return _microdata(columns)


def _microdata(columns: Mapping[str, Any]) -> Microdata:
    coded = [
        encode(name, "sensitive" if name == SENSITIVE else "quasi-identifier", values)
        for name, values in columns.items()
    ]
    return Microdata(tuple(coded), len(coded[0].codes))


def _print_table(name: str, microdata: Microdata) -> None:
    names = tuple(c.name for c in microdata.with_roles("quasi-identifier"))
    scope = {"quasi_identifiers": names}
    ways: Sequence[tuple[str, str, PrivacyModel]] = (
        ("k = 5, forest", "forest", KAnonymity(k=5, **scope)),
        ("k = 5, top-down", "top-down", KAnonymity(k=5, **scope)),
        *(
            (f"k^{m} = 5, {method}", method, KMAnonymity(k=5, m=m, **scope))
            for m in (2, 3)
            for method in ("local-suppression", "top-down")
        ),
        *(
            (
                f"L = {l}, K = 5, C = 0.6, local-suppression",
                "local-suppression",
                LKCPrivacy(l=l, k=5, c=Decimal("0.6"), sensitive=SENSITIVE, **scope),
            )
            for l in (2, 3)
        ),
    )
    print(f"\n{name}: {microdata.rows:,} rows, {len(names)} quasi-identifiers")
    print("| promise, partition | cells hidden (NCP) | rows suppressed | width | CPU s |")
    print("|---|---|---|---|---|")
    for words, method, promise in ways:
        parameters = PARTITION_PARAMETERS[method](method=method)
        begun = time.process_time()
        partition = PARTITIONS[method](microdata, [], [promise], parameters, seeded_keys(1))
        seconds = time.process_time() - begun
        stars = _find_stars(microdata, partition)
        loss = sum(column.mean() for column in stars.values()) / len(stars)
        suppressed, width = partition.suppressed, _width(microdata, stars)
        print(
            f"| {words} | {100 * loss:.1f} % | {suppressed} | ±{100 * width:.0f} % "
            f"| {seconds:.1f} |",
            flush=True,
        )


def _find_stars(microdata: Microdata, partition: Partition) -> dict[str, np.ndarray]:
    """Return which cells are hidden (bool, one per row), by quasi-identifier."""
    hidden = {}
    for column in microdata.with_roles("quasi-identifier"):
        if column.name in partition.recoding:
            at_root = partition.recoding[column.name] == len(column.levels()) - 1
        else:  # shown where all rows of a group agree
            codes, _ = column.category()
            low = np.full(int(partition.group.max()) + 1, codes.max() + 1)
            high = np.full(len(low), -1)
            np.minimum.at(low, partition.group, codes)
            np.maximum.at(high, partition.group, codes)
            at_root = low != high
        hidden[column.name] = at_root[partition.group]
    return hidden


def _width(microdata: Microdata, hidden: Mapping[str, np.ndarray]) -> float:
    """Return half the median width of the counts of two values of a row, by the true count."""
    rng, names = np.random.default_rng(3), list(hidden)
    widths = []
    for _ in range(_QUERIES):
        row = int(rng.integers(microdata.rows))
        chosen = rng.choice(len(names), 2, replace=False)
        surely = np.ones(microdata.rows, dtype=bool)
        perhaps, truly = surely.copy(), surely.copy()
        for name in (names[place] for place in chosen):
            codes = microdata[name].codes
            same = codes == codes[row]
            truly &= same
            surely &= same & ~hidden[name]
            perhaps &= same | hidden[name]
        widths.append((int(perhaps.sum()) - int(surely.sum())) / (2 * int(truly.sum())))
    return median(widths)


def _print_check(rows: int) -> None:
    """Print the CPU of judging distinct rows of 24 columns with 60 labels, L = 3."""
    rng = np.random.default_rng(1)
    labels = {f"column {n}": rng.integers(0, 60, rows) for n in range(24)}
    coded = Coded(rng.integers(0, 15, rows), 15)
    groups = count(np.arange(rows), rows, {SENSITIVE: coded})
    groups = type(groups)(groups.sizes, groups.sensitive, labels=labels)
    for promise in (
        KMAnonymity(k=1, m=3),
        LKCPrivacy(l=3, k=1, c=Decimal(1), sensitive=SENSITIVE),
    ):
        begun = time.process_time()
        verdict = promise.check(groups)
        seconds = time.process_time() - begun
        print(
            f"{promise.title}, {rows:,} rows, 2,024 triples: {seconds:.1f} CPU s, {verdict.holds}"
        )


if __name__ == "__main__":
    main()
