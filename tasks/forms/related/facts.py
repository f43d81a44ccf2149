"""Facts of people beside their related rows: what they say of numbers of rows.

A fact is computed from the rows of one person by SQL that the release states. The facts of a group
are published in any order. A fact that is the number of rows, or whether there are any, says the
numbers of a group, and not whose they are. All software has to read these two alike, so that they
are told by their text: `COUNT(*)` of type integer, and `COUNT(*) > 0` of type boolean.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema

Told = Literal["none", "presence", "numbers", "any"]
"""What facts of people say of numbers of related rows, as `related-l-diversity` has it."""
_NUMBER = "count(*)"
_PRESENCE = frozenset({"count(*)>0", "count(*)>=1", "count(*)<>0", "count(*)!=0"})


class StatedFact(Protocol):
    """The parts of a column that say what fact it is."""

    @property
    def type(self) -> str:
        """The type of its values."""
        ...

    @property
    def derive(self) -> str | None:
        """The SQL that it is computed by, None for a column of the source."""
        ...

    @property
    def codings(self) -> Mapping[str, object]:
        """The codings that change its values."""
        ...


def is_number_of_rows(column: StatedFact) -> bool:
    """Return True if a fact is the number of a person's related rows."""
    return _text(column) == _NUMBER and column.type == "integer" and not _is_coded(column)


def is_presence(column: StatedFact) -> bool:
    """Return True if a fact is whether a person has related rows."""
    return _text(column) in _PRESENCE and column.type == "boolean" and not _is_coded(column)


def told_by_facts(columns: Mapping[str, StatedFact]) -> Told:
    """Return what the facts among some columns say of numbers of related rows."""
    facts = [column for column in columns.values() if column.derive is not None]
    if not facts:
        return "none"
    if not all(is_number_of_rows(column) or is_presence(column) for column in facts):
        return "any"
    return "numbers" if any(map(is_number_of_rows, facts)) else "presence"


def require_possible_facts(
    numbers: Mapping[str, np.ndarray], people: pa.Table, schema: Schema
) -> np.ndarray | None:
    """Make sure that numbers of rows among facts are those of groups.

    Args:
        numbers: the columns of the table of groups (int64, one per group).
        people: the table of people.
        schema: the declared columns.

    Returns:
        The rows that everybody of each group has, at least (int64); None if no fact is about it.

    Raises:
        PromiseError: where facts contradict the groups.
    """
    group, groups = as_integers(people[GROUP_ID]), len(numbers[PEOPLE])
    fewest = None
    for name, least, greatest in _rows_of_people(people, schema, numbers[MOST], group):
        low, high = (
            np.bincount(group, each, groups).astype(np.int64) for each in (least, greatest)
        )
        most = np.zeros(groups, dtype=np.int64)
        np.maximum.at(most, group, greatest)
        possible = (low <= numbers[ROWS]) & (numbers[ROWS] <= high) & (most == numbers[MOST])
        if not possible.all():
            raise PromiseError(
                f"{GROUPS}: {ROWS} or {MOST} of a group contradicts the facts {name}"
            )
        own = np.full(groups, np.iinfo(np.int64).max)
        np.minimum.at(own, group, least)
        fewest = own if fewest is None else np.maximum(fewest, own)
    return fewest


def _rows_of_people(
    people: pa.Table, schema: Schema, most: np.ndarray, group: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each fact about numbers of rows: the least and the greatest number of each person.

    Raises:
        PromiseError: where a fact has no value, or is below 0.
    """
    for name, column in schema.items():
        if not (is_number_of_rows(column) or is_presence(column)):
            continue
        values = people[name]
        if values.null_count:
            raise PromiseError(f"{name}: a number of rows is missing")
        if is_presence(column):
            has = pc.cast(values, pa.int64()).to_numpy()
            yield name, has, has * most[group]
            continue
        own = as_integers(values)
        if len(own) and int(own.min()) < 0:
            raise PromiseError(f"{name}: a number of rows is below 0")
        yield name, own, own


def _text(column: StatedFact) -> str:
    return "".join((column.derive or "").split()).casefold()


def _is_coded(column: StatedFact) -> bool:
    return bool(column.codings)
