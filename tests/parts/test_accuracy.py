"""The accuracy of a release in parts is that of the same groups published as one table."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import parse_one

from sfumato.tasks.microdata.table import encode, seeded_keys
from sfumato.tasks.parts.divided import read_parts
from sfumato.tasks.parts.original import original_of_version
from sfumato.tasks.parts.strata import read_rows_of
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.accuracy import joined as asked_in_turn
from sfumato.tasks.query.accuracy import vectors as keys
from sfumato.tasks.query.accuracy.drawing import frequent_values
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.joined import joined_truth
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.accuracy.vectors import VectorKeys, count_vectors
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.ask import engine, files_of_tables
from sfumato.tasks.query.engines.in_parts import EngineInParts
from sfumato.tasks.query.engines.truth import truth_of
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.terms.opened import Release, open_release
from tests.parts.divided import divide
from tests.parts.test_answers import FORMS, as_one

RANGES = [
    {"kind": "range", "aggregate": name, "over": "age", "of": "cost", "spans": [4, 200]}
    for name in ("sum", "avg", "min", "max", "count")
]
SETS = [
    {"kind": "arbitrary", "aggregate": name, "of": "cost", "selected": [5, 60]}
    for name in ("sum", "avg", "min", "max", "count")
]
COUNTS = [
    {"kind": "counts", "of": column_name, "selectivity": [10, 60]}
    for column_name in ("ward", "cost")
]
WORKLOADS = {
    "permuted": [*RANGES, *SETS, *COUNTS],
    "split": [*RANGES, *SETS, *COUNTS],
    "anatomy": [*RANGES, *SETS, *COUNTS],
    "generalized": [*RANGES, *COUNTS],
    "suppressed": [*RANGES, *COUNTS],
    "stratum": [*RANGES, *COUNTS[1:]],
    "exact-qi": [*RANGES, *COUNTS[1:]],
}


def workloads(kind):
    workloads_of_kind = [{**workload, "queries": 4} for workload in WORKLOADS[kind]]
    return Evaluation.model_validate({"workloads": workloads_of_kind}).workloads


def write_as_one(release, place):
    """The same groups as a release of one table."""
    tables, declared = as_one(release)
    for name, table in tables.items():
        folder = place / ("sql" if name.startswith("help_") else "data")
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / f"{name}.parquet")
    return Release(place, declared, {})


def bounds(query):
    """All but the estimate, in whose last digit floats that are added up may differ."""
    return replace(query, estimate=None)


def guess(query):
    return None if query.estimate is None else float(query.estimate)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_figures_are_those_of_one_table(published_as, tmp_path, kind):
    release, line = published_as(kind, FORMS[kind])
    resolved, stage = line.divide("again")
    opened = open_release(release)
    assert len(opened.declared.made_of) == 6
    original = original_of_version(stage, release, resolved.line)
    roles = {name: column.role for name, column in opened.declared.columns.items()}
    whole = read_rows_of([stratum for part in read_parts(stage) for stratum in part.strata], roles)
    single = write_as_one(release, tmp_path / "one")
    in_parts, as_table = (
        evaluate(source, rows, workloads(kind), seeded_keys(1), lambda *_: None)
        for source, rows in ((opened, original), (single, whole))
    )
    assert list(map(bounds, in_parts)) == list(map(bounds, as_table))
    assert list(map(guess, in_parts)) == pytest.approx(list(map(guess, as_table)))
    assert all(query.inside for query in in_parts)
    assert len(in_parts) == 8 * len(WORKLOADS[kind])


def test_parts_are_read_once_for_many_queries(published_parts, monkeypatch, tmp_path):
    """Blocks of three queries, of which each reads the six parts once, and none is asked alone."""
    release, line = published_parts
    stage = divide(line.plan(), private_directory(tmp_path / "again"))
    original = original_of_version(stage, release, line.plan().line)
    workloads_asked, read = workloads("permuted")[:1], []
    opened = open_release(release)
    before = evaluate(opened, original, workloads_asked, seeded_keys(3), lambda *_: None)
    each = EngineInParts._each

    def note_engine(engine):
        read.append(1)
        return each(engine)

    monkeypatch.setattr(asked_in_turn, "_AT_ONCE", 3)
    monkeypatch.setattr(EngineInParts, "_each", note_engine)
    assert evaluate(opened, original, workloads_asked, seeded_keys(3), lambda *_: None) == before
    assert len(read) == 3 + 2  # and once each for what is known without the release


def test_questions_that_parts_do_not_answer_are_asked_of_all_by_sql(published_parts):
    release, _ = published_parts
    opened = open_release(release)
    questions = [
        question_of(Aggregate(name, "cost", "x"), parse_one("age > 40"), opened.declared)
        for name in ("stddev", "sum")
    ]
    with engine(files_of_tables(opened, ["cost"]), opened.declared) as asking:
        alone = [asking.ask(question) for question in questions]
        assert asking.ask_each(questions, True) == alone


@given(
    st.lists(st.lists(st.integers(-9, 9) | st.none(), max_size=5), min_size=1, max_size=4),
    st.sampled_from([kind for kind in AGGREGATES.values() if kind.is_measurable]),
)
def test_truths_of_parts_make_that_of_all(parts, kind):
    values = [value for part in parts for value in part]
    joined = joined_truth(kind)
    for part in parts:
        joined.add(*answer_of_rows(part, kind))
    assert joined.answer == answer_of_rows(values, kind)[1]


def answer_of_rows(values, kind):
    aggregate = Aggregate(kind.name, "v", "x")
    truth = truth_of(encode("v", "sensitive", pa.array(values, pa.int64())), aggregate)
    everybody = np.ones(len(values), dtype=bool)
    return truth.count(everybody), truth.answer(kind, everybody)


TOWNS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 3) | st.none()), max_size=8
)


@given(st.lists(TOWNS, min_size=1, max_size=3), TOWNS, st.booleans())
def test_vectors_of_all_parts_are_counted_in_their_order(parts, others, wide):
    with pytest.MonkeyPatch.context() as patch:
        if wide:
            patch.setattr(keys, "INT64_MAX", 1)
        tables = [table_of(rows) for rows in parts]
        keys_of_parts = VectorKeys.for_parts(["town", "n"], tables)
        vectors, counts = count_vectors(keys_of_parts.of_rows(table) for table in tables)
        counted = Counter(row for rows in parts for row in rows)
        ordered = sorted(counted, key=lambda row: [(v is not None, v or 0) for v in row])
        assert counts.tolist() == [counted[row] for row in ordered]
        columns = [
            encode(name, "quasi-identifier", table_of(others)[name]) for name in ("town", "n")
        ]
        of_others = keys_of_parts.of_original(columns) if others else []
        for row, key in zip(others, of_others, strict=True):
            assert (key in vectors) == (row in counted)
            if row in counted:
                assert vectors[ordered.index(row)] == key


def table_of(rows):
    towns, numbers = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"town": pa.array(towns, pa.string()), "n": pa.array(numbers, pa.int64())})


@given(st.lists(st.lists(st.integers(0, 4) | st.none(), max_size=6), min_size=1, max_size=3))
def test_values_are_drawn_as_often_as_rows_have_them(parts):
    columns = [encode("v", "sensitive", pa.array(part, pa.int64())) for part in parts]
    frequent = frequent_values("v", columns)
    values_drawn = [
        frequent.draw(lambda _, n=n: np.array([n], np.uint64)) for n in range(frequent.rows)
    ]
    assert Counter(values_drawn) == Counter(value for part in parts for value in part)
