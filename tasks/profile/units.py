"""The unit of a table's rows: a column that numbers people, once or several times each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.names import is_household

_PEOPLE = 20  # least different values: a shorter column may be any short list
_REPEATS = 1.1  # rows per person, from which people have several rows
_MIXED = 10  # most rows per person, if a person's rows do not follow one another
_RARE = 20  # one in 20 rows may lack the number of a person


@dataclass(frozen=True)
class FoundUnit:
    """A column that seems to say whom a row is about.

    Attributes:
        name: the name of the column.
        repeats: whether people have several rows.
        reason: the reason for the proposal, in words.
        household: the column that seems to number households of these people, if any does.
        missing: the number of rows without a value, which belong to nobody.
    """

    name: str
    repeats: bool
    reason: str
    household: str | None = None
    missing: int = 0


def find_unit(facts: tuple[ColumnFacts, ...]) -> FoundUnit | None:
    """Return the column that says whom a row is about, or None if none seems to.

    A few rows may have no value of the column if its name says that it numbers people.
    """
    complete = [f for f in facts if not f.missing and f.distinct >= _PEOPLE]
    nearly = [f for f in facts if f.missing and _is_numbering(f) and _is_nearly_complete(f)]
    own = [f for f in complete if f.own == 1 and (_numbers(f) or _numbers_rows(f))]
    own += [f for f in nearly if f.own == 1]
    if own:
        best = max(own, key=lambda f: (_numbers(f), not f.missing, f.is_number))
        household = _household(complete)
        return FoundUnit(best.name, False, "each row has its own value", household, best.missing)
    repeated = [f for f in [*complete, *nearly] if f.rows_with_value >= _REPEATS * f.distinct]
    several = [f for f in repeated if not is_household(f.name) and _repeats(f, facts)]
    if several:
        best = max(several, key=lambda f: (_numbers(f), not f.missing, f.distinct))
        together = _runs(_present_codes(best)) == best.distinct
        words = (
            "the rows of each person one after the other"
            if together
            else "the rows of a person in different places"
        )
        return FoundUnit(
            best.name, True, f"several rows share each value, {words}", missing=best.missing
        )
    return None


def chosen_unit(name: str, facts: tuple[ColumnFacts, ...]) -> FoundUnit:
    """Return a column as the one that says whom a row is about.

    Raises:
        SpecError: if no release can show the column, so that it tells nobody apart.
    """
    column = next((f for f in facts if f.name == name), None)
    if column is None:
        raise SpecError(
            f"--unit {name}: no release can show this column, so the draft drops it. "
            "Choose another column"
        )
    household = _household([f for f in facts if not f.missing])
    repeats = column.distinct < column.rows_with_value
    reason = "chosen with --unit"
    return FoundUnit(name, repeats, reason, None if repeats else household, column.missing)


def find_gaps(facts: tuple[ColumnFacts, ...]) -> ColumnFacts | None:
    """Return the column that would number people if many rows did not lack a value of it."""
    candidates = (f for f in facts if _is_numbering(f) and not _is_nearly_complete(f))
    return next(candidates, None)


def _is_numbering(facts: ColumnFacts) -> bool:
    """Decide whether a column's name is that of a number of people, and not of households."""
    is_person = facts.meaning == "person" and not is_household(facts.name)
    return is_person and facts.distinct >= _PEOPLE


def _is_nearly_complete(facts: ColumnFacts) -> bool:
    return _RARE * facts.missing <= facts.rows_with_value + facts.missing


def _present_codes(facts: ColumnFacts) -> np.ndarray:
    """Return the codes of the rows with a value."""
    codes = facts.column.codes
    return codes[codes >= 0]


def _household(facts: Sequence[ColumnFacts]) -> str | None:
    """Return the column that numbers households: its name says so, and few people share a value."""
    candidates = (f.name for f in facts if is_household(f.name) and _shared_by_few(f))
    return next(candidates, None)


def _shared_by_few(facts: ColumnFacts) -> bool:
    return facts.distinct < facts.rows_with_value <= _MIXED * facts.distinct


def _numbers(facts: ColumnFacts) -> bool:
    """Decide whether a column's name is that of a number of people, or its values identify them."""
    return facts.meaning == "person" or facts.use == "contact"


def _numbers_rows(facts: ColumnFacts) -> bool:
    """Decide whether a column has whole numbers, one per row, without gaps."""
    values = _whole_numbers(facts)
    return values is not None and len(values) == values[-1] - values[0] + 1


def _repeats(facts: ColumnFacts, others: tuple[ColumnFacts, ...]) -> bool:
    """Decide whether a column seems to number people with several rows each.

    Some other column has the same value in all rows of a person. A person's rows follow one
    another. Otherwise, as in a list by date, the column's name must say that it numbers people, and
    people may not have many rows.
    """
    codes, filled = _present_codes(facts), facts.column.codes >= 0
    together = _runs(codes) == facts.distinct
    if not (_numbers(facts) or (together and _numbers_rows(facts))):
        return False
    if not together and facts.rows_with_value > _MIXED * facts.distinct:
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
    """Return the values as integers (int64, ascending), or None if one is no integer."""
    if facts.type not in ("integer", "decimal", "float") or not facts.distinct:
        return None
    numbers = np.asarray(facts.column.values.cast("float64", safe=False))
    whole = np.rint(numbers)
    return whole.astype(np.int64) if bool((whole == numbers).all()) else None
