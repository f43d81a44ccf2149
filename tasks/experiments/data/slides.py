"""The slide table of Approximation algorithms for k-anonymity: age, race and zip code of seven."""

import numpy as np

_PEOPLE = (
    (31, "Cauc", "94305"),
    (34, "Cauc", "94307"),
    (27, "Cauc", "94301"),
    (41, "Afr-A", "94305"),
    (41, "Afr-A", "94059"),
    (65, "Hisp", "94042"),
    (46, "Hisp", "94042"),
)


def slide_table() -> np.ndarray:
    """The seven people, each column as the positions of its sorted values (int64, 7 x 3)."""
    columns = (np.unique(column, return_inverse=True)[1] for column in zip(*_PEOPLE, strict=True))
    return np.stack(list(columns), axis=1).astype(np.int64)
