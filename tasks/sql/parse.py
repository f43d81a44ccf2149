"""Text to a tree: one expression without comments, and messages that repeat none of the text."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from sfumato.expectations.shared.errors import QueryError

MAX_CHARACTERS = 100_000
_PLACES = 400  # a double has as many
_DUCKDB = Dialect.get_or_raise("duckdb")


def parse(text: str, kind: type[exp.Expr], *, commented: bool = False) -> exp.Expression:
    """The one expression of a kind that `text` holds, in DuckDB's dialect.

    Args:
        text: of the expression.
        kind: of expression that it has to be.
        commented: whether comments are passed over, and not refused.

    Raises:
        QueryError: where there is another number of expressions, a comment, or what is no SQL.
    """
    if len(text) > MAX_CHARACTERS:
        raise QueryError(f"a query may have at most {MAX_CHARACTERS:,} characters")
    try:
        text.encode("utf-8")
        tokens = _DUCKDB.tokenize(text)
        _drop_comments(tokens, commented=commented)
        trees = _DUCKDB.parser().parse_into(kind, tokens, text)
    except UnicodeEncodeError:
        raise QueryError("not UTF-8 text") from None
    except SqlglotError as error:
        raise QueryError(f"cannot be parsed{_place(error)}") from None
    except RecursionError:
        raise QueryError("nested too deep") from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise QueryError(f"cannot be parsed ({type(error).__name__})") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
        raise QueryError("nothing is asked" if trees in ([], [None]) else "one thing at a time")
    _require_small_numbers(trees[0])
    drop_places(trees[0])
    return trees[0]


def _drop_comments(tokens: list[Any], *, commented: bool) -> None:
    if any(token.comments for token in tokens) and not commented:
        raise QueryError("comments are not allowed")
    for token in tokens:
        token.comments = []


def _require_small_numbers(tree: exp.Expr | None) -> None:
    """Refuse a number that would fill the memory where it is exact."""
    for node in tree.find_all(exp.Literal) if tree is not None else ():
        if node.is_string:
            continue
        try:
            places = abs(Decimal(node.name).adjusted())
        except InvalidOperation:
            raise QueryError(f"{node.name} is not a number") from None
        if places > _PLACES:
            raise QueryError(f"a number has more than {_PLACES} places before or after its point")


def drop_places(tree: exp.Expr) -> None:
    """Have nodes forget their places in the text, which are most of the work of a copy."""
    for node in tree.walk():
        node._meta = None


def quote_name(name: str) -> str:
    """A name, fit for a message of one line."""
    return repr(name if len(name) <= 63 else f"{name[:60]}…")


def _place(error: SqlglotError) -> str:
    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    if "line" not in found or "col" not in found:
        return ""
    return f" at line {found['line']}, column {found['col']}"


@dataclass(frozen=True)
class Statement:
    """A statement of a text, and the line on which it begins, from 1."""

    text: str
    line: int


def statements(text: str) -> list[Statement]:
    r"""The statements of a text, each ended by a semicolon; the last may do without.

    >>> statements("SELECT 1; -- then\n\nSELECT 2")
    [Statement(text='SELECT 1', line=1), Statement(text='SELECT 2', line=3)]

    Raises:
        QueryError: where the text cannot be read.
    """
    try:
        tokens = _DUCKDB.tokenize(text)
    except SqlglotError as error:
        raise QueryError(f"cannot be parsed{_place(error)}") from None
    found: list[Statement] = []
    waiting: list[Any] = []
    for token in [*tokens, None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            waiting.append(token)
        elif waiting:
            first, last = waiting[0], waiting[-1]
            line = text.count("\n", 0, first.start) + 1
            found.append(Statement(text[first.start : last.end + 1], line))
            waiting = []
    return found


def number_of(node: exp.Expr | None) -> Fraction | None:
    """The number that a constant is, None where it is none."""
    if isinstance(node, exp.Neg):
        inner = number_of(node.this.unnest())
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(Decimal(node.name))
    return None


def literal(value: Any) -> exp.Expression:
    """A value in DuckDB's SQL; floats with an exponent, or DuckDB would read them as decimals."""
    if isinstance(value, datetime):
        text, kind = value.isoformat(" "), "timestamp"
        return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind))
    if isinstance(value, date):
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=exp.DataType.build("date"))
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, float):
        return exp.Literal.number(f"{value:.16e}")
    return exp.Literal.number(f"{value:f}" if isinstance(value, Decimal) else str(value))
