"""Facts of people beside their related rows: what they say of numbers of rows.

A fact is computed from the rows of one person by SQL that the release states. The facts of a group
are published in any order. A fact that is the number of rows, or whether there are any, says the
numbers of a group, and not whose they are. All software has to read these two alike, so that they
are told by their text: `COUNT(*)` of type integer, and `COUNT(*) > 0` of type boolean.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.related import RelatedDiversity
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import DeclaredColumn, Schema

Told = Literal["none", "presence", "numbers", "any"]
"""What facts of people say of numbers of related rows, as `related-l-diversity` has it."""
NumbersShown = Literal["hidden", "shuffled", "published"]
"""Numbers of rows of people: in no file, in any order within the group, or beside the person."""
TYPES = frozenset({"boolean", "integer", "decimal"})
"""The types that facts can have."""
_NAMES = re.compile(
    r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|"""
    r"([A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*)"
    r"(?!\s*\(|[A-Za-z0-9_$\u0080-\U0010ffff])"
)
"""A text, or a name: quoted, or of letters, which no parenthesis of a function follows."""
_NUMBER = "count(*)"
_PRESENCE = frozenset({"count(*)>0", "count(*)>=1", "count(*)<>0", "count(*)!=0"})


@dataclass(frozen=True, eq=False)
class ShownNumbers:
    """Numbers of rows that published facts show of groups (int64, one per group).

    Attributes:
        fewest: the rows that everybody of the group has, at least.
        with_rows: the people of the group who have rows, at most.
    """

    fewest: np.ndarray
    with_rows: np.ndarray


class StatedFact(Protocol):
    """The parts of a column that say what fact it is."""

    @property
    def role(self) -> str:
        """Its role: sensitive, or insensitive for a published number of rows."""
        ...

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


def is_published_number(column: StatedFact) -> bool:
    """Return True if a column is the number of rows of each person, beside the person."""
    return column.role == "insensitive" and is_number_of_rows(column)


def published_number(columns: Mapping[str, StatedFact]) -> str | None:
    """Return the column with the number of rows of each person; None if numbers are not shown."""
    return next((name for name, column in columns.items() if is_published_number(column)), None)


def shuffled_number(columns: Mapping[str, StatedFact]) -> str | None:
    """Return the first fact that is the numbers of rows in any order within groups, or None."""
    shuffled = (
        name
        for name, column in columns.items()
        if column.role == "sensitive" and is_number_of_rows(column)
    )
    return next(shuffled, None)


def how_numbers_are_shown(columns: Mapping[str, StatedFact]) -> NumbersShown:
    """Return how a release shows the number of rows of people."""
    if published_number(columns) is not None:
        return "published"
    return "hidden" if shuffled_number(columns) is None else "shuffled"


def shows_numbers(columns: Mapping[str, StatedFact]) -> bool:
    """Return True if a column shows how many people of each group have rows."""
    return any(is_number_of_rows(column) or is_presence(column) for column in columns.values())


def beside_published_number(
    columns: Mapping[str, StatedFact], promises: Sequence[PrivacyModel]
) -> tuple[str, str] | None:
    """Return what published numbers of rows do not go with, and why and what to write instead.

    Everyone knows the number of rows of a person then. Beliefs differ within a group: they are
    stronger of people with many rows. A fact that is shuffled may be that of few people.

    Args:
        columns: the declared columns.
        promises: the declared promises.

    Returns:
        The place, such as `columns.NAME`, and the words; None if all go together.
    """
    for name, column in columns.items():
        if column.derive is not None and column.role == "sensitive":
            return f"columns.{name}.derive", (
                "a fact that is shuffled within groups cannot be published beside numbers of rows, "
                "which may show to whom it belongs. Write `numbers: shuffled`, or leave it out"
            )
    for number, promise in enumerate(promises):
        if getattr(promise, "numbers", None) == "hidden":
            return f"promises.{number}.numbers", (
                "hidden cannot be kept where numbers of rows are published, so that everyone "
                "knows them. Write `numbers: known`, or `numbers: hidden` in the table of rows"
            )
        if promise.name == "related-alpha":
            return f"promises.{number}", (
                "related-alpha cannot be kept where numbers of rows are published: that a person "
                "has a value is believed the more, the more rows the person has. Promise "
                "related-l-diversity, or write `numbers: shuffled` in the table of rows"
            )
    return None


