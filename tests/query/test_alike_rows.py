"""Rows that are alike are decided once: answers are those of asking each row by itself."""

import random
from contextlib import ExitStack
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.labels import Between, ListedValues
from sfumato.tasks.query.ask import ask, engine
from sfumato.tasks.query.behind_labels.number_line import decide_on_number_line, extents_of
from sfumato.tasks.query.behind_labels.scales import scale_of
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines import labels, rows_with_labels
from sfumato.tasks.query.engines.labels import RowsByColumns
from sfumato.tasks.query.sql.single import read_question
from tests.query.test_recoded_truth import Grammar, Release
from tests.query.worlds import column

AGGREGATES = (
    "COUNT(*)",
    "COUNT(cost)",
    *(
        f"{function}({name})"
        for function in ("SUM", "AVG", "MIN")
        for name in ("loss", "cost", "ratio")
    ),
    "MAX(note)",
    "STDDEV(loss)",
    "MEDIAN(loss)",
)


def questions(declared, chance):
    """One of a few aggregates, on conditions on a few columns, and a count by one of these."""
    some = dict(chance.sample(list(declared.columns.items()), 2))
    keys = chance.sample(list(some), chance.choice([0, 0, 1]))
    terms = [*(f'"{key}"' for key in keys), chance.choice(AGGREGATES)]
    where = Grammar(some, chance).predicate(2)
    group_by = f' GROUP BY "{keys[0]}"' if keys else ""
    of_one = Grammar(dict(chance.sample(list(some.items()), 1)), chance).predicate(1)
    yield f"SELECT {', '.join(terms)} FROM microdata WHERE {where}{group_by}"
    yield f"SELECT COUNT(*) FROM microdata WHERE {of_one}"


def read(sql, declared):
    try:
        return read_question(sql, declared)
    except QueryError:
        return None


def answer(asking, declared, question):
    try:
        return ask(asking, declared, question)
    except QueryError as error:
        return str(error)


def assert_same(result, expected, sql):
    if isinstance(expected, str) or isinstance(result, str):
        assert result == expected, sql
        return
    assert len(result.rows) == len(expected.rows), sql
    for row, other in zip(result.rows, expected.rows, strict=True):
        for name, value in row.items():
            if not isinstance(value, Bounds):
                assert value == other[name], sql
                continue
            ends, by_row = ((b.lower, b.upper, b.may_be_empty) for b in (value, other[name]))
            assert repr(ends) == repr(by_row), sql
            first, second = value.estimate, other[name].estimate
            if isinstance(second, Fraction):
                first, second = float(first), pytest.approx(float(second), rel=1e-9, abs=1e-9)
            assert first == second, sql


@pytest.mark.parametrize("budget", [0, 2])
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_questions_are_answered_as_by_each_row(form, budget):
    answered = 0
    for seed in range(12):
        chance = random.Random(f"alike {form} {seed}")
        with ExitStack() as stack:
            release = stack.enter_context(Release(chance, form))
            declared, table = release.declared, release.tables["microdata"]
            tables = {"microdata": pa.concat_tables([table] * chance.randint(1, 4))}
            stack.enter_context(patch.object(rows_with_labels, "_WORTH", chance.choice([0, 2])))
            stack.enter_context(patch.object(labels, "_KEPT", budget))
            once, each = (stack.enter_context(engine(tables, declared)) for _ in range(2))
            for sql in [sql for _ in range(5) for sql in questions(declared, chance)]:
                if (question := read(sql, declared)) is None:
                    continue
                with patch.object(RowsByColumns, "distinct_rows", lambda self, _: self._rows):
                    expected = answer(each, declared, question)
                assert_same(answer(once, declared, question), expected, sql)
                answered += not isinstance(expected, str)
    assert answered > 40


INTEGERS = column("quasi-identifier", "integer", nulls=True)
LABELS = st.one_of(
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(
        lambda ends: Between(min(ends), max(ends))
    ),
    st.just(Between(None, None)),
    st.lists(st.integers(-9, 9), min_size=1, max_size=2).map(
        lambda values: ListedValues(tuple(values))
    ),
)


@given(
    st.lists(LABELS, min_size=1, max_size=6),
    st.lists(st.integers(-9, 9), max_size=6, unique=True),
    st.randoms(use_true_random=False),
)
def test_intervals_are_decided_as_number_by_number(labels, constants, chance):
    scale = scale_of(INTEGERS)
    marks = sorted({mark for constant in constants for mark in scale.near(constant)})
    outcomes = {}

    def outcome(number):
        """One for each mark, and one between two of them."""
        place = marks.index(number) if number in marks else -1 - sum(m < number for m in marks)
        return outcomes.setdefault(place, chance.choice([0, 1, 2]))

    def decide(values):
        return np.array([outcome(value) for value in values], np.int8)

    wide = [n for n, label in enumerate(labels) if not isinstance(label, ListedValues)]
    extents = extents_of(labels, wide, scale)
    possible, weight = decide_on_number_line(extents, constants, scale, decide)
    for n, label in enumerate(labels):
        if n not in wide:
            assert not possible[:, n].any()
            assert not weight[:, n].any()
            continue
        ends = (label.low, label.high) if label.low is not None else (-40, 40)
        every = [outcome(number) for number in range(ends[0], ends[1] + 1)]
        assert possible[:, n].tolist() == [code in every for code in range(3)]
        ends_of_label = ends if label.low is not None else extents.hull
        if ends_of_label is None:
            assert np.isnan(weight[:, n]).all()
            continue
        met = [outcome(number) for number in range(ends_of_label[0], ends_of_label[1] + 1)]
        assert weight[:, n].tolist() == [met.count(code) for code in range(3)]
