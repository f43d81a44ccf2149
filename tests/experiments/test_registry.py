"""What every experiment keeps to: a second's run of each gives all that its page needs."""

import csv
import io
import xml.etree.ElementTree as ET
from math import isfinite

import pytest

from sfumato.expectations.errors import InputError
from sfumato.tasks.experiments.data.described import DATA
from sfumato.tasks.experiments.data.papers import PAPERS
from sfumato.tasks.experiments.pages.files import write_files
from sfumato.tasks.experiments.protocol.points import COLUMNS, Point, Results
from sfumato.tasks.experiments.registry import EXPERIMENTS, experiment_named
from sfumato.tasks.experiments.run import measure_seed
from tests.experiments.made import inputs

SEED = 0


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What was measured of an experiment, once."""
    scratch, known = tmp_path_factory.mktemp("experiments"), {}

    def measure(name):
        if name not in known:
            points = measure_seed(name, "quick", inputs(scratch), SEED)
            assert list(scratch.iterdir()) == [], "trials are deleted"
            known[name] = Results({SEED: points})
        return known[name]

    return measure


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_measured_is_tidy_and_every_claim_is_decided(name, measured):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.paper in PAPERS
    results = measured(name)
    (points,) = results.points.values()
    assert points
    assert {p.data for p in points} == set(experiment.data) <= set(DATA)
    assert all(isfinite(p.value) and p.value >= 0 for p in points)
    assert len({p[:4] for p in points}) == len(points), "a point is measured once"
    header, *rows = csv.reader(io.StringIO(results.csv(name)))
    assert (tuple(header), len(rows)) == (COLUMNS, len(points))
    assert {figure.measure for figure in experiment.figures} <= {p.measure for p in points}
    for claim in experiment.claims:
        evidence = claim.test.weigh(results, claim.data)
        assert claim.data in experiment.data
        assert 0 <= evidence.agree <= 1
        assert 0 <= evidence.disagree <= 1
        assert evidence.numbers
        assert max(evidence.agree, evidence.disagree) > 0.05, "not both at once"


def test_claims_name_series_that_are_measured(measured):
    """A series that is misspelt would be undecided for ever."""
    for name, experiment in EXPERIMENTS.items():
        known = {(p.data, p.series) for p in measured(name).points[SEED]}
        named = [
            (claim.data, getattr(claim.test, part))
            for claim in experiment.claims
            for part in ("series", "lower", "upper", "one", "other")
            if isinstance(getattr(claim.test, part, None), str)
        ]
        assert set(named) <= known, name


def test_the_same_seed_measures_the_same(measured, tmp_path):
    points = measure_seed("arbitrary-averages", "quick", inputs(tmp_path), SEED)
    assert points == measured("arbitrary-averages").points[SEED]
    other = measure_seed("arbitrary-averages", "quick", inputs(tmp_path), SEED + 1)
    assert other != points


def test_pages_need_nothing_else_and_say_what_plots_show(measured, tmp_path):
    chosen = [EXPERIMENTS[name] for name in ("arbitrary-averages", "correlation", "optimum")]
    entries = write_files(
        tmp_path, chosen, {one.name: measured(one.name) for one in chosen}, "quick"
    )
    assert len(entries) == sum(len(one.claims) for one in chosen)
    pages = {"index.html", "aggregate-queries.html", "cell-suppression.html"}
    assert {path.name for path in tmp_path.glob("*.html")} == pages
    for page in pages:
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "http" not in text.replace("http-equiv", "")
        assert "<img" not in text
        assert "<script" not in text
        assert text.count('role="img"') == text.count("<desc")
    text = (tmp_path / "aggregate-queries.html").read_text(encoding="utf-8")
    assert "Generated data." in text
    assert "hardly anything can be decided" in text
    (drawn,) = tmp_path.glob("arbitrary-averages-*.svg")
    title, described = list(ET.parse(drawn).getroot())[1:3] and [
        found.text for found in ET.parse(drawn).getroot() if found.tag.endswith(("title", "desc"))
    ]
    assert "rows selected" in title
    assert "permuted" in described
    assert (tmp_path / "ledger.csv").read_text(encoding="utf-8").count("\n") == len(entries) + 1


def test_an_experiment_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"experiment 'lines': there are arbitrary-averages, "):
        experiment_named("lines")


def test_points_are_rounded_for_tables_alone():
    results = Results({0: [Point("d", "s", 0.1, "m", 1 / 3)]})
    assert results.csv("e").splitlines()[1] == "e,d,s,0.1,0,m,0.333333333"
