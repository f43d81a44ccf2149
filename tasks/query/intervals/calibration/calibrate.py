"""The factors of a release's intervals, from queries whose truth is known."""

from collections.abc import Mapping, Sequence

from sfumato.tasks.query.intervals.calibration.factor import factor_of
from sfumato.tasks.query.intervals.calibration.queries import FamilyKey, MeasuredQuery
from sfumato.tasks.schema.stated.intervals import CalibratedFamily, CalibratedIntervals


def calibrate(
    measured: Mapping[FamilyKey, Sequence[MeasuredQuery]], frozen: CalibratedIntervals | None
) -> CalibratedIntervals:
    """The factors of the families that were measured often enough.

    Args:
        measured: queries of each family.
        frozen: what earlier versions of the line stated, below which no factor falls.
    """
    families = []
    for (name, of), queries in sorted(measured.items()):
        factor = factor_of([query.score for query in queries])
        before = None if frozen is None else frozen.factor_of((name, of))
        if factor is not None:
            highest = factor if before is None else max(factor, before)
            families.append(CalibratedFamily(family=name, of=of, factor=highest))
    return CalibratedIntervals(grid="fine", families=tuple(families))
