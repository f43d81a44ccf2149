"""Notes and faults in every face: the terminal, CSV, JSON, files of queries, `--serve`, Python."""

import io
import json
import sys

import pytest

import sfumato
from sfumato.flows.cli.main import run
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.formulas import Plain

MISSPELT = "SELECT COUNT(*) FROM microdata WHERE town = 'bee'"
COUNT = "SELECT COUNT(*) FROM microdata"
AVERAGE = "SELECT AVG(wage) FROM microdata WHERE age < 40"
NOTE = "no published row has town = 'bee'; nearest: 'Bee'"
FAULT = "AVG(wage): its bounds lie outside what is possible"


@pytest.fixture
def ask(release, capsys):
    def asking(*arguments):
        code = run(["query", str(release), *arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return asking


@pytest.fixture
def serve(release, monkeypatch, capsys):
    def serving(*queries):
        lines = "".join(json.dumps({"query": query}) + "\n" for query in queries)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        assert run(["query", str(release), "--serve"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return serving


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "queries.sql"
    path.write_text(f"{COUNT};\n{AVERAGE};\n{MISSPELT}", encoding="utf-8")
    return str(path)


@pytest.fixture
def broken(monkeypatch):
    """An engine whose averages are far beyond every wage."""
    right = Plain.bounds

    def wrong(formula, results):
        average = formula.operand.aggregate.function == "avg"
        return Bounds(4321, 9876) if average else right(formula, results)

    monkeypatch.setattr(Plain, "bounds", wrong)


@pytest.mark.parametrize("format_", ["text", "csv"])
def test_a_note_is_a_line_for_whoever_watches(ask, format_):
    code, out, err = ask(MISSPELT, "--format", format_)
    assert code == 0
    assert "note" not in out
    assert f"note: {NOTE}" in err.splitlines()


def test_a_note_is_a_part_of_json(ask):
    code, out, err = ask(MISSPELT, "--format", "json")
    assert code == 0
    assert json.loads(out)["notes"] == [NOTE]
    assert "note:" not in err


def test_each_query_of_a_file_has_its_own_notes(ask, file):
    code, out, err = ask("--file", file)
    assert code == 0
    assert [line for line in err.splitlines() if "note" in line] == [
        f"note: query 3, line 3: {NOTE}"
    ]
    _, out, _ = ask("--file", file, "--format", "json")
    assert [json.loads(line).get("notes") for line in out.splitlines()] == [None, None, [NOTE]]


def test_notes_are_served(serve):
    first, second = serve(MISSPELT, COUNT)
    assert first["notes"] == [NOTE]
    assert "notes" not in second


def test_notes_in_python(release):
    opened = sfumato.open(release)
    answer = opened.query(MISSPELT)
    assert answer.notes == (NOTE,)
    assert repr(answer).splitlines()[-1] == f"note: {NOTE}"
    assert "<p>note: no published row has town = &#x27;bee&#x27;" in answer._repr_html_()
    other = opened.query(COUNT)
    assert other.notes == ()
    assert "note" not in repr(other) + other._repr_html_()


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_a_fault_ends_with_1_and_gives_no_number_out(ask, broken, format_):
    code, out, err = ask(AVERAGE, "--format", format_)
    assert code == 1
    assert (FAULT in out) is (format_ != "text")
    assert f"sfumato: {FAULT}. This is a fault of Sfumato" in err
    assert not {"4321", "4,321", "9876", "9,876"} & set((out + err).split())


def test_the_other_queries_of_a_file_are_answered(ask, broken, file):
    code, out, err = ask("--file", file)
    assert code == 1
    assert out.count("┃ COUNT(*) ┃") == 2
    assert f"query 2, line 2: {FAULT}" in err
    assert "4,321" not in out + err


def test_the_other_queries_of_a_file_are_answered_in_json(ask, broken, file):
    code, out, err = ask("--file", file, "--format", "json")
    first, second, third = map(json.loads, out.splitlines())
    assert code == 1
    assert first["rows"] and third["rows"]
    assert set(second) == {"query", "line", "error", "exit"}
    assert second["error"].startswith(FAULT)
    assert "1 of 3 queries have no answer" in err


def test_the_other_lines_that_are_served_are_answered(serve, broken):
    first, second = serve(AVERAGE, COUNT)
    assert first["exit"] == 1
    assert first["error"].startswith(FAULT)
    assert set(first) == {"id", "error", "exit"}
    assert second["rows"]


def test_a_fault_in_python(release, broken):
    opened = sfumato.open(release)
    with pytest.raises(sfumato.Fault) as caught:
        opened.query(AVERAGE)
    assert str(caught.value).startswith(FAULT)
    assert opened.query(COUNT)[0]["COUNT(*)"].lower == 60
