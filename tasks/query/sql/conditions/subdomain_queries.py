"""Queries on the tables of a release that shows subdomains in the place of sensitive values."""

from dataclasses import dataclass

from sqlglot import exp

from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.sql.conditions.trees import (
    CELLED,
    alias,
    cell_parts,
    keys_of,
    own,
    published_column,
    select,
    tree,
    trees,
    with_parts,
)


@dataclass(frozen=True)
class SubdomainQueries:
    """The queries that one question takes; `rows` is the table of the rows."""

    question: Question
    rows: str

    def keys(self) -> exp.Select:
        """The cells, 1, 2, …, and the values of their group columns."""
        columns = [own("cell"), *keys_of(self.question)]
        return self._query(select(columns, CELLED).distinct(copy=False))

    def hits(self) -> exp.Select:
        """The query that counts the rows which each cell selects of each group."""
        return self._query(select(trees("cell", "group_id", "hits"), CELLED))

    def shown(self) -> exp.Select:
        """The subdomains of the selected groups, their counts, and the targets of the groups."""
        query: exp.Select = tree(
            'SELECT group_id, "count", target, "lower", "upper" FROM st JOIN aims USING (group_id) '
            "WHERE group_id IN (SELECT group_id FROM selected)"
        )
        return self._query(query)

    def wanted(self, name: str) -> exp.Select:
        """The values of the domain on which the condition on the sensitive column holds."""
        (matching,) = self.question.matching
        lower = alias(exp.column("lower", quoted=True), name, quoted=True)
        values = select([lower], "targets", where=[tree('"lower" = "upper"')])
        query = select([published_column(name)], "domain", where=[matching.condition])
        return with_parts([("domain", values.distinct(copy=False))], query)

    def _query(self, query: exp.Select) -> exp.Select:
        return with_parts(cell_parts(self.question, self.rows), query)
