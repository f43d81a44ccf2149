"""Tables without sensitive values: it is hidden who people are, and nothing else is promised."""

import csv
import json
import re
from collections import Counter

import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.choice.alternatives import alternatives_of, read_grid
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.microdata.table import load as load_microdata
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.sql.target import target
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.verification.integrity import digest
from tests.attacks.test_linkage import register_of
from tests.release.plain import without_tables
from tests.release.small import SPEC, people
from tests.report.html import Read

REASON = "wages of this town are public <by law>"
COLUMNS = {**SPEC["columns"], "wage": {"role": "drop", "type": "decimal"}}
OPEN = {**COLUMNS, "wage": {"role": "insensitive", "type": "decimal", "unprotected": REASON}}
COUNTS = [{"kind": "range", "aggregate": "count", "over": "age", "spans": [5], "queries": 20}]
AIM = {"kind": "range", "over": "age", "spans": [5]}
K3 = {"model": "k-anonymity", "k": 3}


def changes(form_method="generalized", grouped="mondrian", **more):
    return {
        "columns": COLUMNS,
        "nulls": "category",
        "promises": [K3],
        "partition": {"method": grouped},
        "form": {"method": form_method, "protects": "identities"},
        "evaluate": {"workloads": COUNTS},
    } | more


@pytest.mark.parametrize("partition", ["mondrian", "forest", "full-domain"])
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_published_checked_asked_and_evaluated(small, form, partition):
    columns = json.loads(json.dumps(COLUMNS))
    if form == "generalized":
        columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    published = small.write(people(), **changes(form, partition, columns=columns)).publish("one")
    release = open_release(published.directory)
    assert release.manifest["sfumato"]["format"] == 6
    assert check(published.directory).derived == "equal"
    with (small.folder / "people.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["age"]) > 18]
    young = answer(release, "SELECT COUNT(*) AS n FROM microdata WHERE age < 40").rows[0]["n"]
    assert young.lower <= sum(int(row["age"]) < 40 for row in rows) <= young.upper
    (all_of_them,) = answer(release, "SELECT COUNT(*) AS n FROM microdata").rows
    assert all_of_them["n"].lower == all_of_them["n"].upper == len(rows)
    plan, original = small.plan(), load_microdata(small.folder / "one" / "deidentified")
    wish = plan.spec.evaluate
    measured = evaluate_release(
        published.directory, original, wish, plan.line, seeded_keys(3), lambda *_: None
    )
    assert [row["queries"] for row in measured.public] == [20]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize("columns", [COLUMNS, OPEN], ids=["labels alone", "with wages"])
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_asked_in_a_database(small, form, columns, kind):
    form_keys = {"method": form, "protects": "identities", "label-tables": True}
    small.write(people(), **changes(columns=columns, form=form_keys))
    release = open_release(small.publish("one").directory)
    query = "SELECT COUNT(*) AS n FROM microdata WHERE age = 33 OR town = 'Aa'"
    address = f"{kind}:///{small.folder}/asked.{kind}"
    load(release, address)
    with target(address) as database:
        rows_found = set(database.execute(rewrite(query, release.declared).sql(kind)))
    (row,) = answer(release, query).rows
    assert rows_found == {(row["n"].lower, row["n"].upper)}
    assert row["n"].lower < row["n"].upper


def test_alternatives_protect_what_the_spec_does(small):
    spec = small.write(people(), **changes()).spec
    admitted, _, _ = alternatives_of(spec, Overrides(), read_grid(None))
    assert {candidate.terms.form.method for candidate in admitted} == {"generalized", "suppressed"}
    assert not any(candidate.terms.form.protects_values for candidate in admitted)


def test_the_page_says_that_no_value_is_protected(small):
    published = small.write(people(), **changes(columns=OPEN)).publish("one")
    markup = (published.directory / PAGE).read_text(encoding="utf-8")
    page = Read(without_tables(markup)).text
    words = " ".join(page.split())
    assert "Identities are protected, not values." in words
    assert (
        f"published as it is, next to the labels of its row. The steward's reason: {REASON}"
        in words
    )
    assert re.findall(r"(.{20}) sensitive", words) == ["es. The table has no"]


def test_a_group_is_as_large_as_is_promised_or_the_check_fails(small):
    directory = small.write(people(), **changes()).publish("one").directory
    place = directory / MANIFEST
    manifest = json.loads(place.read_bytes())
    manifest["sfumato"]["promises"][0]["k"] = 30
    manifest["sfumato"]["digest"] = digest(manifest)
    place.chmod(0o644)
    place.write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError):
        check(directory)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"form": {"method": "generalized"}}, "columns: no column has role sensitive.*identities"),
        ({"form": {"method": "permuted", "protects": "identities"}}, "form.*protects"),
        (
            {"columns": SPEC["columns"]},
            ("form.protects: `identities` does not protect the values of 'wage', which has role"),
        ),
        (
            {"columns": {**OPEN, "wage": {"role": "insensitive", "type": "decimal"}}},
            "columns.wage: is published unchanged beside each person's",
        ),
        (
            {"promises": [K3, {"model": "l-diversity", "variant": "distinct", "l": 2}]},
            "promises.1: distinct-l-diversity is about sensitive values",
        ),
        (
            {"promises": [{"model": "t-closeness", "t": "0.2", "distance": "equal"}]},
            "promises.0: t-closeness is about",
        ),
        (
            {"partition": {"method": "hybrid", "aims": [AIM]}},
            "partition: hybrid chooses groups by queries on sensitive",
        ),
        ({"versions": "composed"}, "`versions: composed` follows each person's sensitive"),
        (
            {"evaluate": {"workloads": [{**COUNTS[0], "aggregate": "avg"}]}},
            "evaluate.workloads.0: no column has role sensitive, so queries can only count",
        ),
    ],
)
def test_what_needs_values_is_refused(small, changed, message):
    small.write(people(), **changes(**changed))
    with pytest.raises(SpecError, match=message):
        small.plan()


