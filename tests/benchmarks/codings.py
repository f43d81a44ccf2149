"""CPU seconds of each coding of a million rows, and of reading the column from Parquet and CSV."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.tasks.microdata.codings import code_column, is_free_text
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.private.people.coding import offsets_of, pseudonyms_of
from sfumato.tasks.schema.codings import CodedColumn

ROWS = 1_000_000
KEY = b"k" * 32
CODINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bottom": ("age", {"bottom": "18"}),
    "top, of a share": ("cost", {"top": {"share": "0.01"}}),
    "round, few values": ("age", {"round": {"to": "5"}}),
    "round, many decimals": ("cost", {"round": {"to": "0.5"}}),
    "prefix": ("code", {"prefix": 4}),
    "fold": ("town", {"fold": {"below": 500, "into": "other"}}),
    "shift": ("came", {"shift": {"days": 30}}),
}


def main() -> None:
    """Print a line per coding: its column as it is read and encoded, and as it is coded."""
    table = rows(ROWS)
    units = encode("person", "identifier", table["person"])
    taken_seconds = seconds(lambda: offsets_of(units, KEY, 30))
    days = {"shift": offsets_of(units, KEY, 30)}
    heads = "".join(f"{head:>9}" for head in ("Parquet", "CSV", "encoded", "coded"))
    print(f"{f'coding {ROWS:,} rows':<24}{heads}")
    with tempfile.TemporaryDirectory() as folder:
        for title, (name, wish) in CODINGS.items():
            read = read_seconds(table.select([name]), Path(folder))
            encoding = seconds(lambda name=name: encode(name, "insensitive", table[name]))
            column, declared = encode(name, "insensitive", table[name]), CodedColumn(**wish)
            coded = seconds(lambda c=column, d=declared: code_column(c, d, days))
            print(f"{title:<24} {read[0]:8.3f} {read[1]:8.3f} {encoding:8.3f} {coded:8.3f}")
    print(f"days of {ROWS:,} units: {taken_seconds:.3f} s")
    print(f"pseudonyms of them: {seconds(lambda: pseudonyms_of(units, KEY)):.3f} s")
    code: Column = encode("code", "insensitive", table["code"])
    print(f"looking for free text among codes: {seconds(lambda: is_free_text(code)):.3f} s")


def rows(number: int) -> pa.Table:
    """People with ages, dates, costs, codes and towns."""
    rng = np.random.default_rng(1)
    cents = pa.array(rng.integers(0, 10_000_000, number)).cast(pa.decimal128(38, 0))
    names = np.arange(number).astype(str)
    towns = np.char.add("town ", rng.zipf(1.3, number).clip(max=5_000).astype(str))
    return pa.table(
        {
            "person": pa.array(np.char.add("P", names)),
            "age": rng.integers(0, 105, number),
            "came": pa.array(rng.integers(15_000, 19_000, number), pa.int32()).cast(pa.date32()),
            "cost": cents.cast(pa.decimal128(38, 2)),
            "code": pa.array(np.char.add(rng.integers(1000, 9999, number).astype(str), names)),
            "town": pa.array(towns),
        }
    )


def read_seconds(table: pa.Table, folder: Path) -> tuple[float, float]:
    """In which PyArrow reads a column from a Parquet file, and from a CSV file."""
    parquet, text = folder / "column.parquet", folder / "column.csv"
    pq.write_table(table, parquet)
    pyarrow.csv.write_csv(table, text)
    return seconds(lambda: pq.read_table(parquet)), seconds(lambda: pyarrow.csv.read_csv(text))


def seconds(work: Callable[[], Any]) -> float:
    """The fewest CPU seconds of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
