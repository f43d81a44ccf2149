"""The days by which the dates of each unit are moved."""

import numpy as np

from sfumato.tasks.microdata.table import Column
from sfumato.tasks.private.keys import hashes_of, keyed_hashes
from sfumato.tasks.private.people.keys import text_of

_WORDS = 1 << 64


def offsets_of(unit: Column, secret: bytes, days: int) -> np.ndarray:
    """The days of each row (int64): between `-days` and `days`, 0 too, each as likely as another.

    They are a function of the unit and the key alone.
    """
    hashes = hashes_of(unit.values, text_of, secret)
    drawn = draw_evenly(hashes, secret, 2 * days + 1).astype(np.int64) - days
    return np.asarray(drawn[unit.codes])


def draw_evenly(hashes: np.ndarray, secret: bytes, size: int) -> np.ndarray:
    """A number below `size` for each hash (uint64; hashes are uint8, n x 32), all as likely.

    A word of a hash from the last, incomplete round of numbers is passed over; where all four are,
    the hash is hashed again.
    """
    words = np.ascontiguousarray(hashes).view("<u8").astype(np.uint64)
    fits = words <= np.uint64(_WORDS - _WORDS % size - 1)
    first = words[np.arange(len(words)), fits.argmax(axis=1)] % np.uint64(size)
    again = np.flatnonzero(~fits.any(axis=1))
    if len(again):
        rehashed = keyed_hashes([one.tobytes() for one in hashes[again]], secret)
        first[again] = draw_evenly(rehashed, secret, size)
    return np.asarray(first)