def test_an_insensitive_column_needs_no_reason_elsewhere(small):
    columns = {**SPEC["columns"], "note": {"role": "insensitive", "unprotected": "why"}}
    small.write(people(), columns=columns)
    with pytest.raises(SpecError, match=r"note.unprotected: an insensitive column needs"):
        small.plan()


@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_who_they_are_is_attacked_by_records_and_by_a_register(small, tmp_path, form):
    bars = {"matches": {"max-share": 0.5}, "linkability": {"max-share": 1}}
    small.write(people(120), **changes(form), attacks=bars)
    directory = small.publish("one").directory
    with (small.folder / "people.csv").open(encoding="utf-8") as file:
        read = [(row["age"], row["town"]) for row in csv.DictReader(file)]
    rows = [row for row in read if int(row[0]) > 18]
    register = register_of(tmp_path, rows)
    scores, judged = attack_again(directory, small.spec, Overrides(), register)
    assert set(scores) == {"identities", "register"}
    shares = {score.measure: score.share for score in scores["identities"]}
    assert "halves of own quasi-identifiers joined by the nearest row" in shares
    table = read_tables(open_release(directory).declared, directory / "data")["microdata"]
    cells = set(zip(*(map(str, table[name].to_pylist()) for name in ("age", "town")), strict=True))
    alone = [row for row, times in Counter(rows).items() if times == 1 and row in cells]
    assert shares["record like nobody else's, and published as it is"] == len(alone) / len(rows)
    assert {(verdict.limit.attack, verdict.column) for verdict in judged} == {
        ("matches", "identities"),
        ("linkability", "identities"),
    }


def test_bars_on_values_are_refused_where_there_are_none(small):
    small.write(people(), **changes(), attacks={"homogeneity": {"max-lift": 0.1}})
    with pytest.raises(SpecError, match=r"attacks.homogeneity: guesses sensitive values"):
        small.plan()


def test_the_page_states_bars_and_speaks_of_no_sensitive_column(small):
    small.write(people(120), **changes(), attacks={"matches": {"max-share": 0.5}})
    page = (small.publish("one").directory / PAGE).read_text(encoding="utf-8")
    assert "beyond any of these limits." in page
    assert "for any sensitive column" not in page
