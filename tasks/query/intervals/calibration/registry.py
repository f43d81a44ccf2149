"""The ways of showing people whose laws are also computed for many queries at once."""

from collections.abc import Callable, Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.intervals.calibration.block import Blocks

BLOCKS: Mapping[str, Callable[..., Blocks | None]] = Entries(
    "sfumato.tasks.query.intervals.calibration",
    {
        "rows": "blocks_of_column:ShuffledBlocks",
        "labels": "blocks_of_labels:blocks_of_labels",
    },
)
"""The ways whose laws are also computed for many queries at once.

Each entry takes the laws of one query at a time, the names of the quasi-identifiers and those of
the sensitive columns, by which queries may select, and a source of random numbers. It returns None
for what it cannot compute.
"""
