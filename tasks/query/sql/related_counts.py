"""Bounds of questions about people and their related rows, as named parts of a query.

Of related rows, `hit_people` counts the people that a question hits in each group, and `hit_rows`
its related rows; `celled` joins both with the numbers of the group, and has the cell (a row of the
answer). Of people, `hit_n` counts the related rows of condition n. `ranged` has the ends of each
group in each cell, as `tasks.query.bounds.related` computes them, and `counted` their sums by cell.
Groups are independent, so that sums are attained.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS, ApartParameters
from sfumato.tasks.query.question.calculations import put_calculated
from sfumato.tasks.query.question.marks import condition_on_rows, conditions_of_marks
from sfumato.tasks.query.question.question import (
    Aggregate,
    PersonHas,
    Question,
    RelatedScope,
)
from sfumato.tasks.query.sql.facts import HIT_PEOPLE, FactConditions
from sfumato.tasks.query.sql.related_numbers import HIT_TOTALS, NumbersInSql, join_met
from sfumato.tasks.query.sql.related_values import RelatedValues
from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    CELLED,
    Part,
    alias,
    join,
    key_names,
    keys_of,
    own,
    published_column,
    same,
    select,
    total_of,
    tree,
    trees,
    with_parts,
)
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms

# of `hits` people of a group of m with s rows, where one person has `most` of them: the least and
# the greatest number of rows that the hit people have together; `fewest` people are hit at least
_TOTALS = (
    f"{PEOPLE} AS m",
    f"{ROWS} AS s",
    f"{MOST} AS most",
    f"CASE WHEN {ROWS} > ({PEOPLE} - {{fewest}}) * {MOST} "
    f"THEN {ROWS} - ({PEOPLE} - {{fewest}}) * {MOST} ELSE 0 END AS a",
    f"CASE WHEN hits * {MOST} < {ROWS} THEN hits * {MOST} ELSE {ROWS} END AS b",
)
_LEAST = "CASE WHEN a > s - c THEN a - (s - c) ELSE 0 END"
_GREATEST = "CASE WHEN c < b THEN c ELSE b END"
_ENDS = ("lo", "hi", "pl", "ph")
"""The least and the greatest number of rows, or of people, and those of people with rows."""


def form_of_terms(terms: Terms) -> ApartParameters:
    """Return the form of a release of two related tables.

    Raises:
        Fault: if the release has another form.
    """
    if not isinstance(terms.form, ApartParameters):
        raise Fault("only form apart has two related tables")
    return terms.form


def people_with(
    times: int, rows: str, fewest: str = "hits", hits: str = "hits"
) -> tuple[exp.Expr, exp.Expr]:
    """Return the least and the greatest number of hit people with at least so many hit rows.

    They are over the columns `m`, `s`, `most`, and those with the hit rows and people of the group;
    see `HitGroups.people_with`.

    Args:
        times: the number, at least 1.
        rows: the name of the column of hit rows.
        fewest: the name of the column with the number of hit people of the least number.
        hits: the same of the greatest number.
    """
    over, gain = f"{rows} - (m - {fewest}) * most", "most"
    if times > 1:  # hit people who are not counted have some rows, too
        fewer = f"CASE WHEN most < {times - 1} THEN most ELSE {times - 1} END"
        over, gain = f"{over} - {fewest} * ({fewer})", f"most - ({fewer})"
    gain = f"CASE WHEN {gain} > 1 THEN {gain} ELSE 1 END"
    surely = f"{fewest} = m AND most - (s - {rows}) >= {times}"
    least = (
        f"CASE WHEN {over} > 0 THEN ({over} - 1) // ({gain}) + 1 WHEN {surely} THEN 1 ELSE 0 END"
    )
    shares = f"{rows} // {times}" if times > 1 else rows
    spare = f"(s - most) // {times} + 1" if times > 1 else "s - most + 1"
    greatest = (
        f"CASE WHEN most < {times} THEN 0 WHEN {hits} <= {shares} AND {hits} <= {spare} "
        f"THEN {hits} WHEN {shares} <= {spare} THEN {shares} ELSE {spare} END"
    )
    return tree(least), tree(greatest)


@dataclass(frozen=True)
class _CountsQuery:
    """A question about two related tables, as common table expressions.

    Attributes:
        question: the question, without its conditions on facts.
        declared: the terms of the release.
        facts: its conditions on facts.
    """

    question: Question
    declared: Terms
    facts: FactConditions

    @property
    def form(self) -> ApartParameters:
        """The form, which names the tables."""
        return form_of_terms(self.declared)

    def keys_of_table(self, related: bool) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """Return the group columns of one table, and the same under the names of keys."""
        columns: list[exp.Expr] = []
        named: list[exp.Expr] = []
        for key, name in zip(key_names(self.question), self.question.group_by, strict=True):
            column = put_calculated(published_column(name), self.question.calculated)
            of_rows = any(part.name in self.form.columns for part in column.find_all(exp.Column))
            if of_rows == related and not self.facts.is_key(name):
                columns.append(column)
                named.append(alias(column.copy(), key))
        return columns, named

    def hit_people(self) -> list[Part]:
        """Return the parts that count the hit people of each group, by the keys of people."""
        return [(HIT_PEOPLE, self._count_people()), *self.facts.parts()]

    def _count_people(self) -> exp.Select:
        columns, named = self.keys_of_table(related=False)
        condition = self.question.condition
        if condition is not None:
            condition = put_calculated(condition, self.question.calculated)
        counted = [*named, own(GROUP_ID), tree("COUNT(*) AS hits")]
        grouped = [*columns, own(GROUP_ID)]
        return select(counted, self.form.people, where=[condition], group_by=grouped)

    @cached_property
    def numbers(self) -> NumbersInSql | None:
        """The numbers of rows that the release shows, or None."""
        return NumbersInSql.from_terms(self.declared)

    @property
    def source(self) -> str:
        """The part with the hit people of each group, and what is known of their rows."""
        if self.numbers is not None and self.numbers.kind == "shuffled":
            return HIT_TOTALS
        return self.facts.source

    def parts_of_people(self) -> list[Part]:
        """Return the parts up to `source`, by the keys of people."""
        if self.numbers is None:
            return self.hit_people()
        if self.numbers.kind == "published":
            columns, named = self.keys_of_table(related=False)
            return self.numbers.parts_of_hit(self._count_people(), columns, named)
        of_rows = {key.alias for key in self.keys_of_table(related=True)[1]}
        keys = [key for key in key_names(self.question) if key not in of_rows]
        shuffled = self.numbers.parts_of_some(self.facts.source, self.facts.fewest, keys)
        return [*self.hit_people(), *shuffled]

    def parts_of_conditions(self, conditions: Sequence[tuple[int, str]]) -> list[Part]:
        """Return the parts about conditions on people's rows, where numbers of rows are shown.

        Args:
            conditions: of each the number of rows, and the column with the hit rows of a group.
        """
        if self.numbers is None:
            return []
        keys = [key.alias for key in self.keys_of_table(related=False)[1]]
        return [
            self.numbers.part_of_condition(number, times, rows, keys)
            for number, (times, rows) in enumerate(conditions)
        ]

    def people_with(
        self, number: int, times: int, rows: str, of_same_people: bool = False
    ) -> tuple[exp.Expr, exp.Expr]:
        """Return the least and the greatest number of hit people who meet a condition.

        The least is of the fewest who may be hit, and the greatest of the most; `of_same_people`
        gives the greatest of the fewest, and the least of the most.
        """
        ends = (self.facts.fewest, "hits")
        fewest, most = ends[::-1] if of_same_people else ends
        if self.numbers is None:
            return people_with(times, rows, fewest, most)
        return self.numbers.ends(number, times, rows, fewest, most)

    def in_groups(self, columns: Sequence[exp.Expr], conditions: int) -> exp.Select:
        """Return the query of the groups in cells with further columns about conditions."""
        query = select([tree(f"{CELLED}.*"), *columns], CELLED)
        if self.numbers is not None:
            join_met(query, conditions)
        return query

    def parts_by_cell(self, columns: Sequence[exp.Expr], joined: exp.Select) -> list[Part]:
        """Return the parts with the numbers of each hit group, and its cell."""
        plain = (text.format(fewest=self.facts.fewest) for text in _TOTALS)
        totals = trees(*plain) if self.numbers is None else self.numbers.totals()
        people = [own(name) for name in dict.fromkeys(("hits", self.facts.fewest))]
        numbers = [own(GROUP_ID, "p"), *people, *columns, *totals]
        selected = joined.select(*keys_of(self.question), *numbers, copy=False)
        cell: exp.Expr = exp.Literal.number(1)
        if keys := keys_of(self.question):
            order = exp.Order(expressions=[exp.Ordered(this=key) for key in keys])
            cell = exp.Window(this=exp.DenseRank(), order=order, over="OVER")
        numbered = select([tree("selected.*"), alias(cell, "cell")], "selected")
        return [("selected", selected), (CELLED, numbered)]

    def sum_by_cell(self, names: Sequence[str]) -> exp.Select:
        """Return the query that adds up numbers of `ranged` by cell, 0 over no groups."""
        keys = keys_of(self.question)
        group_keys = [own("cell"), *keys_of(self.question)] if keys else []
        sums = trees(*(f"COALESCE(SUM({name}), 0) AS {name}" for name in names))
        cell = own("cell") if keys else tree("1 AS cell")
        return select([cell, *keys, *sums], "ranged", group_by=group_keys)

    def answer(self, ends: Sequence[tuple[exp.Expr, exp.Expr]]) -> exp.Select:
        """Return the query of the keys, of both ends of each aggregate, and of the least count."""
        names = key_names(self.question)
        columns: list[exp.Expr] = [alias(own(key, "counted"), key) for key in names]
        for number, (low, high) in enumerate(ends):
            columns += [alias(low, f"l{number}"), alias(high, f"u{number}")]
        some = tree("counted.hi > 0") if names else None
        return select([*columns, tree("counted.lo AS least")], "counted", where=[some])


class RelatedRowsQuery(_CountsQuery):
    """A question about related rows, of the people on whom its conditions hold."""

    def bounds(self) -> exp.Select:
        """Return the query for bounds: k0, …, then l0, u0, …, and the least number of rows."""
        columns = list(self._values)
        query = self.answer([self._sides(a) for a in self.question.aggregates])
        for number, _ in enumerate(columns):
            table = f"{BOUNDS_OF}{number}"
            join(query, table, same("cell", table, "counted"), "LEFT")
        conditions = [(1, "c")] if self._counts_people else []
        parts: list[Part] = [
            *self.parts_of_people(),
            ("hit_rows", self._hit_rows()),
            *self.parts_by_cell([own("c")], self._join_tables()),
            *self.parts_of_conditions(conditions),
            ("ranged", self.in_groups(list(self._ends()), len(conditions))),
            ("counted", self.sum_by_cell(self._end_names)),
        ]
        for values in self._values.values():
            parts += values.parts()
        return with_parts(parts, query)

    def _hit_rows(self) -> exp.Select:
        columns, named = self.keys_of_table(related=True)
        counted = [*named, own(GROUP_ID), tree("COUNT(*) AS c")]
        where, grouped = [condition_on_rows(self.question)], [*columns, own(GROUP_ID)]
        return select(counted, self.form.related, where=where, group_by=grouped)

    def _join_tables(self) -> exp.Select:
        """Return the query of the groups in which both people and rows are hit."""
        query = exp.select().from_(exp.table_(self.source, alias="p"))
        join(query, exp.table_("hit_rows", alias="r"), same(GROUP_ID, "r", "p"))
        join(query, exp.table_(GROUPS, alias="g"), same(GROUP_ID, "g", "p"))
        return query

    def _ends(self) -> Iterator[exp.Expr]:
        ends = (tree(_LEAST), tree(_GREATEST), *self.people_with(0, 1, "c"))
        for end, name in zip(ends, _ENDS, strict=True):
            if name in self._end_names:
                yield alias(end, name)

    @property
    def _end_names(self) -> Sequence[str]:
        """The ends that are needed: of rows, and of people if these are counted."""
        return _ENDS if self._counts_people else _ENDS[:2]

    @property
    def _counts_people(self) -> bool:
        return any(aggregate.distinct for aggregate in self.question.aggregates)

    @cached_property
    def _values(self) -> dict[str, RelatedValues]:
        """The aggregated columns, each with the parts of its bounds."""
        kinds: dict[str, set[str]] = {}
        for aggregate in self.question.aggregates:
            if not aggregate.kind.counts_rows:
                kinds.setdefault(str(aggregate.sensitive), set()).add(aggregate.kind.name)
        _, keys = self.keys_of_table(related=True)
        condition = condition_on_rows(self.question)
        table, columns, fewest = self.form.related, self.declared.columns, self.facts.fewest
        lack = self.numbers is not None
        return {
            name: RelatedValues(
                number,
                name,
                columns[name].scale or 0,
                table,
                keys,
                condition,
                of_column,
                fewest,
                lack,
            )
            for number, (name, of_column) in enumerate(kinds.items())
        }

    def _sides(self, aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
        """Return the columns with the bounds of an aggregate.

        Raises:
            QueryError: if it has no bounds.
        """
        if aggregate.distinct:
            return own("pl", "counted"), own("ph", "counted")
        if aggregate.kind.counts_rows:
            return own("lo", "counted"), own("hi", "counted")
        if aggregate.kind.name not in ("sum", "avg"):
            raise QueryError(
                f"{aggregate.kind.sql_name} of related rows has no bounds yet. Ask for COUNT, SUM "
                f"or AVG. A query of {self.form.related} and no other table needs no rewriting: "
                "run it in the database as it is"
            )
        table = f"{BOUNDS_OF}{list(self._values).index(str(aggregate.sensitive))}"
        return own(f"{aggregate.kind.name}_l", table), own(f"{aggregate.kind.name}_u", table)


@dataclass(frozen=True)
class PeopleQuery(_CountsQuery):
    """A question about people who are chosen by their related rows."""

    scope: RelatedScope

    def bounds(self) -> exp.Select:
        """Return the query for bounds: k0, …, then l0, u0, …, and the least number of people."""
        ends = [(own("lo", "counted"), own("hi", "counted")) for _ in self.question.aggregates]
        parts: list[Part] = [*self.parts_of_people(), *self._hit_rows()]
        columns = [tree(f"COALESCE({name}.c, 0) AS {name}_rows") for name, _ in self._hit_rows()]
        parts += self.parts_by_cell(columns, self._join_tables())
        parts += self.parts_of_conditions(
            [
                (has.times, f"hit_{number}_rows")
                for number, (has, _) in enumerate(self._conditions or ())
            ]
        )
        parts += [("ranged", self._range_parts()), ("counted", self.sum_by_cell(_ENDS[:2]))]
        return with_parts(parts, self.answer(ends))

    @cached_property
    def _conditions(self) -> list[tuple[PersonHas, bool]] | None:
        return conditions_of_marks(self.question, self.scope)

    def _hit_rows(self) -> list[Part]:
        """Return the parts that count each group's rows of each condition."""
        parts: list[Part] = []
        for number, (has, _) in enumerate(self._conditions or ()):
            columns = [own(GROUP_ID), tree("COUNT(*) AS c")]
            where, grouped = [has.condition], [own(GROUP_ID)]
            rows = select(columns, self.form.related, where=where, group_by=grouped)
            parts.append((f"hit_{number}", rows))
        return parts

    def _join_tables(self) -> exp.Select:
        query = exp.select().from_(exp.table_(self.source, alias="p"))
        join(query, exp.table_(GROUPS, alias="g"), same(GROUP_ID, "g", "p"))
        for name, _ in self._hit_rows():
            join(query, name, same(GROUP_ID, name, "p"), "LEFT")
        return query

    def _range_parts(self) -> exp.Select:
        """Return the query of the people of each group who can meet all conditions.

        Of several conditions at once, only the numbers of people who meet each are known.
        """
        conditions = self._conditions
        if conditions is None:
            return select([tree(f"{CELLED}.*"), *trees("0 AS lo", "0 AS hi")], CELLED)
        columns: list[exp.Expr] = []
        for number, (has, negated) in enumerate(conditions):
            ends = self._people_who(number, has, negated)
            columns += [alias(ends[0], f"least_{number}"), alias(ends[1], f"most_{number}")]
        each = self.in_groups(columns, len(conditions))
        met = _all_met(len(conditions), self.facts.fewest, self._people_between(conditions))
        return select([tree("met.*"), *met], each.subquery("met", copy=False))

    def _people_who(self, number: int, has: PersonHas, negated: bool) -> tuple[exp.Expr, exp.Expr]:
        """Return the least and the greatest number of hit people who meet one condition.

        If not all who may be hit are, the ends are those of the fewest and of the most hit people:
        one hit person more is at most one more who meets the condition, and one who does not.
        """
        rows = f"hit_{number}_rows"
        if not negated:
            return self.people_with(number, has.times, rows)
        least, greatest = self.people_with(number, has.times, rows, of_same_people=True)
        return (
            exp.Sub(this=own(self.facts.fewest), expression=exp.paren(greatest)),
            exp.Sub(this=own("hits"), expression=exp.paren(least)),
        )

    def _people_between(self, conditions: Sequence[tuple[PersonHas, bool]]) -> list[exp.Expr]:
        """Return the most people with at least so many rows of a kind, and fewer than others.

        The engine counts them where numbers of rows are published.
        """
        if self.numbers is None or self.numbers.kind != "published":
            return []
        return [
            tree(f"most_{first} + most_{second} - hits")
            for first, (has, negated) in enumerate(conditions)
            for second, (other, other_negated) in enumerate(conditions)
            if has.condition == other.condition and has.times < other.times
            if other_negated and not negated
        ]


def _all_met(conditions: int, fewest: str, between: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the least and the greatest number of people who meet so many conditions at once.

    Args:
        conditions: the number of conditions.
        fewest: the column with the least number of hit people.
        between: further numbers, none of which is exceeded.
    """
    if not conditions:
        return trees(f"{fewest} AS lo", "hits AS hi")
    least = total_of([own(f"least_{number}") for number in range(conditions)])
    spare = exp.Mul(this=exp.Literal.number(conditions - 1), expression=own(fewest))
    low = exp.paren(exp.Sub(this=exp.paren(least), expression=exp.paren(spare)))
    positive = exp.If(this=exp.GT(this=low, expression=exp.Literal.number(0)), true=low.copy())
    each: list[exp.Expr] = [own(f"most_{number}") for number in range(conditions)]
    first, *others = [*each, *between]
    high = exp.Least(this=first, expressions=others, ignore_nulls=True) if others else first
    lowest = exp.Case(ifs=[positive], default=exp.Literal.number(0))
    return [alias(lowest, "lo"), alias(high, "hi")]
