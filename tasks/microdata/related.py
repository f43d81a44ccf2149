"""Rows of a second table that belong to the people of the first: read, matched, and left out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.shared.arrow import distinct_values, places_among
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.readers.declared import RelatedSource
from sfumato.tasks.microdata.table import Column, Microdata, OwnedRows
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """People with their related rows, and the counts of rows that were left out.

    Attributes:
        microdata: the people.
        orphans: rows whose person is in no row of the people's source.
        with_people: rows of people who are in the source and not represented.
        above_cap: people who were left out because they have too many rows.
        without_fact: people who were left out because a fact of theirs has no value.
    """

    microdata: Microdata
    orphans: int
    with_people: int
    above_cap: int = 0
    without_fact: int = 0


def match_related(
    people: Microdata,
    everybody: Column,
    rows: Microdata,
    related: RelatedSource,
    columns: Mapping[str, ColumnSpec],
    facts: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
) -> MatchedRows:
    """Give related rows to people, leave out those with too many, and compute facts of the others.

    Args:
        people: those who are represented, with their identifier.
        everybody: the identifiers of all people of the source.
        rows: the related rows, each with a key, and all columns that facts need.
        related: how rows are matched.
        columns: of the related table.
        facts: the columns of people that are computed from their rows.
        nulls: the null policy of facts that name none.

    Raises:
        SpecError: if the SQL of a fact does not fit.
        InputError: if rows name nobody, none is left, or a fact cannot be computed.
    """
    where = related.source.uri
    require_keys(rows, related.key, where)
    matched = match_rows(people, everybody, rows, related.key, where, related.orphans)
    if related.cap is not None:
        matched = leave_out_above(matched, related.cap, where)
    if not facts:
        return matched
    from sfumato.tasks.microdata.derived import with_facts  # few people have facts

    computed = with_facts(matched.microdata, facts, related.name, columns, nulls)
    return replace(
        matched,
        microdata=computed.people,
        with_people=matched.with_people + computed.rows_without,
        without_fact=computed.without_value,
    )


def require_keys(rows: Microdata, key: str, where: str) -> None:
    """Refuse rows that name no person.

    Raises:
        InputError: with their number.
    """
    missing = int((rows[key].codes < 0).sum())
    if missing:
        raise InputError(
            f"{where}: {missing:,} of {rows.rows:,} rows have no {key!r}, so that they belong to "
            f"no person. Leave them out (source.where: {key} IS NOT NULL), or mend them"
        )


def match_rows(
    people: Microdata, everybody: Column, rows: Microdata, key: str, where: str, orphans: str
) -> MatchedRows:
    """Give related rows to the people whom their key names.

    Args:
        people: those who are represented, with their identifier `key`.
        everybody: the identifiers of all people of the source.
        rows: the related rows, each with a key.
        key: the column by which both tables name people.
        where: the source of the rows, for messages.
        orphans: "refuse" or "drop": what happens to rows of nobody.

    Raises:
        InputError: if there are orphans that are refused, or no row is left.
    """
    names = rows[key]
    row_of = _rows_of(people[key], names)
    exists = _rows_of(everybody, names) >= 0
    lost = int((~exists).sum())
    if lost and orphans == "refuse":
        raise InputError(
            f"{where}: {lost:,} of {rows.rows:,} rows have a {key!r} that no row of the table of "
            "people has. Write `orphans: drop` to leave them out, or mend the tables"
        )
    positions = np.flatnonzero(row_of >= 0)
    if not len(positions):
        raise InputError(
            f"{where}: no row belongs to a person of the release. Check the column {key!r}, the "
            "filters and the null policies"
        )
    table = rows.take(positions)
    without_key = table.keep(column for column in table.columns if column.name != key)
    related = OwnedRows(row_of[positions].astype(np.int64), without_key)
    with_people = rows.rows - len(positions) - lost
    return MatchedRows(replace(people, related=related), lost, with_people)


def leave_out_above(matched: MatchedRows, cap: int, where: str) -> MatchedRows:
    """Leave out people with more than `cap` related rows, and these rows.

    Raises:
        InputError: if no row is left.
    """
    related = matched.microdata.related
    if related is None:
        return matched
    of_person = np.bincount(related.owner, minlength=matched.microdata.rows)
    above = of_person > cap
    if not above.any():
        return matched
    others = matched.microdata.take(np.flatnonzero(~above))
    if others.related is None or not others.related.table.rows:
        raise InputError(
            f"{where}: all people with rows have more than {cap:,}, so that all would be left out. "
            "Write a larger maximum.at-most"
        )
    left_out = int(of_person[above].sum())
    return MatchedRows(
        others, matched.orphans, matched.with_people + left_out, above_cap=int(above.sum())
    )


def _rows_of(people: Column, names: Column) -> np.ndarray:
    """Return the row of the person whom each row names (int64), -1 for nobody."""
    values = distinct_values([people.values, names.values])
    row = np.full(len(values) + 1, -1, dtype=np.int64)
    named = np.flatnonzero(people.codes >= 0)
    row[places_among(people.values, values)[people.codes[named]]] = named
    return np.asarray(row[places_among(names.values, values)[names.codes]])
