"""Text literals mean the same in every mode of a server and of its client."""

import duckdb
import pytest

from sfumato.tasks.query.load import load
from sfumato.tasks.query.sql.dialect_fixes import write_bounds
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.query.dialect_laws import HARD, MEANT, address, counting, hard

MODES = {
    "postgres": ["SET standard_conforming_strings = off"],
    "mariadb": [
        "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET SESSION sql_mode = 'EMPTY_STRING_IS_NULL'",
        "SET SESSION sql_mode = 'ANSI'",
        "SET NAMES latin1",
    ],
}
TESTS = [condition for condition in MEANT if "'" in condition]
TESTS += ["s = 'k%_\\x'", "s LIKE 'k!%'", "s IN ('*[a]?^$.(|)\\', 'it''s')", "s LIKE '%!\\x'"]


@pytest.mark.postgres
@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind in MODES for mode in MODES[kind]])
def test_texts_are_those_of_duckdb(kind, mode, tmp_path):
    table, opened = hard(tmp_path / "release")
    url, rows_found = address(kind, tmp_path), set()
    load(opened, url, replace=True)
    types = {name: column.type for name, column in HARD.columns.items()}
    with target(url) as database, duckdb.connect() as truth:
        truth.register("microdata", table)
        database.execute(mode)
        for condition in TESTS:
            rows = truth.execute(f"SELECT count(*) FROM microdata WHERE {condition}").fetchone()
            text = write_bounds(counting(condition), DIALECTS[kind], types)
            assert [row[0] for row in database.execute(text)] == list(rows), condition
            rows_found.add(rows[0])
    assert {0, 1} < rows_found


@pytest.mark.parametrize("kind", MODES)
def test_ordinary_texts_stay_in_plain_quotes(kind):
    text = write_bounds(counting("s = 'it''s' OR s = 'a\\b'"), DIALECTS[kind])
    assert "'it''s' COLLATE" in text
    assert "a\\b" not in text
