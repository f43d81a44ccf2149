"""A composed line as watchers of its runs see it: counts, judged by Great Expectations, too."""

import json
from fractions import Fraction

import pytest

from sfumato.tasks.publication.check import check
from tests.flows.test_release_flow import artifacts
from tests.release.evolving import Evolving

pytestmark = pytest.mark.filterwarnings("default")
FEWER_THAN_A_GROUP = 2
PUBLISHED = {
    "people who stayed": 70,
    "new people": 24,
    "new people in places of people who left": 0,
    "values of people who left": FEWER_THAN_A_GROUP,
    "rows left out because of earlier versions": 0,
}


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Evolving(tmp_path / "line", "split")


def run(start, line, **changes):
    process = start("release", str(line.write(**changes)))
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    line.versions.append(out.splitlines()[-1])
    return error


def counts(prefect_api):
    rows = json.loads(artifacts(prefect_api)["coming-and-going-composition"]["data"])
    return {row["measure"]: row["count"] for row in rows}


def test_a_run_shows_how_a_version_goes_on(line, start, prefect_api, tmp_path):
    run(start, line)
    line.move(leave=FEWER_THAN_A_GROUP)
    run(start, line, retain=1)
    totals = counts(prefect_api)
    assert PUBLISHED.items() <= totals.items()
    assert totals["groups that are no longer published"] == 0
    assert totals["rule by which all versions together keep the promises"] == "A"
    assert Fraction(totals["largest probability of a person's value"]) == Fraction(1, 3)
    runs = tmp_path / "work" / line.name / "runs"
    (place,) = runs.glob("*/great-expectations-composition")
    judged = json.loads((place / f"{line.name}.composition.json").read_text(encoding="utf-8"))
    assert judged["success"] is True
    assert (place.parent / "great-expectations" / f"{line.name}.release.json").exists()
    pages = list((place / "data-docs").rglob("*.html"))
    index = (place / "data-docs" / "index.html").read_text(encoding="utf-8")
    assert f"{line.name}.composition" in index
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    assert "All versions together keep distinct l-diversity (l = 3)" in text
    assert not any(row["job"] in text for row in line.people.values())
    check(tmp_path / "line" / "public" / line.name / "0002")


def test_a_run_that_shows_what_is_published_shows_no_more(line, start, prefect_api):
    for _ in range(2):
        run(start, line, artifacts="published-only")
        line.move(leave=FEWER_THAN_A_GROUP)
    totals = counts(prefect_api)
    assert PUBLISHED.items() <= totals.items()
    assert totals.keys() - PUBLISHED.keys() == {"groups that continue", "groups of new people"}


def test_a_run_says_that_other_people_have_the_same_numbers(line, start, tmp_path):
    run(start, line)
    other = Evolving(tmp_path / "other", "split", name="other-people")
    error = run(start, other)
    assert "72 units are in line coming-and-going, about other people" in error
