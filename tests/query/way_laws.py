"""Laws of every way of showing a person: one suite for the five registries of ways.

A way is known to the suite by a `WayCase`: the tables of a small release in a form that shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import HELP_TABLES, build_help_tables, help_names
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.report.snippets import SNIPPETS, example_query, pandas_snippet
from sfumato.tasks.sql.session import fetch, session
from sfumato.tasks.terms.terms import Declared

REGISTRIES = (WAYS, ENGINES, HELP_TABLES, SQL_WAYS, SNIPPETS)
COUNT = "SELECT COUNT(*) AS n FROM microdata"


@dataclass(frozen=True)
class WayCase:
    """A release as the laws try it: its published tables and help tables, and its rows."""

    declared: Declared
    tables: Mapping[str, pa.Table]
    rows: int

    @property
    def way(self) -> str:
        """The name of the way."""
        return self.declared.form.shows

    @property
    def name(self) -> str:
        """The form, and whether versions are composed."""
        return f"{'composed ' * self.declared.is_composed}{self.declared.form.method}"


class WayLaws:
    """The laws, of each `case`."""

    def test_it_is_in_every_registry(self, case):
        assert [case.way in registry for registry in REGISTRIES] == [True] * len(REGISTRIES)

    def test_rows_are_counted(self, case):
        (row,) = answer_on(case.tables, case.declared, COUNT).rows
        assert row["n"].lower == row["n"].upper == case.rows

    def test_conditions_bound_the_count(self, case):
        for query in (f"{COUNT} WHERE age >= 1", f"{COUNT} WHERE NOT age >= 1"):
            (row,) = answer_on(case.tables, case.declared, query).rows
            assert 0 <= row["n"].lower <= row["n"].upper <= case.rows

    def test_help_tables_have_the_names_that_are_read(self, case):
        published = {n: t for n, t in case.tables.items() if not n.startswith("help_")}
        assert set(build_help_tables(published, case.declared)) == set(help_names(case.declared))

    def test_a_query_is_rewritten_or_refused_with_its_reason(self, case):
        query = f"{COUNT} WHERE age >= 1"
        refusal = SQL_WAYS[case.way].refusal(case.declared)
        if refusal is not None:
            with pytest.raises(QueryError) as refused:
                rewrite(query, case.declared)
            assert str(refused.value) == refusal
            return
        (row,) = answer_on(case.tables, case.declared, query).rows
        beside = SQL_WAYS[case.way].beside(case.tables, case.declared)
        with session({**case.tables, **beside}) as connection:
            (sql_row,) = fetch(connection, rewrite(query, case.declared).duckdb_tree)
        assert sql_row[:2] == (row["n"].lower, row["n"].upper)
        assert len(sql_row) == len(WAYS[case.way].sides)

    def test_the_page_shows_a_query_that_is_answered(self, case):
        declared = case.declared.model_copy(update={"formats": ("csv",)})
        assert answer_on(case.tables, declared, example_query(declared)).rows
        assert pandas_snippet(declared).startswith("import pandas as pd\n\n")
