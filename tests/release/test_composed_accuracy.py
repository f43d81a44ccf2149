"""Bounds of composed versions hold the truth about the people whom a version shows."""

import pytest

from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import evaluate_again
from tests.release.evolving import KINDS, Evolving

ABOUT = {"ranges": "hours", "redistributed": "hours"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", ["withhold", "as-first"])
def test_truths_are_inside_the_bounds_of_every_version(tmp_path, monkeypatch, kind, changes):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Evolving(tmp_path / "line", kind)
    workload = {"aggregate": "count", "over": "age", "spans": [5, 20], "queries": 15}
    wish = {
        "versions": {"rule": "composed", "changes": changes},
        "evaluate": {"workloads": [{"kind": "range", **workload}]},
    }
    line.publish(**wish)
    line.move()
    for number in list(line.people)[:5]:
        line.people[number]["age"] += 7
        line.people[number]["job"] = "job 2"
        line.people[number]["hours"] += 1
    version = line.publish(**wish)
    measured = evaluate_again(version, line.folder / "spec.yaml", Overrides())
    assert measured
