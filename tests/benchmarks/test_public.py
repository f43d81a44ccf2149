"""The comparison with other software: its tables, and what it says of software that is not here."""

import numpy as np
import pytest

from tests.benchmarks import public
from tests.benchmarks.peers import levels, quasi_identifiers, sensitive_of


@pytest.fixture(autouse=True)
def no_peers(monkeypatch):
    for name in ("PYCANON", "ANJANA", "ANONYPYX", "OPENDP"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("title", public.TABLES)
def test_each_table_has_as_many_rows_as_asked_and_hierarchies(title):
    table = public.TABLES[title](300)
    assert table.rows == 300
    names = quasi_identifiers(table)
    assert len(names) == int(title.split(", ")[1][0])
    assert sensitive_of(table) not in names
    for name in names:
        assert len(set(levels(table, name)[-1])) == 1


def test_lines_have_our_figures_and_why_others_have_none(monkeypatch):
    monkeypatch.setattr(public, "TABLES", {"made-up": public.made_up})
    head, rule, *lines = public.table_lines([200], 1)
    assert head.count("|") == rule.count("|") == 10
    assert len(lines) == 8
    for ours, theirs in zip(lines[::2], lines[1::2], strict=True):
        assert "| Sfumato " in ours
        assert "has no environment here" in theirs
        assert float(ours.split("|")[5]) >= 0
    groups, lost = (int(cell.replace(",", "")) for cell in lines[0].split("|")[8:10])
    assert 1 <= groups <= 40
    assert lost >= 200 * 200 / groups


def test_software_that_is_not_run_gets_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(public, "table_lines", lambda *_: iter(["| table |"]))
    page = tmp_path / "public.md"
    public.main(["--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "| table |" in text
    for name in public.NOT_RUN:
        assert f"- {name} is not in the table: " in text
        assert name in capsys.readouterr().out or name in text


def test_rows_drawn_from_a_table_are_its_rows():
    small = public.adult_of(("age", "race"), 50)
    assert small.rows == 50
    whole = public.adult_of(("age", "race"), 30_162)
    assert whole.rows == 30_162
    assert np.isin(small["age"].codes, whole["age"].codes).all()
