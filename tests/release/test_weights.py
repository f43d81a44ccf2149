"""Survey weights: published as they are, asked, and summed for k-map."""

import csv
import json
from collections import Counter
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.cli.main import cli
from sfumato.tasks.microdata.source import require
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.stages.ingest import source_table, write_source
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.verification.integrity import digest
from tests.release.plain import without_tables
from tests.release.small import SPEC, people
from tests.report.html import Read

REASON = "drawn with one probability <in> each town"
WEIGHT = {"role": "weight", "type": "decimal", "unprotected": REASON}
COLUMNS = {
    **SPEC["columns"],
    "town": {"role": "quasi-identifier"},
    "w": WEIGHT,
}
WAGES = {"model": "l-diversity", "variant": "distinct", "l": 2}
K_MAP = {"model": "k-map", "k": 40}


def weighted_rows(weights=("1.5", "2", "10.25"), rows=60):
    return [
        {**row, "town": row["town"] or "Dd", "w": weights[i % len(weights)]}
        for i, row in enumerate(people(rows=rows))
    ]


def labels(form="generalized", method="mondrian", *promises, **more):
    return {
        "columns": COLUMNS,
        "promises": [*(promises or (K_MAP,)), WAGES],
        "partition": {"method": method},
        "form": {"method": form},
        "evaluate": {"workloads": []},
    } | more


def published_rows(directory):
    return pq.read_table(directory / "data" / "microdata.parquet").to_pylist()


def least_sum(directory):
    sums = {}
    for row in published_rows(directory):
        key = (row["age"], row["town"])
        sums[key] = sums.get(key, 0) + Fraction(row["w"])
    return min(sums.values())


@pytest.mark.parametrize(
    ("form", "method"),
    [
        ("generalized", "mondrian"),
        ("generalized", "full-domain"),
        ("suppressed", "mondrian"),
        ("suppressed", "forest"),
    ],
)
def test_groups_are_made_for_k_map_and_checked(small, form, method):
    columns = json.loads(json.dumps(COLUMNS))
    if method == "full-domain":
        columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    more = [{"model": "k-anonymity", "k": 2}] if method == "forest" else []
    wish = labels(form, method, *more, K_MAP, columns=columns)
    published = small.write(weighted_rows(), **wish).publish("one")
    release = open_release(published.directory)
    assert release.manifest["sfumato"]["format"] == 6
    (column,) = [c for c in release.manifest["sfumato"]["columns"] if c["name"] == "w"]
    assert (column["role"], column["weight"]) == ("insensitive", True)
    report = check(published.directory)
    assert report.derived == "equal"
    verdict = next(v for promise, v in report.verdicts if promise.name == "k-map")
    assert verdict.observed["k"] == least_sum(published.directory) >= 40
    sizes = Counter((row["age"], row["town"]) for row in published_rows(published.directory))
    assert form == "suppressed" or min(sizes.values()) < 40, "fewer rows than people"


def test_it_hides_who_people_are_in_a_table_without_sensitive_values(small):
    columns = {**COLUMNS, "wage": {"role": "drop", "type": "decimal"}}
    form = {"method": "generalized", "protects": "identities"}
    wish = {**labels(columns=columns, promises=[K_MAP]), "form": form}
    directory = small.write(weighted_rows(), **wish).publish("one").directory
    ((promise, verdict),) = check(directory).verdicts
    assert promise.name == "k-map"
    assert verdict.observed["k"] == least_sum(directory) >= 40


def test_the_gate_and_the_check_refuse_too_little(small):
    with pytest.raises(PromiseError, match="k-map"):
        small.write(
            weighted_rows(), **labels("generalized", "mondrian", {**K_MAP, "k": 10**6})
        ).publish("one")
    directory = small.write(weighted_rows(), **labels()).publish("two").directory
    place = directory / MANIFEST
    manifest = json.loads(place.read_bytes())
    manifest["sfumato"]["promises"][0]["k"] = 10**6
    manifest["sfumato"]["digest"] = digest(manifest)
    place.chmod(0o644)
    place.write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError):
        check(directory)


