"""The comparison with other software: its tables, and what it says of software that is not here."""

import json
import os
import re

import numpy as np
import pytest

from tests.benchmarks import arx_peer, public
from tests.benchmarks.peers import (
    FULL_DOMAIN,
    levels,
    quasi_identifiers,
    sensitive_of,
    sizes_of,
    write_task,
)

FAKE_JAVA = """#!/bin/sh
echo "$@" > "{place}/arguments"
cat "{place}/record.json"
"""


@pytest.fixture(autouse=True)
def no_peers(monkeypatch):
    for name in ("PYCANON", "ANJANA", "ANONYPYX", "OPENDP", "ARX"):
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
    head, rule, *lines = public.table_lines([200], 1, public.Stages())
    assert head.count("|") == rule.count("|") == 10
    assert len(lines) == 10
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


def test_software_that_takes_minutes_is_left_out_of_large_tables(monkeypatch):
    monkeypatch.setattr(public, "TABLES", {"made-up": public.made_up})
    monkeypatch.setattr(public, "MOST_ANJANA", 199)
    lines = list(public.table_lines([200], 1, public.Stages()))
    skipped = [line for line in lines if "more than 199 rows take it minutes" in line]
    assert len(skipped) == 2
    assert all("| ANJANA |" in line for line in skipped)


def test_groups_are_diverse_where_the_task_has_an_l():
    table = public.adult_of(("age", "race"), 400)
    assert sizes_of(table, FULL_DOMAIN, 8) != sizes_of(table, FULL_DOMAIN)


@pytest.fixture
def fake_arx(tmp_path, monkeypatch):
    """A jar, a compiler and a JVM that are none: the JVM prints what `record.json` has."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("javac", "#!/bin/sh\n"), ("java", FAKE_JAVA.format(place=tmp_path))):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "libarx-3.9.2.jar").touch()
    monkeypatch.setenv("ARX", str(tmp_path / "libarx-3.9.2.jar"))
    return tmp_path


def record_of(table, folder, **changes):
    """The task of a table in a folder, and what our side prints of it, with changes.

    The first run takes 100 s more in each stage.
    """
    task = write_task(table, folder)
    content = json.loads(task.read_text(encoding="utf-8"))
    stages, outcome = arx_peer.run_once(content, arx_peer.write_hierarchies(content, folder))
    slow = {name: {kind: ms + 1e5 for kind, ms in taken.items()} for name, taken in stages.items()}
    runs = [slow, stages, stages, stages]
    text = json.dumps({"runs": runs, "peak": 9, "optimal": True, **outcome, **changes})
    return task, text


def milliseconds(line):
    """The CPU and wall milliseconds of a line."""
    return [float(cell.replace(",", "")) for cell in line.split("|")[5:7]]


def test_arx_gets_rows_of_its_first_run_and_of_later_ones(fake_arx, monkeypatch):
    table = public.made_up(200)
    monkeypatch.setattr(public, "TABLES", {"made-up": lambda rows: table})
    task, text = record_of(table, fake_arx)
    (fake_arx / "record.json").write_text(text, encoding="utf-8")
    record = arx_peer.own_run(task, 60)
    monkeypatch.setattr(arx_peer, "own_run", lambda *_: record)
    stages = public.Stages()
    lines = list(public.table_lines([200], 1, stages))
    first, later = (
        [line for line in lines if f"| {name} |" in line]
        for name in ("ARX 3.9.2, first run", "ARX 3.9.2")
    )
    assert len(first) == len(later) == 2
    for slow, quick in zip(first, later, strict=True):
        slower = [milliseconds(slow)[i] - milliseconds(quick)[i] for i in range(2)]
        assert slower == pytest.approx([200_000] * 2, abs=1)
    ours = next(line for line in lines if "| Sfumato" in line)
    assert first[0].split("|")[8:] == later[0].split("|")[8:] == ours.split("|")[8:]
    assert len(stages.lines) == 8
    assert {line.count("|") for line in stages.lines} == {len(arx_peer.STAGE_HEADS) + 1}
    text = " ".join("\n".join(stages.page_lines()).split())
    assert "in 2 of 2 tasks" in text
    assert all(f"{min(ratios):.1f} to" in text for ratios in stages.ratios.values())
    arguments = (fake_arx / "arguments").read_text(encoding="utf-8")
    assert re.search(r"Anonymize \S+table\.csv job 5 4 0\.01 4 age=\S+hierarchy-0\.csv", arguments)
    assert all("ARX" not in line for line in public.left_out())


@pytest.mark.parametrize(
    "change",
    [{"loss": 1}, {"levels": {"age": 9}}, {"sizes": [100, 100]}],
    ids=lambda change: next(iter(change)),
)
def test_another_outcome_is_no_agreement(change, fake_arx):
    _, text = record_of(public.made_up(200), fake_arx)
    record = json.loads(text)
    assert arx_peer.agree(record, record)
    assert not arx_peer.agree(record, record | change)


def test_times_of_what_is_not_the_optimum_are_refused(fake_arx):
    _, text = record_of(public.made_up(200), fake_arx, optimal=False)
    with pytest.raises(ValueError, match="optimum was not reached"):
        arx_peer.summarize(json.loads(text))


def test_the_work_is_the_mean_of_later_runs_without_reading(fake_arx):
    runs = [
        {stage: {"cpu": cpu, "wall": cpu} for stage in arx_peer.STAGES} for cpu in (500, 10, 20, 60)
    ]
    record = arx_peer.summarize({"runs": runs, "optimal": True})
    assert record["cpu"] == pytest.approx(0.06)
    assert record["first"]["cpu"] == pytest.approx(1)
    loads = {run: stages["load"]["cpu"] for run, stages in record["stages"].items()}
    assert loads == {"first run": 500, "later runs": 30}


def test_arx_says_why_it_has_no_figures(fake_arx, monkeypatch):
    task, _ = record_of(public.made_up(200), fake_arx)
    broken = fake_arx / "bin" / "java"
    broken.write_text("#!/bin/sh\necho first >&2; echo second >&2; exit 1\n", encoding="utf-8")
    assert arx_peer.ArxPeer().run(task, 60) == "did not run here (first)"
    monkeypatch.setenv("PATH", str(fake_arx))
    assert arx_peer.ArxPeer().run(task, 60) == "did not run here (there is no javac)"
    monkeypatch.setenv("ARX", str(fake_arx / "other.jar"))
    assert arx_peer.ArxPeer().run(task, 60) == "has no library here (ARX)"
