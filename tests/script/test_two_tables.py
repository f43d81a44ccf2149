"""The script of a page of two related tables gives the bounds and estimates of the engine."""

import os

import pyarrow as pa
import pyarrow.csv as pc
import pytest
import yaml

from sfumato.tasks.publication.check import check
from sfumato.tasks.report.page_data import is_fetched, page_data
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.flow_here import release_here
from tests.script.questions import answer_by_script
from tests.script.same_answers import differences
from tests.script.test_same_answers import with_rounded_estimates
from tests.script.two_tables import PEOPLE, ROWS, TableQuestions, files_of_rows, small_tables

pytestmark = pytest.mark.node
QUERIES = int(os.environ.get("SFUMATO_QUESTIONS", "60"))


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release of columns of every type, with missing values in both tables."""
    place = tmp_path_factory.mktemp("two-tables")
    for name, rows in zip(("patients", "stays"), files_of_rows(4, 150), strict=True):
        pc.write_csv(pa.Table.from_pylist(rows), place / f"{name}.csv")
    document = {
        "version": 2,
        "name": "clinic",
        "title": "Patients and their stays",
        "tables": {
            "patients": {"source": {"uri": "patients.csv"}, "columns": dict(PEOPLE)},
            "stays": {"of": "patients", "source": {"uri": "stays.csv"}, "columns": dict(ROWS)},
        },
        "promises": [
            {"model": "people", "k": 4},
            {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"},
        ],
        "partition": {"method": "mondrian"},
        "publish": {"uri": str(place / "releases")},
    }
    spec = place / "clinic.yaml"
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        yield open_release(release_here(spec))


@pytest.fixture(scope="module")
def tables(release):
    return read_tables(release.declared, release.directory / "data")


@pytest.mark.parametrize("seed", range(3))
def test_answers_on_a_release_are_the_same(release, tables, seed):
    queries = TableQuestions(seed).queries(QUERIES)
    different, compared, _ = differences(tables, release.declared, queries)
    assert not different, "\n".join(different)
    assert compared >= 0.7 * len(queries)


@pytest.mark.parametrize("seed", range(12))
def test_answers_on_small_groups_are_the_same(release, tables, seed):
    small = small_tables(seed, {name: table.schema for name, table in tables.items()})
    queries = TableQuestions(100 + seed).queries(QUERIES)
    different, compared, _ = differences(small, release.declared, queries)
    assert not different, "\n".join(different)
    assert compared >= 0.6 * len(queries)


def test_the_release_is_checked_with_its_page(release):
    check(release.directory)


def test_answers_from_files_are_those_from_the_page(release, tables, monkeypatch):
    data = page_data(tables, release.declared)
    monkeypatch.setattr("sfumato.tasks.report.page_data._least_length", lambda _: 10**9)
    named = page_data(tables, release.declared)
    assert is_fetched(named)
    assert not is_fetched(data)
    queries = TableQuestions(9).queries(QUERIES)
    from_page = answer_by_script(data, queries)
    from_files = answer_by_script(named, queries, release.directory)
    assert [with_rounded_estimates(answer) for answer in from_files] == [
        with_rounded_estimates(answer) for answer in from_page
    ]


def refusal(data, query):
    (answer,) = answer_by_script(data, [query])
    assert isinstance(answer, dict), answer
    return answer["refused"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT COUNT(*) FROM microdata", "There is no table microdata. Write FROM patients"),
        ("SELECT COUNT(*) FROM patients JOIN stays ON a = b", "in one way: patients JOIN stays"),
        ("SELECT COUNT(*) FROM patients, stays", "in one way: patients JOIN stays"),
        ("SELECT COUNT(*) FROM stays WHERE age > 3", "Column age is in patients"),
        ("SELECT COUNT(*) FROM patients WHERE cost > 3", "Column cost is in stays"),
        ("SELECT COUNT(*) FROM patients WHERE stays.cost > 3", "Column cost is in stays"),
        ("SELECT patient FROM stays", "Count people by COUNT(DISTINCT patient)"),
        ("SELECT MAX(cost) FROM stays", "MAX of related rows has no bounds yet"),
        ("SELECT AVG(age) FROM patients JOIN stays USING (patient)", "once for each of their rows"),
        ("SELECT AVG(cost) / COUNT(*) FROM stays", "divides COUNT(*) or SUM by"),
        (
            "SELECT COUNT(*) / COUNT(DISTINCT patient) FROM patients",
            "Write FROM patients JOIN stays USING (patient)",
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE cost > 3)",
            "the rows belong to the person: WHERE stays.patient = patients.patient AND",
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE stays.patient "
            "= patients.patient AND cost > 3 OR urgent)",
            "in parentheses",
        ),
        (
            "SELECT COUNT(*) FROM stays WHERE patient IN (SELECT patient FROM stays WHERE urgent)",
            "have no bounds",
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE patient IN (SELECT patient FROM stays GROUP BY "
            "patient HAVING COUNT(*) < 3)",
            "HAVING takes COUNT(*) >= a whole number",
        ),
        (
            "SELECT AVG(age) FROM patients WHERE patient IN (SELECT patient FROM stays)",
            "Only COUNT has bounds",
        ),
        (
            "SELECT COUNT(DISTINCT patient) FROM patients JOIN stays USING (patient) WHERE vip OR "
            "cost > 3",
            "OR joins conditions on both tables",
        ),
    ],
)
def test_other_queries_are_refused_with_what_to_ask(release, tables, query, why):
    assert why in refusal(page_data(tables, release.declared), query)


def test_a_page_of_what_its_script_does_not_know_asks_nothing(release, tables):
    declared = release.declared
    with_numbers = tables["patients"].append_column("stays", tables["patients"]["age"])
    assert page_data({**tables, "patients": with_numbers}, declared) is None
    assert page_data({**tables, "more": tables["stays"]}, declared) is None
    fact = declared.columns["vip"].model_copy(update={"role": "sensitive"})
    columns = {**declared.columns, "vip": fact}
    assert page_data(tables, declared.model_copy(update={"columns": columns})) is None
    before = {**declared.software, "sfumato-page": "10"}
    assert page_data(tables, declared.model_copy(update={"software": before})) is None
