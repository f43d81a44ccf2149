"""SQL over people and their related rows, as the original tables had them, as SQL over one table.

Nothing links related rows to people but `USING (key)`, although no file has the key. The query that
is left counts people, or related rows with the columns of their people. A condition on the related
rows of a person (EXISTS, IN, or a count of them) becomes a column of truth values, a *mark*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.query.language.related_columns import ColumnsRead, refusal_of_tables
from sfumato.tasks.query.language.sources import named_queries
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.facts import people_alone
from sfumato.tasks.query.question.question import MARK, TABLE, Counted, PersonHas, RelatedScope
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.schema.published import DeclaredColumn, DerivedColumn
from sfumato.tasks.sql.parse import number_of, quote_name
from sfumato.tasks.sql.refusals import refusal
from sfumato.tasks.terms.terms import Terms

_COUNTING = frozenset({"expressions", "from_", "where", "group", "having"})
_PLAIN = frozenset({"expressions", "from_", "where"})
_JOIN = frozenset({"this", "on", "using", "kind"})


@dataclass(frozen=True)
class _CountOfRows:
    """A query that counts the related rows of each person: the name of the count, and its rows."""

    count: str | None
    has: PersonHas


@dataclass(frozen=True)
class OneTable:
    """A query over one table, and the rows that it counts."""

    select: exp.Select
    scope: RelatedScope
    terms: Terms


def as_one_table(select: exp.Select, declared: Terms) -> OneTable:
    """Return a query over two related tables as one over the rows that it counts.

    Raises:
        QueryError: naming what is not allowed, with the shapes that are.
    """
    return _TablesReader(select, declared).read()


@dataclass
class _TablesReader:
    """Reads one query over two related tables."""

    select: exp.Select
    declared: Terms
    _marks: dict[str, PersonHas] = field(default_factory=dict)
    _called: dict[str, str] = field(default_factory=dict)

    @property
    def form(self) -> ApartParameters:
        """The form of the release, which names the tables."""
        form = self.declared.form
        if not isinstance(form, ApartParameters):
            raise TypeError(form.method)
        return form

    def read(self) -> OneTable:
        """Return the query over one table."""
        select = self.select.copy()
        self._gather_links(select)
        counting = {n: self._count(q) for n, q in named_queries(select).items()}
        names = [self._table(node, counting) for node in self._tables(select)]
        counted = self._rows_counted(names, counting)
        where = self._where(select, [counting[name] for name in names if name in counting])
        if counted == "rows" and self._marks:
            raise self._refusal(
                "rows of people who are chosen by their other rows (EXISTS, IN) have no bounds"
            )
        select.set("from_", exp.From(this=exp.to_table(TABLE)))
        for key in ("joins", "with_"):
            select.set(key, None)
        select.set("where", None if where is None else exp.Where(this=where))
        self._name_columns(select, counted, {n: query.count for n, query in counting.items()})
        alone = counted == "people" and not self._marks and bool(facts_of(self.declared))
        scope = RelatedScope(counted, self.form.key, dict(self._marks), alone)
        return OneTable(
            select, scope, people_alone(self.declared) if alone else self._terms(counted)
        )

    def _refusal(self, why: str) -> QueryError:
        return refusal_of_tables(self.form, why)

    def _gather_links(self, select: exp.Select) -> None:
        """Leave the comparison of keys in each ON alone, and everything else in WHERE."""
        where = select.args.get("where")
        conditions = [] if where is None else conjuncts(where.this)
        called = _called_tables(select)
        for join in select.args.get("joins") or ():
            on = join.args.get("on")
            if on is not None and len(parts := conjuncts(on)) > 1 and not join.side:
                links = [part for part in parts if self._compares_keys(part, called)][:1]
                conditions += [part for part in parts if part not in links]
                join.set("on", links[0] if links else None)
            elif on is None and not join.args.get("using"):
                links = [part for part in conditions if self._compares_keys(part, called)][:1]
                conditions = [part for part in conditions if part not in links]
                join.set("on", links[0] if links else None)
        rest = [exp.paren(part.copy()) for part in conditions]
        select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)

    def _tables(self, select: exp.Select) -> list[exp.Table]:
        """Return the tables that a query reads, joined by the key.

        Raises:
            QueryError: where it reads anything else, or joins otherwise.
        """
        from_ = select.args.get("from_")
        joins = select.args.get("joins") or []
        nodes = [None if from_ is None else from_.this, *(join.this for join in joins)]
        tables = [node for node in nodes if isinstance(node, exp.Table) and not node.args.get("db")]
        if len(tables) < len(nodes) or len(tables) > 2:
            raise self._refusal("not allowed: this FROM")
        for join in joins:
            self._require_joined_by_key(join, _called_tables(select))
        return tables

    def _require_joined_by_key(self, join: exp.Join, called: Sequence[str]) -> None:
        if join.side or join.kind.upper() not in ("", "INNER"):
            raise self._refusal(
                f"not allowed: {join.side or join.kind} JOIN. People without rows: NOT EXISTS"
            )
        if join.args.get("method"):
            form = self.form
            raise QueryError(
                f"not allowed: {join.method} JOIN, which compares all columns of one name. Write "
                f"{form.people} JOIN {form.related} USING ({form.key})"
            )
        for key, value in join.args.items():
            if value and key not in _JOIN:
                raise refusal(key, " in a join")
        using, on = join.args.get("using"), join.args.get("on")
        named = [identifier.name for identifier in using or ()]
        by_using = bool(named) and all(map(self._is_key, named))
        if not by_using and (on is None or not self._compares_keys(on, called)):
            raise self._refusal(f"tables are only joined by their key, {self.form.key}")

    def _compares_keys(self, part: exp.Expr, called: Sequence[str]) -> bool:
        """Decide whether a condition is that the keys of two tables are equal."""
        tables = self._tables_of_keys(part)
        return tables is not None and len({*tables}) == len(tables) and {*tables} <= {*called}

    def _tables_of_keys(self, part: exp.Expr) -> tuple[str, str] | None:
        """Return the names of tables, perhaps empty, of the two keys that a condition compares."""
        bare = part.unnest()
        sides = (bare.this, bare.expression) if isinstance(bare, exp.EQ) else ()
        if not sides or not all(isinstance(s, exp.Column) and self._is_key(s.name) for s in sides):
            return None
        return sides[0].table.casefold(), sides[1].table.casefold()

    def _is_key(self, name: str) -> bool:
        return name.casefold() == self.form.key.casefold()

    def _table(self, node: exp.Table, counting: Mapping[str, _CountOfRows]) -> str:
        """Return the table, or the query that counts rows, that a node names; note its alias."""
        choices = (self.form.people, self.form.related, *counting)
        name = next((c for c in choices if c.casefold() == node.name.casefold()), None)
        if name is None:
            raise self._refusal(f"unknown table {quote_name(node.name)}")
        self._called[(node.alias or node.name).casefold()] = name
        return name

    def _rows_counted(self, names: Sequence[str], counting: Mapping[str, _CountOfRows]) -> Counted:
        """Return the rows that a query over some tables counts.

        Raises:
            QueryError: where a table is joined with itself, or with a count of its own rows.
        """
        if len(set(names)) < len(names) or (self.form.related in names and {*names} & {*counting}):
            raise self._refusal("not allowed: a join of related rows with each other")
        if len([name for name in names if name in counting]) > 1:
            raise self._refusal("not allowed: several counts of related rows at once")
        return "rows" if self.form.related in names else "people"

    def _count(self, query: exp.Expr) -> _CountOfRows:
        """Return the count of each person's related rows that a query makes.

        Raises:
            QueryError: where it is any other query.
        """
        if not isinstance(query, exp.Select):
            raise refusal(query, " in WITH")
        has = self._rows_of_person(query, _COUNTING)
        counts = [item for item in query.expressions if item.unalias().find(exp.Count)]
        others = [item for item in query.expressions if item not in counts]
        keys = all(isinstance(o.unalias(), exp.Column) and self._is_key(o.name) for o in others)
        grouped = query.args.get("group")
        by_key = grouped is not None and [self._is_key(g.name) for g in grouped.expressions] == [
            True
        ]
        if not keys or len(counts) > 1 or not by_key:
            raise self._refusal("not allowed: this query in WITH")
        if counts and not _counts_rows(counts[0].unalias()):
            raise self._refusal("not allowed: this query in WITH, which may only COUNT(*)")
        return _CountOfRows(counts[0].alias_or_name if counts else None, has)

    def _rows_of_person(self, query: exp.Select, allowed: frozenset[str]) -> PersonHas:
        """Return the condition that a query of related rows finds some of a person's.

        Raises:
            QueryError: where it reads anything else.
        """
        for key, value in query.args.items():
            if value and key not in allowed:
                raise refusal(key, " in a query of related rows")
        from_ = query.args.get("from_")
        table = None if from_ is None else from_.this
        if not isinstance(table, exp.Table) or table.name.casefold() != self.form.related:
            raise self._refusal("not allowed: this subquery")
        where = query.args.get("where")
        conditions = [] if where is None else conjuncts(where.this)
        called = (table.alias or table.name).casefold()
        rest = [part for part in conditions if not self._links_person(part, called)]
        for part in rest:
            self._require_related(part, called)
        condition = exp.and_(*(_bare(part) for part in rest)) if rest else None
        having = query.args.get("having")
        times = 1 if having is None else self._least(having.this)
        return PersonHas(condition, times)

    def _links_person(self, part: exp.Expr, inner: str) -> bool:
        """Decide whether a condition is that a row of an inner query belongs to the person."""
        outer = {*self._called} - {inner}
        tables = self._tables_of_keys(part) or ("", "")
        pairs = tables, tables[::-1]
        return any(first in ("", inner) and second in outer for first, second in pairs)

    def _require_related(self, part: exp.Expr, called: str) -> None:
        for column in part.find_all(exp.Column):
            if column.table.casefold() not in ("", called):
                raise self._refusal(
                    "a condition on related rows compares them with constants, not with people"
                )
            if column.name.casefold() not in {c.casefold() for c in self.form.columns}:
                raise QueryError(
                    f"unknown column {quote_name(column.name)} of {self.form.related}. It has "
                    f"{', '.join(self.form.columns)}"
                )

    def _least(self, having: exp.Expr) -> int:
        """Return the least number of rows in HAVING COUNT(*) >= r."""
        bare = having.unnest()
        if isinstance(bare, exp.GTE | exp.GT) and _counts_rows(bare.this):
            number = number_of(bare.expression)
            if number is not None and number.denominator == 1:
                return max(int(number) + isinstance(bare, exp.GT), 1)
        raise self._refusal("HAVING of related rows needs COUNT(*) >= a whole number")

    def _mark(self, has: PersonHas) -> exp.Column:
        """Return the column that stands for a condition on a person's related rows."""
        name = next((n for n, other in self._marks.items() if other == has), None)
        if name is None:
            name = f"{MARK}{len(self._marks)}"
            self._marks[name] = has
        return exp.column(name, quoted=True)

    def _where(self, select: exp.Select, counts: Sequence[_CountOfRows]) -> exp.Expr | None:
        """Return the condition with marks in place of conditions on a person's rows."""
        where = select.args.get("where")
        root = exp.Paren(this=exp.true() if where is None else where.this.copy())
        for count in counts:
            self._compare_counts(root, count)
        self._replace_subqueries(root)
        _name_by_text(select)
        for node in (*select.expressions, select.args.get("having"), select.args.get("order")):
            if node is not None:
                self._replace_subqueries(node)
        condition = None if where is None else root.this
        joined = [self._mark(count.has) for count in counts]
        parts = [part for part in (condition, *joined) if part is not None]
        return exp.and_(*parts) if parts else None

    def _replace_subqueries(self, root: exp.Expr) -> None:
        """Put marks in place of EXISTS and IN, below a node."""
        for node in list(root.find_all(exp.Exists, exp.In)):
            query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
            if query is None:  # IN with a list
                continue
            query = query.unnest()
            if not isinstance(query, exp.Select):
                raise refusal(query)
            if isinstance(node, exp.Exists):
                self._require_linked(query)
            else:
                self._require_keys(node.this, query)
            allowed = _PLAIN if isinstance(node, exp.Exists) else _COUNTING
            node.replace(self._mark(self._rows_of_person(query, allowed)))
        if root.find(exp.Subquery, exp.Select) is not None:
            raise self._refusal("not allowed: this subquery")

    def _require_linked(self, query: exp.Select) -> None:
        """Refuse an EXISTS that finds a row whoever the person is."""
        where = query.args.get("where")
        parts = conjuncts(where.this) if where else []
        linked = any(self._links_person(p, name) for p in parts for name in _called_tables(query))
        if not linked or any(item.find(exp.AggFunc) for item in query.expressions):
            raise self._refusal("EXISTS needs the condition that the rows belong to the person")

    def _require_keys(self, before: exp.Expr, query: exp.Select) -> None:
        """Refuse an IN that compares anything but keys, or that groups rows by anything else."""
        if not isinstance(before, exp.Column) or not self._is_key(before.name):
            raise self._refusal(f"IN with a query needs {self.form.key} before it")
        group, having = query.args.get("group"), query.args.get("having")
        keys = [*query.expressions, *(group.expressions if group else ())]
        are_keys = all(isinstance(k, exp.Column) and self._is_key(k.name) for k in keys)
        if not are_keys or len(keys) != 1 + bool(group) or (having and not group):
            raise self._refusal(
                f"IN needs a query that selects {self.form.key}, and groups rows by it"
            )

    def _compare_counts(self, root: exp.Expr, count: _CountOfRows) -> None:
        """Put marks in place of comparisons of a count of rows with whole numbers."""
        _spell_out(root, count.count)
        for column in list(root.find_all(exp.Column)):
            if not self._is_count(column, count):
                continue
            comparison = column.parent
            number = (
                number_of(comparison.expression) if isinstance(comparison, exp.Binary) else None
            )
            is_whole = number is not None and number.denominator == 1
            if (
                comparison is None
                or comparison.this is not column
                or number is None
                or not is_whole
            ):
                raise self._refusal(f"{count.count} may only be compared with a whole number")
            comparison.replace(exp.paren(self._as_marks(comparison, int(number), count.has)))

    def _is_count(self, column: exp.Column, count: _CountOfRows) -> bool:
        """Decide whether a column is a count of rows, and not a person's column of its name.

        Raises:
            QueryError: where it could be both.
        """
        if count.count is None or column.name.casefold() != count.count.casefold():
            return False
        alike = column.name.casefold() in {name.casefold() for name in self.declared.columns}
        if alike and not column.table:
            raise self._refusal(f"{count.count} is also a column of the release: rename it")
        return self._called.get(column.table.casefold()) != self.form.people

    def _as_marks(self, comparison: exp.Expr, number: int, has: PersonHas) -> exp.Expr:
        """Return a comparison of a count with a whole number, as conditions of at least so many."""

        def at_least(times: int) -> exp.Expr:
            least = max(times, has.times)
            return self._mark(PersonHas(has.condition, least))

        def fewer(times: int) -> exp.Expr:
            return exp.Not(this=at_least(times)) if times > has.times else exp.false()

        match comparison:
            case exp.GTE():
                return at_least(number)
            case exp.GT():
                return at_least(number + 1)
            case exp.LT():
                return fewer(number)
            case exp.LTE():
                return fewer(number + 1)
            case exp.EQ():
                return exp.and_(at_least(number), fewer(number + 1))
        raise self._refusal("a count of related rows is compared by =, <, <=, > or >=")

    def _name_columns(
        self, select: exp.Select, counted: Counted, counts: Mapping[str, str | None]
    ) -> None:
        """Take the names of tables from columns; the key may only be counted.

        Raises:
            QueryError: where a column is of no table of the query, or the key is used otherwise.
        """
        labels = {item.alias.casefold() for item in select.expressions if item.alias}
        names = ColumnsRead(self.form, self.declared, self._called, counts)
        for column in list(select.find_all(exp.Column)):
            names.require_table(column)
            named_otherwise = column.name.casefold() in labels and not column.table
            if not named_otherwise and column.name not in self._marks:
                names.require_read(column)
            column.set("table", None)
            if self._is_key(column.name):
                self._count_key(column, counted)

    def _count_key(self, column: exp.Column, counted: Counted) -> None:
        """Turn a count of the key into a count of people or rows."""
        parent = column.parent
        distinct = isinstance(parent, exp.Distinct)
        call = parent.parent if distinct and parent is not None else parent
        if not isinstance(call, exp.Count):
            if column.find_ancestor(exp.Case, exp.If) and column.find_ancestor(exp.Count):
                raise QueryError(
                    f"{quote_name(self.form.key)} is counted as it is. Write the condition of CASE "
                    f"as a filter: COUNT(DISTINCT {self.form.key}) FILTER (WHERE …)"
                )
            raise QueryError(
                f"column {quote_name(self.form.key)} is in no published table. Count people by "
                f"COUNT(DISTINCT {self.form.key})"
            )
        if counted == "rows" and distinct:
            column.replace(exp.column(self.form.key, quoted=True))
        else:
            call.set("this", exp.Star())

    def _terms(self, counted: Counted) -> Terms:
        """Return the terms with the columns that the query may name."""
        related = set(self.form.columns)
        columns: dict[str, DeclaredColumn] = {
            name: column
            for name, column in self.declared.columns.items()
            if counted == "rows" or name not in related
        }
        first = self.form.columns[0]
        added = {
            name: DerivedColumn(role="sensitive", type="boolean", of=(first,))
            for name in self._marks
        }
        if counted == "rows":
            added[self.form.key] = DerivedColumn(role="sensitive", type="string", of=(first,))
        return self.declared.model_copy(update={"columns": {**columns, **added}})