@pytest.mark.parametrize("form", ["permuted", "split", "generalized", "suppressed"])
def test_published_exactly_and_asked(small, form):
    exact = form in ("permuted", "split")
    wish = {"columns": COLUMNS, "form": {"method": form}} if exact else labels(form)
    published = small.write(weighted_rows(), **wish).publish("one")
    assert check(published.directory).derived == "equal"
    release = open_release(published.directory)
    with (small.folder / "people.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["age"]) > 18 and row["wage"]]
    for condition in ("age < 1000", "age < 40", "town = 'Aa' AND age > 30"):
        selected = [
            row
            for row in rows
            if {"age < 1000": True, "age < 40": int(row["age"]) < 40}.get(
                condition, row["town"] == "Aa" and int(row["age"]) > 30
            )
        ]
        query = (
            "SELECT COUNT(*) AS n, SUM(w) AS people, SUM(w * wage) AS total, "
            f"SUM(w * wage) / SUM(w) AS mean FROM microdata WHERE {condition}"
        )
        (row,) = answer(release, query).rows
        weights = [Fraction(row["w"]) for row in selected]
        total = sum(Fraction(row["w"]) * Fraction(row["wage"]) for row in selected)
        truth = {"n": len(selected), "people": sum(weights), "total": total}
        truth["mean"] = total / truth["people"]
        for name, true in truth.items():
            assert row[name].lower <= true <= row[name].upper, (name, condition)
        if exact:
            assert row["people"].lower == row["people"].upper == truth["people"]
        if exact:
            assert row["mean"].attained
            ends = row["total"].lower / truth["people"], row["total"].upper / truth["people"]
            assert (row["mean"].lower, row["mean"].upper) == pytest.approx(ends)
    (row,) = answer(release, "SELECT SUM(w) AS people FROM microdata").rows
    assert row["people"].lower == row["people"].upper == sum(Fraction(row["w"]) for row in rows)


def test_the_page_names_the_weight_the_reason_and_the_estimate(small):
    published = small.write(weighted_rows(), **labels()).publish("one")
    page = Read((published.directory / PAGE).read_text(encoding="utf-8"))
    words = " ".join(page.text.split())
    assert page.faults == []
    assert "w is a weight, published as it is." in words
    assert f"The steward's reason: {REASON}" in words
    assert "Weight: the number of people of the population that the row represents." in words
    assert "it rests on that estimate" in words


def test_a_page_without_weights_does_not_speak_of_them(small):
    markup = (small.write(people()).publish("one").directory / PAGE).read_text(encoding="utf-8")
    assert "eight" not in Read(without_tables(markup)).text


@pytest.mark.parametrize("wrong", ["0", "-1.5"])
def test_weights_are_positive(small, wrong):
    plan = small.write(weighted_rows((wrong, "2")), **labels()).plan()
    run = small.folder / "run"
    run.mkdir()
    whole = write_source(plan.spec.source, plan.spec.columns, plan.base, run)
    table, rules = source_table(whole, plan.spec.columns)
    assert [rule.type for rule in rules if not rule.holds(table)] == ["expect_positive_values"]
    with pytest.raises(InputError, match="column 'w': not above 0") as caught:
        require(plan.spec.columns, table, "people.csv")
    assert "1.5" not in str(caught.value)
    with pytest.raises(PromiseError):
        small.publish("one")


def test_weights_that_a_coding_makes_0_are_refused(small):
    columns = {**COLUMNS, "w": {**WEIGHT, "round": {"to": 5}}}
    wish = {"columns": columns, "form": {"method": "permuted"}}
    with pytest.raises(PromiseError, match="expect_positive_values"):
        small.write(weighted_rows(("1.5", "10")), **wish).publish("one")


def test_weights_are_never_missing(small):
    with pytest.raises((InputError, PromiseError), match="w"):
        small.write(weighted_rows(("", "2")), **labels()).publish("one")


def test_a_forged_weight_fails_the_check(small):
    directory = small.write(weighted_rows(), **labels()).publish("one").directory
    place = directory / MANIFEST
    manifest = json.loads(place.read_bytes())
    for column in manifest["sfumato"]["columns"]:
        if column["name"] == "w":
            del column["weight"]
    manifest["sfumato"]["digest"] = digest(manifest)
    place.chmod(0o644)
    place.write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError):
        check(directory)


SECOND = {**COLUMNS, "note": {**WEIGHT, "type": "integer"}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"columns": SECOND}, "columns: 'note' and 'w' both have role weight"),
        (
            {"columns": {**COLUMNS, "w": {**WEIGHT, "type": "float"}}},
            ("type: a weight must be an integer or a decimal, and this"),
        ),
        (
            {"columns": {**COLUMNS, "w": {**WEIGHT, "nulls": "category"}}},
            ("nulls: a weight must be a number"),
        ),
        (
            {"columns": {**COLUMNS, "w": {"role": "weight", "type": "decimal"}}},
            "w: unprotected: is missing. A weight shows how people were sampled",
        ),
        ({"nulls": "category"}, "columns.w: needs its own null policy, because the spec's"),
        ({"columns": SPEC["columns"]}, "k-map sums weights, and no column has role weight"),
        (
            {"promises": [{**K_MAP, "weight": "wage"}, WAGES]},
            ("'wage' is not a column with role weight"),
        ),
        ({"form": "permuted", "method": "ke"}, "k-map cannot be measured in form permuted"),
        (
            {
                "form": "redistributed",
                "method": "stratum",
                "promises": [{"model": "p-privacy", "target": "source"}],
            },
            "columns.w: form redistributed cannot show the weight",
        ),
        ({"versions": "composed"}, "columns.w: weights describe one sample, and `versions"),
        ({"people": "town"}, "k-map is about one version of one line"),
    ],
)
def test_what_has_no_meaning_is_refused(small, changed, message):
    columns = changed.get("columns", COLUMNS)
    if "nulls" in changed:
        columns = {**COLUMNS, "wage": {**COLUMNS["wage"], "nulls": "drop-row"}}
    small.write(weighted_rows(), **labels(**{**changed, "columns": columns}))
    with pytest.raises(SpecError, match=message):
        small.plan()


def test_k_map_is_measured_on_any_table(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("age,w\n1,2.5\n1,2.5\n2,7\n", encoding="utf-8")
    model = "{model: k-map, k: 5, weight: w}"
    arguments = ["measure", str(table), "--qi", "age", "--model", model, "--format", "json"]
    cli.main(arguments, standalone_mode=False)
    (outcome,) = json.loads(capsys.readouterr().out)["promises"]
    assert (outcome["holds"], outcome["observed"]["k"]) == (True, 5)
    assert outcome["promise"]["weight"] == "w"
    with pytest.raises(SpecError, match="Name the `weight` column"):
        cli.main([*arguments[:5], "{model: k-map, k: 5}"], standalone_mode=False)
