"""Parsing of text: one expression without comments, and messages that repeat none of the text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from sfumato.expectations.shared.errors import QueryError

MAX_CHARACTERS = 100_000
_PLACES = 400  # as many as a double has
_DUCKDB = Dialect.get_or_raise("duckdb")
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_AFTER_ITEMS = frozenset(
    {
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.UNION,
        TokenType.SEMICOLON,
    }
)


def parse(text: str, kind: type[exp.Expr], *, commented: bool = False) -> exp.Expression:
    """Return the one expression of a kind that `text` contains, in DuckDB's dialect.

    Args:
        text: the text of the expression.
        kind: the required kind of expression.
        commented: whether comments are ignored, not refused.

    Raises:
        QueryError: if there is another number of expressions, a comment, or invalid SQL.
    """
    if len(text) > MAX_CHARACTERS:
        raise QueryError(f"too long: SQL may have at most {MAX_CHARACTERS:,} characters")
    try:
        text.encode("utf-8")
        tokens = _DUCKDB.tokenize(text)
        _drop_comments(tokens, commented=commented)
        trees = _DUCKDB.parser().parse_into(kind, tokens, text)
    except UnicodeEncodeError:
        raise QueryError("not UTF-8 text") from None
    except SqlglotError as error:
        raise QueryError(f"syntax error{_place(error)}: check the SQL") from None
    except RecursionError:
        raise QueryError("nested too deeply. Use fewer parentheses or subqueries") from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise QueryError(f"syntax error ({type(error).__name__}): check the SQL") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
        raise QueryError(
            "nothing is written. Write a query or a condition"
            if trees in ([], [None])
            else "write one statement only"
        )
    _require_small_numbers(trees[0])
    drop_places(trees[0])
    return trees[0]


def _drop_comments(tokens: list[Any], *, commented: bool) -> None:
    if any(token.comments for token in tokens) and not commented:
        raise QueryError("comments are not allowed")
    for token in tokens:
        token.comments = []


def _require_small_numbers(tree: exp.Expr | None) -> None:
    """Refuse a number whose exact form would fill the memory."""
    for node in tree.find_all(exp.Literal) if tree is not None else ():
        if node.is_string:
            continue
        try:
            places = abs(Decimal(node.name).adjusted())
        except InvalidOperation:
            raise QueryError(f"{node.name} is not a number") from None
        if places > _PLACES:
            raise QueryError(
                f"a number has more than {_PLACES} digits before or after its decimal point"
            )


def drop_places(tree: exp.Expr) -> None:
    """Remove the places in the text from nodes: copying them takes most of the time."""
    for node in tree.walk():
        node._meta = None


def quote_name(name: str) -> str:
    """Return a name in quotes, short enough for a message of one line."""
    return repr(name if len(name) <= 63 else f"{name[:60]}…")


def _place(error: SqlglotError) -> str:
    fault = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    if "line" not in fault or "col" not in fault:
        return ""
    return f" (line {fault['line']}, column {fault['col']})"


@dataclass(frozen=True)
class Statement:
    """A statement of a text, and the line on which it begins, from 1."""

    text: str
    line: int


def statements(text: str) -> list[Statement]:
    r"""Return the statements of a text, each ended by a semicolon; the last may have none.

    >>> statements("SELECT 1; -- then\n\nSELECT 2")
    [Statement(text='SELECT 1', line=1), Statement(text='SELECT 2', line=3)]

    Raises:
        QueryError: if the text cannot be read.
    """
    try:
        tokens = _DUCKDB.tokenize(text)
    except SqlglotError as error:
        raise QueryError(f"syntax error{_place(error)}: check the SQL") from None
    complete: list[Statement] = []
    waiting: list[Any] = []
    for token in [*tokens, None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            waiting.append(token)
        elif waiting:
            first, last = waiting[0], waiting[-1]
            line = text.count("\n", 0, first.start) + 1
            complete.append(Statement(text[first.start : last.end + 1], line))
            waiting = []
    return complete


def typed_texts(sql: str, tree: exp.Expr) -> tuple[str | None, ...]:
    """Return the text of each selected expression; None for one with an alias or a name.

    Args:
        sql: a query that can be parsed.
        tree: the parsed query, before it is changed.

    Returns:
        Nothing if the texts and the expressions cannot be matched.
    """
    items, texts = _first_select(tree).expressions, list(_typed_items(sql))
    if len(items) != len(texts):
        return ()
    return tuple(
        text if _is_calculated(item) else None for item, text in zip(items, texts, strict=True)
    )


def _first_select(tree: exp.Expr) -> exp.Expr:
    """Return the SELECT that names the columns: the first of a UNION ALL."""
    while isinstance(tree, exp.Union):
        tree = tree.this
    return tree


def _is_calculated(item: exp.Expr) -> bool:
    """Decide whether a selected expression has neither an alias nor a name of its own."""
    return not isinstance(item, exp.Alias | exp.Column | exp.Star)


def _typed_items(sql: str) -> Iterator[str]:
    """Yield the texts between the commas of the first SELECT, each on one line."""
    item: list[Any] = []
    for token, depth in _tokens_of_items(sql):
        if depth == 0 and token.token_type == TokenType.COMMA:
            yield _text_of(sql, item)
            item = []
        else:
            item.append(token)
    if item:
        yield _text_of(sql, item)


def _tokens_of_items(sql: str) -> Iterator[tuple[Any, int]]:
    """Yield the tokens after the first SELECT, each with the number of parentheses around it."""
    depth, selected, first = 0, False, False
    for token in _DUCKDB.tokenize(sql):
        depth -= token.token_type in _CLOSING
        if selected and depth == 0 and token.token_type in _AFTER_ITEMS:
            return
        if selected and not (first and token.token_type == TokenType.DISTINCT):
            yield token, depth
        first = not selected and depth == 0 and token.token_type == TokenType.SELECT
        selected |= first
        depth += token.token_type in _OPENING


def _text_of(sql: str, tokens: Sequence[Any]) -> str:
    """Return the text of tokens; a space stands for any whitespace or comment between two."""
    text, end = "", None
    for token in tokens:
        gap = "" if end is None or token.start == end else " "
        text += f"{gap}{sql[token.start : token.end + 1]}"
        end = token.end + 1
    return text


def number_of(node: exp.Expr | None) -> Fraction | None:
    """Return the number that a constant is, None if it is no number."""
    if isinstance(node, exp.Neg):
        inner = number_of(node.this.unnest())
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(Decimal(node.name))
    return None


def literal(value: Any) -> exp.Expression:
    """Return a value in DuckDB's SQL; floats have an exponent, or DuckDB would read decimals."""
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
