"""What groups count where a condition is on one sensitive column, in one compiled loop.

It takes half a second to load. So it is for those who ask again and again: from when what was
counted without it took about as long.
"""

from functools import cache
from typing import Any

from sfumato.tasks.arrays.compiled import Loop, compile_loop

_WORTH_LOADING = 30_000_000  # groups and values of them that were counted


class LoopWhenWorth:
    """The loop, for who asked enough."""

    def __init__(self) -> None:
        """Nothing was counted yet."""
        self._counted = 0

    def after(self, number: int) -> Loop | None:
        """The loop to count one more question with; None while it is not worth loading."""
        self._counted += number
        return _compiled() if self._counted > _WORTH_LOADING else None


def count_groups(
    pairs: Any, bits: Any, hits: Any, sizes: Any, counts: Any, expected: Any, rows: Any
) -> None:
    """Add up what each group counts: its values stand together and ascend.

    Args:
        pairs: keys of groups and, in the last `bits`, codes, ascending (integers).
        bits: of codes.
        hits: of each group (int64).
        sizes: how many values each group has (int64).
        counts: of each code: surely and in all, from below and from above (int64, 4 x codes).
        expected: of each code (float64).
        rows: how many are meant at least, at most, and as expected (float64).
    """
    mask, at = (1 << bits) - 1, 0
    while at < len(pairs):
        group, end = pairs[at] >> bits, at + 1
        while end < len(pairs) and pairs[end] >> bits == group:
            end += 1
        matched, selected, size = end - at, hits[group], sizes[group]
        if selected > 0:
            sure, most = max(selected + matched - size, 0), min(selected, matched)
            rows[0] += sure
            rows[1] += most
            rows[2] += selected * matched / size
            for place in range(at, end):
                code, below, above = pairs[place] & mask, place - at, end - 1 - place
                counts[0, code] += below < sure
                counts[1, code] += below < most
                counts[2, code] += above < sure
                counts[3, code] += above < most
                expected[code] += selected / size
        at = end


@cache
def _compiled() -> Loop:
    return compile_loop(count_groups)
