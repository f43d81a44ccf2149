"""Great Expectations says what the models say, refuses what it could not judge, and keeps quiet."""

import random

import pyarrow as pa
import pytest

from expectations import suites
from expectations.errors import PromiseError
from expectations.judged import examine, require
from expectations.ke_anonymity import KEAnonymity
from expectations.structure import ColumnTypes, published

pytestmark = pytest.mark.filterwarnings("default")
TABLE = pa.table({"age": [30, 31, 32], "wage": [1, 5, 9], "group_id": [0, 0, 0]})


def rules(table=TABLE, rows=3, canonical=True, forbidden=("name",)):
    return {"microdata": published(table.schema, rows, lambda _: canonical, forbidden)}


@pytest.fixture
def kept(groups_of):
    return (KEAnonymity(k=3, e=8, sensitive="s"), groups_of([("g", 1), ("g", 5), ("g", 9)]))


def test_verdicts_are_the_models(groups_of):
    rng = random.Random(6)
    agreed, held = 0, 0
    for _ in range(20):
        groups = groups_of([(rng.randint(0, 2), rng.randint(0, 9)) for _ in range(15)])
        promises = [
            (KEAnonymity(k=k, e=e, sensitive="s"), groups) for k in range(1, 6) for e in range(10)
        ]
        judged = suites.judge("line", {"microdata": TABLE}, rules(), promises)
        rows = [row for row in judged if row.table == "groups"]
        assert judged == examine({"microdata": TABLE}, rules(), promises)
        for (model, seen), row in zip(promises, rows, strict=True):
            assert row.passed is model.check(seen).holds
            agreed, held = agreed + 1, held + row.passed
    assert agreed == 1000
    assert 100 < held < 900


@pytest.mark.parametrize(
    ("table", "structure"),
    [
        (TABLE, rules(rows=4)),
        (TABLE, rules(canonical=False)),
        (TABLE, rules(forbidden=("AGE",))),
        (TABLE.append_column("extra", pa.array(["x"] * 3)), rules()),
        (TABLE.set_column(0, "age", TABLE["age"].cast("int32")), rules()),
        (TABLE.slice(0, 0), rules(rows=0)),
        (pa.table({"age": [30, None, 32], "wage": [1, 5, 9], "group_id": [0, 0, 0]}),
         {"microdata": published(pa.schema([pa.field("age", pa.int64(), False),
          pa.field("wage", pa.int64()), pa.field("group_id", pa.int64())]), 3, lambda _: True)}),
    ],
)  # fmt: skip
def test_structure_that_does_not_hold_is_refused(kept, table, structure):
    judged = suites.judge("line", {"microdata": table}, structure, [kept])
    assert judged == examine({"microdata": table}, structure, [kept])
    with pytest.raises(PromiseError):
        require(judged)


def test_what_was_not_expected_or_not_promised_is_refused(kept):
    for tables, structure, promises in [
        ({"microdata": TABLE}, {}, [kept]),
        ({}, rules(), [kept]),
        ({"microdata": TABLE}, {"microdata": ()}, [kept]),
        ({"microdata": TABLE}, rules(), []),
    ]:
        with pytest.raises(PromiseError):
            suites.judge("line", tables, structure, promises)
    with pytest.raises(PromiseError):
        require([])


def test_an_expectation_that_was_dropped_is_refused(kept, monkeypatch):
    suite = suites.gx.ExpectationSuite
    monkeypatch.setattr(suites.gx, "ExpectationSuite", lambda name, some: suite(name, some[1:]))
    with pytest.raises(PromiseError, match=r"not evaluated exactly|nothing is expected"):
        suites.judge("line", {"microdata": TABLE}, rules(), [kept])


def test_an_expectation_that_raised_is_refused_and_quotes_nothing(kept, monkeypatch):
    def holds(*_):
        raise ValueError("CANARY")

    monkeypatch.setattr(ColumnTypes, "holds", holds)
    with pytest.raises(PromiseError, match="could not be evaluated") as refused:
        suites.judge("line", {"microdata": TABLE}, rules(), [kept])
    assert "CANARY" not in str(refused.value)


def test_a_missing_column_is_refused(kept):
    with pytest.raises(PromiseError):
        judged = suites.judge("line", {"microdata": TABLE.drop_columns("age")}, rules(), [kept])
        require(judged)


def test_what_cannot_be_measured_does_not_pass(groups_of):
    promise = KEAnonymity(k=1, e=0, sensitive="s")
    groups = groups_of([("g", "a"), ("g", "b")])
    judged = suites.judge("line", {"microdata": TABLE}, rules(), [(promise, groups)])
    with pytest.raises(PromiseError):
        require(judged)


def test_nothing_that_is_returned_raised_or_written_quotes_a_value(groups_of, tmp_path):
    table = pa.table(
        {"age": ["CANARYage"] * 3, "wage": [7310917, None, 7310917], "group_id": [0, 0, 0]}
    )
    schema = pa.schema(
        [pa.field("age", pa.string()), pa.field("wage", pa.int64(), False), ("group_id", "int64")]
    )
    structure = {"microdata": published(schema, 4, lambda _: False, ["AGE"])}
    promise = (KEAnonymity(k=9, e=9, sensitive="s"), groups_of([("CANARYkey", 7310917)]))
    judged = suites.judge("line", {"microdata": table}, structure, [promise], tmp_path)
    with pytest.raises(PromiseError) as refused:
        require(judged)
    written = [p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file()]
    assert len(written) > 2
    for text in [str(judged), repr(judged), str(refused.value), *written]:
        assert "CANARY" not in text
        assert "7310917" not in text
