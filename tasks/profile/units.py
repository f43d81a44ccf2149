"""Whom the rows of a table are about: a column that numbers people, once or several times each."""

from dataclasses import dataclass

import numpy as np

from sfumato.tasks.profile.facts import ColumnFacts

_PEOPLE = 20  # below, a column that seems to number somebody may be any short list
_REPEATS = 1.1  # rows per person, from which on a person has several


@dataclass(frozen=True)
class FoundUnit:
    """A column that seems to say whom a row is about.

    Attributes:
        name: of the column.
        repeats: whether people have several rows.
        by: why it seems so.
    """

    name: str
    repeats: bool
    by: str


def find_unit(facts: tuple[ColumnFacts, ...]) -> FoundUnit | None:
    """The column that says whom a row is about, None where none seems to."""
    complete = [f for f in facts if not f.missing and f.distinct >= _PEOPLE]
    own = [f for f in complete if f.own == 1 and (_numbers(f) or _numbers_rows(f))]
    if own:
        best = max(own, key=lambda f: (_numbers(f), f.is_number))
        return FoundUnit(best.name, False, "each row has its own value")
    several = [f for f in complete if f.filled >= _REPEATS * f.distinct and _repeats(f, facts)]
    if several:
        best = max(several, key=lambda f: (_numbers(f), f.distinct))
        return FoundUnit(best.name, True, "rows repeat its values, one person after the other")
    return None


def _numbers(facts: ColumnFacts) -> bool:
    """True where its name is that of a number of people, or its values tell who they are."""
    return facts.meaning == "person" or facts.use == "contact"


def _numbers_rows(facts: ColumnFacts) -> bool:
    """True for whole numbers of a row each, in one run."""
    values = _whole_numbers(facts)
    return values is not None and len(values) == values[-1] - values[0] + 1


def _repeats(facts: ColumnFacts, others: tuple[ColumnFacts, ...]) -> bool:
    """True where a column seems to number people with several rows each.

    Rows of a person follow one another, and some other column tells the same in all of them.
    """
    codes = facts.column.codes
    runs = 1 + int((codes[1:] != codes[:-1]).sum())
    if runs != facts.distinct or not (_numbers(facts) or _numbers_rows(facts)):
        return False
    starts = np.flatnonzero(np.diff(codes, prepend=-2))
    return any(
        not other.is_constant and other is not facts and _stays(other.column.codes, starts)
        for other in others
    )


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
