"""One query or many of a release, on the command line."""

import csv
import json

import duckdb
import pytest

from sfumato.flows.cli.main import run

BY_TOWN = "SELECT town, COUNT(*) AS n, AVG(wage) FROM microdata GROUP BY town"
MATCHED = "SELECT SUM(wage) FROM microdata WHERE wage > 500 AND age < 40"


@pytest.fixture
def ask(release, capsys):
    def ask_release(*arguments):
        code = run(["query", str(release), *arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return ask_release


@pytest.fixture
def file(tmp_path):
    def write_queries(text):
        path = tmp_path / "queries.sql"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_queries


def test_bounds_as_csv(ask):
    code, out, _ = ask(BY_TOWN, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert list(rows[0]) == [
        "town",
        *(f"n_{side}" for side in ("lower", "upper", "estimate")),
        *(f"avg(wage)_{side}" for side in ("lower", "upper", "estimate")),
    ]
    assert sum(int(row["n_lower"]) for row in rows) == 60
    assert {row["town"] for row in rows} == {"Aa", "Bee", "Cé, the long", ""}
    assert all(float(r["avg(wage)_lower"]) <= float(r["avg(wage)_upper"]) for r in rows)


def test_no_rows_have_a_header(ask):
    nobody = BY_TOWN.replace("GROUP BY", "WHERE age > 99 GROUP BY")
    code, out, _ = ask(nobody, "--format", "csv")
    assert (code, out) == (0, "town,n,avg(wage)\n")


def test_many_queries_of_a_file(ask, file):
    path = file(f"{BY_TOWN};\n\n{MATCHED};SELECT COUNT(*) FROM microdata WHERE town = 'a;b'")
    code, out, _ = ask("--file", path, "--format", "json")
    documents = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [document["columns"] for document in documents] == [
        ["town", "n", "avg(wage)"],
        ["sum(wage)"],
        ["count(*)"],
    ]
    (row,) = documents[1]["rows"]
    assert row["sum(wage)"]["lower"] <= row["sum(wage)"]["upper"]


WRONG_SECOND = f"{BY_TOWN};\n\n-- one without\nSELECT town FROM microdata;\n{MATCHED}"


def test_a_wrong_query_among_many_is_told_and_the_others_are_answered(ask, file):
    code, out, err = ask("--file", file(WRONG_SECOND), "--format", "json")
    assert code == 2
    first, refused, third = map(json.loads, out.splitlines())
    assert first["rows"]
    assert third["rows"]
    reason = (
        "column 'town' is selected but not in GROUP BY. Add it to GROUP BY, or use an aggregate"
    )
    assert refused == {"query": 2, "line": 4, "error": reason}
    assert "1 of 3 queries have no answer" in err


@pytest.mark.parametrize("how", [[], ["--rewrite", "duckdb"]])
def test_a_wrong_query_among_many_is_a_line_for_whoever_watches(ask, file, how):
    code, out, err = ask("--file", file(WRONG_SECOND), *how)
    assert code == 2
    assert "query 2, line 4: column 'town' is selected but not in GROUP BY" in err
    assert out


@pytest.mark.parametrize(
    ("arguments"), [[], ["SELECT 1", "--file", "x"], ["--file", "nowhere.sql"]]
)
def test_what_is_asked_is_said_once(ask, arguments):
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_the_printed_sql_runs_in_the_release(ask, file, release, monkeypatch):
    code, out, _ = ask("--file", file(f"{MATCHED};{BY_TOWN}"), "--rewrite", "duckdb")
    assert code == 0
    monkeypatch.chdir(release)
    with duckdb.connect() as connection:
        connection.execute((release / "sql" / "duckdb.sql").read_text(encoding="utf-8"))
        first, second = duckdb.extract_statements(out)
        ((low, high),) = connection.execute(first).fetchall()
        assert low <= high
        assert len(connection.execute(second).fetchall()) == 4
