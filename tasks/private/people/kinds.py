"""What a row of a version that goes on is: somebody's, nobody's any more, or a witness.

A `LIVE` row is about somebody. A `VACANT` one is where somebody was who is not shown now, and whose
values stay in the group. A `WITNESS` only tells what a label must still cover. In a map a vacant
row is `LEFT` where its holder has another slot now, as the values changed, and `MOVED` where that
is one of the same value in a group of the same values, since its own group was dissolved. In the
file of a map stands besides, as `FORMER`, who held a slot before somebody else was given it.
"""

LIVE, VACANT, WITNESS, LEFT, FORMER, MOVED = 0, 1, 2, 3, 4, 5
