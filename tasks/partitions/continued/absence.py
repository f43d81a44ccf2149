"""Why somebody of a table is not shown in a line's next version, for the owner alone."""

from enum import IntEnum

import numpy as np

from sfumato.tasks.partitions.continued.survivors import Met


class Absence(IntEnum):
    """Why a row is not shown.

    The partition left it out (`SUPPRESSED`); it is new and newcomers wait (`WAITING`); its values
    are not those of its slot (`CHANGED`); its group is shown no more (`RETIRED`); or it is never
    shown again (`OUT`): it was forgotten, or somebody else has its slot.
    """

    NONE, SUPPRESSED, WAITING, CHANGED, RETIRED, OUT = range(6)


def absences(met: Met, shown: np.ndarray, suppressed: np.ndarray) -> np.ndarray:
    """Why each row of a table is not shown (int8, one per row), `Absence.NONE` where it is.

    Args:
        met: what became of each row's person.
        shown: which rows are (bool).
        suppressed: which the partition left out (bool).
    """
    known = met.slot >= 0
    why = np.where(met.new, Absence.WAITING, Absence.OUT)
    why[known] = np.where(met.continued[known], Absence.RETIRED, Absence.CHANGED)
    why[suppressed] = Absence.SUPPRESSED
    why[shown] = Absence.NONE
    return why.astype(np.int8)
