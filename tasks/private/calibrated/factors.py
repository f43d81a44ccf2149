"""The factors by which a line's intervals are widened: a later version may only raise them.

    <line>/intervals.json   of each family of queries the factor that was stated last (0600)

Were they to fall again, versions would tell by their factors how the original changed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.schema.stated.intervals import (
    FIRST_GRID,
    CalibratedFamily,
    CalibratedIntervals,
)

FACTORS = "intervals.json"
_FORMAT = 3  # 2: factors that were not there at first; 3: families that were not


class FrozenFactors(BaseModel):
    """What a line has stated of its intervals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1, 2, 3] = 1
    families: tuple[CalibratedFamily, ...] = ()

    @property
    def stated(self) -> CalibratedIntervals:
        """The same as a release states it."""
        return CalibratedIntervals(grid="fine", families=self.families)


def read_factors(line: Path) -> FrozenFactors:
    """What a line has stated; nothing where it never did.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    found = read_document(line / FACTORS, FrozenFactors, _FORMAT, "the factors of a line")
    return found or FrozenFactors()


def freeze_factors(line: Path, stated: CalibratedIntervals) -> None:
    """Keep what a version states; the line is held.

    Raises:
        PromiseError: where another version has stated a greater factor since this one was made.
    """
    known = {(one.family, one.of): one for one in read_factors(line).families}
    for one in stated.families:
        before = known.get((one.family, one.of))
        if before is not None and one.factor < before.factor:
            raise PromiseError(
                f"intervals: the factor of {one.family} is below one that the line has stated "
                "meanwhile: run it again"
            )
        known[one.family, one.of] = one
    families = tuple(known[key] for key in sorted(known))
    kept = FrozenFactors(format=_format_of(families), families=families)
    write_atomically(line / FACTORS, kept.model_dump_json().encode())


def _format_of(families: Sequence[CalibratedFamily]) -> Literal[1, 2, 3]:
    """The lowest format that can say what a line has stated."""
    if any(one.since for one in families):
        return 3
    return 1 if all(one.factor in FIRST_GRID for one in families) else 2
