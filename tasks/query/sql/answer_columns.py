"""The bounds of a question as it asks for them, and as its HAVING clause wants them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.having import Comparison, Having, Joined, Reading
from sfumato.tasks.query.question.question import GroupColumn, Question, sides
from sfumato.tasks.query.sql.bounds_query import bounds_query
from sfumato.tasks.query.sql.conditions.trees import alias, select

_COMPARISONS: Mapping[str, type[exp.Expr]] = {
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def of_help_tables(
    question: Question, rows: str, shown_as: Sequence[str], reading: Reading
) -> exp.Select:
    """The query for bounds that help tables hold, where no condition is on sensitive values."""
    if question.having is None:
        return bounds_query(question, rows)
    inner = bounds_query(question.with_aggregates(_numbered(question)), rows)
    keys = enumerate(inner.expressions[: len(question.group_by)])
    numbered = [exp.alias_(key.unalias(), f"k{n}") for n, key in keys]
    renamed = inner.select(*numbered, *inner.expressions[len(numbered) :], append=False)
    return AnswerColumns(question, renamed, sides("{}"), tuple(shown_as)).read(reading)


def _numbered(question: Question) -> list[Aggregate]:
    return [replace(a, label=str(number)) for number, a in enumerate(question.aggregates)]


@dataclass(frozen=True)
class AnswerColumns:
    """A query for the bounds of a question, with group columns k0, k1, ….

    `names` are those of its columns for aggregate number {}, parallel to `shown_as`, the ends of
    the names that are shown. Its column `least` says how many rows are meant at least, where that
    may be none though there is a row of the answer.
    """

    question: Question
    tree: exp.Select
    names: tuple[str, ...]
    shown_as: tuple[str, ...]
    least: str | None = None

    def read(self, reading: Reading) -> exp.Select:
        """The columns as they were asked for, rows as HAVING wants them."""
        question, columns = self.question, []
        for item in question.shown:
            if isinstance(item, GroupColumn):
                key = exp.column(f"k{question.group_by.index(item.name)}")
                columns.append(alias(key, item.label, quoted=True))
            else:
                ends = zip(self._columns(item), self.shown_as, strict=True)
                columns += [
                    alias(column, f"{item.label}_{end}", quoted=True) for column, end in ends
                ]
        kept = self._kept(question.having, reading)
        return select(columns, self.tree.subquery("answer", copy=False), where=[kept])

    def _columns(self, aggregate: Aggregate) -> list[exp.Column]:
        number = self.question.aggregates.index(aggregate)
        names = (name.format(number) for name in self.names)
        return [exp.column(exp.to_identifier(name, quoted=name[0].isdigit())) for name in names]

    def _kept(self, having: Having | None, reading: Reading) -> exp.Expr | None:
        """The condition on returned rows: a group that is wanted for certain surely has rows."""
        wanted = None if having is None else self._wanted(having, reading)
        return self._and_some(wanted) if reading == "certain" and self.question.group_by else wanted

    def _and_some(self, wanted: exp.Expr | None) -> exp.Expr | None:
        """A condition, and that some row is surely meant."""
        if self.least is None:
            return wanted
        some = exp.GT(this=exp.column(self.least), expression=exp.Literal.number(0))
        return some if wanted is None else exp.and_(wanted, some)

    def _wanted(self, having: Having, reading: Reading) -> exp.Expr:
        """A condition on bounds, see `tasks.query.question.having`."""
        if isinstance(having, Joined):
            parts = [exp.paren(self._wanted(part, reading)) for part in having.parts]
            return exp.and_(*parts) if having.kind == "and" else exp.or_(*parts)
        wanted = self._compared(having, reading)
        null = not self.question.group_by and not having.aggregate.kind.counts_rows
        some = self._and_some(wanted) if reading == "certain" and null else None
        return some or wanted

    def _compared(self, having: Comparison, reading: Reading) -> exp.Expr:
        low, high = self._columns(having.aggregate)[:2]
        constant = having.literal
        if having.operator in ("=", "<>"):
            inside = exp.and_(
                exp.LTE(this=low, expression=constant.copy()),
                exp.GTE(this=high, expression=constant.copy()),
            )
            alone = exp.and_(
                exp.EQ(this=low.copy(), expression=constant.copy()),
                exp.EQ(this=high.copy(), expression=constant.copy()),
            )
            equal = having.operator == "="
            wanted = inside if equal == (reading == "possible") else alone
            return wanted if equal else exp.not_(wanted)
        end = (low, high)[(having.operator[0] == ">") == (reading == "possible")]
        return _COMPARISONS[having.operator](this=end, expression=constant.copy())
