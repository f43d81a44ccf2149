"""Anatomy's groups dealt out like cards: few different sets of values, so that gaps can be filled.

Rows are sorted by value, values and the rows of each in random order, and dealt to the groups in
turn. As no value has more rows than there are groups, all values of a group differ. Groups of one
run of values are alike: there are about as many different sets as there are values, where anatomy's
own groups have nearly all different ones.

Source: this project; the division and balancing of m-invariance (Xiao and Tao, SIGMOD 2007) need
few sets.
"""

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness


def deal(codes: np.ndarray, l: int, randomness: Randomness) -> np.ndarray:
    """Group rows so that each group has l rows or one more, all of different codes. O(n log n).

    Args:
        codes: the sensitive value of each row (integers from 0), each in at most 1/l of them.
        l: smallest size of a group.
        randomness: where every choice comes from.

    Returns:
        The group of each row (int64), 0, 1, ….
    """
    groups = len(codes) // l
    place = randomness(int(codes.max(initial=-1)) + 1)  # of each value among the others
    order = np.lexsort((randomness(len(codes)), codes, place[codes]))
    dealt = np.empty(len(codes), dtype=np.int64)
    dealt[order] = np.arange(len(codes)) % max(groups, 1)
    return dealt
