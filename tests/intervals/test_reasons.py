"""Every answer of a calibrated release has an interval, or says why there is none."""

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.intervals import shapes
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import evolve
from tests.release.small import SPEC, Small, people

WIDE = "FROM microdata WHERE age BETWEEN 25 AND 44"
ASKED = {
    f"SELECT STDDEV(wage) x {WIDE} OR age = 60": shapes.OUTSIDE,
    f"SELECT MEDIAN(wage) x {WIDE} OR age = 60": shapes.OUTSIDE,
    f"SELECT QUANTILE_CONT(wage, 0.999) x {WIDE}": shapes.OUTSIDE,
    f"SELECT SUM(wage * age) x {WIDE}": shapes.CALCULATED,
    f"SELECT SUM(wage * age) / SUM(age) x {WIDE}": shapes.CALCULATED,
    f"SELECT MAX(wage) - AVG(wage) x {WIDE}": shapes.CALCULATED,
    f"SELECT AVG(age) + 1 x {WIDE}": shapes.EXACT,
    "SELECT AVG(wage) x FROM microdata WHERE age = 999": shapes.NOTHING,
    "SELECT SUM(wage * age) x FROM microdata WHERE age = 999": shapes.NOTHING,
}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch, few_queries):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def only(release, sql):
    [row] = document(answer(release, sql))["rows"]
    return row["x"]


@pytest.fixture
def published_directory(tmp_path):
    line = Small(tmp_path / "line").write(people(rows=240), evaluate={"intervals": 95})
    return line.publish("one").directory


def test_what_has_no_interval_says_why(published_directory):
    release = open_release(published_directory)
    assert {sql: only(release, sql).get("interval_95_reason") for sql in ASKED} == ASKED
    assert {only(release, sql)["interval_95"] for sql in ASKED} == {None}
    for aggregate in ("AVG(wage)", "STDDEV(wage)", "VARIANCE(wage)", "MEDIAN(wage)"):
        assert only(release, f"SELECT {aggregate} x {WIDE}")["interval_95"], aggregate


def test_a_release_without_calibration_says_nothing_of_intervals(tmp_path):
    line = Small(tmp_path / "line").write(people(), evaluate=SPEC["evaluate"])
    release = open_release(line.publish("one").directory)
    assert "interval_95" not in only(release, f"SELECT SUM(wage * age) x {WIDE}")


def test_a_form_without_a_law_says_so_in_each_answer(tmp_path):
    """Of composed tables apart nobody knows which rows are people's: no world can be drawn."""
    line = evolve(tmp_path / "line", "ambiguous", versions=0)
    directory = line.publish(evaluate={"intervals": 95})
    assert check(directory)
    release = open_release(directory)
    assert release.declared.intervals.families == ()
    sql = "SELECT COUNT(*) x FROM microdata WHERE age BETWEEN 18 AND 40 AND job = 'job 1'"
    assert only(release, sql)["interval_95_reason"] == shapes.OUTSIDE
