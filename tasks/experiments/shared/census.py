"""Rows that look like a census of American adults and are about nobody, for experiments.

A stand-in for the census of Wang, Ambiguity: hide the presence of individuals and their privacy
with low information loss, which may not be passed on: its columns and how many values each has are
the paper's, all frequencies and dependencies are invented.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.table import Microdata, encode

CARDINALITIES = {
    "age": 78,
    "gender": 2,
    "education": 17,
    "marital": 6,
    "race": 9,
    "work-class": 10,
    "country": 83,
    "occupation": 50,
    "salary-class": 50,
}
SENSITIVE = ("occupation", "salary-class")
YOUNGEST = 17
DENSEST = 5
_AGE = np.arange(CARDINALITIES["age"])  # years above the youngest
KNOWN = ("age", "gender", "education", "marital", "race", "work-class", "country")
"""The quasi-identifiers, in the order of the paper's table of columns."""


def census(rows: int, seed: int, density: int = 1) -> pa.Table:
    """Return a table with the columns of the paper's census; 100,000 rows have all their values.

    The paper's tables of density d have sensitive values "carried by (100/d) %"; this is read [R]
    as: the rows show ⌈50/d⌉ of the 50 values of each sensitive attribute, the same rows otherwise.

    Raises:
        InputError: if the density is not 1, 2, 3, 4 or 5.
    """
    if not 1 <= density <= DENSEST:
        raise InputError(f"density {density}: must be a whole number from 1 to {DENSEST}")
    rng = np.random.default_rng(seed)
    values = -(-CARDINALITIES["occupation"] // density)
    codes = _people(rows, rng)
    job = codes["education"] * 2 + codes["gender"]
    codes["occupation"] = _draw_values(_occupations()[:, :values], job, rng)
    codes["salary-class"] = _salaries(codes, values, rng)
    columns = {name: _label_codes(name, codes[name]) for name in CARDINALITIES if name != "age"}
    return pa.table({"age": pa.array(codes["age"] + YOUNGEST), **columns})


def _people(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the codes of columns that are not sensitive.

    Gender, education, marital status and work class depend on the age, the race on the country.
    """
    anybody = np.zeros(rows, dtype=np.int64)
    age = _draw_values(_ages()[None, :], anybody, rng)
    country = _draw_values(_countries()[None, :], anybody, rng)
    return {
        "age": age,
        "gender": _draw_values(_genders(), age, rng),
        "education": _draw_values(_educations(), age, rng),
        "marital": _draw_values(_maritals(), age, rng),
        "race": _draw_values(_races(), country, rng),
        "work-class": _draw_values(_work_classes(), age, rng),
        "country": country,
    }


def _draw_values(
    weights: np.ndarray, conditions: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw a value for each row, by the weights of its condition (conditions x values)."""
    cells, values = weights.shape
    ends = np.cumsum(weights, axis=1)
    ends = ends / ends[:, -1:] + np.arange(cells)[:, None]
    positions = np.searchsorted(
        ends.ravel(), conditions + rng.random(len(conditions)), side="right"
    )
    codes: np.ndarray = np.minimum(positions - conditions * values, values - 1)
    return codes


def _label_codes(name: str, codes: np.ndarray) -> pa.Array:
    labels = pa.array([f"{name} {number + 1:02d}" for number in range(CARDINALITIES[name])])
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), labels).dictionary_decode()


def _zipf(values: int, exponent: float) -> np.ndarray:
    weights = np.arange(1, values + 1) ** -exponent
    shares: np.ndarray = weights / weights.sum()
    return shares


def _weights_near(values: int, centres: np.ndarray, spread: float) -> np.ndarray:
    """Return weights that fall with the distance from each centre (centres x values)."""
    away = (np.arange(values) - centres[:, None]) / spread
    weights: np.ndarray = np.exp(-away * away / 2)
    return weights


def _ages() -> np.ndarray:
    """Return weights of ages: highest in middle age, and falling from sixty on."""
    middle = 1 + 0.3 * np.exp(-(((_AGE - 25) / 14) ** 2))
    weights: np.ndarray = middle / (1 + np.exp((_AGE - 53) / 8))
    return weights


