"""Errors with the file, row and column of a fault in a source, and never the value.

Rows are data records, numbered from 1: a header line and blank lines are not counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from sfumato.expectations.shared.errors import InputError

NO_ROWS = "has no rows"
"""The fault of a source without any row; a message about it ends so."""


def input_error(
    file: str, rule: str, *, row: int | None = None, column: str | None = None
) -> InputError:
    """Return the one-line error for a fault at a place; `row` counts from 0.

    >>> print(input_error("people.csv", "not an integer", row=0, column="age"))
    people.csv: row 1: column 'age': not an integer
    """
    place = "" if row is None else f" row {row + 1}:"
    named = "" if column is None else f" column {column!r}:"
    return InputError(f"{file}:{place}{named} {rule}")


class OtherDialect(InputError):
    """Error for a file whose rows do not fit its declared dialect.

    Attributes:
        names: the names of its columns, as far as they can be read.
        delimiter: another delimiter, which splits all rows into the same number of fields; None if
            there is none.
    """

    def __init__(
        self, message: str, names: Sequence[str] = (), delimiter: str | None = None
    ) -> None:
        super().__init__(message)
        self.names = tuple(names)
        self.delimiter = delimiter


_MOST = 20  # faults shown in one message


class InputFaults(InputError):
    """Error for several faults of one file.

    Attributes:
        faults: the message of each fault.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class FaultsMet:
    """Collector of the faults of one file, which are then raised together.

    >>> met = FaultsMet("people.csv")
    >>> with met.noting():
    ...     raise input_error("people.csv", "not an integer", row=0, column="age")
    >>> with met.noting():
    ...     raise input_error("people.csv", "is missing", column="town")
    >>> met.refuse()
    Traceback (most recent call last):
    sfumato.tasks.microdata.readers.input_error.InputFaults: people.csv: 2 faults: row 1: \
column 'age': not an integer; column 'town': is missing
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._met: list[str] = []

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note an InputError that is raised in the block, and go on after the block."""
        try:
            yield
        except InputError as error:
            self.note(error)

    def note(self, error: InputError) -> None:
        """Note the fault of an error, or all its faults if it has several."""
        several = error.faults if isinstance(error, InputFaults) else ()
        self._met += several or [str(error)]

    def refuse(self) -> None:
        """Raise InputError with all faults that were noted, in one line; return if none was."""
        if self._met:
            raise self.as_error()

    def as_error(self) -> InputError:
        """Return the error with the faults that were noted, in one line.

        There must be a fault. A single fault keeps its message; of more than 20, the first 20 are
        shown, and the number of the others.
        """
        if len(self._met) == 1:
            return InputError(self._met[0])
        lines = [fault.removeprefix(f"{self._file}: ") for fault in self._met[:_MOST]]
        more = f"; and {len(self._met) - _MOST} more" if len(self._met) > _MOST else ""
        words = f"{self._file}: {len(self._met)} faults: {'; '.join(lines)}{more}"
        return InputFaults(words, self._met)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint at the most similar of some names, to end a message; empty if none is near.

    The hint shows one of `names`, so none of them may be secret.

    >>> nearest("incme", ["age", "income"])
    ": 'income'?"
    """
    place = near_place(name, names := list(names))
    return "" if place is None else f": {names[place]!r}?"


def near_place(name: str, names: Iterable[str]) -> int | None:
    """Return the position in `names` of the one most like `name`; None if none is near.

    The case of letters, and blanks around a name, make no difference.
    """
    folded = [other.strip().casefold() for other in names]
    matches = get_close_matches(name.strip().casefold(), folded, 1, 0.75)
    return folded.index(matches[0]) if matches else None


def require_distinct_names(names: Sequence[str], file: str) -> None:
    """Make sure that no two columns of a file have the same name.

    Raises:
        InputError: with the numbers of the columns. It does not show the name, which is a value if
            the file has no header.
    """
    for number, name in enumerate(names, start=1):
        earlier = names.index(name) + 1
        if earlier < number:
            raise input_error(
                file,
                (
                    f"column {number} has the same name as column {earlier}. Give each column "
                    "its own name"
                ),
            )
