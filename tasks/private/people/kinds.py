"""What a row of a version that goes on is: somebody's, nobody's any more, or a witness.

A `LIVE` row is about somebody. A `VACANT` one is where somebody was who is not shown now, and whose
values stay in the group. A `WITNESS` only tells what a label must still cover.
"""

LIVE, VACANT, WITNESS = 0, 1, 2
