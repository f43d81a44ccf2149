"""The step from SQL to an inquiry: the questions of its clauses, and the use of their answers."""

from collections import Counter
from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.language.clauses import Clauses, OrderItem, SelectItem, order_items
from sfumato.tasks.query.language.measures import Measures
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question.calculations import (
    Calculations,
    extend_terms,
    require_calculation,
)
from sfumato.tasks.query.question.conditions import all_of, conjuncts
from sfumato.tasks.query.question.formulas import Formula
from sfumato.tasks.query.question.having import Having, on_groups, read_having
from sfumato.tasks.query.question.inquiry import (
    ConstantColumn,
    Inquiry,
    KeyColumn,
    Measure,
    OrderKey,
    RowWindow,
)
from sfumato.tasks.query.question.question import GroupColumn
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.sql.parse import number_of, quote_name
from sfumato.tasks.sql.refusals import construct, refusal
from sfumato.tasks.terms.terms import Terms

_MOST_KEYS = 20
_WINDOWS = {exp.Rank: "rank", exp.RowNumber: "row_number", exp.Sum: "sum"}
_WINDOW_CLAUSES = frozenset({"this", "over", "order", "partition_by"})


def read_one(clauses: Clauses, declared: Terms) -> Inquiry:
    """Return the inquiry of the clauses of a SELECT with one grouping.

    Raises:
        QueryError: naming what is not allowed, or the form that has no bounds.
    """
    return _InquiryReader(clauses, extend_terms(declared, clauses.joins)).inquiry()


class _InquiryReader:
    """Reads clauses into questions."""

    def __init__(self, clauses: Clauses, declared: Terms) -> None:
        self._clauses, self._declared = clauses, declared
        self._calculations = Calculations(declared)
        (self._group_by,) = clauses.groupings
        self._left_out = [key for key in clauses.group_by if key not in self._group_by]
        self._keys = tuple(map(self._key, self._group_by))
        self._having, on_rows = _split_having(clauses.having)
        self._require_grouped(on_rows)
        where = [clauses.where] if clauses.where is not None else []
        self._parts = PartList([*where, *on_rows], self._calculations)
        columns = {
            node: key.name
            for node, key in zip(self._group_by, self._keys, strict=True)
            if not key.banded
        }
        self._measures = Measures(self._parts, self._calculations, columns)

    def inquiry(self) -> Inquiry:
        """Return the whole inquiry."""
        if len(self._keys) > _MOST_KEYS:
            raise QueryError(f"GROUP BY may have at most {_MOST_KEYS} columns")
        items = tuple(self._output_column(item) for item in self._clauses.items)
        self._require_more_than_constants(items)
        _require_distinct(items, WAYS[self._declared.form.shows].sides)
        having = None if self._having is None else self._read_having(self._having)
        order = tuple(map(self._order_item, self._clauses.order))
        return Inquiry(
            items,
            self._keys,
            self._parts.all_parts(),
            self._measures.present,
            self._calculations.columns,
            having,
            order,
            self._clauses.limit,
            self._clauses.offset,
            self._clauses.joins,
        )

    def _require_more_than_constants(self, items: Sequence[object]) -> None:
        """Refuse a SELECT of only constants, which each row of the microdata would have."""
        if not self._keys and all(isinstance(item, ConstantColumn) for item in items):
            raise self._not_grouped(self._clauses.items[0].expression)

    def _key(self, node: exp.Expr) -> KeyColumn:
        if node.find(exp.AggFunc) is not None:
            raise QueryError("GROUP BY needs columns, not an aggregate")
        if not node.find(exp.Column):
            raise QueryError(f"GROUP BY needs columns, not {construct(node)}")
        name = self._calculations.column(node).name
        way = WAYS[self._declared.form.shows]
        apart = self._calculations.terms.columns[name].role == "sensitive"
        return KeyColumn(name, banded=apart and not way.groups_by_sensitive)

    def _require_grouped(self, conditions: Sequence[exp.Expr]) -> None:
        """Require that conditions of HAVING on rows are the same in all rows of a group."""
        for condition in conditions:
            for column in condition.find_all(exp.Column):
                above: exp.Expr | None = column
                while above is not None and above not in self._group_by:
                    above = above.parent
                if above is None:
                    self._require_not_left_out(column, "HAVING: ")
                    raise QueryError(
                        f"HAVING: column {quote_name(column.name)} must be in GROUP BY "
                        "or in an aggregate"
                    )

    def _require_not_left_out(self, column: exp.Column, where: str = "") -> None:
        """Refuse a column that one of several groupings leaves out, with a message of its own."""
        if column in self._left_out:
            raise QueryError(
                f"{where}column {quote_name(column.name)} is null in the rows of "
                "groupings that leave it out. Select it without a calculation, or ask "
                "each grouping in a query of its own (UNION ALL)"
            )

    def _place_of_key(self, node: exp.Expr) -> int | None:
        """Return the place of an expression in GROUP BY; None if it is not there."""
        bare = node.unnest()
        return next((n for n, key in enumerate(self._group_by) if key == bare), None)

    def _output_column(self, item: SelectItem) -> GroupColumn | Measure | ConstantColumn:
        node = item.expression
        left_out = node.unnest() in self._left_out
        if left_out or _is_constant(node):
            bare = node.unnest()
            own = bare.name if isinstance(bare, exp.Column) else node.sql("duckdb")
            return ConstantColumn(None if left_out else _value_of(bare), item.alias or own)
        place = self._place_of_key(node)
        if place is not None:
            bare = node.unnest()
            own = bare.name if isinstance(bare, exp.Column) else bare.sql("duckdb")
            return GroupColumn(self._keys[place].name, item.alias or own)
        window = self._window(node)
        if window is None and node.find(exp.AggFunc) is None:
            raise self._not_grouped(node)
        formula = self._measures.formula(node) if window is None else window
        return Measure(formula, item.alias or _label(node))

    def _window(self, node: exp.Expr) -> RowWindow | None:
        """Return the rank or running total that an expression is; None for other expressions."""
        bare = node.unnest()
        if not isinstance(bare, exp.Window) or not bare.args.get("order"):
            return None
        name = _WINDOWS.get(type(bare.this))
        clauses = {key for key, value in bare.args.items() if value}
        if name is None or not self._keys or not clauses <= _WINDOW_CLAUSES:
            raise refusal(bare)
        value = self._measures.formula(bare.this.this) if name == "sum" else None
        partition = [self._place_of_key(key) for key in bare.args.get("partition_by") or ()]
        order = tuple(self._order_item(item) for item in order_items(bare))
        if None in partition or (name == "sum" and any(not isinstance(k.by, int) for k in order)):
            raise QueryError(
                "PARTITION BY of a window, and ORDER BY of a running total, need columns of "
                "GROUP BY"
            )
        return RowWindow(name, value, tuple(p for p in partition if p is not None), order)

    def _not_grouped(self, node: exp.Expr) -> QueryError:
        require_calculation(node)
        column = node.find(exp.Column)
        if column is None:
            return refusal(node)
        self._require_not_left_out(column)
        name = quote_name(column.name)
        if column in self._group_by:
            return QueryError(
                f"column {name} is in GROUP BY, but not the calculation with it. "
                "Select the column without the calculation, or group by the calculation"
            )
        if self._declared.columns[column.name].role == "sensitive":
            return QueryError(
                f"column {name} is sensitive, so it must be in GROUP BY or in an aggregate"
            )
        return QueryError(
            f"column {name} is selected but not in GROUP BY. Add it to GROUP BY, or use an "
            "aggregate"
        )

    def _read_having(self, condition: exp.Expr) -> Having:
        self._require_no_windows(condition)
        having = read_having(condition, self._measures.formula)
        self._measures.require_comparable(having)
        return on_groups(having) if self._keys else having

    def _require_no_windows(self, condition: exp.Expr) -> None:
        """Refuse windows with HAVING, since the rows that it keeps may be uncertain."""
        selected = [item.expression for item in self._clauses.items]
        ordered = [key.expression for key in self._clauses.order]
        windows = [
            w for node in (condition, *selected, *ordered) for w in node.find_all(exp.Window)
        ]
        if windows:
            raise QueryError(
                "not allowed: a WINDOW function (OVER) together with HAVING, because it is not "
                "certain which rows HAVING keeps. Ask for it in a query of its own"
            )

    def _order_item(self, item: OrderItem) -> OrderKey:
        return OrderKey(self._order_key(item.expression), item.descending, item.nulls_first)

    def _order_key(self, node: exp.Expr) -> int | Formula | RowWindow:
        place = self._place_of_key(node)
        if place is not None:
            return place
        window = self._window(node)
        if window is not None:
            return window
        if node.find(exp.AggFunc) is None:
            raise QueryError("ORDER BY needs columns of GROUP BY, or aggregates")
        return self._measures.formula(node)


