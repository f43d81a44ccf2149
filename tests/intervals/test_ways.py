"""Intervals in the other ways of showing: labels, columns by themselves, subdomains."""

import random

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from sfumato.expectations.models.promises import PROMISE
from sfumato.tasks.candidates.anonymized import anonymize_alone
from sfumato.tasks.forms.labels import Between, ListedValues
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.parameters import PartitionChoice
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.intervals.laws_of_labels import fitted_shares, values_behind
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Declared, RowCounts, Terms
from tests.intervals.releases import factors_of, measure
from tests.query.worlds import answers_on, column, declare, shape

ROWS = 800
COUNTS = RowCounts(**dict.fromkeys(RowCounts.model_fields, 0))
WAYS = {
    "generalized": ("mondrian", {"model": "k-anonymity", "k": 4}),
    "redistributed": ("exact-qi", {"model": "p-privacy", "target": "source"}),
}


def people() -> Microdata:
    rng = random.Random(1)
    ages = [rng.randint(20, 49) for _ in range(ROWS)]
    towns = [rng.choice("ABCDEFGH") for _ in range(ROWS)]
    wages = [age // 2 + rng.randint(0, 12) for age in ages]
    columns = {"age": ages, "town": towns, "wage": wages}
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", "wage": "sensitive"}
    encoded = (encode(name, roles[name], pa.array(array)) for name, array in columns.items())
    return Microdata(tuple(encoded), ROWS)


def release_of_form(form):
    """Return what a release declares and shows, help tables among it, and the original."""
    if form == "ambiguous":
        return ambiguous()
    method, promise = WAYS[form]
    scope = {"quasi-identifiers": ["age", "town"]}
    scope |= {} if form == "generalized" else {"sensitive": "wage"}
    promise_ = PROMISE.validate_python({**promise, **scope})
    terms = Terms(
        name="small",
        title="Small",
        unit="row",
        versions="disjoint",
        columns={
            "age": column("quasi-identifier", "integer"),
            "town": column("quasi-identifier", "string"),
            "wage": column("sensitive", "integer", unprotected="a test"),
        },
        strata=(),
        promises=(promise_,),
        partition=TypeAdapter(PartitionChoice).validate_python({"method": method}),
        form=shape(form),
        formats=("parquet",),
    )
    microdata = people()
    made = anonymize_alone(
        with_hierarchies(microdata, terms.hierarchies), None, terms, seeded_keys(3)
    )
    parts = {name: getattr(terms, name) for name in Terms.model_fields}
    declared = Declared(**parts, rows=COUNTS, software={})
    tables = {**made.tables, **build_help_tables(made.tables, declared)}
    return declared, tables, microdata.take(np.flatnonzero(made.shown))


def ambiguous(size=8):
    """Groups of people in random order, each column by itself."""
    original = people()
    group = np.arange(ROWS) // size
    names = {"age": "at_age", "town": "at_town", "wage": "st"}
    tables = {}
    for name, table in names.items():
        table_ = pa.table({name: original[name].array(), GROUP_ID: group})
        counted = table_.group_by([GROUP_ID, name], use_threads=False).aggregate(
            [([], "count_all")]
        )
        counted = counted.sort_by([(GROUP_ID, "ascending"), (name, "ascending")])
        counted = counted.rename_columns([GROUP_ID, name, "count"])
        tables[table] = counted if table == "st" else counted.drop_columns(["count"])
    declared = declare(
        "ambiguous",
        age=column("quasi-identifier", "integer"),
        town=column("quasi-identifier", "string"),
        wage=column("sensitive", "integer"),
    )
    return declared, {**tables, **build_help_tables(tables, declared)}, original


@pytest.fixture(scope="module", params=[*WAYS, "ambiguous"])
def release(request):
    return release_of_form(request.param)


def test_fresh_queries_meet_their_intervals(release):
    declared, tables, original = release
    counts = frozenset({"count"})
    stated = factors_of(tables, original, seeded_keys(1), declared, counts)
    fresh = measure(tables, original, 200, seeded_keys(2), declared, counts)
    met = {
        family: np.mean([query.score <= stated.factor_of(family) for query in queries])
        for family, queries in fresh.items()
        if stated.factor_of(family) is not None and len(queries) == 200
    }
    assert met
    assert min(met.values()) >= 0.9, met
    with_factors = declared.model_copy(update={"intervals": stated})
    queries = [
        "SELECT COUNT(*) AS n FROM microdata WHERE age < 37 AND wage < 20",
        "SELECT COUNT(*) AS n FROM microdata "
        "WHERE age < 37 AND town IN ('A', 'B', 'C', 'D', 'E') AND wage < 20",
    ]
    counts = [
        row["n"] for answer in answers_on(tables, with_factors, queries) for row in answer.rows
    ]
    likely = [bounds for bounds in counts if bounds.likely.interval is not None]
    assert likely
    for bounds in likely:
        low, high = bounds.likely.interval
        assert bounds.lower <= low <= bounds.estimate <= high <= bounds.upper


def test_worlds_are_consistent_with_what_is_published():
    """Every group has its size, and every value that it admits."""
    declared, tables, _ = release_of_form("ambiguous")
    with ENGINES["columns"](tables, declared, "weighted") as engine:
        likely = LIKELY["columns"](engine)
        codes, group = likely._codes("age"), likely._group
        table = likely._table("age")
    admitted = set(zip(table.group.tolist(), table.coded_column("age").codes.tolist(), strict=True))
    sizes = np.bincount(tables["st"]["group_id"], tables["st"]["count"])
    assert np.array_equal(np.bincount(group), sizes)
    assert len(codes) == 40
    assert len({world.tobytes() for world in codes}) == 40
    for world in codes:
        assert set(zip(group.tolist(), world.tolist(), strict=True)) == admitted


def test_a_world_is_the_same_for_everybody():
    declared, tables, _ = release_of_form("ambiguous")
    query = "SELECT COUNT(*) AS n FROM microdata WHERE age < 30 AND town IN ('A', 'B')"
    codes = []
    for _ in range(2):
        with ENGINES["columns"](tables, declared, "weighted") as engine:
            likely = LIKELY["columns"](engine)
            codes.append(likely._codes("age").tobytes())
    assert codes[0] == codes[1]
    (answer,) = answers_on(tables, declared, [query])
    assert answer.rows


def test_labels_that_overlap_tell_how_often_values_occur():
    labels = [Between(1, 2), Between(2, 3), ListedValues((1,)), ListedValues((3,))]
    codes = np.repeat([0, 1, 2, 3], [40, 40, 60, 10])
    values = values_behind(labels, "integer")
    shares = fitted_shares(labels, codes, values)
    assert values == [1, 2, 3]
    assert shares.share.sum(axis=1) == pytest.approx(1)
    assert shares.share[0, 0] > shares.share[1, 2]
    assert shares.share[2].tolist() == [1, 0, 0]


def test_labels_without_end_have_no_values():
    assert values_behind([Between(None, 3)], "integer") is None
    assert values_behind([Between(0, 10_000)], "integer") is None
    assert not values_behind([Between(1, 2)], "float")
