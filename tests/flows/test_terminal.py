"""Content of a release on the terminal is text: no markup, and nothing acts on it."""

import csv
import io
import json
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.cli import show
from sfumato.flows.cli.answers import answer_as
from sfumato.flows.cli.main import run
from sfumato.flows.cli.show import one_line, visible
from sfumato.tasks.private.failure import listening, say, stage
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import Answer
from tests.release.small import Small, people

NASTY = [
    "[/red]",
    "[unknown]",
    "[bold]x[/bold]",
    "\x1b[2J",
    "\x9b31m",
    "\u202eabc",
    "\x07",
    ":smile:",
]
SQL = "SELECT town, COUNT(*) FROM microdata GROUP BY town"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release whose towns are hostile texts."""
    folder = tmp_path_factory.mktemp("nasty")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SFUMATO_WORK", str(folder / "work"))
        rows = [{**row, "town": NASTY[i % len(NASTY)]} for i, row in enumerate(people())]
        return Small(folder / "line").write(rows).publish("one").directory


@given(st.text())
def test_nothing_visible_acts_on_a_terminal(text):
    text_shown = visible(text)
    assert all(
        letter in "\t\n" or letter.isprintable() or ord(letter) > 0x9F for letter in text_shown
    )
    assert "\n" not in one_line(text)
    if text.isprintable():
        assert text_shown == text


def test_what_a_run_says_is_shown_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show.stages() as listener, listening(listener), stage("verify"):
        say("version 0001 [bold]stands\x1b[2J")
    assert r"version 0001 [bold]stands\x1b[2J" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_hostile_values_are_shown_and_do_nothing(release, format_, capsys, monkeypatch):
    if format_ == "csv":
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["query", str(release), SQL, "--format", format_]) == 0
    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "\x9b", "\u202e", "\x07"}
    if format_ != "json":
        for text in NASTY:
            assert visible(text) in out
    else:
        assert {row["town"] for row in json.loads(out)["rows"]} == set(NASTY)


def test_csv_in_a_file_has_the_values_as_they_are(release, capsys):
    assert run(["query", str(release), SQL, "--format", "csv"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))
    assert {row["town"] for row in rows} == set(NASTY)


def test_csv_has_what_is_doubtful_in_columns(capsys):
    rows = [
        {"town": "a", "x": Bounds(0, Fraction(1, 3), may_be_empty=True)},
        {"town": "b", "x": Bounds(None, None, unbounded=True)},
    ]
    answer = Answer("permuted", True, {}, ("town", "x"), tuple(rows), certain=(True, False))
    answer_as(answer, "csv")
    header, *rest = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header[1:4] == ["x_lower", "x_upper", "x_estimate"]
    assert header[4:] == ["x_may_be_empty", "x_unbounded", "certain"]
    assert rest == [
        ["a", "0", repr(math.nextafter(1 / 3, 1)), "", "True", "False", "True"],
        ["b", "", "", "", "False", "True", "False"],
    ]


def test_csv_has_no_column_twice(capsys):
    rows = ({"certain": "a", "x": Bounds(0, 1)},)
    answer = Answer("permuted", True, {}, ("certain", "x"), rows, certain=(False,))
    with pytest.raises(QueryError, match=r"two columns .* called 'certain'"):
        answer_as(answer, "csv")
    assert capsys.readouterr().out == ""


def test_an_alias_is_no_markup(release, capsys):
    assert run(["query", str(release), 'SELECT COUNT(*) AS "[/red]" FROM microdata']) == 0
    assert "[/red]" in capsys.readouterr().out


def test_a_message_is_one_visible_line(capsys):
    show.failure("a\x1b[2Jb\nc")
    assert capsys.readouterr().err == "sfumato: a\\x1b[2Jb c\n"
