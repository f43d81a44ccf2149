"""Sensitive values that are missing: one more value to promises, none to aggregates."""

import random

import duckdb
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.engines.truth import truth_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.schema.formats import lowest_format
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.opened import PAGE, open_release
from tests.release.small import SPEC, people
from tests.report.html import Read

MISSING = {"role": "sensitive", "type": "decimal", "nulls": "category"}
COLUMNS = {
    **SPEC["columns"],
    "note": {"role": "sensitive", "nulls": "category"},
    "wage": {**MISSING, "unprotected": "wages are public"},
}
L2 = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "note"}
PROMISES = [
    {"model": "k-anonymity", "k": 3},
    L2,
    {"model": "alpha-k", "alpha": "0.7", "k": 3, "sensitive": "note"},
    {"model": "t-closeness", "t": "0.7", "distance": "equal", "sensitive": "note"},
]
RANGE = {"kind": "range", "over": "age", "spans": [5], "queries": 20}
WORKLOADS = [
    {**RANGE, "aggregate": "count"},
    *({**RANGE, "aggregate": name, "of": "wage"} for name in ("count", "sum", "avg", "min")),
    {
        "kind": "counts",
        "aggregate": "count",
        "of": "note",
        "selectivity": [30],
        "attributes": 1,
        "queries": 20,
    },
]


def patients(seed=1):
    """People some of whose notes and wages are missing."""
    chance = random.Random(seed)
    for row in people():
        wage = "" if chance.random() < 0.3 else row["wage"]
        yield {**row, "note": chance.choice(["flu", "cold", "", "asthma"]), "wage": wage}


def changes(form_method="generalized", grouped="mondrian", **more):
    columns = {**COLUMNS, "age": dict(COLUMNS["age"])}
    if grouped == "full-domain" and form_method != "suppressed":
        columns["age"]["hierarchy"] = {"intervals": [5, 10, 20, 40]}
    return {
        "columns": columns,
        "promises": PROMISES,
        "partition": {"method": grouped},
        "form": {"method": form_method},
        "evaluate": {"workloads": WORKLOADS},
    } | more


@pytest.fixture
def publish(small, undrawn):
    def publish_missing(*kinds, **more):
        return small.write(list(patients()), **changes(*kinds, **more)).publish("one")

    return publish_missing


@pytest.mark.parametrize("grouped", ["mondrian", "forest", "factors", "full-domain"])
@pytest.mark.parametrize("form_method", ["generalized", "suppressed"])
def test_published_checked_and_evaluated(publish, small, form_method, grouped):
    published = publish(form_method, grouped)
    release = open_release(published.directory)
    assert check(published.directory).derived == "equal"
    microdata = release.table("microdata")
    source = load(small.folder / "one" / "deidentified")
    for name in ("note", "wage"):
        assert microdata[name].null_count == source.table()[name].null_count > 5
    with duckdb.connect() as connection:
        connection.register("microdata", microdata)
        least = connection.execute(
            "SELECT min(n), min(s) FROM (SELECT count(*) AS n, count(DISTINCT note) "
            "+ max((note IS NULL)::INT) AS s FROM microdata GROUP BY age, town)"
        ).fetchone()
    assert least[0] >= 3
    assert least[1] >= 2
    plan = small.plan()
    wish = plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    measured = evaluate_release(published.directory, source, *wish)
    assert [row["queries"] for row in measured.public] == [20] * len(WORKLOADS)


