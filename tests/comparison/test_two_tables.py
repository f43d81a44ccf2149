"""Comparisons of two related tables: promises, limits, and one joined table beside them."""

import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.flows.choice.alternatives import alternatives_of, read_grid
from sfumato.flows.choice.compare import AskedComparison, compare_alternatives
from sfumato.flows.choice.two_tables import JOINED, joined_keys, variants_of_rows
from sfumato.flows.inputs.documents import read_yaml
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.choose.alternative import answers_over_all
from sfumato.tasks.choose.two_tables import (
    VARIANTS_OF_ROWS,
    draw_queries_of_two,
    over_one_table,
    rows_to_publish,
)
from sfumato.tasks.microdata.table import Microdata, OwnedRows, encode, operating_system
from sfumato.tasks.query.accuracy.parameters import (
    CountsWorkload,
    PeopleWorkload,
    RangeWorkload,
)
from tests.related.hospital import made_up, patients, spec_with, stays

WORKLOADS = (
    RangeWorkload(kind="range", aggregate="count", over="age", spans=(10,), queries=6),
    RangeWorkload(kind="range", aggregate="avg", of="cost", over="age", spans=(20,), queries=6),
    CountsWorkload(kind="counts", of="diagnosis", attributes=2, selectivity=(20,), queries=6),
    PeopleWorkload(kind="people", over="age", span=15, of="diagnosis", times=(1, 2), queries=6),
)


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    workloads = [workload.model_dump(mode="json") for workload in WORKLOADS]
    return spec_with(tmp_path, often(made_up(3, 120)), evaluate={"workloads": workloads})


