"""Drafts: all of a release but its publication, and no trace in the line."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.choice.compare import AskedComparison, compare_alternatives
from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.private import scratch
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.drafts.traces import trace
from tests.release.evolving import DIVERSE, Evolving, evolve
from tests.release.small import Small, people
from tests.release.test_lines_that_meet import by_sixes, six_by_six
from tests.release.test_people_with_rows import changes, stays

WORDS = {"measure", "margin"}
"""What of a score is no number."""


@pytest.fixture(scope="module")
def draft_and_line(tmp_path_factory):
    """A draft of a new line, and the line."""
    folder = tmp_path_factory.mktemp("drafted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        line = Small(folder / "line").write(people())
        yield draft(line.spec, Overrides(), hours=2), line


def test_a_draft_of_a_new_line_leaves_nothing_but_itself(draft_and_line):
    draft_made, line = draft_and_line
    assert trace(line.folder.parent / "work", line.folder / "public") == {}
    assert sorted(path.name for path in draft_made.place.iterdir()) == [
        *("alive", "release", "report", "retain.json")
    ]


def test_a_draft_leaves_no_trace_in_a_published_line(small, tmp_path):
    small.publish("first")
    before = trace(tmp_path / "work", small.folder)
    draft_made = draft(small.spec, Overrides())
    assert trace(tmp_path / "work", small.folder) == before
    assert draft_made.summary["stands"] == "0001"


def write_beside(folder, rows):
    """A line of another name, in the same work directory."""
    line = Small(folder).write(rows)
    text = line.spec.read_text(encoding="utf-8")
    line.spec.write_text(re.sub("^name: .*$", "name: other", text, flags=re.M), encoding="utf-8")
    return line.spec


def test_a_line_beside_one_that_is_published_is_drafted_and_compared(small, tmp_path):
    small.publish("first")
    spec = write_beside(tmp_path / "other", people(first=1000))
    before = trace(tmp_path / "work", small.folder)
    assert draft(spec, Overrides()).summary["stands"] is None
    grid = {"promises": {"k": [3]}}
    request = AskedComparison(grid)
    assert compare_alternatives(spec, Overrides(), request, lambda *_: None).spec is not None
    assert trace(tmp_path / "work", small.folder) == before


def test_people_of_another_line_are_refused_in_a_draft_as_in_a_release(small, tmp_path):
    small.publish("first")
    with pytest.raises(PromiseError, match=r"60 units are in line wages\. Do one of"):
        draft(write_beside(tmp_path / "other", people()), Overrides())


def test_what_lines_tell_together_is_refused_in_a_draft_as_in_a_release(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    first = by_sixes(tmp_path)
    six_by_six(first)
    halves = {n: p | {"age": p["age"] * 2 + n % 2} for n, p in first.people.items()}
    second = Evolving(tmp_path / "second", "split", "second")
    second.people = halves
    path = second.write(
        people="town",
        form={"method": "generalized"},
        partition={"method": "mondrian"},
        promises=[{"model": "k-anonymity", "k": 3}, DIVERSE[0] | {"l": 3}],
    )
    before = trace(tmp_path / "work", first.folder)
    with pytest.raises(
        PromiseError, match="groups of the other line are split, although it promises"
    ):
        draft(path, Overrides())
    assert trace(tmp_path / "work", first.folder) == before


@pytest.mark.parametrize("kind", ["permuted", "generalized"])
def test_a_draft_of_a_composed_line_goes_on_in_its_groups(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = evolve(tmp_path / "line", kind, versions=2)
    line.move()
    path, places = line.write(), (tmp_path / "work", line.folder)
    before = trace(*places)
    draft_made = draft(path, Overrides())
    assert trace(*places) == before
    assert draft_made.summary["stands"] is None
    assert (
        open_release(draft_made.place / "release").declared.predecessor
        == (open_release(line.versions[-1]).manifest["sfumato"]["digest"])
    )


def test_what_is_drafted_is_what_a_release_would_be_and_keeps_its_promises(draft_and_line):
    draft_made, line = draft_and_line
    check(draft_made.place / "release")
    release = open_release(line.publish("first").directory)
    assert draft_made.summary["rows"]["published"] == release.declared.rows.published
    assert (
        release.manifest["sfumato"]["digest"]
        != (open_release(draft_made.place / "release").manifest["sfumato"]["digest"])
    )  # it was drawn anew


def test_why_each_row_is_left_out_is_told_row_by_row(small):
    rows = people()
    rows[3]["wage"] = ""
    rows[7]["age"] = 12
    small.write(rows)
    draft_made = draft(small.spec, Overrides())
    with (draft_made.page.parent / "left-out.csv").open(encoding="utf-8") as file:
        reasons_by_row = {int(row["row"]): row["why"] for row in csv.DictReader(file)}
    expected = {
        number: "removed by the filter (source.where)"
        if int(row["age"]) <= 18
        else "no value of wage (nulls: drop-row)"
        for number, row in enumerate(rows, start=1)
        if int(row["age"]) <= 18 or not row["wage"]
    }
    assert reasons_by_row == expected
    assert sum(draft_made.summary["left_out"].values()) == len(expected)


def test_suppressed_rows_are_told_with_how_many_are_like_them(small):
    rows = [
        row | {"age": 30 + number % 2, "town": "Aa"} for number, row in enumerate(people()[:60])
    ]
    rows[0] |= {"age": 59, "town": "Bee"}
    small.write(
        rows,
        columns={
            "person": {"role": "identifier", "unit": True},
            "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [2]}},
            "town": {"role": "quasi-identifier"},
            "note": {"role": "drop"},
            "wage": {"role": "sensitive", "type": "decimal"},
        },
        promises=[
            {"model": "k-anonymity", "k": 5},
            {"model": "l-diversity", "variant": "distinct", "l": 2},
        ],
        partition={"method": "full-domain", "suppression": 0.05},
        form={"method": "generalized"},
        evaluate={},
    )
    draft_made = draft(small.spec, Overrides())
    with (draft_made.page.parent / "left-out.csv").open(encoding="utf-8") as file:
        rows_told = list(csv.DictReader(file))
    assert [(row["row"], row["rows_alike"]) for row in rows_told] == [("1", "1")]
    assert "could not keep the promises" in rows_told[0]["why"]
    page = draft_made.page.read_text(encoding="utf-8")
    assert "Bee" in page  # who is suppressed
    assert "Bee" not in json.dumps(draft_made.summary)


def test_what_a_release_would_refuse_is_refused(small, call):
    small.write(people(), promises=[{"model": "ke-anonymity", "k": 3, "e": 5000}])
    code, output, error = call("plan", small.spec)
    assert (code, output) == (3, "")
    assert "ke-anonymity cannot be kept" in error.splitlines()[-1]


def test_the_last_line_is_the_page(small, call):
    code, output, _ = call("plan", small.spec)
    assert code == 0
    assert Path(output.splitlines()[-1]).name == "draft.html"
    assert "accuracy  avg(wage) by range of age: ±" in output


def test_json_has_what_would_be_published_and_the_page(small, call):
    _, output, _ = call("plan", small.spec, "--format", "json")
    document = json.loads(output)
    names = "stands rows promises risk attacks lost accuracy left_out warnings advice page"
    assert sorted(document) == sorted(names.split())
    assert "PRIVATE" in Path(document["page"]).read_text(encoding="utf-8")


def test_no_prefect_is_needed(small):
    code_of_run = (
        "import sys; from sfumato.flows.cli.main import run; code = run(['plan', sys.argv[1]]);"
        "sys.exit(code or 'prefect' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code_of_run, str(small.spec)], capture_output=True, env=os.environ
    )
    assert ended.returncode == 0, ended.stderr


def test_scores_of_attacks_are_shares_beside_their_references(draft_and_line):
    draft_made, _ = draft_and_line
    scores = draft_made.summary["attacks"]["wage"]
    assert {score["measure"] for score in scores} >= {
        "own value guessed from the group alone",
        "own value guessed by deFinetti's attack",
    }
    scores_found = [score for score in scores if "skipped" not in score]
    shares = [share for score in scores_found for name, share in score.items() if name not in WORDS]
    assert np.all((np.array(shares) >= 0) & (np.array(shares) <= 1))


def test_drafts_are_private_and_swept_after_the_hours_they_are_kept(draft_and_line, monkeypatch):
    draft_made, _ = draft_and_line
    for path in [draft_made.place, *draft_made.place.rglob("*")]:
        if "release" not in path.parts:
            assert path.stat().st_mode & 0o077 == 0, path
    assert draft_made.place.parent.stat().st_mode & 0o777 == 0o700
    scratch.sweep()
    assert draft_made.page.is_file()
    now = scratch.time.time()
    monkeypatch.setattr(scratch.time, "time", lambda: now + 2 * 3600 + 1)
    scratch.sweep()
    assert not draft_made.place.exists()


def test_a_line_of_people_with_several_rows_is_drafted(small):
    """And it is refused to count their rows as people, unless an older spec always did."""
    small.write(stays(), **changes(), version=2)
    summary = draft(small.spec, Overrides()).summary
    assert all(promise["people"] for promise in summary["promises"])
    columns = {**changes()["columns"], "person": {"role": "identifier"}}
    wrong = changes(columns=columns, unit="row")
    with pytest.raises(InputError, match=r"columns\.person: several rows have the same value"):
        draft(small.write(stays(), **wrong, version=2).spec, Overrides())
    assert draft(small.write(stays(), **wrong, version=1).spec, Overrides()).page.exists()
