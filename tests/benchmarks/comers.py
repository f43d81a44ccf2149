"""People who come and go between versions: those of UCI Adult, and of two years of ACS."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from tests.adult import ADULT

ID = "id"


@dataclass(frozen=True)
class Pace:
    """The shares of the people that join, leave and get another value from version to version."""

    join: float = 0.05
    leave: float = 0.05
    change: float = 0.02


def versions_of(
    people: pa.Table, first: int, sensitive: str, pace: Pace, rng: np.random.Generator
) -> Iterator[pa.Table]:
    """The people of each version in an order of their own; the identifier is their number.

    Args:
        people: everybody; the first are in the first version, the others join in this order.
        first: how many.
        sensitive: the column in which people change: they get somebody's value.
        pace: shares of those who were first.
        rng: draws who leaves and who changes.
    """
    here, next_, value = np.arange(first), first, np.arange(len(people))
    while True:
        rows = rng.permutation(here)
        yield _version_at(people, rows, sensitive, value[rows])
        here = rng.permutation(here)[int(pace.leave * first) :]
        changed = here[: int(pace.change * first)]
        value[changed] = rng.integers(0, len(people), len(changed))
        joining = min(int(pace.join * first), len(people) - next_)
        here = np.append(here, np.arange(next_, next_ + joining))
        next_ += joining


def _version_at(people: pa.Table, rows: np.ndarray, sensitive: str, value: np.ndarray) -> pa.Table:
    table = people.take(pa.array(rows)).append_column(ID, pa.array(rows))
    where = table.column_names.index(sensitive)
    return table.set_column(where, sensitive, people[sensitive].take(pa.array(value)))


def adult(rng: np.random.Generator) -> pa.Table:
    """The people of UCI Adult of whom everything is known, in random order."""
    adult_rows = pq.read_table(ADULT).drop_null()
    return adult_rows.take(pa.array(rng.permutation(len(adult_rows))))


def acs(rng: np.random.Generator) -> tuple[pa.Table, int]:
    """People of 2018 who have an industry, those of 2019 below them, and how many are of 2018."""
    years = [_year(year) for year in ("2018", "2019")]
    shuffled = [year.take(pa.array(rng.permutation(len(year)))) for year in years]
    return pa.concat_tables(shuffled), len(years[0])


def acs_is_here() -> bool:
    """Decide whether the excerpts are on this machine."""
    return _acs("2018").exists()


def _year(year: str) -> pa.Table:
    text = pyarrow.csv.ConvertOptions(column_types={"INDP_CAT": pa.string()})
    table = pyarrow.csv.read_csv(_acs(year), convert_options=text)
    table = table.select(["AGEP", "SEX", "MSP", "RAC1P", "EDU", "INDP_CAT"])
    table = table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    return table.filter(pc.and_(*(pc.not_equal(table[n], "N") for n in ("INDP_CAT", "AGEP"))))


def _acs(year: str) -> Path:
    return Path(os.environ.get("SFUMATO_DATA", "")) / "acs" / f"national{year}.csv"