def _split_having(having: exp.Expr | None) -> tuple[exp.Expr | None, list[exp.Expr]]:
    """Return the part of HAVING that is about aggregates, and its conditions on rows."""
    if having is None:
        return None, []
    about: list[exp.Expr] = []
    on_rows: list[exp.Expr] = []
    for part in conjuncts(having):
        (on_rows if part.find(exp.AggFunc) is None else about).append(part)
    if any(not part.find(exp.Column) for part in on_rows):
        raise QueryError("HAVING must compare an aggregate with a constant")
    return all_of(about), on_rows


def _is_constant(node: exp.Expr) -> bool:
    bare = node.unnest()
    plain = isinstance(bare, exp.Literal | exp.Null | exp.Boolean)
    return plain or number_of(bare) is not None


def _value_of(bare: exp.Expr) -> str | int | float | bool | None:
    """Return the value of a constant."""
    if isinstance(bare, exp.Null):
        return None
    if isinstance(bare, exp.Boolean):
        return bool(bare.this)
    number = number_of(bare)
    if number is None:
        return str(bare.name)
    return int(number) if number.denominator == 1 else float(number)


def _label(node: exp.Expr) -> str:
    """Return the name of an expression without an alias: `sum(loss)`, or the expression itself."""
    bare = node.unnest()
    operand = bare.this
    kind = next((k for k in AGGREGATES.values() if isinstance(bare, k.parsed)), None)
    if kind is not None and isinstance(operand, exp.Star | exp.Column) and kind.of_share is None:
        return f"{kind.name}({'*' if isinstance(operand, exp.Star) else operand.name})"
    return node.sql("duckdb")


def _require_distinct(
    items: Sequence[GroupColumn | Measure | ConstantColumn], sides: Sequence[str]
) -> None:
    """Require distinct names of columns, in the answer and in a table with bounds as columns."""
    labels = [item.label for item in items]
    written: list[str] = []
    for item in items:
        is_plain = not isinstance(item, Measure)
        written += [item.label] if is_plain else [f"{item.label}_{side}" for side in sides]
    for names in (labels, written):
        counted = Counter(name.casefold() for name in names)
        for name in names:
            if counted[name.casefold()] > 1:
                raise QueryError(
                    f"two columns of the answer are called {quote_name(name)}. Give one "
                    "another name with AS"
                )
