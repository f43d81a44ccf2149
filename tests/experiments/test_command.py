"""The command and its flow: what is asked for is run, in processes of their own."""

from importlib import import_module
from inspect import unwrap

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.experiments.registry import EXPERIMENTS


def test_without_a_name_it_says_which_there_are(capsys):
    assert run(["experiment"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == list(EXPERIMENTS)


def test_a_wrong_name_is_told_before_anything_runs(capsys):
    assert run(["experiment", "stars", "lines"]) == 2
    assert "experiment 'lines': there are " in capsys.readouterr().err


def test_the_flow_writes_its_pages_and_leaves_nothing_else(tmp_path, monkeypatch, unguarded):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    state = unguarded(("printed-fakes", "diversity-time"), str(tmp_path / "out"), True, 2)
    assert state.data == str(tmp_path / "out")
    ledger = (tmp_path / "out" / "ledger.csv").read_text(encoding="utf-8").splitlines()
    claims = [EXPERIMENTS[name].claims for name in ("printed-fakes", "diversity-time")]
    assert len(ledger) == 1 + sum(map(len, claims))
    assert "distribution,printed-fakes,Algorithm 2 finds the least sum" in ledger[1]
    seeds = {
        line.split(",")[4]
        for line in (tmp_path / "out" / "printed-fakes.csv").read_text().splitlines()[1:]
    }
    assert seeds == {"0", "1"}
    left = list((tmp_path / "work").rglob("*.parquet"))
    assert left == []


@pytest.fixture
def unguarded():
    """The flow as a plain function, without Prefect."""
    flow = import_module("sfumato.flows.experiments")
    return unwrap(flow.experiments.fn)
