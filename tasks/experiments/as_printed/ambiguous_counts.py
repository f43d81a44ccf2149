"""Counts of ambiguous releases as Algorithm 1 of the paper prints it.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, Algorithm 1. Inside the loop over attributes it adds c·l/m, where the worked example
multiplies; on that example the printed version gives 11/6 and the paper's text 7/18.
"""

import numpy as np


def printed_count(counts: np.ndarray, shares: np.ndarray) -> float:
    """Σ over groups and attributes of c·l/m.

    Args:
        counts: how many rows of each group have the sensitive value (one per group).
        shares: which share of the values that it admits is meant (groups x attributes).
    """
    return float((counts[:, None] * shares).sum())
