"""Laws of every experiment: a quick run of all, by the command, gives all that pages need."""

import csv
import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.experiments.registry import EXPERIMENTS, experiment_named
from sfumato.tasks.experiments.run import measure_seed
from sfumato.tasks.experiments.shared.described import DATA, PAPERS
from sfumato.tasks.experiments.shared.experiment import COLUMNS, Point, Results
from tests.experiments.made import inputs

pytestmark = pytest.mark.timeout(900)  # all experiments, by a command that compiles its loops
SEED = 0


@dataclass(frozen=True)
class QuickRun:
    """The files and the output of `sfumato experiment all --quick --seeds 1`."""

    out: Path
    work: Path
    code: int
    shown: str

    def results(self, name):
        """Return the measurements of an experiment, as its table has them."""
        points = {}
        with (self.out / f"{name}.csv").open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                point = Point(
                    row["data"],
                    row["series"],
                    float(row["level"]),
                    row["measure"],
                    float(row["value"]),
                )
                points.setdefault(int(row["seed"]), []).append(point)
        return Results(points)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The command, run once in a process of its own, on a server of its own."""
    place = tmp_path_factory.mktemp("quick")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")
    }
    own = {"SFUMATO_WORK": place / "work", "PREFECT_HOME": place / "prefect"}
    command = [Path(sys.executable).with_name("sfumato"), "experiment", "all", "--quick"]
    command += ["--seeds", "1"]
    done = subprocess.run(
        [*command, "--out", place / "out"],
        env={**environment, **{name: str(value) for name, value in own.items()}},
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return QuickRun(place / "out", place / "work", done.returncode, done.stdout)


@pytest.fixture
def experiment_results(quick):
    """Return the measurements of an experiment."""
    return quick.results


def test_all_run_and_leave_nothing_but_pages(quick):
    assert quick.code == 0
    assert quick.shown.splitlines()[-1] == str(quick.out / "index.html")
    assert list(quick.work.rglob("*.parquet")) == []
    assert len(list((quick.out / "measured").iterdir())) == len(EXPERIMENTS)
    claims = sum(len(experiment.claims) for experiment in EXPERIMENTS.values())
    ledger = (quick.out / "ledger.csv").read_text(encoding="utf-8")
    assert ledger.count("\n") == 1 + claims
    assert "failed" not in (quick.out / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_measured_is_tidy_and_every_claim_is_decided(name, experiment_results):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.paper in PAPERS
    results = experiment_results(name)
    assert list(results.points) == [SEED]
    points = results.points[SEED]
    assert points
    assert {p.data for p in points} == set(experiment.data) <= set(DATA)
    assert all(isfinite(p.value) and p.value >= 0 for p in points)
    assert len({p[:4] for p in points}) == len(points), "a point is measured once"
    header, *rows = csv.reader(io.StringIO(results.csv(name)))
    assert (tuple(header), len(rows)) == (COLUMNS, sum(map(len, results.points.values())))
    assert {figure.measure for figure in experiment.figures} <= {p.measure for p in points}
    for claim in experiment.claims:
        evidence = claim.test.weigh(results, claim.data)
        assert claim.data in experiment.data
        assert 0 <= evidence.agree <= 1
        assert 0 <= evidence.disagree <= 1
        assert evidence.numbers
        assert max(evidence.agree, evidence.disagree) > 0.05, "not both at once"
    assert experiment.ours


def test_claims_name_series_that_are_measured(experiment_results):
    """A series that is misspelt would be undecided for ever."""
    for name, experiment in EXPERIMENTS.items():
        series = {(p.data, p.series) for p in experiment_results(name).points[SEED]}
        named = [
            (claim.data, getattr(claim.test, part))
            for claim in experiment.claims
            for part in ("series", "lower", "upper", "other")
            if isinstance(getattr(claim.test, part, None), str)
        ]
        assert set(named) <= series, name


def test_the_same_seed_measures_the_same(experiment_results, tmp_path):
    name = "arbitrary-averages"
    points = measure_seed(name, "quick", inputs(tmp_path), SEED)
    assert Results({SEED: points}).csv(name) == experiment_results(name).csv(name)
    assert points != measure_seed(name, "quick", inputs(tmp_path), SEED + 1)


def test_pages_need_nothing_else_and_say_what_plots_show(quick):
    pages = {"index.html", *(f"{paper}.html" for paper in PAPERS)}
    assert {path.name for path in quick.out.glob("*.html")} == pages
    for page in pages:
        text = (quick.out / page).read_text(encoding="utf-8")
        assert "http" not in text.replace("http-equiv", "")
        assert "<img" not in text
        assert "<script" not in text
        assert text.count('role="img"') == text.count("<desc")
    text = (quick.out / "aggregate-queries.html").read_text(encoding="utf-8")
    assert "Generated data." in text
    assert "hardly anything can be decided" in text
    (picture,) = quick.out.glob("arbitrary-averages-*.svg")
    title, described = list(ET.parse(picture).getroot())[1:3] and [
        element.text
        for element in ET.parse(picture).getroot()
        if element.tag.endswith(("title", "desc"))
    ]
    assert "rows selected" in title
    assert "permuted" in described


def test_an_experiment_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"no experiment 'lines'; type one of arbitrary-"):
        experiment_named("lines")


def test_points_are_rounded_for_tables_alone():
    results = Results({0: [Point("d", "s", 0.1, "m", 1 / 3)]})
    assert results.csv("e").splitlines()[1] == "e,d,s,0.1,0,m,0.333333333"