@pytest.mark.parametrize("together", ["together", "independent"])
@pytest.mark.parametrize(
    ("form_method", "grouped"),
    [
        ("permuted", "mondrian"),
        ("permuted", "anatomy"),
        ("permuted", "full-domain"),
        ("split", "anatomy"),
        ("split", "full-domain"),
        ("ambiguous", "disjoint-cover"),
    ],
)
def test_published_apart_checked_and_evaluated(publish, small, form_method, grouped, together):
    """As above, where values stand apart from the rows that they belong to."""
    form = {"method": form_method, "sensitive": together}
    promises, workloads = [L2, PROMISES[3]], WORKLOADS
    if grouped == "anatomy":
        promises = [L2]
    if form_method == "ambiguous":
        promises = [{"model": "alpha-beta", "alpha": "0.7", "beta": "0.5", "sensitive": "note"}]
        workloads = [
            workload
            for workload in WORKLOADS
            if workload["aggregate"] == "count" and "of" not in workload
        ]
    terms = {"form": form, "evaluate": {"workloads": workloads}, "promises": promises}
    published = publish(form_method, grouped, **terms)
    release = open_release(published.directory)
    assert check(published.directory).derived == "equal"
    source = load(small.folder / "one" / "deidentified")
    plan = small.plan()
    wish = plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    measured = evaluate_release(published.directory, source, *wish)
    assert [row["queries"] for row in measured.public] == [20] * len(workloads)
    assert not list((published.directory / "sql").glob("help_wage.parquet"))
    page = Read((published.directory / PAGE).read_text(encoding="utf-8")).text
    assert "sensitive string, may be missing" in " ".join(page.split())
    truth = source.table().to_pylist()
    (row,) = answer(release, "SELECT COUNT(*) AS n, COUNT(note) AS s FROM microdata").rows
    assert row["n"].lower == row["n"].upper == len(truth)
    assert row["s"].lower == row["s"].upper == sum(row["note"] is not None for row in truth)
    assert release.declared.names_with_roles("sensitive") == ["note", "wage"]


def test_a_missing_value_is_one_more_to_promises_alone(publish, small):
    release = open_release(publish().directory)
    rows = load(small.folder / "one" / "deidentified").table().to_pylist()
    query = (
        "SELECT COUNT(*) AS n, COUNT(wage) AS w, SUM(wage) AS s, MAX(wage) AS m, "
        "COUNT(*) FILTER (WHERE note IS NULL) AS i, COUNT(*) FILTER (WHERE NOT note = 'flu') AS f "
        "FROM microdata"
    )
    (row,) = answer(release, query).rows
    wages = [row["wage"] for row in rows if row["wage"] is not None]
    notes = [row["note"] for row in rows]
    truths = {
        "n": len(rows),
        "w": len(wages),
        "s": sum(wages),
        "m": max(wages),
        "i": notes.count(None),
        "f": sum(note not in (None, "flu") for note in notes),
    }
    for name, truth in truths.items():
        assert row[name].lower == truth == row[name].upper, name


def test_the_page_says_that_values_may_be_missing(publish):
    page = Read((publish().directory / PAGE).read_text(encoding="utf-8")).text
    assert "sensitive string, may be missing" in " ".join(page.split())


def test_the_format_is_that_which_came_with_it(publish, small):
    assert open_release(publish().directory).manifest["sfumato"]["format"] == 6
    assert "category" in SPEC["columns"]["town"]["nulls"]
    assert lowest_format(small.write(people()).plan().terms) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (changes("redistributed"), "columns.note.nulls: form redistributed spreads values over"),
        (changes(versions="composed"), "columns.note.nulls: `versions: composed` follows"),
        (
            changes(promises=[*PROMISES, {"model": "ke-anonymity", "k": 2, "e": 1}]),
            "promises.4: there are several sensitive columns. Name the one",
        ),
        (
            changes(
                promises=[
                    *PROMISES,
                    {"model": "ke-anonymity", "k": 2, "e": 1, "sensitive": "wage"},
                ]
            ),
            "promises.4: ke-anonymity needs values, and 'wage' keeps missing values",
        ),
        (
            changes(promises=[{**PROMISES[3], "distance": "ordered", "sensitive": "wage"}, L2]),
            "promises.0: t-closeness needs values, and 'wage' keeps missing values",
        ),
        ({**changes(), "nulls": "category", "columns": {**COLUMNS, "wage": {
            "role": "sensitive", "type": "decimal", "unprotected": "x"}}},
            "columns.wage: needs its own null policy, because"),
    ],
)  # fmt: skip
def test_what_needs_values_is_refused(small, changed, message):
    small.write(list(patients()), **changed)
    with pytest.raises(SpecError, match=message):
        small.plan()


@pytest.mark.parametrize(("column_name", "counted"), [(None, 3), ("wage", 2)])
def test_the_truth_counts_rows_or_values(small, column_name, counted):
    from sfumato.tasks.microdata.table import encode

    column = encode("wage", "sensitive", pa.array([4, None, 6]))
    aggregate = Aggregate("count", column_name, "n")
    everybody = column.codes > -2
    assert truth_of(column, aggregate).answer(aggregate.kind, everybody) == counted
    total = Aggregate("sum", "wage", "s")
    assert truth_of(column, total).answer(total.kind, everybody) == 10
