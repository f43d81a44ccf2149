"""The answers that a release's page shows before anybody asks: some questions by a fixed rule.

The rule needs the declaration and the published tables alone, so that whoever checks a release
asks the same. Bounds are exact; estimates are left out, since other software may round them in
another way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import ask_inquiry, open_tables
from sfumato.tasks.query.engines.engine import Files, Source
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.inquiries.answering import OpenTables
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.schema.files import regular
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.terms import Declared

_NUMBERS = ("integer", "decimal", "float")
_FEW = ("string", "boolean")
_MOST_ROWS = 24
_MOST_VALUES = 12
_TRIED = 3  # columns with few values


@dataclass(frozen=True)
class FirstQuestion:
    """A count, or the mean of a column, for each combination of some columns' values.

    Attributes:
        averaged: the column whose mean is asked for, None for a count.
        by: the columns by whose values rows are grouped.
        source: what stands after FROM.
        related: the table of related rows that are counted, None if there is one table.
        owners: the key of people, if those with related rows are counted in place of these.
    """

    averaged: str | None = None
    by: tuple[str, ...] = ()
    source: str = TABLE
    related: str | None = None
    owners: str | None = None

    @property
    def sql(self) -> str:
        """The question as SQL."""
        keys = [*map(_identifier, self.by)]
        query = ["SELECT", ", ".join([*keys, self._aggregate]), "FROM", self.source]
        if keys:
            query += ["GROUP BY", ", ".join(keys), "ORDER BY", ", ".join(keys)]
        return " ".join(query)

    @property
    def _aggregate(self) -> str:
        if self.averaged:
            return f"AVG({_identifier(self.averaged)})"
        return f"COUNT(DISTINCT {_identifier(self.owners)})" if self.owners else "COUNT(*)"


@dataclass(frozen=True)
class FirstAnswer:
    """A question with its answer."""

    question: FirstQuestion
    answer: Answer


def first_questions(declared: Declared, read: Files) -> list[list[FirstQuestion]]:
    """Return the questions for a release, each with others for where its answer is too long.

    The mean of the first sensitive number, by a column with few values and over all rows, or
    counts by the first sensitive column; counts by a column with few values, and by both. A table
    without sensitive columns is counted by two columns, and by both.
    """
    few = [(name,) for name in _columns_with_few_values(declared, read)[:_TRIED]]
    if declared.has_related_rows:
        return _of_two_tables(declared, few)
    counts = [FirstQuestion(by=keys) for keys in few]
    sensitive = sorted(declared.names_with_roles("sensitive"))
    if not sensitive:
        together = FirstQuestion(by=tuple(name for keys in few[:2] for name in keys))
        return [counts[:1], counts[1:], [together]]
    numbers = [name for name in sensitive if declared.columns[name].type in _NUMBERS]
    if numbers and not declared.form.counts_alone:
        means = [FirstQuestion(numbers[0], keys) for keys in few]
        return [means, [FirstQuestion(numbers[0])], counts]
    first = sensitive[0]
    if _distinct(first, read) > _MOST_ROWS:  # each value is a line: too many for a page
        return [counts]
    both = [FirstQuestion(by=(*keys, first)) for keys in few]
    return [[FirstQuestion(by=(first,))], counts, both]


def _of_two_tables(declared: Declared, few: Sequence[tuple[str]]) -> list[list[FirstQuestion]]:
    """Return questions for people and their related rows, by a column of people with few values.

    Facts of people first; then related rows by each of their columns, the mean of their first
    number, or how many there are, and the people who have some.
    """
    form = declared.form
    people, related, key = form.table_of_rows, form.related_table, form.person_key
    joined = f"{people} JOIN {related} USING ({_identifier(key)})"
    numbers = [name for name in form.related_columns if declared.columns[name].type in _NUMBERS]
    averaged = min(numbers, default=None)
    texts_first = sorted(form.related_columns, key=lambda name: (name in numbers, name))
    alone = [FirstQuestion(by=(name,), source=related, related=related) for name in texts_first]
    beside = [FirstQuestion(averaged, keys, joined, related) for keys in few]
    owners = [FirstQuestion(None, keys, joined, related, key) for keys in few]
    return [*_of_facts(declared, few), alone, beside, owners]


def _of_facts(declared: Declared, few: Sequence[tuple[str]]) -> list[list[FirstQuestion]]:
    """Return questions for facts of people: people by a fact, and the mean of the first number.

    People are counted by the first fact with few values, truth values first.
    """
    people, facts = declared.form.table_of_rows, sorted(facts_of(declared))
    truths_first = sorted(facts, key=lambda name: declared.columns[name].type in _NUMBERS)
    numbers = [name for name in facts if declared.columns[name].type in _NUMBERS]
    counts = [FirstQuestion(by=(name,), source=people) for name in truths_first]
    means = [FirstQuestion(numbers[0], keys, people) for keys in [*few, ()]] if numbers else []
    return [questions for questions in (counts, means) if questions]


def first_answers(declared: Declared, read: Files) -> tuple[FirstAnswer, ...]:
    """Return the answers that a release gives in few lines, at most three, or five with facts.

    Args:
        declared: the release as its manifest declares it.
        read: the published tables and the help tables, in memory or in files.
    """
    if not declared.rows.published:
        return ()
    with ENGINES[declared.form.shows](read, declared, "weighted") as engine:
        opened = open_tables(read, declared, engine)
        answers = (
            next(filter(None, (_answer_or_none(opened, question) for question in questions)), None)
            for questions in first_questions(declared, read)
        )
        return tuple(filter(None, answers))


def _answer_or_none(opened: OpenTables, question: FirstQuestion) -> FirstAnswer | None:
    """Return the answer to a question, or None if there is none or it is too long for a page."""
    try:
        (inquiry,) = read_inquiries(question.sql, opened.declared).inquiries
        answer = ask_inquiry(opened, inquiry, estimates=False)
    except QueryError:  # not every form answers every question
        return None
    return FirstAnswer(question, answer) if 0 < len(answer.rows) <= _MOST_ROWS else None


def _columns_with_few_values(declared: Declared, read: Files) -> list[str]:
    """Return the quasi-identifiers of at least two, and few, published values: the fewest first."""
    counts = {
        name: _distinct(name, read)
        for name in declared.names_with_roles("quasi-identifier")
        if declared.columns[name].type in _FEW
    }
    few = [name for name, count in counts.items() if 2 <= count <= _MOST_VALUES]
    return sorted(few, key=lambda name: (counts[name], name))


def _distinct(name: str, read: Files) -> int:
    """Return the number of published values of a column, or 0 if no table here shows them.

    Tables that are one file each, those of help, are not read.
    """
    values: set[object] = set()
    for table in read.values():
        for columns in _with_column(name, table):
            values |= {value for value in pc.unique(columns[name]).to_pylist() if value is not None}
    return len(values)


def _with_column(name: str, table: Source) -> Iterator[pa.Table]:
    """Yield the tables of a source that have a column, with this column alone where it can be."""
    if isinstance(table, pa.Table):
        yield from [table] if name in table.schema.names else []
    elif isinstance(table, TableInParts) and name in pq.read_schema(regular(table.files[0])).names:
        yield from table.tables([name])


def _identifier(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'
