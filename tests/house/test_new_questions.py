"""A new aggregate and a new dialect are one entry of a registry each; nothing else is changed."""

import json
from dataclasses import replace
from statistics import median

import pytest
from pydantic import ValidationError

from sfumato.flows.cli.main import run
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.house.middle import MODE, middle
from tests.house.pond import POND
from tests.query.aggregate_laws import ORACLES, AggregateLaws
from tests.query.dialect_laws import DialectLaws
from tests.release.small import people

QUERY = "SELECT MODE(wage) AS x FROM microdata WHERE age >= 30"


@pytest.fixture(autouse=True)
def toys_registered(monkeypatch):
    """The registries with the toys, and what the toy aggregate is."""
    monkeypatch.setitem(AGGREGATES, "mode", MODE)
    monkeypatch.setitem(DIALECTS, "pond", POND)
    monkeypatch.setitem(ORACLES, "mode", middle)


@pytest.mark.parametrize("name", ["mode"])
class TestAggregate(AggregateLaws):
    """The toy aggregate."""


class TestBoundsOfSubdomains:
    """An aggregate need not have them."""

    def test_one_without_is_refused_there(self, monkeypatch):
        monkeypatch.setitem(AGGREGATES, "mode", replace(MODE, of_cells=None))
        AggregateLaws.test_the_truth_is_within_the_bounds_where_subdomains_stand_for_values(
            self, "mode"
        )


@pytest.mark.parametrize("kind", ["pond"])
class TestDialect(DialectLaws):
    """The toy dialect."""


@pytest.fixture
def release(small, capsys):
    """A release that is published with both, and checked."""
    directory = small.write(people(), evaluate={}).publish("one").directory
    assert run(["check", str(directory)]) == 0
    capsys.readouterr()
    return directory


def bounds(release, capsys):
    """Return the bounds that are answered."""
    assert run(["query", str(release), QUERY, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    return row["x"]["lower"], row["x"]["upper"]


def test_a_release_is_asked_with_bounds_on_the_truth(release, capsys):
    low, high = bounds(release, capsys)
    wages = [float(p["wage"]) for p in people() if int(p["age"]) >= 30 and p["wage"]]
    assert low < median(wages) < high


def test_a_database_in_the_dialect_gives_the_same_bounds(release, capsys, tmp_path):
    url, answered = f"pond:///{tmp_path / 'pond'}", bounds(release, capsys)
    assert run(["load", str(release), url]) == 0
    assert "bounds_wage" in capsys.readouterr().out
    assert run(["query", str(release), QUERY, "--rewrite", "pond"]) == 0
    text = capsys.readouterr().out
    with target(url) as database:
        (row,) = database.execute(text)
        assert tuple(map(float, row)) == pytest.approx(answered)
        (row,) = database.execute("SELECT mode_lower, mode_upper FROM bounds_wage('age >= 30')")
        assert tuple(map(float, row)) == pytest.approx(answered)


def test_the_help_lists_the_dialect_and_the_page_is_made(release, capsys):
    assert run(["query", "--help"]) == 0
    assert "|pond]" in capsys.readouterr().out
    assert run(["load", "--help"]) == 0
    assert f"{POND.access.scheme}:///FILE" in capsys.readouterr().out
    assert "sfumato query" in (release / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("is_exact", [True, False])
def test_workloads_ask_an_aggregate_whose_exact_answer_is_known(monkeypatch, is_exact):
    truth = (lambda _numbers, _codes: None) if is_exact else None
    monkeypatch.setitem(AGGREGATES, "mode", replace(MODE, truth=truth))
    workload = {"kind": "arbitrary", "aggregate": "mode", "selected": [5]}
    if is_exact:
        assert Evaluation.model_validate({"workloads": [workload]}).workloads[0].levels == (5,)
    else:
        with pytest.raises(ValidationError, match="'max'"):
            Evaluation.model_validate({"workloads": [workload]})
