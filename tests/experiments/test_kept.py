"""Finished seeds are kept: a run that was killed goes on, and what has changed is measured anew."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.run import Plan, read_results, run_experiments
from sfumato.tasks.experiments.shared import kept as kept_module
from sfumato.tasks.experiments.shared.experiment import Point
from sfumato.tasks.experiments.shared.kept import FOLDER, Kept, Origin, origin_of
from tests.experiments.made import inputs

NAME = "printed-fakes"
EXPERIMENT = EXPERIMENTS[NAME]
ORIGIN = Origin("0123456789ab", "code", "data")
POINTS = (Point("groups", "as printed", 4, "m", 1 / 3), Point("groups", "as printed", 8, "m", 2))


@pytest.fixture
def place(tmp_path):
    """A directory in which seed 0 is kept."""
    Kept(tmp_path, ORIGIN).write(EXPERIMENT, "quick", 0, POINTS, 1.5)
    return tmp_path


def test_points_are_read_as_they_were_written(place):
    seed_kept = Kept(place, ORIGIN).read(EXPERIMENT, "quick", 0)
    assert seed_kept == (POINTS, 1.5, ORIGIN)
    assert Kept(place, ORIGIN).facts([EXPERIMENT], "quick", 2) == (
        ("0123456789ab",),
        2,
        "quick",
        2,
        1,
    )


@pytest.mark.parametrize("part", ["code", "data"])
def test_what_other_code_or_data_gave_is_not_read(place, part):
    other = Kept(place, ORIGIN._replace(**{part: "other"}))
    assert other.read(EXPERIMENT, "quick", 0) is None
    with_any_code = replace(other, any_code=True).read(EXPERIMENT, "quick", 0)
    assert (with_any_code is None) == (part == "data")


def test_a_commit_that_leaves_the_code_as_it_was_keeps_what_is_measured(place):
    assert Kept(place, ORIGIN._replace(commit="other")).read(EXPERIMENT, "quick", 0)


def test_other_seeds_sizes_and_settings_are_not_read(place):
    store = Kept(place, ORIGIN)
    assert store.read(EXPERIMENT, "quick", 1) is None
    assert store.read(EXPERIMENT, "full", 0) is None
    larger = replace(EXPERIMENT, quick=replace(EXPERIMENT.quick, questions=11))
    assert store.read(larger, "quick", 0) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"points": 3}'])
def test_a_damaged_file_counts_as_nothing(place, text):
    (path,) = (place / FOLDER).iterdir()
    path.write_text(text, encoding="utf-8")
    assert Kept(place, ORIGIN).read(EXPERIMENT, "quick", 0) is None


def test_the_origin_changes_with_the_code_and_with_the_data(tmp_path, monkeypatch):
    here = origin_of.__wrapped__(inputs(tmp_path))
    assert len(here.code) == len(here.data) == 12
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "module.py").write_text("1")
    monkeypatch.setattr(kept_module, "_ROOT", tmp_path)
    first = origin_of.__wrapped__(inputs(tmp_path))
    (tmp_path / "tasks" / "module.py").write_text("2")
    second = origin_of.__wrapped__(inputs(tmp_path))
    assert first.commit == second.commit == "no commit"
    assert first.code != second.code
    assert first.data == second.data == here.data
    (tmp_path / "adult").write_text("other")
    other = origin_of.__wrapped__(replace(inputs(tmp_path), adult=tmp_path / "adult"))
    assert other.data != here.data


def test_only_missing_seeds_are_measured_and_reported(tmp_path):
    lines = []
    store = Kept(tmp_path / "out", ORIGIN)
    plan = Plan([EXPERIMENT], "quick", 2, inputs(tmp_path), store, 1, lines.append)
    whole = run_experiments(plan)
    path = tmp_path / "out" / FOLDER / f"{NAME}.quick.1.json"
    marked = json.loads((path.with_name(f"{NAME}.quick.0.json")).read_text())
    marked["points"][0][4] = 77.0
    path.with_name(f"{NAME}.quick.0.json").write_text(json.dumps(marked))
    path.unlink()
    lines.clear()
    again = run_experiments(plan)
    assert again[NAME].points[1] == whole[NAME].points[1]
    assert again[NAME].points[0][0].value == 77, "a seed that is kept is not measured again"
    assert lines[0] == "1 of 2 seeds are kept from an earlier run"
    assert "seed 2 of 2 is finished" in lines[1]
    assert len(lines) == 2
    assert read_results(plan) == again


def test_a_run_that_is_killed_goes_on(tmp_path):
    """The ledger is that of a run without a break, and finished seeds are not touched."""
    command = [Path(sys.executable).with_name("sfumato"), "experiment", NAME, "stars-by-rows"]
    command += ["--quick", "--seeds", "4", "--processes", "1", "--out"]
    environment = {**os.environ, "SFUMATO_WORK": str(tmp_path / "work")}
    options = {"env": environment, "cwd": tmp_path, "stdout": subprocess.DEVNULL}
    run = subprocess.Popen(
        [*command, tmp_path / "out"], **options, stderr=subprocess.DEVNULL, start_new_session=True
    )
    folder = tmp_path / "out" / FOLDER
    while len(list(folder.glob("*.json"))) < 2 and run.poll() is None:
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    finished = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 2 <= len(finished) <= 8
    subprocess.run([*command, tmp_path / "out"], **options, check=True)
    subprocess.run([*command, tmp_path / "whole"], **options, check=True)
    times = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert finished.items() <= times.items()
    assert len(times) == 8
    ledgers = [(tmp_path / out / "ledger.csv").read_text() for out in ("out", "whole")]
    assert ledgers[0] == ledgers[1]
