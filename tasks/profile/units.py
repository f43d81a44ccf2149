"""Whom the rows of a table are about: a column that numbers people, once or several times each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.names import is_household

_PEOPLE = 20  # below, a column that seems to number somebody may be any short list
_REPEATS = 1.1  # rows per person, from which on a person has several
_MIXED = 10  # rows per person at most, where those of a person do not follow one another
_RARE = 20  # of so many rows one may have no number, where all are to be people's


@dataclass(frozen=True)
class FoundUnit:
    """A column that seems to say whom a row is about.

    Attributes:
        name: of the column.
        repeats: whether people have several rows.
        by: why it seems so.
        household: the column that seems to number households of these people, if any does.
        missing: number of rows without a value: they are nobody's.
    """

    name: str
    repeats: bool
    by: str
    household: str | None = None
    missing: int = 0


def find_unit(facts: tuple[ColumnFacts, ...]) -> FoundUnit | None:
    """The column that says whom a row is about, None where none seems to.

    A few rows may have no value of it, if its name says that it numbers people.
    """
    complete = [f for f in facts if not f.missing and f.distinct >= _PEOPLE]
    nearly = [f for f in facts if f.missing and _is_numbering(f) and _is_nearly_complete(f)]
    own = [f for f in complete if f.own == 1 and (_numbers(f) or _numbers_rows(f))]
    own += [f for f in nearly if f.own == 1]
    if own:
        best = max(own, key=lambda f: (_numbers(f), not f.missing, f.is_number))
        household = _household(complete)
        return FoundUnit(best.name, False, "each row has its own value", household, best.missing)
    repeated = [f for f in [*complete, *nearly] if f.filled >= _REPEATS * f.distinct]
    several = [f for f in repeated if not is_household(f.name) and _repeats(f, facts)]
    if several:
        best = max(several, key=lambda f: (_numbers(f), not f.missing, f.distinct))
        together = _runs(_filled(best)) == best.distinct
        words = "one person after the other" if together else "of a person here and there"
        return FoundUnit(best.name, True, f"rows repeat its values, {words}", missing=best.missing)
    return None


def find_gaps(facts: tuple[ColumnFacts, ...]) -> ColumnFacts | None:
    """The column that would number people, did not many rows lack a value of it."""
    found = (f for f in facts if _is_numbering(f) and not _is_nearly_complete(f))
    return next(found, None)


def _is_numbering(facts: ColumnFacts) -> bool:
    """True where a column numbers somebody by its name, and not the households of people."""
    known = facts.meaning == "person" and not is_household(facts.name)
    return known and facts.distinct >= _PEOPLE


def _is_nearly_complete(facts: ColumnFacts) -> bool:
    return _RARE * facts.missing <= facts.filled + facts.missing


def _filled(facts: ColumnFacts) -> np.ndarray:
    """The codes of the rows with a value."""
    codes = facts.column.codes
    return codes[codes >= 0]


def _household(facts: Sequence[ColumnFacts]) -> str | None:
    """The column that numbers households: its name says so, and few have one."""
    found = (f.name for f in facts if is_household(f.name) and _shared_by_few(f))
    return next(found, None)


def _shared_by_few(facts: ColumnFacts) -> bool:
    return facts.distinct < facts.filled <= _MIXED * facts.distinct


def _numbers(facts: ColumnFacts) -> bool:
    """True where its name is that of a number of people, or its values tell who they are."""
    return facts.meaning == "person" or facts.use == "contact"


def _numbers_rows(facts: ColumnFacts) -> bool:
    """True for whole numbers of a row each, in one run."""
    values = _whole_numbers(facts)
    return values is not None and len(values) == values[-1] - values[0] + 1


def _repeats(facts: ColumnFacts, others: tuple[ColumnFacts, ...]) -> bool:
    """True where a column seems to number people with several rows each.

    Some other column tells the same in all rows of a person. These follow one another; where they
    do not, as in a list by date, the column's name says that it numbers people, and none has many.
    """
    codes, filled = _filled(facts), facts.column.codes >= 0
    together = _runs(codes) == facts.distinct
    if not (_numbers(facts) or (together and _numbers_rows(facts))):
        return False
    if not together and facts.filled > _MIXED * facts.distinct:
        return False
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-2))
    return any(
        not other.is_constant
        and other is not facts
        and _stays(other.column.codes[filled][order], starts)
        for other in others
    )


def _runs(codes: np.ndarray) -> int:
    return 1 + int((codes[1:] != codes[:-1]).sum())


def _stays(codes: np.ndarray, starts: np.ndarray) -> bool:
    low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    return bool((low == high).all())


def _whole_numbers(facts: ColumnFacts) -> np.ndarray | None:
    """The values as integers (int64, ascending), None where some is none."""
    if facts.type not in ("integer", "decimal", "float") or not facts.distinct:
        return None
    numbers = np.asarray(facts.column.values.cast("float64", safe=False))
    whole = np.rint(numbers)
    return whole.astype(np.int64) if bool((whole == numbers).all()) else None
