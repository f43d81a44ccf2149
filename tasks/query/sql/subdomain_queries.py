"""Queries on the tables of a release that shows subdomains in the place of sensitive values."""

from dataclasses import dataclass

from sqlglot import exp

from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.sql.sensitive_conditions import celled, quoted, with_parts


@dataclass(frozen=True)
class Asking:
    """The queries that one question takes; `rows` is the table of the rows."""

    question: Question
    rows: str

    def keys(self) -> exp.Select:
        """The cells, 1, 2, …, and the values of their group columns."""
        return self._query(f"SELECT DISTINCT {', '.join(['cell', *self._keys])} FROM celled")

    def hits(self) -> exp.Select:
        """How many rows each cell selects of each group."""
        return self._query("SELECT cell, group_id, hits FROM celled")

    def shown(self) -> exp.Select:
        """The subdomains of the selected groups, their counts, and the targets of the groups."""
        columns = 'group_id, "count", target, "lower", "upper"'
        some = "group_id IN (SELECT group_id FROM selected)"
        return self._query(f"SELECT {columns} FROM st JOIN aims USING (group_id) WHERE {some}")

    def wanted(self, name: str) -> exp.Select:
        """The values of the domain on which the condition on the sensitive column holds."""
        (matching,) = self.question.matching
        column, condition = quoted(name), matching.condition.sql("duckdb")
        values = f'SELECT DISTINCT "lower" AS {column} FROM targets WHERE "lower" = "upper"'
        query = f"SELECT {column} FROM domain WHERE {condition}"
        return with_parts([("domain", values)], query)

    @property
    def _keys(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.question.group_by))]

    def _query(self, select: str) -> exp.Select:
        return with_parts(celled(self.question, self.rows), select)
