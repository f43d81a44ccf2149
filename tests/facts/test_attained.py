"""Bounds beside facts are said to be attained only where facts rule no world out."""

import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.forms.related.facts import columns_named
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.facts.clinic import clinic, promises, spec_of_clinic, tables, with_days
from tests.flow_here import release_here
from tests.related.hospital import Hospital
from tests.release.forge import edit

VERIFY = Path(__file__).parents[2] / "deployments" / "verifier" / "verify.mjs"
JOIN = "FROM patients JOIN stays USING (patient)"
ANY = [
    {"model": "people", "k": 2},
    {"model": "related-l-diversity", "l": 1, "sensitive": "diagnosis", "numbers": "hidden"},
]


def ends(place, facts, people, stays, query, numbers="hidden"):
    """The ends of the only answer to a query of a release, and whether these are attained."""
    names, columns = ("patient", "age", "sex"), ("patient", "diagnosis", "cost")
    patients = pa.table(dict(zip(names, map(list, zip(*people, strict=True)), strict=True)))
    rows = pa.table(dict(zip(columns, map(list, zip(*stays, strict=True)), strict=True)))
    both = tables(*(facts or ("times",)))
    if not facts:
        del both["patients"]["columns"]["times"]
    both["stays"]["numbers"] = numbers
    hospital = with_days(Hospital(patients, rows))
    spec = spec_of_clinic(place, hospital, tables=both, promises=ANY)
    (answer,) = answers(open_release(release_here(spec)), [query])
    ((bounds,),) = (row.values() for row in answer.rows)
    return bounds.lower, bounds.upper, bounds.attained


TWO = [("a", 30, "f"), ("b", 31, "f")]


@pytest.fixture(autouse=True)
def own_work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def test_a_fact_of_values_rules_worlds_out(tmp_path):
    """Totals of 2 and 12 show that both stays above 4 are one patient's."""
    stays = [("a", "flu", 1), ("a", "gout", 1), ("b", "asthma", 5), ("b", "cancer", 7)]
    query = (
        "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE "
        "stays.patient = patients.patient AND cost > 4)"
    )
    assert ends(tmp_path, ("total_cost",), TWO, stays, query) == (1, 2, False)


def test_a_condition_on_numbers_rules_worlds_out(tmp_path):
    """Who has no stays has none in any world, and is told apart by this condition."""
    stays = [("a", "flu", 1), ("a", "gout", 1), ("a", "asthma", 5)]
    query = f"SELECT COUNT(*) {JOIN} WHERE number_of_stays = 0"
    assert ends(tmp_path, (), TWO, stays, query, "shuffled") == (0, 3, False)


def test_presence_rules_worlds_out(tmp_path):
    people = [*TWO, ("c", 32, "f")]
    stays = [("a", "flu", 1), ("a", "gout", 1), ("b", "asthma", 5)]
    query = f"SELECT COUNT(DISTINCT patient) {JOIN} WHERE admitted"
    assert ends(tmp_path, ("admitted",), people, stays, query) == (1, 2, False)


def test_numbers_of_stays_alone_rule_none_out(tmp_path):
    stays = [("a", "flu", 1), ("a", "gout", 1), ("b", "asthma", 5)]
    query = f"SELECT COUNT(*) {JOIN} WHERE age = 30"
    assert ends(tmp_path, (), TWO, stays, query, "shuffled") == (1, 2, True)


def test_one_number_is_attained(tmp_path):
    stays = [("a", "flu", 1), ("a", "gout", 1), ("b", "asthma", 5)]
    query = f"SELECT SUM(cost) {JOIN}"
    assert ends(tmp_path, ("total_cost",), TWO, stays, query) == (7, 7, True)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SUM(größe)", {"grösse"}),
        ('SUM("größe")', {"grösse"}),
        ("""COUNT("x'") + SUM(cost) + COUNT("y'")""", {"x'", "cost", "y'"}),
        ("""COUNT(*) FILTER (WHERE ward = 'it''s "cost"')""", {"where", "ward"}),
        ("$1a + 2b", {"a", "b"}),
        ("SUM\u00a0(cost)", {"cost"}),
    ],
)
def test_names_in_the_sql_of_facts(sql, names):
    assert columns_named(sql) == names


@pytest.mark.node
def test_both_verifiers_find_published_columns_in_the_sql_of_facts(tmp_path):
    """Between quoted names with apostrophes a column is no text."""
    facts, against_known = tables("readmitted"), promises(numbers="known")
    spec = spec_of_clinic(tmp_path, clinic(1, 60), tables=facts, promises=against_known)
    directory = release_here(spec)
    place = tmp_path / "altered" / directory.parent.name / directory.name
    for sql in ('SUM("cost") > 3', """COUNT("x'") + SUM(cost) + COUNT("y'") > 3"""):
        shutil.copytree(directory, place)
        edit(place, lambda document, sql=sql: state(document["sfumato"], sql))
        with pytest.raises(PromiseError, match="the name of the published column cost"):
            check(place)
        command = ["node", str(VERIFY), str(place), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "numbers known beside facts of published columns" in done.stdout
        shutil.rmtree(place)


def state(document, sql):
    """State other SQL of the only fact."""
    next(c for c in document["columns"] if c["name"] == "readmitted").update(derive=sql)


def test_a_name_that_readers_would_take_for_a_published_column_is_refused(tmp_path):
    both = tables("times")
    both["stays"]["columns"]["gap"] = {"role": "sensitive", "type": "integer", "unprotected": "x"}
    both["patients"]["columns"]["again"] = {
        "role": "sensitive",
        "type": "boolean",
        "unprotected": "x",
        "derive": "SELECT COALESCE(BOOL_OR(gap <= 30), FALSE) FROM "
        "(SELECT day - LAG(day) OVER (ORDER BY day) AS gap FROM stays)",
    }
    against_known = promises(numbers="known")
    with pytest.raises(SpecError, match=r"again.derive: uses the name gap.*Use another name"):
        read_spec(spec_of_clinic(tmp_path, clinic(1, 30), tables=both, promises=against_known))
    read_spec(spec_of_clinic(tmp_path, clinic(1, 30), tables=both, promises=promises()))


def test_a_coded_count_is_not_the_number_of_rows(tmp_path):
    both = tables("times")
    both["patients"]["columns"]["times"] |= {"bottom": 1}
    both["stays"]["numbers"] = "shuffled"
    spec = read_spec(spec_of_clinic(tmp_path, clinic(1, 30), tables=both))
    assert spec.columns["number_of_stays"].derive == "COUNT(*)"
