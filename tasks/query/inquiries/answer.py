"""An answer to a query: rows with bounds, and what they are worth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds, Json, json_nearest
from sfumato.tasks.query.question.rest import REST


@dataclass(frozen=True)
class Answer:
    """The answer to a query: rows by the names of their columns.

    Attributes:
        form: of publication, which says how the bounds come about.
        guaranteed: whether the truth over the represented rows surely lies within the bounds; of
            files that nothing vouches for, it does not.
        not_represented: how many rows of the source were left out, and why.
        columns: names in the order of the query.
        rows: a value for each column of the GROUP BY that is shown, bounds for all else; in the
            order that is asked for, else in ascending order of those values, nulls last.
        certain: for each row whether it is surely in the answer: a group surely has rows, and a
            HAVING clause surely holds; a row is here if it may be in the answer.
        verified: whether anything vouches for the files, where the answer comes from files.
        coded: the columns whose values were coded before, and how: the answer is about coded ones.
        by_estimate: whether rows are ordered by what is not known exactly, but estimated.
        notes: what the query's conditions ask for that no published row can have.
        rest: for each row whether it is of all values together that no published label names, of
            some group column: `REST` stands in the place of the value.
        headers: the columns as the reader typed them, in the same order; empty if they are unknown.
    """

    form: str
    guaranteed: bool
    not_represented: Mapping[str, int]
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    certain: tuple[bool, ...] = ()
    verified: bool = True
    coded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_estimate: bool = False
    notes: tuple[str, ...] = ()
    rest: tuple[bool, ...] = ()
    headers: tuple[str, ...] = ()


def with_headers(answer: Answer) -> Answer:
    """Return an answer whose columns and rows are named as the reader typed them."""
    if not answer.headers or answer.headers == answer.columns:
        return answer
    rows = tuple(dict(zip(answer.headers, row.values(), strict=True)) for row in answer.rows)
    return replace(answer, columns=answer.headers, rows=rows)


DOUBTS = ("may_be_empty", "unbounded")
"""What of bounds has a column of its own in a table, where it is true of any."""


def flat_columns(columns: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the columns of an answer as a flat table, by their names.

    Raises:
        QueryError: where two have the same name, as `x_lower` may be a bound and an alias.
    """
    flat: dict[str, Any] = {}
    for name, column in columns:
        if name in flat:
            raise QueryError(
                f"two columns of the answer would be called {name!r}. Give one another name with AS"
            )
        flat[name] = column
    return flat


def document(answer: Answer) -> dict[str, Any]:
    """Return the answer as JSON; bounds that are not integers are floats rounded outward."""
    coded = sorted(answer.coded.items())
    return {
        "form": answer.form,
        "guaranteed": answer.guaranteed,
        "verified": answer.verified,
        "not_represented": dict(answer.not_represented),
        "columns": list(answer.columns),
        "rows": [{name: _json(value) for name, value in row.items()} for row in answer.rows],
        **({} if all(answer.certain) else {"certain": list(answer.certain)}),
        **({"rest": list(answer.rest)} if any(answer.rest) else {}),
        **({"order": "estimate"} if answer.by_estimate else {}),
        **({"coded": {name: list(keys) for name, keys in coded}} if coded else {}),
        **({"notes": list(answer.notes)} if answer.notes else {}),
    }


def _json(value: Any) -> Json | dict[str, Json]:
    if value is REST:
        return {"rest": True}
    if isinstance(value, Bounds):
        return value.document()
    return str(value) if isinstance(value, Decimal) else json_nearest(value)
