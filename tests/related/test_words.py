"""Summaries, pages and codebooks of two tables: numbers of rows, and what is unprotected."""

import json

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.api.opening import open as open_verified
from sfumato.flows.life.version_summary import summarise_version
from sfumato.tasks.metadata.sentences import people_columns
from sfumato.tasks.report.codebook import codebook
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.flow_here import release_here
from tests.related.hospital import made_up, spec_with

HOSPITAL = made_up(5, 120)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """The spec of a hospital, in a work directory of its own."""
    place = tmp_path_factory.mktemp("words")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        yield spec_with(place, HOSPITAL)


@pytest.fixture(scope="module")
def version(spec):
    return release_here(spec)


def numbers_of_stays():
    """Return the number of stays of each patient who has one."""
    named = HOSPITAL.stays["patient"].to_pylist()
    return [named.count(name) for name in set(named)]


def test_the_summary_of_a_release_counts_both_tables(version):
    summary = summarise_version(version)
    stays, most = HOSPITAL.stays.num_rows, max(numbers_of_stays())
    assert summary.related == {
        "stays": {"read": stays, "published": stays, "at most of one person": most}
    }
    words = f"stays: {stays} read; {stays} published; {most} at most of one person"
    assert ("related", words) in list(summary.lines())
    assert summary.document()["related_rows"] == summary.related


def test_a_plan_counts_people_without_rows(spec, call):
    code, output, error = call("plan", spec, "--format", "json")
    assert code == 0, error
    counts = json.loads(output)["related_rows"]["stays"]
    assert counts["people without any"] == 120 - len(numbers_of_stays())
    assert counts["read"] == HOSPITAL.stays.num_rows
    _, output, _ = call("plan", spec)
    assert f"{counts['people without any']} people without any" in output
    page = (spec.parent / "work").glob(".drafts/*/report/draft.html")
    text = next(page).read_text(encoding="utf-8")
    assert "Rows of stays" in text
    assert "people without any" in text


def test_the_codebook_does_not_promise_what_is_unprotected(version):
    release = open_release(version)
    tables = read_tables(release.declared, version / "data")
    entries = codebook(release.declared, tables)
    assert "no promise covers it" in entries["cost"].role
    assert "must not learn" in entries["diagnosis"].role
    assert list(people_columns(release.declared)) == [
        "Quasi-identifier (others may know it about a person): age, sex",
        "Sensitive (others must not learn it about a person): diagnosis",
        "Sensitive (no promise covers it, for a reason on the release's page): cost",
    ]


def test_python_says_what_to_ask_of_two_tables(version):
    with pytest.raises(QueryError, match=r"unknown table 'microdata'\. Ask patients alone"):
        open_verified(version).query("SELECT COUNT(*) FROM microdata")
