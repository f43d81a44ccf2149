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
        *(f"AVG(wage)_{side}" for side in ("lower", "upper", "estimate")),
    ]
    assert sum(int(row["n_lower"]) for row in rows) == 60
    assert {row["town"] for row in rows} == {"Aa", "Bee", "Cé, the long", ""}
    assert all(float(r["AVG(wage)_lower"]) <= float(r["AVG(wage)_upper"]) for r in rows)


def test_no_rows_have_a_header(ask):
    nobody = BY_TOWN.replace("GROUP BY", "WHERE age > 99 GROUP BY")
    code, out, _ = ask(nobody, "--format", "csv")
    assert (code, out) == (0, "town,n,AVG(wage)\n")


def test_many_queries_of_a_file(ask, file):
    path = file(f"{BY_TOWN};\n\n{MATCHED};SELECT COUNT(*) FROM microdata WHERE town = 'a;b'")
    code, out, _ = ask("--file", path, "--format", "json")
    documents = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [document["columns"] for document in documents] == [
        ["town", "n", "AVG(wage)"],
        ["SUM(wage)"],
        ["COUNT(*)"],
    ]
    assert [(document["query"], document["line"]) for document in documents] == [
        (1, 1),
        (2, 3),
        (3, 3),
    ]
    (row,) = documents[1]["rows"]
    assert row["SUM(wage)"]["lower"] <= row["SUM(wage)"]["upper"]


REASON = "column 'town' is selected but not in GROUP BY. Add it to GROUP BY, or use an aggregate"
WRONG_SECOND = f"{BY_TOWN};\n\n-- one without\nSELECT town FROM microdata;\n{MATCHED}"


def test_a_wrong_query_among_many_is_told_and_the_others_are_answered(ask, file):
    code, out, err = ask("--file", file(WRONG_SECOND), "--format", "json")
    assert code == 2
    first, refused, third = map(json.loads, out.splitlines())
    assert first["rows"]
    assert third["rows"]
    assert refused == {"query": 2, "line": 4, "error": REASON, "exit": 2}
    assert "1 of 3 queries have no answer" in err


@pytest.mark.parametrize("how", [[], ["--rewrite", "duckdb"]])
def test_a_wrong_query_among_many_is_a_line_for_whoever_watches(ask, file, how):
    code, out, err = ask("--file", file(WRONG_SECOND), *how)
    assert code == 2
    assert "query 2, line 4: column 'town' is selected but not in GROUP BY" in err
    assert out


def tables_of(out):
    """The tables of a CSV output, each as rows; an empty line is between two."""
    return [list(csv.reader(table.splitlines())) for table in out.split("\n\n")]


def test_csv_of_a_file_has_the_number_of_each_query_and_its_refusal(ask, file):
    code, out, err = ask("--file", file(WRONG_SECOND), "--format", "csv")
    assert code == 2
    first, refused, third = tables_of(out)
    assert first[0][:3] == ["query", "town", "n_lower"]
    assert {row[0] for row in first[1:]} == {"1"}
    assert refused == [["query", "error"], ["2", REASON]]
    assert (third[0][:2], third[1][0]) == (["query", "SUM(wage)_lower"], "3")
    assert f"query 2, line 4: {REASON}" in err


def test_a_name_that_csv_would_have_twice_refuses_that_query_alone(ask, file):
    twice = "SELECT town, COUNT(*) AS n, SUM(wage) AS certain FROM microdata GROUP BY town"
    hidden = f"{twice.replace('certain', 'n_lower')};{BY_TOWN}"
    code, out, _ = ask("--file", file(hidden), "--format", "csv")
    refused, answered = tables_of(out)
    assert (code, len(answered)) == (2, 5) if refused[0] == ["query", "error"] else (0, 5)


def test_text_of_a_file_has_each_query_above_its_table(ask, file):
    code, out, _ = ask("--file", file(f"{MATCHED};\n\n{BY_TOWN}"))
    headings = [line for line in out.splitlines() if line.startswith("query ")]
    assert code == 0
    assert headings == [f"query 1, line 1: {MATCHED}", f"query 2, line 3: {BY_TOWN}"]


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        ("json", json.dumps({"error": REASON, "exit": 2}) + "\n"),
        ("csv", f'error\n"{REASON}"\n'),
        ("text", ""),
    ],
)
def test_a_refused_query_alone_is_in_the_output_too(ask, format_, expected):
    code, out, err = ask("SELECT town FROM microdata", "--format", format_)
    assert (code, out, err.splitlines()[-1]) == (2, expected, f"sfumato: {REASON}")


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
