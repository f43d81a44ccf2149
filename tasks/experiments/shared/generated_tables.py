"""Generated and printed tables in the place of the papers' tables that are not available.

Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam measured on 4,591,581 of them. Columns,
numbers of values and hierarchies are modelled on theirs (as Incognito's authors list them), all
frequencies are invented.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule, Intervals, Prefixes

VALUES = np.arange(1024, 3072, 32)  # 64 losses, so that a binary tree over them is balanced
KNOWN = ("zipcode", "order-date", "gender", "style", "price", "quantity", "shipment")
FIVE = KNOWN[:5]
COST = "cost"
HIERARCHIES: dict[str, HierarchyRule] = {
    "zipcode": Prefixes(prefixes=(4, 3, 2, 1)),
    "order-date": Intervals(intervals=(7, 28, 112)),
    "price": Intervals(intervals=(5, 25, 125)),
}
"""The hierarchies of some columns; others have two levels, their values and all of them."""
_PEOPLE = (
    (31, "Cauc", "94305"),
    (34, "Cauc", "94307"),
    (27, "Cauc", "94301"),
    (41, "Afr-A", "94305"),
    (41, "Afr-A", "94059"),
    (65, "Hisp", "94042"),
    (46, "Hisp", "94042"),
)


YOUNGEST, OLDEST = 17, 79


def correlated_losses(rows: int, seed: int, spread: float = 200.0) -> Microdata:
    """Return people whose loss rises with age, with normal noise around it.

    The mean loss is 1,000 at 17 years and rises by 30 each year.
    """
    rng = np.random.default_rng(seed)
    age = _ages(rows, rng)
    return people(age, rng.normal(_mean_loss(age), spread), step=32)


def with_correlated_loss(
    microdata: Microdata, age: np.ndarray, seed: int, spread: float
) -> Microdata:
    """Return the same people with such a loss in place of their sensitive column.

    The losses are whole numbers.
    """
    (sensitive,) = microdata.with_roles("sensitive")
    loss = np.random.default_rng(seed).normal(_mean_loss(age), spread)
    generated = encode(sensitive.name, "sensitive", pa.array(np.maximum(loss, 1).astype(np.int64)))
    return microdata.keep(generated if c.name == sensitive.name else c for c in microdata.columns)


def normal_losses(rows: int, seed: int) -> Microdata:
    """Return people whose loss is normal and independent of the age."""
    rng = np.random.default_rng(seed)
    return people(_ages(rows, rng), rng.normal(2000, 400, rows), step=32)


def uniform_losses(rows: int, seed: int) -> Microdata:
    """Return people whose loss is uniform on 64 values and independent of the age."""
    rng = np.random.default_rng(seed)
    return people(_ages(rows, rng), rng.choice(VALUES, rows), step=1)


def zipf_losses(rows: int, seed: int, exponent: float) -> Microdata:
    """Return people whose losses are the rarer the larger they are, by Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, len(VALUES) + 1) ** -exponent
    return people(_ages(rows, rng), rng.choice(VALUES, rows, p=shares / shares.sum()), step=1)


def with_losses_by_age(microdata: Microdata, seed: int) -> Microdata:
    """Return the same ages and losses, given out again so that losses rise with age.

    The rows are ranked by age and some luck of about ten years; the n-th has the n-th loss.
    """
    (sensitive,) = microdata.with_roles("sensitive")
    age, loss = (microdata[name].array().to_numpy() for name in ("age", sensitive.name))
    luck = np.random.default_rng(seed).normal(0, 10, microdata.rows)
    rising = np.empty_like(loss)
    rising[np.argsort(age + luck)] = np.sort(loss)
    return people(age, rising, step=1)


def people(age: np.ndarray, loss: np.ndarray, step: int) -> Microdata:
    """Return people with a known age and a sensitive loss, a multiple of `step` above 0."""
    rounded = np.maximum(np.round(loss / step), 1).astype(np.int64) * step
    age_column = encode("age", "quasi-identifier", pa.array(age.astype(np.int64)))
    return Microdata((age_column, encode("capital-loss", "sensitive", pa.array(rounded))), len(age))


def _mean_loss(age: np.ndarray) -> np.ndarray:
    means: np.ndarray = 1000.0 + 30.0 * (age - YOUNGEST)
    return means


def _ages(rows: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(YOUNGEST, OLDEST + 1, rows)


_STYLES, _PRICES, _COSTS, _DAYS = 1509, 346, 147, 320


def orders(rows: int, seed: int, names: Sequence[str] = KNOWN) -> Microdata:
    """Return orders with some of the columns; the cost follows from the price, and luck."""
    rng = np.random.default_rng(seed)
    price = np.minimum(rng.gamma(2.0, 30.0, rows), _PRICES - 1).astype(np.int64)
    place = rng.integers(0, 31_953, rows) * 3
    columns = {
        "zipcode": pa.array([f"{number:05d}" for number in place]),
        "order-date": pa.array(rng.integers(0, _DAYS, rows)),
        "gender": pa.array(rng.choice(["f", "m"], rows, p=[0.7, 0.3])),
        "style": pa.array(rng.zipf(1.3, rows) % _STYLES),
        "price": pa.array(price),
        "quantity": pa.array(np.ones(rows, dtype=np.int64)),
        "shipment": pa.array(rng.choice(["land", "air"], rows, p=[0.9, 0.1])),
    }
    luck = rng.normal(1.0, 0.25, rows)
    cost = np.clip(price * luck / 2, 0, _COSTS - 1).astype(np.int64)
    quasi_identifiers = [encode(name, "quasi-identifier", columns[name]) for name in names]
    return Microdata((*quasi_identifiers, encode(COST, "sensitive", pa.array(cost))), rows)


def slide_table() -> np.ndarray:
    """Return the seven people, each column as positions of its sorted values (int64, 7 x 3)."""
    columns = (np.unique(column, return_inverse=True)[1] for column in zip(*_PEOPLE, strict=True))
    return np.stack(list(columns), axis=1).astype(np.int64)
