"""Workloads asked of a release and of the original."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.forms.form_parameters import AmbiguousParameters, SplitParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.query.accuracy.evaluate import Measured, evaluate, summaries
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.engines.truth import Truth, as_fraction
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.help_tables.rows import help_name, help_table, help_tables
from tests.query.worlds import column, declare

DECLARED = declare(
    age=column("quasi-identifier", "integer"),
    weight=column("quasi-identifier", "float"),
    price=column("quasi-identifier", "decimal", scale=2),
    born=column("quasi-identifier", "date"),
    sex=column("quasi-identifier", "string", nulls=True),
    loss=column("sensitive", "integer"),
    share=column("sensitive", "float"),
    seen=column("sensitive", "timestamp"),
    word=column("sensitive", "string"),
)
SENSITIVE = DECLARED.names_with_roles("sensitive")


@dataclass(frozen=True)
class Published:
    """The parts of a release that `evaluate` needs."""

    directory: Path
    declared: Any
    manifest: dict[str, Any] = field(default_factory=dict)

    def path(self, name):
        return self.directory / "data" / f"{name}.parquet"

    def table(self, name):
        return pq.read_table(self.path(name))


def _original(generator, rows):
    day, instant = date(2020, 1, 1), datetime(2020, 1, 1)  # noqa: DTZ001
    days = [day + timedelta(days=int(d)) for d in generator.integers(0, 90, rows)]
    seconds = [instant + timedelta(microseconds=int(u)) for u in generator.integers(0, 10**9, rows)]
    return pa.table(
        {
            "age": generator.integers(17, 90, rows),
            "weight": generator.random(rows) / 3 + 0.1,
            "price": pa.array(
                [Decimal(int(c)) / 100 for c in generator.integers(0, 900, rows)],
                pa.decimal128(38, 2),
            ),
            "born": days,
            "sex": pa.array(generator.choice(["f", "m", None], rows).tolist(), pa.string()),
            "loss": generator.integers(-50, 2000, rows),
            "share": generator.random(rows),
            "seen": pa.array(seconds, pa.timestamp("us")),
            "word": generator.choice(["a", "b", "c"], rows).tolist(),
        }
    )


def _microdata(table):
    roles = {name: c.role for name, c in DECLARED.columns.items()}
    columns = tuple(encode(name, roles[name], table[name]) for name in table.column_names)
    return Microdata(columns, table.num_rows)


@pytest.fixture(scope="module")
def published_release(tmp_path_factory):
    generator = np.random.default_rng(3)
    original = _original(generator, 400)
    group = np.arange(400) // 5
    shuffled = original
    for name in SENSITIVE:
        order = np.lexsort((generator.random(400), group))
        place = shuffled.column_names.index(name)
        shuffled = shuffled.set_column(place, name, original[name].take(pa.array(order)))
    shuffled = shuffled.append_column("group_id", pa.array(group))
    release = Published(tmp_path_factory.mktemp("release"), DECLARED)
    (release.directory / "data").mkdir()
    (release.directory / "sql").mkdir()
    pq.write_table(shuffled, release.path("microdata"))
    for name in SENSITIVE:
        path = release.directory / "sql" / f"{help_name(name)}.parquet"
        pq.write_table(help_table(shuffled, name), path)
    return release, _microdata(original)


def _workloads(*described):
    return Evaluation.model_validate({"workloads": described}).workloads


def _evaluate(published, *described, seed=1):
    heard = []
    release, original = published
    progress = lambda done, total: heard.append((done, total))  # noqa: E731
    measured = evaluate(release, original, _workloads(*described), seeded_keys(seed), progress)
    total = heard[-1][1] if heard else 0
    assert heard == [(i + 1, total) for i in range(total)]
    return measured


@pytest.mark.parametrize("aggregate", ["avg", "sum", "count", "min", "max"])
@pytest.mark.parametrize("column_name", ["loss", "share"])
def test_truths_are_inside(published_release, aggregate, column_name):
    common = {"aggregate": aggregate, "of": column_name, "queries": 4}
    ranges = [
        {"kind": "range", "over": over, "spans": [1, 10], **common}
        for over in ("age", "weight", "price", "born")
    ]
    chosen = {"kind": "arbitrary", "selected": [1, 40, 10_000], **common}
    measured = _evaluate(published_release, *ranges, chosen)
    assert len(measured) == 4 * (4 * 2 + 3)
    assert all(query.inside for query in measured)
    assert all(query.truth is not None for query in measured)


@pytest.mark.parametrize("aggregate", ["min", "max"])
def test_moments_have_no_relative_width(published_release, aggregate):
    common = {"aggregate": aggregate, "of": "seen", "queries": 5}
    ranges = {"kind": "range", "over": "age", "spans": [5], **common}
    measured = _evaluate(
        published_release, ranges, {"kind": "arbitrary", "selected": [9], **common}
    )
    assert all(query.inside and query.truth for query in measured)
    assert {(q.relative_error, q.relative_width) for q in measured} == {(None, None)}


def test_all_rows_selected_are_answered_exactly(published_release):
    workload = {"kind": "arbitrary", "aggregate": "sum", "selected": [400], "queries": 1}
    (query,) = _evaluate(published_release, workload)
    assert query.lower == query.upper == query.truth
    assert query.sensitive == "loss"
    assert query.relative_error == query.relative_width == 0


def test_a_wrong_original_is_outside(published_release):
    release, original = published_release
    loss = original["loss"]
    wrong = encode("loss", "sensitive", pa.array([v + 10**6 for v in loss.array().to_pylist()]))
    columns = tuple(wrong if c.name == "loss" else c for c in original.columns)
    settings = {"aggregate": "avg", "of": "loss", "queries": 3}
    measured = _evaluate(
        (release, Microdata(columns, original.rows)),
        {"kind": "range", "over": "age", "spans": [5], **settings},
        {"kind": "arbitrary", "selected": [5], **settings},
    )
    assert not any(query.inside for query in measured)
    assert [summary.outside for summary in summaries(measured)] == [3, 3]


def test_the_same_randomness_asks_the_same(published_release):
    workload = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5], "queries": 5}
    assert _evaluate(published_release, workload) == _evaluate(published_release, workload)
    assert _evaluate(published_release, workload) != _evaluate(published_release, workload, seed=2)


@pytest.mark.parametrize(
    ("aggregate", "column_name"), [("min", "word"), ("sum", "seen"), ("avg", "word")]
)
def test_what_has_no_numbers_is_not_measured(published_release, aggregate, column_name):
    with pytest.raises(InputError, match=column_name):
        _evaluate(
            published_release,
            {
                "kind": "arbitrary",
                "aggregate": aggregate,
                "of": column_name,
                "selected": [5],
                "queries": 1,
            },
        )


def test_words_are_counted(published_release):
    workload = {"kind": "range", "aggregate": "count", "over": "age", "spans": [5], "queries": 2}
    for column_name, text in (("word", "count(word)"), (None, "count(*)")):
        measured = _evaluate(published_release, {**workload, "of": column_name})
        assert all(query.inside and query.relative_error == 0 for query in measured)
        assert summaries(measured)[0].workload == f"{text} by range of age"


def _measured_query(**more):
    fields = {"kind": "range", "aggregate": "avg", "sensitive": "loss", "level": 5, "over": "age"}
    return Measured(**fields | more)


def test_scores():
    measured = _measured_query(lower=Fraction(3), upper=Fraction(5), truth=Fraction(4))
    assert (measured.relative_error, measured.relative_width, measured.inside) == (0.5, 0.5, True)
    zero = _measured_query(lower=Fraction(-1), upper=Fraction(1), truth=Fraction(0))
    assert (zero.relative_error, zero.relative_width, zero.inside) == (None, None, True)
    null = _measured_query(lower=None, upper=None, truth=None)
    assert (null.relative_error, null.relative_width, null.inside) == (None, None, True)
    assert not _measured_query(lower=None, upper=None, truth=Fraction(1)).inside
    assert not _measured_query(lower=Fraction(1), upper=Fraction(1), truth=None).inside
    close = Fraction(1, 3)
    assert not _measured_query(lower=close, upper=close, truth=close + Fraction(1, 10**40)).inside


def test_public_summaries_say_nothing_of_the_truth():
    bounds = {"lower": Fraction(3), "upper": Fraction(5)}
    seen = [
        summaries([_measured_query(**bounds, truth=t)])[0]
        for t in (Fraction(4), Fraction(99), None)
    ]
    assert seen[0] != seen[1]
    assert [summary.public() for summary in seen] == [
        {
            "workload": "avg(loss) by range of age",
            "level": 5,
            "queries": 1,
            "mean": 0.5,
            "lower_quartile": 0.5,
            "median": 0.5,
            "upper_quartile": 0.5,
        }
    ] * 3


def test_summaries_where_nothing_is_scored():
    (summary,) = summaries([_measured_query(lower=None, upper=None, truth=None)])
    assert (summary.queries, summary.errors.scored, summary.widths.mean) == (1, 0, None)
    assert summary.public()["median"] is None


def test_bounds_as_numbers():
    assert as_fraction(date(1970, 1, 3)) == 2
    assert as_fraction(datetime(1969, 12, 31, 23, 59, 59, 500_000)) == Fraction(-1, 2)  # noqa: DTZ001
    assert as_fraction(Decimal("0.1")) == Fraction(1, 10)
    assert as_fraction(None) is None
    with pytest.raises(TypeError, match="str"):
        as_fraction("a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "range", "aggregate": "avg", "spans": [5]},
        {"kind": "range", "aggregate": "median", "over": "age", "spans": [5]},
        {"kind": "range", "aggregate": "avg", "over": "age", "spans": [0]},
        {"kind": "arbitrary", "aggregate": "avg", "selected": []},
        {"kind": "arbitrary", "aggregate": "avg", "selected": [5], "over": "age"},
        {"kind": "other", "aggregate": "avg"},
    ],
)
def test_wrong_workloads_are_refused(wrong):
    with pytest.raises(ValidationError):
        _workloads(wrong)


def test_what_analysts_use_is_what_is_measured(published_release, tmp_path):
    release, original = published_release
    (tmp_path / "data").mkdir()
    (tmp_path / "sql").mkdir()
    moved = Published(tmp_path, release.declared)
    microdata = release.table("microdata")
    pq.write_table(microdata, moved.path("microdata"))
    for name in SENSITIVE:
        table = help_table(microdata, name)
        if name == "loss":
            wrong = pa.array([v + 10**9 for v in table["l_sum"].to_pylist()])
            table = table.set_column(table.column_names.index("l_sum"), "l_sum", wrong)
        pq.write_table(table, tmp_path / "sql" / f"{help_name(name)}.parquet")
    settings = {"aggregate": "sum", "of": "loss", "queries": 2}
    measured = _evaluate(
        (moved, original),
        {"kind": "range", "over": "age", "spans": [5], **settings},
        {"kind": "arbitrary", "selected": [5], **settings},
    )
    assert not any(query.inside for query in measured)


@pytest.fixture(scope="module")
def split(published_release, tmp_path_factory):
    """The same groups, in tables of their own."""
    release, original = published_release
    microdata = release.table("microdata")
    form = SplitParameters(method="split")
    moved = Published(tmp_path_factory.mktemp("split"), DECLARED.model_copy(update={"form": form}))
    exact = [name for name in microdata.column_names if name not in SENSITIVE]
    tables = {"qit": microdata.select(exact)}
    for name in SENSITIVE:
        counted = microdata.select(["group_id", name]).group_by(["group_id", name])
        tables[f"st_{name}"] = counted.aggregate([([], "count_all")]).rename_columns(
            {"count_all": "count"}
        )
    for place, folder_tables in (("data", tables), ("sql", help_tables(tables, SENSITIVE))):
        (moved.directory / place).mkdir()
        for name, table in folder_tables.items():
            pq.write_table(table, moved.directory / place / f"{name}.parquet")
    return moved, original


@pytest.mark.parametrize("aggregate", ["avg", "sum", "count", "min", "max"])
def test_split_releases_are_as_accurate_as_shuffled_ones(published_release, split, aggregate):
    common = {"aggregate": aggregate, "of": "loss", "queries": 4}
    workloads = [
        {"kind": "range", "over": "age", "spans": [1, 10], **common},
        {"kind": "arbitrary", "selected": [1, 40, 10_000], **common},
    ]
    evaluated = _evaluate(split, *workloads)
    assert evaluated == _evaluate(published_release, *workloads)
    assert len(evaluated) == 4 * (2 + 3)
    assert all(query.inside and query.truth is not None for query in evaluated)


def test_moments_of_a_split_release_have_no_relative_width(split):
    workload = {"kind": "range", "aggregate": "min", "of": "seen", "over": "age", "spans": [5]}
    measured = _evaluate(split, {**workload, "queries": 5})
    assert {(q.relative_error, q.relative_width) for q in measured} == {(None, None)}


@pytest.fixture(scope="module")
def apart(published_release, tmp_path_factory):
    """The same rows, every quasi-identifier by itself."""
    _, original = published_release
    form = AmbiguousParameters(method="ambiguous")
    declared = DECLARED.model_copy(update={"form": form})
    release = Published(tmp_path_factory.mktemp("apart"), declared)
    tables_apart = ambiguous.publish(
        original, Partition(np.arange(400) // 50), form, seeded_keys(1)
    )
    tables = {
        name: tables_apart[name].cast(schema)
        for name, schema in ambiguous.schemas(declared.columns, form).items()
    }
    for place, folder_tables in (("data", tables), ("sql", build_help_tables(tables, declared))):
        (release.directory / place).mkdir()
        for name, table in folder_tables.items():
            pq.write_table(table, release.directory / place / f"{name}.parquet")
    return release, original


COUNTS = {"kind": "counts", "of": "word", "selectivity": [2, 10, 100], "queries": 8}


def test_batches_have_as_many_combinations_as_said(published_release):
    measured = _evaluate(published_release, {**COUNTS, "attributes": 2})
    assert [query.level for query in measured] == [2] * 8 + [10] * 8 + [100] * 8
    assert all(query.inside and query.estimate is not None for query in measured)
    for level, low, high in ((2, 0.5, 12), (10, 6, 40)):
        rows = [float(query.truth) for query in measured if query.level == level]
        assert low <= np.mean(rows) <= high
    of_word = {query.truth for query in measured if query.level == 100}
    assert of_word & set(
        np.bincount(published_release[1]["word"].codes)
    )  # but where nulls are left out


def test_batches_are_estimated_where_columns_stand_by_themselves(apart):
    measured = _evaluate(apart, {**COUNTS, "attributes": 1}, {**COUNTS, "attributes": 9})
    assert len(measured) == 2 * 24
    assert all(query.inside for query in measured)
    errors = [q.estimate_error for q in measured if q.level == 10 and q.truth]
    assert np.median(errors) < 1
    assert {q.estimate_error for q in measured if not q.truth} <= {None}
    assert any(query.lower < query.truth < query.upper for query in measured)


def test_ranges_are_counted_where_columns_stand_by_themselves(apart):
    workload = {
        "kind": "range",
        "aggregate": "count",
        "over": "born",
        "spans": [5, 20],
        "queries": 5,
    }
    measured = _evaluate(apart, workload)
    assert all(query.inside and query.truth for query in measured)


@pytest.mark.parametrize(
    ("codes", "every_row", "number"),
    [
        ([0, -1, 1, 0], False, 2),
        ([0, -1, 1, 0], True, 3),
        ([0, 1, 1, 0], False, 3),
    ],
)
@pytest.mark.parametrize(
    "chosen", [[True, True, True, False], [0, 1, 2]], ids=["marked", "numbered"]
)
def test_rows_are_counted_whether_they_are_marked_or_numbered(codes, every_row, number, chosen):
    truth, rows = Truth(None, np.array(codes), every_row), np.array(chosen)
    assert truth.count(rows) == number
    assert truth.answer(AGGREGATES["count"], rows) == number