def often(hospital):
    """A hospital in which one patient has many more stays than all others."""
    rows = 9
    more = pa.table(
        {
            "patient": ["p7"] * rows,
            "diagnosis": ["flu", "gout", "asthma"] * (rows // 3),
            "cost": list(range(rows)),
        }
    )
    return hospital._replace(stays=pa.concat_tables([hospital.stays, more]))


def originals(hospital):
    """People with their rows, as a comparison loads them."""
    people = {name: hospital.patients[name].to_pylist() for name in ("patient", "age", "sex")}
    place = {name: row for row, name in enumerate(people["patient"])}
    owner = np.array([place[name] for name in hospital.stays["patient"].to_pylist()], np.int64)
    rows = tuple(encode(name, "sensitive", hospital.stays[name]) for name in ("diagnosis", "cost"))
    columns = tuple(
        encode(name, "quasi-identifier", hospital.patients[name]) for name in ("age", "sex")
    )
    return Microdata(columns, len(place), related=OwnedRows(owner, Microdata(rows, len(owner))))


def test_promises_limits_and_a_joined_table_are_compared(spec):
    outcomes = []
    request = AskedComparison({})
    compared = compare_alternatives(
        spec, Overrides(), request, lambda outcome, *_: outcomes.append(outcome)
    )
    names = {outcome.name for outcome in outcomes}
    assert JOINED in names
    assert any(name.startswith("stays: maximum at-most") for name in names)
    assert any("related-l-diversity of diagnosis (numbers known, insiders 1)" in n for n in names)
    assert {n for n in names if n not in compared.others} == {
        "mondrian · apart",
        "mondrian (mode relaxed) · apart",
    }
    assert compared.chosen.outcome.name not in compared.others
    by_name = {outcome.name: outcome for outcome in outcomes}
    assert by_name["mondrian · apart"].attacks["diagnosis"]
    assert all(entry.guessed > 0 for entry in compared.ranked)
    # One joined table cannot answer the twelve queries about people.
    assert sum(width is None for width in by_name[JOINED].widths) == 12
    assert sum(width is None for width in by_name["mondrian · apart"].widths) == 0
    limited = next(o for o in outcomes if o.name.startswith("stays: maximum"))
    assert limited.suppressed > 0
    page = compared.page.read_text("utf-8")
    assert "One joined table has no answers about people" in page
    assert "promises.1" not in page
    read_spec(compared.spec, Overrides())


def test_a_grid_varies_the_table_of_rows_and_a_sweep_its_k(spec):
    limit = {"at-most": 2, "else": "leave-out"}
    grid = {"related": [{"maximum": "of-groups"}, {"maximum": limit}]}
    admitted, refused, changes = alternatives_of(spec, Overrides(), grid)
    assert refused == {}
    assert [alternative.terms.form.most_related_rows for alternative in admitted] == [None, 2]
    assert changes[admitted[1].name]["tables"]["stays"]["maximum"] == limit
    swept, _, _ = alternatives_of(spec, Overrides(), {"promises": {"k": [2, 5]}})
    assert [alternative.terms.promises[0].k for alternative in swept] == [2, 5]


@pytest.mark.parametrize("own", ["hidden", "shuffled", "published"])
def test_numbers_of_rows_are_compared(own, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    workloads = [workload.model_dump(mode="json") for workload in WORKLOADS]
    spec = spec_with(
        tmp_path,
        made_up(3, 120),
        evaluate={"workloads": workloads},
        tables={"patients": patients(), "stays": stays(numbers=own)},
    )
    outcomes = []
    kinds = ("hidden", "shuffled", "published")
    request = AskedComparison({"related": [{"numbers": kind} for kind in kinds]})
    compare_alternatives(spec, Overrides(), request, lambda o, *_: outcomes.append(o))
    widths = {
        kind: [width for o in outcomes if f"numbers {kind}" in o.name for width in o.widths]
        for kind in kinds
    }
    assert None not in [width for each in widths.values() for width in each]
    hidden, shuffled, published = (sum(widths[kind]) for kind in kinds)
    assert published < shuffled < hidden
    names = [name for name, _ in variants_of_rows(read_yaml(spec), read_spec(spec), table_of(5))]
    assert {f"stays: numbers {kind}" for kind in kinds if kind != own} <= {*names}


def table_of(seed):
    return originals(made_up(seed, 40))


def test_a_wrong_grid_of_rows_says_what_to_write(spec, tmp_path):
    assert read_grid("{related: [{maximum: of-groups}]}")
    with pytest.raises(SpecError, match="list of mappings"):
        alternatives_of(spec, Overrides(), {"related": {"maximum": 3}})
    with pytest.raises(SpecError, match="at-most: 6"):
        alternatives_of(spec, Overrides(), {"related": [{"maximum": 3}]})


def test_a_joined_table_needs_a_promise_of_values(spec):
    document = read_yaml(spec)
    keys = joined_keys(document, read_spec(spec, Overrides()))
    assert keys["columns"]["patient"] == {"role": "identifier", "unit": True, "repeat": "all"}
    assert keys["promises"] == [
        {"model": "people", "k": 2},
        {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "diagnosis"},
    ]
    columns = stays()["columns"]
    columns["diagnosis"] = {"role": "sensitive", "unprotected": "public"}
    alone = {
        **document,
        "promises": [{"model": "related-alpha", "alpha": 0.9, "sensitive": "diagnosis"}],
    }
    spec.write_text(yaml.safe_dump(alone, sort_keys=False), encoding="utf-8")
    with pytest.raises(SpecError, match="related-l-diversity"):
        joined_keys(alone, read_spec(spec, Overrides()))


@settings(max_examples=8, deadline=timedelta(seconds=30))
@given(st.integers(0, 10**6))
def test_truths_are_those_of_the_original_tables(seed):
    hospital = made_up(seed, 25)
    table = originals(hospital)
    form = _terms().form
    queries = draw_queries_of_two(form, table, WORKLOADS, operating_system, by_values=False)
    truths = answers_over_all(table, _terms(), queries, operating_system)
    with duckdb.connect() as database:
        database.register("patients", hospital.patients)
        database.register("stays", hospital.stays)
        for query, cells in zip(queries, truths, strict=True):
            ((expected,),) = database.sql(query.sql).fetchall()
            ((bounds,),) = cells.values()
            if expected is None:
                assert bounds.lower is None
            else:
                assert float(bounds.lower) == pytest.approx(float(expected))
                assert float(bounds.upper) == pytest.approx(float(expected))


_TERMS = []


def _terms():
    """The terms of a hospital, read once."""
    if not _TERMS:
        with tempfile.TemporaryDirectory() as place:
            spec = spec_with(Path(place), made_up(1, 30))
            _TERMS.append(read_spec(spec, Overrides()).terms(Path(place)))
    return _TERMS[0]


def test_queries_are_written_over_one_joined_table():
    form = _terms().form
    joined = over_one_table(
        "SELECT COUNT(*) FROM patients JOIN stays USING (patient) WHERE patients.age > 30", form
    )
    assert joined == "SELECT COUNT(*) FROM microdata WHERE age > 30"
    assert over_one_table("SELECT AVG(cost) FROM stays", form) == "SELECT AVG(cost) FROM microdata"
    for about_people in (
        "SELECT COUNT(*) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE cost > 3)",
    ):
        with pytest.raises(QueryError):
            over_one_table(about_people, form)


def test_limits_leave_few_people_out():
    table = originals(often(made_up(5, 200)))
    limits = [
        value["at-most"] for value in VARIANTS_OF_ROWS["maximum"][1](table) if value != "of-groups"
    ]
    times = Counter(table.related.owner.tolist())
    for limit in limits:
        assert 0 < sum(number > limit for number in times.values()) <= 0.1 * len(times)
        form = _terms().form.model_copy(update={"cap": limit})
        limited_table = rows_to_publish(table, _terms().model_copy(update={"form": form}))
        assert max(Counter(limited_table.related.owner.tolist()).values()) <= limit
    assert limits
