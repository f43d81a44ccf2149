"""Generated people of whom an age and a loss are known."""

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode

YOUNGEST, OLDEST = 17, 79
VALUES = np.arange(1024, 3072, 32)  # 64 losses, so that a binary tree over them is balanced


def correlated_losses(rows: int, seed: int, spread: float = 200.0) -> Microdata:
    """A loss of 1,000 at 17 years that rises by 30 each year, and is normal around that."""
    rng = np.random.default_rng(seed)
    age = _ages(rows, rng)
    return people(age, rng.normal(_mean_loss(age), spread), step=32)


def with_correlated_loss(known: Microdata, age: np.ndarray, seed: int, spread: float) -> Microdata:
    """The same people with such a loss, in whole numbers, in place of their sensitive column."""
    (sensitive,) = known.with_roles("sensitive")
    loss = np.random.default_rng(seed).normal(_mean_loss(age), spread)
    generated = encode(sensitive.name, "sensitive", pa.array(np.maximum(loss, 1).astype(np.int64)))
    return known.keep(generated if c.name == sensitive.name else c for c in known.columns)


def normal_losses(rows: int, seed: int) -> Microdata:
    """A loss that is normal and independent of the age."""
    rng = np.random.default_rng(seed)
    return people(_ages(rows, rng), rng.normal(2000, 400, rows), step=32)


def uniform_losses(rows: int, seed: int) -> Microdata:
    """A loss that is uniform on 64 values and independent of the age."""
    rng = np.random.default_rng(seed)
    return people(_ages(rows, rng), rng.choice(VALUES, rows), step=1)


def zipf_losses(rows: int, seed: int, exponent: float) -> Microdata:
    """A loss whose values are the rarer the larger they are, by Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, len(VALUES) + 1) ** -exponent
    return people(_ages(rows, rng), rng.choice(VALUES, rows, p=shares / shares.sum()), step=1)


def with_losses_by_age(known: Microdata, seed: int) -> Microdata:
    """The same ages and the same losses, given out again so that losses rise with age.

    The rows are ranked by age and some luck of about ten years; the n-th has the n-th loss.
    """
    (sensitive,) = known.with_roles("sensitive")
    age, loss = (known[name].array().to_numpy() for name in ("age", sensitive.name))
    luck = np.random.default_rng(seed).normal(0, 10, known.rows)
    rising = np.empty_like(loss)
    rising[np.argsort(age + luck)] = np.sort(loss)
    return people(age, rising, step=1)


def people(age: np.ndarray, loss: np.ndarray, step: int) -> Microdata:
    """People of whom the age is known and the loss is sensitive, a multiple of `step`, above 0."""
    rounded = np.maximum(np.round(loss / step), 1).astype(np.int64) * step
    known = encode("age", "quasi-identifier", pa.array(age.astype(np.int64)))
    return Microdata((known, encode("capital-loss", "sensitive", pa.array(rounded))), len(age))


def _mean_loss(age: np.ndarray) -> np.ndarray:
    means: np.ndarray = 1000.0 + 30.0 * (age - YOUNGEST)
    return means


def _ages(rows: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(YOUNGEST, OLDEST + 1, rows)