def told_by_facts(columns: Mapping[str, StatedFact]) -> Told:
    """Return what the facts among some columns say of numbers of related rows."""
    facts = [column for column in columns.values() if column.derive is not None]
    if not facts:
        return "none"
    if not all(is_number_of_rows(column) or is_presence(column) for column in facts):
        return "any"
    return "numbers" if any(map(is_number_of_rows, facts)) else "presence"


def judge_beside(promise: PrivacyModel, columns: Mapping[str, StatedFact]) -> PrivacyModel:
    """Return a promise that is judged with what facts of people say of numbers of rows."""
    if not isinstance(promise, RelatedDiversity) or promise.numbers == "known":
        return promise
    return replace(promise, facts=told_by_facts(columns))


def columns_named(derive: str) -> set[str]:
    r"""Return the names in the SQL of a fact, in small letters: columns, aliases and keywords.

    All software has to find the same ones: no names of functions, and none within texts.

    >>> sorted(columns_named("SUM(cost) FILTER (WHERE \"Ward\" = 'cost of A')"))
    ['cost', 'ward', 'where']
    """
    pairs = (match.groups() for match in _NAMES.finditer(derive))
    names = (bare if quoted is None else quoted.replace('""', '"') for quoted, bare in pairs)
    return {name.casefold() for name in names if name is not None}


def fact_of_published_column(
    columns: Mapping[str, StatedFact], related: Sequence[str]
) -> tuple[str, str] | None:
    """Return a fact whose SQL has the name of a published column of related rows, and the column.

    All software has to tell these alike, so that any name in the SQL counts, also one that the SQL
    gives itself.

    Args:
        columns: the declared columns.
        related: those of the related table.
    """
    of_rows = {name.casefold(): name for name in related}
    for fact, column in columns.items():
        if column.derive is not None:
            for name in sorted(of_rows.keys() & columns_named(column.derive)):
                return fact, of_rows[name]
    return None


def require_stated_facts(
    columns: Mapping[str, DeclaredColumn], related: Sequence[str], promises: Sequence[PrivacyModel]
) -> None:
    """Make sure that a release's columns and promises say what facts it has, and no more.

    Args:
        columns: the declared columns.
        related: those of the related table; none in a release of one table.
        promises: the declared promises.

    Raises:
        PromiseError: naming the column or promise.
    """
    facts = {name: column for name, column in columns.items() if column.derive is not None}
    for name, column in columns.items():
        is_fact, is_of_people = name in facts, bool(related) and name not in related
        is_shuffled = column.role == "sensitive" and column.type in TYPES
        if is_fact and not (is_of_people and (is_shuffled or is_published_number(column))):
            raise PromiseError(
                f"column {name!r}: derive is for sensitive columns of people, and for their "
                "number of rows"
            )
        if is_of_people and column.role == "sensitive" and not is_fact:
            raise PromiseError(f"column {name!r}: a sensitive column of people states no derive")
    if published_number(facts) and (fault := beside_published_number(facts, promises)):
        raise PromiseError(": ".join(fault))
    telling = fact_of_published_column(facts, related)
    for number, promise in enumerate(promises):
        place = f"promises.{number}: {promise.name}"
        if promise.of_related and getattr(promise, "numbers", "hidden") == "known" and telling:
            raise PromiseError(
                f"{place}: numbers are known beside the fact {telling[0]}. Its SQL has the name of "
                f"the published column {telling[1]}"
            )
        if judge_beside(promise, columns) != promise:
            raise PromiseError(f"{place}: was not judged with the facts that are published")


def require_possible_facts(
    numbers: Mapping[str, np.ndarray], people: pa.Table, schema: Schema
) -> ShownNumbers | None:
    """Make sure that numbers of rows among facts, or beside people, are those of groups.

    Args:
        numbers: the columns of the table of groups (int64, one per group).
        people: the table of people.
        schema: the declared columns.

    Returns:
        What facts show of each group; None if no fact is about numbers of rows.

    Raises:
        PromiseError: where facts contradict the groups.
    """
    group, groups = as_integers(people[GROUP_ID]), len(numbers[PEOPLE])
    numbers_seen: ShownNumbers | None = None
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
        having = np.bincount(group, greatest > 0, groups).astype(np.int64)
        if numbers_seen is not None:
            own = np.maximum(numbers_seen.fewest, own)
            having = np.minimum(numbers_seen.with_rows, having)
        numbers_seen = ShownNumbers(own, having)
    return numbers_seen


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