def _called_tables(select: exp.Select) -> list[str]:
    """Return the names by which the conditions of a query call its tables."""
    from_, joins = select.args.get("from_"), select.args.get("joins") or ()
    nodes = [*([] if from_ is None else [from_.this]), *(join.this for join in joins)]
    return [node.alias_or_name.casefold() for node in nodes]


def _name_by_text(select: exp.Select) -> None:
    """Name selected columns with subqueries by their text, which marks are about to replace."""
    for node in list(select.expressions):
        if not isinstance(node, exp.Alias) and node.find(exp.Select) is not None:
            node.replace(exp.alias_(node.copy(), node.sql("duckdb"), quoted=True))


def _spell_out(root: exp.Expr, name: str | None) -> None:
    """Write BETWEEN and IN about a column as comparisons."""
    for node in list(root.find_all(exp.Between, exp.In)):
        column = node.this
        if name is None or column.name.casefold() != name.casefold():
            continue
        if isinstance(node, exp.Between):
            low, high = node.args["low"], node.args["high"]
            ends = (
                exp.GTE(this=column, expression=low),
                exp.LTE(this=column.copy(), expression=high),
            )
            node.replace(exp.paren(exp.and_(*ends)))
        elif node.expressions:
            each = [exp.EQ(this=column.copy(), expression=value) for value in node.expressions]
            node.replace(exp.paren(exp.or_(*each)))


def _counts_rows(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star | exp.Literal)


def _bare(part: exp.Expr) -> exp.Expr:
    """Return a condition without the names of tables before its columns."""
    bare = part.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return bare
