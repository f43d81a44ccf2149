"""People in cells of age, years of schooling and sex, and random selections of them.

A cell is one age, one number of years of schooling and one sex. The domain is public: it depends on
nobody who is in a table. Each selection is a range of ages, a range of years of schooling and one
sex, or only one or two of these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.adult import ADULT

AGES, SCHOOLING, SEXES = (17, 90), (1, 16), ("Female", "Male")
SHAPE = (AGES[1] - AGES[0] + 1, SCHOOLING[1] - SCHOOLING[0] + 1, len(SEXES))
CELLS = int(np.prod(SHAPE))
LEAST_ABOVE = 5  # people above the limit in every selection: errors are shares of the truth
MEASURES = ("rows", "above", "total", "mean")
_ATTEMPTS = 200_000


@dataclass(frozen=True)
class Limits:
    """Public facts about a column: every value lies in [low, high]; questions count those above."""

    low: int
    high: int
    above: int

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def radius(self) -> int:
        """Return how far a value may lie from the middle."""
        return max(self.high - self.middle, self.middle - self.low)


@dataclass(frozen=True, eq=False)
class People:
    """The cell (int64) and the value (int64) of each person."""

    cell: np.ndarray
    value: np.ndarray
    limits: Limits

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of people in each cell (int64)."""
        return np.bincount(self.cell, minlength=CELLS)

    @cached_property
    def rows_above(self) -> np.ndarray:
        """The number of people in each cell whose value is above the limit (int64)."""
        return np.bincount(self.cell[self.value > self.limits.above], minlength=CELLS)

    @cached_property
    def total(self) -> np.ndarray:
        """The sum of the values in each cell (int64)."""
        sums = np.zeros(CELLS, dtype=np.int64)
        np.add.at(sums, self.cell, self.value)
        return sums


@dataclass(frozen=True)
class Selection:
    """Ranges of ages and of years of schooling, both ends included, and sexes."""

    ages: tuple[int, int] = AGES
    schooling: tuple[int, int] = SCHOOLING
    sexes: tuple[str, ...] = SEXES

    @property
    def condition(self) -> str:
        """The selection as a condition in SQL; a column that it does not restrict is not in it."""
        conditions = [
            f'"{name}" BETWEEN {ends[0]} AND {ends[1]}'
            for name, ends, whole in (
                ("age", self.ages, AGES),
                ("education-num", self.schooling, SCHOOLING),
            )
            if ends != whole
        ]
        conditions += [f"sex = '{sex}'" for sex in self.sexes if len(self.sexes) == 1]
        return " AND ".join(conditions)

    @cached_property
    def cells(self) -> np.ndarray:
        """Return True for each cell that is selected (bool)."""
        selected = np.zeros(SHAPE, dtype=bool)
        ages = slice(self.ages[0] - AGES[0], self.ages[1] - AGES[0] + 1)
        years = slice(self.schooling[0] - SCHOOLING[0], self.schooling[1] - SCHOOLING[0] + 1)
        selected[ages, years, [SEXES.index(sex) for sex in self.sexes]] = True
        return selected.ravel()


def adult_table(sensitive: str, columns: Sequence[str], least: int) -> pa.Table:
    """The people of UCI Adult without missing values whose sensitive value is not below `least`."""
    table = pq.read_table(ADULT).drop_null()
    table = table.filter(pc.greater_equal(table[sensitive], least))
    return table.select([*columns, sensitive])


def people_of(table: pa.Table, sensitive: str, limits: Limits) -> People:
    """Put each row of a table in its cell."""
    sex = pc.index_in(table["sex"].combine_chunks(), pa.array(SEXES)).to_numpy(zero_copy_only=False)
    places = (
        table["age"].to_numpy() - AGES[0],
        table["education-num"].to_numpy() - SCHOOLING[0],
        sex.astype(np.int64),
    )
    return People(np.ravel_multi_index(places, SHAPE), table[sensitive].to_numpy(), limits)


def draw_selections(
    people: People, sizes: Sequence[tuple[int, int]], number: int, rng: np.random.Generator
) -> list[list[Selection]]:
    """Draw different selections: for each size, `number` that select so many people.

    Raises:
        ValueError: where a size has too few different selections.
    """
    by_size: list[dict[Selection, None]] = [{} for _ in sizes]
    for selection in _random_selections(rng):
        rows = int(people.rows[selection.cells].sum())
        if people.rows_above[selection.cells].sum() < LEAST_ABOVE:
            continue
        for (least, most), selections in zip(sizes, by_size, strict=True):
            if least <= rows <= most and len(selections) < number:
                selections[selection] = None
        if all(len(selections) == number for selections in by_size):
            return [list(selections) for selections in by_size]
    raise ValueError(f"sizes {sizes}: fewer than {number} different selections. Ask for fewer")


def _random_selections(rng: np.random.Generator) -> Iterator[Selection]:
    for _ in range(_ATTEMPTS):
        by_age, by_schooling, by_sex = rng.random(3) < 0.6
        ages = _random_range(AGES, rng) if by_age else AGES
        schooling = _random_range(SCHOOLING, rng) if by_schooling else SCHOOLING
        sexes = (SEXES[rng.integers(2)],) if by_sex else SEXES
        selection = Selection(ages, schooling, sexes)
        if selection.condition:
            yield selection


def _random_range(ends: tuple[int, int], rng: np.random.Generator) -> tuple[int, int]:
    first, second = rng.integers(ends[0], ends[1] + 1, 2)
    return int(min(first, second)), int(max(first, second))


def true_answers(people: People, selection: Selection) -> Mapping[str, Fraction]:
    """Compute the exact answer of each measure."""
    rows, above, total = (
        Fraction(int(cells[selection.cells].sum()))
        for cells in (people.rows, people.rows_above, people.total)
    )
    return {"rows": rows, "above": above, "total": total, "mean": total / rows}
