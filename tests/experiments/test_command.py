"""The command and its flow: what is asked for is run, in processes of their own."""

import json
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.experiment import Results
from sfumato.tasks.experiments.shared.kept import RunFacts
from sfumato.tasks.experiments.shared.pages import write_files


def test_without_a_name_it_says_which_there_are(capsys):
    assert run(["experiment"]) == 0
    lines_printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines_printed] == list(EXPERIMENTS)


def test_a_wrong_name_is_told_before_anything_runs(capsys):
    assert run(["experiment", "stars", "lines"]) == 2
    assert "no experiment 'lines'; type one of " in capsys.readouterr().err


def test_the_flow_writes_its_pages_and_leaves_nothing_else(tmp_path, monkeypatch, plain_flow):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    state = plain_flow(("printed-fakes", "diversity-time"), str(tmp_path / "out"), True, 2)
    assert state.result == str(tmp_path / "out")
    ledger = (tmp_path / "out" / "ledger.csv").read_text(encoding="utf-8").splitlines()
    claims = [EXPERIMENTS[name].claims for name in ("printed-fakes", "diversity-time")]
    assert len(ledger) == 1 + sum(map(len, claims))
    assert "distribution,printed-fakes,Algorithm 2 finds the least sum" in ledger[1]
    seeds = {
        line.split(",")[4]
        for line in (tmp_path / "out" / "printed-fakes.csv").read_text().splitlines()[1:]
    }
    assert seeds == {"0", "1"}
    leftovers = list((tmp_path / "work").rglob("*.parquet"))
    assert leftovers == []


def test_pages_are_written_from_what_is_finished(tmp_path, monkeypatch, plain_flow):
    """Nothing is measured; seeds that are missing are counted."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    out = tmp_path / "out"
    plain_flow(("printed-fakes",), str(out), True, 1)
    (path,) = (out / "measured").iterdir()
    before = path.stat().st_mtime_ns
    plain_flow(("printed-fakes", "optimum"), str(out), True, 2, only_kept=True)
    assert [file.name for file in (out / "measured").iterdir()] == [path.name]
    assert path.stat().st_mtime_ns == before
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["missing"] == 3
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "3 seeds have no points yet." in page
    assert "no seed: not measured yet" in page


class _FailingPool:
    """Does in this process what is submitted; a seed fails, and a process is killed once."""

    killed = False

    def __init__(self, *_):
        pass

    def submit(self, measure, name, size, inputs, seed, finished):
        future = Future()
        if seed == 1:
            future.set_exception(KeyError("whose value is told to nobody"))
        elif seed == 2 and not _FailingPool.killed:
            _FailingPool.killed = True
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(measure(name, size, inputs, seed, finished))
        return future

    def shutdown(self, **_):
        pass


def test_a_seed_that_fails_ends_no_other(tmp_path, monkeypatch, plain_flow):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setattr("sfumato.tasks.experiments.run.worker_processes", _FailingPool)
    monkeypatch.setattr(_FailingPool, "killed", False)
    plain_flow(("printed-fakes",), str(tmp_path / "out"), True, 4)
    assert _FailingPool.killed
    written = (tmp_path / "out" / "printed-fakes.csv").read_text().splitlines()[1:]
    assert {line.split(",")[4] for line in written} == {"0", "2", "3"}
    ledger = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "1 of 4 seeds of <code>printed-fakes</code> failed." in ledger
    page = (tmp_path / "out" / "distribution.html").read_text(encoding="utf-8")
    assert "<strong>Seed 1 failed</strong> (KeyError)" in page
    assert "whose value" not in page + ledger


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_where_every_seed_fails_nothing_is_decided(name, tmp_path):
    experiment = EXPERIMENTS[name]
    measured = {name: Results({}, {0: "Fault", 1: "Fault"})}
    facts = RunFacts((), 0, "quick", 2, 2)
    entries = write_files(tmp_path, [experiment], measured, facts)
    assert {entry.outcome for entry in entries} == {"inconclusive"}
    assert {entry.evidence.remark for entry in entries} == {"no seed: Fault"}
