"""The page of a version that was made to be combined with others of its line."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.forms.lineage import LineageTotals
from sfumato.tasks.report.page import PageContent, PublishedFile
from sfumato.tasks.report.snippets import pandas_snippet
from sfumato.tasks.report.utility import utility_lines
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.utility import utility
from tests.query.composed import publish_composed
from tests.report.content import make_release
from tests.report.test_page import read

COLUMNS = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    "sex": {"role": "quasi-identifier", "type": "string"},
    "loss": {"role": "sensitive", "type": "integer"},
}
PEOPLE = {"age": [1, 1, 1, 5, 6, 7], "sex": list("fmfffm"), "loss": [1, 2, 3, 3, -1, 2]}
FORMS = ["permuted", "split", "ambiguous", "redistributed", "generalized", "suppressed"]


def release(method, kind=(0, 0, 1, 0, 0, 1), **versions):
    """A declared release from which some have left, and its tables."""
    leavers, ranges = sum(kind), method == "redistributed"
    about = make_release(
        6 - leavers,
        columns=COLUMNS,
        unit="identifier",
        versions={"rule": "composed", **versions},
        promises=[],
        partition={"method": "stratum" if ranges else "anatomy"},
        form={"method": method, **({"fakes": 9} if ranges else {})},
        rows={
            "read": 9 - leavers,
            "dropped_by_filter": 0,
            "dropped_for_nulls": 0,
            "dropped_as_repeats": 0,
            "suppressed": 0,
            "published": 6 - leavers,
            "fakes": leavers if ranges else 0,
            "vacant": 0 if ranges else leavers,
            "not_represented_versions": 3,
        },
    )
    tables = publish_composed(about, PEOPLE, [0, 0, 0, 1, 1, 1], kind)
    return about, {name: table for name, table in tables.items() if not name.startswith("help_")}


def page_of(method, lineage=None, **more):
    about, tables = release(method, **more)
    groups = SeenGroups(about, tables).of_all()
    files = tuple(PublishedFile(f"data/{name}.parquet", 1_000) for name in tables)
    lost = utility(tables, about, groups.sizes)
    return read(PageContent(about, (), groups, files, lost, lineage=lineage)).text


@pytest.mark.parametrize("method", FORMS)
def test_tells_what_versions_tell_together(method):
    text = page_of(method)
    assert "Versions were made to be combined. People who were in an earlier version" in text
    assert "All versions together reveal no more about a person's loss than the group" in text
    made_up = "are made up or " if method == "redistributed" else ""
    assert f"Of the values shown, 33.3 in 100 {made_up}belong to people who have left" in text
    assert "when a person joined or left, and that a person's value changed" in text
    assert "from another version" not in text
    assert "Versions may be combined" not in text
    assert "no two versions of this release" not in text


@pytest.mark.parametrize("method", FORMS)
def test_accounts_for_people_and_for_what_they_left(method):
    text, ranges = page_of(method), method == "redistributed"
    assert "The release has 4 rows" in text
    assert "Kept out because of earlier versions 3 Published 4" in text
    assert f"Values of people who have left, still shown {0 if ranges else 2}" in text
    beyond = ", those of people who have left among them 2" * ranges
    assert f"Invented sensitive values (fakes){beyond}" in text
    assert "3 people whom earlier versions keep out" in text
    assert "previous_group_id the group of the version before" in text
    assert ("values of a group that no person got" in text) == (method == "permuted")
    smallest = (
        "rows in the smallest group 2"
        if ranges or method in FORMS[4:]
        else "values in the smallest group 3"
    )
    assert smallest in text


def test_a_first_version_has_nothing_vacant():
    text = page_of("permuted", kind=(0,) * 6)
    assert "All values shown belong to people who are here." in text
    assert "rows in the smallest group 3" in text


def test_says_where_values_are_those_of_the_first_version():
    text = page_of("split", changes="as-first")
    assert "Values are those of the first version with the person." in text
    assert "a person's value changed" not in text


@pytest.mark.parametrize("changes", ["withhold", "reinsert"])
def test_says_where_people_may_be_in_another_group(changes):
    text = page_of("split", changes=changes)
    assert ("may be in another group than before" in text) == (changes == "reinsert")
    assert "when a person joined or left, and that a person's value changed" in text


@pytest.mark.parametrize("vacancies", ["keep", "paired", "refill"])
def test_says_where_newcomers_may_have_the_place_of_others(vacancies):
    text = page_of("split", vacancies=vacancies, lineage=LineageTotals(continued=2, new=1, left=1))
    sentence = "a reader who knows the value of a person who left may learn more about the newcomer"
    assert (sentence in text) == (vacancies != "keep")
    assert ("or the places of people who left" in text) == (vacancies != "keep")


@pytest.mark.parametrize("consolidate", [False, True])
def test_says_where_people_may_have_moved_to_other_groups_of_the_same_values(consolidate):
    lineage = LineageTotals(continued=2, new=1, left=1)
    text = page_of("split", vacancies="refill", consolidate=consolidate, lineage=lineage)
    assert ("are in the same group here, with the same values;" in text) != consolidate
    assert (
        "or in another group of exactly the same values, each of them once;" in text
    ) == consolidate
    assert ("Groups with few people left are no longer shown" in text) == consolidate
    assert ("their people moved to others of the same values" in text) == consolidate


@pytest.mark.parametrize("method", FORMS)
def test_the_snippet_runs(method, tmp_path, monkeypatch):
    about, tables = release(method)
    (tmp_path / "data").mkdir()
    for name, table in tables.items():
        pq.write_table(table, tmp_path / "data" / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(pandas_snippet(about), namespace)
    assert namespace["lineage"]["rows"].sum() == 4
    if method == "permuted":
        assert len(namespace["values"]) == 6


@pytest.mark.parametrize("method", ["generalized", "suppressed"])
def test_losses_are_those_of_people_who_are_here(method):
    kind = (0, 0, 1, 0, 1, 1)
    about, tables = release(method, kind=kind)
    lost = utility(tables, about, SeenGroups(about, tables).of_all().sizes)
    rows, people = tables["microdata"], tables["lineage"]["rows"].to_pylist()
    first_rows = [
        place
        for place, group_id in enumerate(rows["group_id"].to_pylist())
        if rows["group_id"].to_pylist()[:place].count(group_id) < people[group_id]
    ]
    alone = {"microdata": rows.take(pa.array(first_rows)).drop_columns(["group_id"])}
    plain = about.model_copy(update={"versions": "disjoint"})
    assert lost == utility(alone, plain, SeenGroups(plain, alone).of_all().sizes)
    assert (lost.classes, lost.discernibility) == (2, 5)
    assert utility_lines(lost, composed=True)[0].meaning == "distinguished by their group_id"


@pytest.mark.parametrize("method", FORMS)
def test_says_what_changed_since_the_version_before(method):
    changed = "What changed since the version before"
    text = page_of(method, lineage=LineageTotals(continued=1_200, new=7, left=2))
    section = text.split(changed)[1].split("How to verify")[0]
    assert "Groups that continue from the version before 1,200" in section
    assert "Groups of people who came since 7" in section
    assert ("Groups that people have left 2" in section) == (method != "redistributed")
    assert changed not in page_of(method)