def _genders() -> np.ndarray:
    """Return shares of men and women by age: women outlive men."""
    women = 0.5 + 0.15 * (_AGE / len(_AGE)) ** 2
    return np.stack([1 - women, women], axis=1)


def _educations() -> np.ndarray:
    """Return weights of education levels by age: two degrees are frequent.

    The young have not finished their education, and the old had less.
    """
    levels = CARDINALITIES["education"]
    degree = np.ones(levels)
    degree[[8, 12]] = 5, 3
    weights: np.ndarray = degree * (
        0.02 + _weights_near(levels, 5 + 5 * np.exp(-((_AGE - 20) ** 2) / 900), 3)
    )
    return weights


def _maritals() -> np.ndarray:
    """Return shares by age: married, never married, divorced, widowed, separated, absent."""
    never = np.exp(-_AGE / 10)
    widowed = 0.7 / (1 + np.exp(-(_AGE - 58) / 6))
    rarely = np.full(len(_AGE), 0.03)
    ever = 1 - never
    return np.stack([ever * 0.8, never, ever * 0.2, widowed, rarely, rarely / 2], axis=1)


def _work_classes() -> np.ndarray:
    """Return weights of work classes by age: each is most frequent at some age."""
    classes = CARDINALITIES["work-class"]
    weights: np.ndarray = _zipf(classes, 1.3) * (0.2 + _weights_near(classes, _AGE / 8, 2.5))
    return weights


def _countries() -> np.ndarray:
    """Return shares of countries: nine in ten people are from the first."""
    return np.append(0.9, 0.1 * _zipf(CARDINALITIES["country"] - 1, 0.8))


def _races() -> np.ndarray:
    """Return weights of races by country: one race is frequent everywhere.

    Each country but the first has one race of its own.
    """
    countries, races = CARDINALITIES["country"], CARDINALITIES["race"]
    own = np.zeros((countries, races))
    own[np.arange(countries), np.arange(countries) % races] = 1
    anywhere = np.append(0.84, 0.16 * _zipf(races - 1, 1.0))
    weights: np.ndarray = 0.3 * anywhere + 0.7 * own
    weights[0] = anywhere
    return weights


def _occupations() -> np.ndarray:
    """Return weights of occupations by education and gender.

    Each occupation asks for an education and leans to one gender.
    """
    levels, occupations = CARDINALITIES["education"], CARDINALITIES["occupation"]
    number = np.arange(occupations)
    asks = 0.1 + _weights_near(levels, number * 7 % levels, 3).T
    leans = np.stack([1 + number % 3, 3 - number % 3])
    by_both = _zipf(occupations, 1.0) * asks[:, None, :] * leans[None, :, :]
    return by_both.reshape(2 * levels, occupations)


def _salaries(codes: dict[str, np.ndarray], values: int, rng: np.random.Generator) -> np.ndarray:
    """Return salary classes by the rank of what education, age, occupation and luck are worth.

    Few people have the highest class.
    """
    worth = 0.3 * codes["education"] - ((_AGE - 33) / 22)[codes["age"]] ** 2
    worth += (np.arange(CARDINALITIES["occupation"]) * 11 % 13 / 4)[codes["occupation"]]
    rows = len(worth)
    rank = np.empty(rows, dtype=np.int64)
    rank[np.argsort(worth + rng.normal(0, 1, rows))] = np.arange(rows)
    ends = np.cumsum(_zipf(CARDINALITIES["salary-class"], 0.7)[:values])
    return np.minimum(np.searchsorted(ends / ends[-1], (rank + 0.5) / rows), values - 1)


OCCUPATION, SALARY = "occupation", "salary-class"


def census_people(
    rows: int,
    seed: int,
    quasi_identifiers: Sequence[str] = KNOWN,
    sensitive: str = OCCUPATION,
    density: int = 1,
) -> Microdata:
    """Return people of the stand-in with some of its columns; see `census` for the density."""
    table = census(rows, seed, density)
    columns = [
        encode(name, "quasi-identifier", _numbers(table[name])) for name in quasi_identifiers
    ]
    return Microdata((*columns, encode(sensitive, "sensitive", table[sensitive])), rows)


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the number that ends each label; columns of numbers are returned as they are."""
    if pa.types.is_integer(column.type):
        return column
    return pc.cast(pc.utf8_slice_codeunits(column, -2), pa.int64())
