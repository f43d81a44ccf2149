"""Refusals of constructs: their names, why they are not answered, and what to write instead.

What is allowed is decided by the modules that read queries, not here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import ErrorLevel, exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.sql.parse import quote_name

_CALL = re.compile(r"[A-Z_][A-Z0-9_]*(?=\()")


def construct(node: exp.Expr) -> str:
    """Return SQL's name of a node that is not allowed, without texts and numbers of the query."""
    if isinstance(node, exp.Anonymous):
        return f"an unknown function, {quote_name(str(node.name))}"
    if isinstance(node, exp.Func):
        return f"the function {function_name(node)}"
    return type(node).__name__.upper()


def function_name(node: exp.Func) -> str:
    """Return the name by which DuckDB calls a function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    match = _CALL.match(_in_duckdb(node))
    return match[0] if match else str(node.sql_name())


def _in_duckdb(node: exp.Expr) -> str:
    bare = node.copy()
    for argument in list(bare.iter_expressions()):
        if argument.find(exp.Query) is not None or argument.find(exp.Func) is not None:
            argument.replace(exp.Null())  # the name is enough
    return str(bare.sql("duckdb", unsupported_level=ErrorLevel.IGNORE)).upper()


@dataclass(frozen=True)
class Refusal:
    """Explanation of a construct that is not answered.

    Attributes:
        why: the reason why it is not answered, as a clause after "because".
        instead: what to write instead, as a sentence.
        called: its name, if its class in the tree has another one.
    """

    why: str
    instead: str
    called: str | None = None


_ROWS = Refusal("the release does not show which row has which value", "Use MIN, MAX or GROUP BY")


_LISTS = Refusal(
    "the values of single rows are not published", "Use GROUP BY of the column, with COUNT(*)"
)


_PAIRS = Refusal(
    "the release does not show who has which value", "Compare AVG by groups of the other column"
)


_SHAPES = Refusal("its bounds are not known", "Use STDDEV, VARIANCE or quantiles")


_TRUTHS = Refusal("it has no bounds", "Compare COUNT_IF(condition) with 0, or with COUNT(*)")


_GROUPINGS = Refusal(
    "it asks for several groupings at once", "Ask each GROUP BY in a query of its own"
)


_NESTED = Refusal(
    "a query asks about the microdata once",
    "Ask first, then write the answer as a constant. (SELECT COUNT(*) FROM microdata) is allowed",
)


_TOGETHER = Refusal(
    "it is open whether rows of both queries are alike",
    "Ask each query separately (--file takes several)",
)


_WINDOWS = Refusal(
    "its bounds are not known",
    "Of groups, RANK, ROW_NUMBER and SUM are answered with ORDER BY, and totals such as "
    "SUM(x) / SUM(SUM(x)) OVER ()",
)


_MOMENTS = Refusal(
    "dates and times can only be compared with constants",
    "Write the DATE or TIMESTAMP that results",
)


_TEXTS = Refusal(
    "conversions between texts and dates are not supported", "Use YEAR, MONTH, DAY or DATE_TRUNC"
)


_PATTERNS = Refusal("regular expressions are not supported", "Use LIKE or ILIKE")


_NOW = Refusal("an answer must be the same each time", "Write the constant")


_LISTED = Refusal(
    "a value must be one number, text, date, time or truth value", "Name the columns one by one"
)


_SAMPLES = Refusal("a query is always about the whole release", "Leave rows out with WHERE")


_OTHERS = Refusal("a query reads the microdata and writes nothing", "Save the answer yourself")


REFUSED: Mapping[type[exp.Expr] | str, Refusal] = {
    exp.Window: Refusal(_WINDOWS.why, _WINDOWS.instead, "a WINDOW function"),
    exp.Column: Refusal("each row has its own value", "Group by it, or aggregate it", "a column"),
    exp.Literal: Refusal(
        "it does not depend on the microdata",
        "Select columns of GROUP BY, and aggregates",
        "a constant (LITERAL)",
    ),
    exp.Order: Refusal("the order of rows is not published", "Leave it out", "ORDER BY"),
    "order": Refusal("the order of rows is not published", "Leave it out", "ORDER BY"),
    exp.IgnoreNulls: Refusal("aggregates always leave nulls out", "Leave it out", "IGNORE NULLS"),
    exp.RespectNulls: Refusal("aggregates always leave nulls out", "Leave it out", "RESPECT NULLS"),
    "query": Refusal(_NESTED.why, _NESTED.instead, "a SUBQUERY"),
    "symmetric": Refusal("BETWEEN needs its ends in order", "Write the smaller one first"),
    "windows": Refusal(_WINDOWS.why, _WINDOWS.instead, "WINDOW"),
    "qualify": Refusal("it compares window functions, which have no bounds", "Use HAVING"),
    exp.Subquery: Refusal(_NESTED.why, _NESTED.instead, "a SUBQUERY among values"),
    **dict.fromkeys((exp.Exists, exp.Any, exp.All), _NESTED),
    exp.Union: Refusal(_TOGETHER.why, "Write UNION ALL, which keeps all rows", "UNION"),
    **dict.fromkeys((exp.Intersect, exp.Except), _TOGETHER),
    **dict.fromkeys((exp.Rollup, exp.Cube), _GROUPINGS),
    exp.GroupingSets: Refusal(_GROUPINGS.why, _GROUPINGS.instead, "GROUPING SETS"),
    exp.Grouping: Refusal(
        "it distinguishes groupings", "Use UNION ALL, with a constant in each query"
    ),
    "pivots": Refusal("it turns values into columns", "Use GROUP BY or FILTER", "PIVOT"),
    exp.Pivot: Refusal("it turns values into columns", "Use GROUP BY or FILTER"),
    **dict.fromkeys(
        (exp.Describe, exp.Summarize),
        Refusal(
            "the codebook is on the release's page", "Ask for MIN, MAX, AVG, COUNT(DISTINCT …)"
        ),
    ),
    exp.Values: Refusal("a query is about the microdata", "Use --table for a table of your own"),
    "sample": _SAMPLES,
    "into": _OTHERS,
    "db": Refusal("the microdata has no schema", "Write its name only", "a schema (DB)"),
    "recursive": Refusal("a query reads the microdata once", "Leave RECURSIVE out"),
    "except_": Refusal("it selects columns without naming them", "Name the columns", "EXCEPT"),
    "replace": Refusal(
        "it replaces columns by calculations", "Name the columns, and calculate them"
    ),
    "locks": Refusal(_OTHERS.why, "Leave it out", "FOR UPDATE"),
    **dict.fromkeys((exp.First, exp.Last, exp.ArgMax, exp.ArgMin, "ARBITRARY"), _ROWS),
    exp.AnyValue: _ROWS,
    **dict.fromkeys((exp.ArrayAgg, exp.Mode, exp.ApproxTopK, "HISTOGRAM", "ENTROPY"), _LISTS),
    exp.GroupConcat: Refusal(_LISTS.why, _LISTS.instead, "the function STRING_AGG"),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope), _PAIRS),
    **dict.fromkeys((exp.RegrIntercept, exp.RegrR2, exp.RegrCount), _PAIRS),
    **dict.fromkeys((exp.Kurtosis, exp.Skewness, "MAD", "SEM"), _SHAPES),
    **dict.fromkeys((exp.LogicalOr, exp.LogicalAnd), _TRUTHS),
    "PRODUCT": Refusal("its bounds are not known", "Use SUM, or AVG of LN(column)"),
    exp.ApproxDistinct: Refusal(
        "the number of different values in a selection has no bounds",
        "Use COUNT(DISTINCT column) of a column published as it is",
    ),
    exp.ApproxQuantile: Refusal("bounds are computed for exact answers only", "Use QUANTILE_CONT"),
    exp.Interval: _MOMENTS,
    **dict.fromkeys((exp.DateAdd, exp.DateSub, exp.DateDiff, "AGE"), _MOMENTS),
    **dict.fromkeys((exp.TimeToStr, exp.StrToTime, exp.StrToDate), _TEXTS),
    **dict.fromkeys((exp.Dayname, exp.Monthname), _TEXTS),
    "DATE_PART": Refusal(
        "the name of the part must be in the function", "Use EXTRACT(YEAR FROM d) or YEAR(d)"
    ),
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Glob), _PATTERNS),
    **dict.fromkeys((exp.Rand, exp.CurrentDate, exp.CurrentTimestamp, "NOW", "TODAY"), _NOW),
    exp.TryCast: Refusal(
        "values that cannot be converted would be left out without notice", "Use CAST"
    ),
    exp.Trunc: Refusal("it is not a supported function", "Use FLOOR or CEIL"),
    **dict.fromkeys((exp.Array, exp.Struct, exp.Bracket, exp.Tuple, exp.Explode), _LISTED),
    exp.Columns: _LISTED,
    exp.Placeholder: Refusal("a parameter has no value here", "Write the constant"),
}
"""Refusals by the class of a node, the clause of a SELECT, or the name of a function."""


_AGGREGATE = Refusal(
    "its bounds are not known",
    "Use COUNT, SUM, AVG, MIN, MAX, STDDEV, VARIANCE, MEDIAN or quantiles",
)


_FUNCTION = Refusal(
    "it is not a supported function",
    "The guide lists what a query may contain",
)


_ANYTHING = Refusal("queries do not support it", "The guide lists what a query may contain")


_OF_AGGREGATES = Refusal(
    "its bounds do not follow from those of the aggregates",
    "Ask for the aggregate, and calculate with both bounds",
)


def refusal(refused: exp.Expr | str, within: str = "") -> QueryError:
    """Return the error that refuses a construct.

    Args:
        refused: a node, or the key of a clause.
        within: its place, as ` in FROM`.
    """
    reason, called = _reason_and_name(refused)
    return _error(reason, called, within)


def refusal_of_aggregates(node: exp.Expr) -> QueryError:
    """Return the error for a calculation of aggregates, or for an unknown aggregate."""
    reason, called = _reason_and_name(node)
    if reason is _FUNCTION or reason is _ANYTHING:
        return _error(_OF_AGGREGATES, called, " of aggregates")
    return _error(reason, called, "")


def _error(reason: Refusal, called: str, within: str) -> QueryError:
    return QueryError(f"not allowed: {called}{within}, because {reason.why}. {reason.instead}")


def _reason_and_name(refused: exp.Expr | str) -> tuple[Refusal, str]:
    if isinstance(refused, str):
        reason = REFUSED.get(refused, _ANYTHING)
        return reason, reason.called or refused.strip("_").upper()
    if isinstance(refused, exp.IgnoreNulls | exp.RespectNulls) and _is_refused(refused.this):
        return _reason_and_name(refused.this)
    reason = REFUSED.get(type(refused)) or _by_name(refused)
    if isinstance(refused, exp.Anonymous) and reason is not _FUNCTION:
        return reason, f"the function {function_name(refused)}"
    return reason, reason.called or construct(refused)


def _is_refused(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) and type(node) in REFUSED


def _by_name(node: exp.Expr) -> Refusal:
    if isinstance(node, exp.AggFunc):
        return _AGGREGATE
    if not isinstance(node, exp.Func):
        return _ANYTHING
    return REFUSED.get(function_name(node), _FUNCTION)
