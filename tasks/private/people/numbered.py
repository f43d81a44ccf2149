"""People by numbers: the names of a work directory are long, and slow to sort."""

import numpy as np

from sfumato.tasks.private.people.keys import NAME

_WORD = np.dtype(np.int64)


def person_numbers(*names: np.ndarray) -> list[np.ndarray]:
    """A number for each name of some arrays (S16): the same for the same name, from 0, dense.

    Half a name tells people apart but in one work directory of millions; the other half is asked
    where it does not. Numbers are in no order that means anything.
    """
    whole = np.concatenate([np.ascontiguousarray(one, dtype=NAME) for one in names])
    words = whole.view(_WORD).reshape(-1, 2)
    first, second = (np.ascontiguousarray(words[:, half]) for half in (0, 1))
    order = np.argsort(first)
    differs = _steps(first[order])
    alike = np.flatnonzero(~differs)
    if (second[order[alike]] != second[order[alike - 1]]).any():
        order = np.lexsort((second, first))
        differs = _steps(first[order]) | _steps(second[order])
    number = np.empty(len(whole), dtype=np.int64)
    number[order] = np.cumsum(differs) - 1
    return np.split(number, np.cumsum([len(one) for one in names])[:-1])


def count_of(numbers: list[np.ndarray]) -> int:
    """How many numbers there are: one more than the largest."""
    return 1 + max((int(one.max(initial=-1)) for one in numbers), default=-1)


def _steps(ordered: np.ndarray) -> np.ndarray:
    """Which entries differ from the one before (bool); the first does."""
    return np.concatenate((np.ones(min(len(ordered), 1), dtype=bool), ordered[1:] != ordered[:-1]))
