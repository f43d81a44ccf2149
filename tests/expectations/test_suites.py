"""Great Expectations says what the models and rules say, or nothing passes."""

import datetime as dt
import json
import logging
import os
import warnings
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from jinja2 import Environment

from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import Verdict
from sfumato.expectations.rules.rule import ForbiddenColumns, NoRowNumber
from sfumato.expectations.rules.structure import (
    CanonicalOrder,
    ColumnTypes,
    NotEmpty,
    NotNull,
    OrderedColumns,
    RowCount,
    rules_of_published,
)
from sfumato.expectations.rules.verdicts import examine, require
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.expectations.suites import gate
from sfumato.expectations.suites.gate import judge
from sfumato.expectations.suites.promises import promise_expectation

TABLE = pa.table({"age": [30, 40], "loss": [1, 2]})
TABLES = {"microdata": TABLE}
STRUCTURE = {"microdata": [NotEmpty()]}


@pytest.fixture
def promises_kept(groups_of):
    return [(KAnonymity(k=2), groups_of([("g", 1), ("g", 2)]))]


def random_groups(seed: int):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 200))
    digits = rng.integers(0, 1000, int(rng.integers(1, 12)))
    values = sorted({Decimal(int(v)) / 10 for v in digits})
    numbers = numbers_of(pa.array(values), False, "loss")
    code = rng.integers(0, len(values), rows)
    return count(
        rng.integers(0, int(rng.integers(1, 9)), rows),
        9,
        {"loss": Coded(code, len(values), numbers)},
    )


def test_unmeasurable_promises_fail_as_they_do_without(groups_of):
    promises = [
        (KEAnonymity(k=1, e=0, sensitive="s"), groups_of([("g", "flu"), ("g", "cold")])),
        (KAnonymity(k=1), count(np.array([], dtype=np.int64), 1, {})),
    ]
    judged = judge("line", TABLES, STRUCTURE, promises)
    assert judged == examine(TABLES, STRUCTURE, promises)
    assert [row.passed for row in judged] == [True, False, False]


SHOWN = pa.table(
    {
        "n": pa.array([1, None, 2**53 + 1], pa.int64()),
        "b": pa.array([True, None, False]),
        "fee": pa.array([Decimal("1.10"), None, Decimal("12345678901234567890.12")]),
        "day": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
        "at": pa.array([1_767_225_600_000_001, None, None], pa.timestamp("us")),
        "x": pa.array([0.1, None, 1e300]),
        "s": pa.array(["", None, "null"]),
        "full": pa.array([1, 2, 3], pa.int8()),
    }
)


def test_every_type_and_null_survives_the_way_into_great_expectations():
    seen = []
    rules = [CanonicalOrder(lambda table: seen.append(table) or True)]
    judge("line", {"t": SHOWN}, {"t": rules}, [(KAnonymity(k=1), random_groups(1))])
    assert all(table.equals(SHOWN) and table.schema == SHOWN.schema for table in seen)
    assert seen


def test_rules_judge_as_they_do_without(promises_kept):
    numbered = pa.table({"id": range(50), "SSN": range(0, 100, 2)})
    rules = {
        "t": [
            *(NotNull(name) for name in SHOWN.column_names),
            *(RowCount(n) for n in (0, 3, 4)),
            NotEmpty(),
            OrderedColumns(tuple(SHOWN.column_names)),
            OrderedColumns(("n",)),
            ColumnTypes(tuple((f.name, f.type) for f in SHOWN.schema)),
            ColumnTypes((("n", pa.string()),)),
            CanonicalOrder(lambda _: False),
        ],
        "u": [NoRowNumber(), NoRowNumber(("id",)), ForbiddenColumns(("ssn",)), NotEmpty()],
        "empty": [NotEmpty(), RowCount(0), NoRowNumber(), NotNull("id")],
    }
    tables = {"t": SHOWN, "u": numbered, "empty": numbered.slice(0, 0)}
    judged = judge("line", tables, rules, promises_kept)
    assert judged == examine(tables, rules, promises_kept)
    assert sum(row.passed for row in judged) == 11
    with pytest.raises(PromiseError, match=r"t: expect_column_values_to_not_be_null is broken"):
        require(judged)


def test_a_whole_release_passes(promises_kept):
    rules = {"microdata": rules_of_published(TABLE.schema, 2, lambda _: True, ["name"])}
    judged = judge("adult-capital-loss", TABLES, rules, promises_kept)
    require(judged)
    assert all(row.passed for row in judged)


def test_a_promise_that_was_dropped_is_refused(promises_kept, monkeypatch):
    promises = [*promises_kept, (KAnonymity(k=1), promises_kept[0][1])]
    whole = gate.gx.ExpectationSuite
    monkeypatch.setattr(
        gate.gx,
        "ExpectationSuite",
        lambda name, expectations_given: whole(
            name, expectations_given[:1] if name == "line.release" else expectations_given
        ),
    )
    with pytest.raises(PromiseError, match=r"groups: not evaluated exactly .*expect_k_anonymity"):
        judge("line", TABLES, STRUCTURE, promises)


def test_an_expectation_that_was_weakened_is_refused(promises_kept, monkeypatch):
    parameters = {"model": "k-anonymity", "k": 1}
    weaker = promise_expectation(KAnonymity)(**parameters)
    whole = gate.gx.ExpectationSuite
    monkeypatch.setattr(
        gate.gx,
        "ExpectationSuite",
        lambda name, expectations_given: whole(
            name, [weaker] if name == "line.release" else expectations_given
        ),
    )
    with pytest.raises(PromiseError, match="not evaluated exactly as required"):
        judge("line", TABLES, STRUCTURE, promises_kept)


@pytest.mark.parametrize(
    ("tables", "structure", "promised", "message"),
    [
        (TABLES, {}, True, "table 'microdata' is not declared"),
        ({}, STRUCTURE, True, "table 'microdata' is declared and missing"),
        (TABLES, {**STRUCTURE, "other": [NotEmpty()]}, True, "'other' is declared and missing"),
        (TABLES, {"microdata": []}, True, "'microdata' has no expectations"),
        (TABLES, STRUCTURE, False, "no promise is given"),
    ],
)
def test_what_nothing_is_expected_of_is_refused(
    promises_kept, tables, structure, promised, message
):
    with pytest.raises(PromiseError, match=message):
        judge("line", tables, structure, promises_kept if promised else [])


def test_warnings_are_silenced_no_longer_than_it_takes(promises_kept):
    before = list(warnings.filters)
    judge("line", TABLES, STRUCTURE, promises_kept)
    assert warnings.filters == before


def test_no_frame_is_kept_once_it_was_judged(promises_kept, monkeypatch):
    made, contexts = gate.open_context, []
    monkeypatch.setattr(
        gate, "open_context", lambda documents: contexts.append(made(documents)) or contexts[0]
    )
    judge("line", TABLES, STRUCTURE, promises_kept)
    assert dict(contexts[0].data_sources.all()) == {}


def test_settings_of_a_project_that_nobody_reads_are_not_written(promises_kept, monkeypatch):
    """Great Expectations would do so after every step, and take a tenth of a whole run for it."""
    made, written = gate.open_context, []

    def watch_store(documents):
        context = made(documents)
        store = context.variables.store
        monkeypatch.setattr(store, "set", lambda *_, **__: written.append(store))
        return context

    monkeypatch.setattr(gate, "open_context", watch_store)
    test_a_whole_release_passes(promises_kept)
    assert written == []


def test_promises_on_several_groups_keep_their_order(groups_of, promises_kept):
    single = groups_of([("g", 1)])
    promises = [
        *promises_kept,
        (KAnonymity(k=2), single),
        *promises_kept,
        (KAnonymity(k=1), single),
    ]
    judged = judge("line", TABLES, STRUCTURE, promises)
    assert judged == examine(TABLES, STRUCTURE, promises)
    assert [row.passed for row in judged] == [True, True, False, True, True]


def test_a_missing_column_is_refused(promises_kept):
    with pytest.raises(PromiseError, match="microdata: expect_column_values_to_not_be_null could"):
        judge("line", TABLES, {"microdata": [NotNull("sex")]}, promises_kept)


def test_a_column_that_is_there_twice_is_refused(promises_kept):
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(PromiseError):
        judge("line", {"microdata": twice}, {"microdata": [NoRowNumber()]}, promises_kept)


def test_a_promise_on_an_attribute_that_is_not_there_is_refused(promises_kept):
    promises = [(KEAnonymity(k=1, e=0, sensitive="income"), promises_kept[0][1])]
    with pytest.raises(PromiseError, match="groups: expect_ke_anonymity could not be evaluated"):
        judge("line", TABLES, STRUCTURE, promises)


@dataclass(frozen=True)
class Unknown:
    type: ClassVar[str] = "expect_the_unknown"

    def parameters(self):
        return {}

    def count(self, table):
        return 0

    def holds(self, table):
        return True


def test_a_rule_that_has_no_expectation_is_refused(promises_kept):
    with pytest.raises(PromiseError, match="microdata could not be evaluated"):
        judge("line", TABLES, {"microdata": [Unknown()]}, promises_kept)


@pytest.mark.parametrize("value", [None, float("nan"), float("-inf")])
def test_a_model_that_met_no_number_is_refused_or_fails(promises_kept, monkeypatch, value):
    monkeypatch.setattr(
        KAnonymity, "check", lambda self, _: Verdict({"k": self.k}, {"k": value}, 1, 0)
    )
    try:
        judged = judge("line", TABLES, STRUCTURE, promises_kept)
    except PromiseError as error:
        assert "expect_k_anonymity could not be evaluated" in str(error)
    else:
        with pytest.raises(PromiseError, match=r"k-anonymity (is broken|cannot be proven)"):
            require(judged)


SECRET = "CANARY-7f3a"
NUMBER = 918273645546372819


def betray(_: pa.Table) -> bool:
    raise ValueError(f"cannot compare {SECRET} with {NUMBER}")


@pytest.mark.parametrize("raising", [False, True])
def test_no_value_of_the_data_is_returned_logged_or_written(
    groups_of, tmp_path, capfd, caplog, raising
):
    caplog.set_level(logging.DEBUG)
    names = [f"{SECRET}-{i}" for i in range(30)]
    numbers = [NUMBER + 10**9 + i for i in range(29)] + [None]
    table = pa.table({"name": names, "fee": numbers, "diagnosis": [*names[:-1], None]})
    structure = {
        "microdata": [
            RowCount(1),
            OrderedColumns(("age",)),
            ColumnTypes((("age", pa.int8()),)),
            *(NotNull(name) for name in table.column_names),
            *([NotNull("missing")] if raising else []),
            ForbiddenColumns(("NAME",)),
            NoRowNumber(),
            CanonicalOrder(betray if raising else lambda _: False),
        ]
    }
    of_names = groups_of([(name, name) for name in names], name="diagnosis")
    of_numbers = groups_of([("g", NUMBER), ("g", NUMBER + 4)], name="fee")
    promises = [
        (KAnonymity(k=5, quasi_identifiers=("name",)), of_names),
        (KEAnonymity(k=5, e=3, sensitive="diagnosis"), of_names),
        (KEAnonymity(k=5, e=3, sensitive="fee"), of_numbers),
    ]
    output = ""
    try:
        judged = judge("line", {"microdata": table}, structure, promises, tmp_path / "gx")
        output += repr(judged)
        require(judged)
    except PromiseError as error:
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
        output += str(error)
    output += "".join(capfd.readouterr()) + caplog.text
    written = [path for path in (tmp_path / "gx").rglob("*") if path.is_file()]
    assert any(path.suffix == ".json" for path in written)
    assert raising or any(path.suffix == ".html" for path in written)
    output += "".join(path.read_text(encoding="utf-8", errors="replace") for path in written)
    output += "".join(str(path) for path in written)
    assert "expect_canonical_order" in output
    assert "unexpected_list" not in output
    assert "unexpected_index" not in output
    for secret in (SECRET, str(NUMBER)[:10], str(NUMBER + 10**9)[:10]):
        assert secret not in output


def test_private_documents_say_what_was_promised_and_seen(promises_kept, tmp_path):
    directory = tmp_path / "private" / "gx"
    judge("line", TABLES, STRUCTURE, promises_kept, directory)
    assert (directory.stat().st_mode & 0o777) == 0o700
    assert (directory / "line.release.microdata.json").is_file()
    pages = "".join(p.read_text(encoding="utf-8") for p in directory.rglob("*groups*.html"))
    assert "every combination of quasi-identifiers is shown by at least 2 rows" in pages
    assert "k = 2" in pages


def test_templates_of_data_docs_are_compiled_once(promises_kept, tmp_path, monkeypatch):
    judge("line", TABLES, STRUCTURE, promises_kept, tmp_path / "first")
    monkeypatch.setattr(Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
    judge("line", TABLES, STRUCTURE, promises_kept, tmp_path / "second")
    first, second = (
        {path.name for path in (tmp_path / name / "data-docs").rglob("*.html")}
        for name in ("first", "second")
    )
    assert first == second


@pytest.mark.parametrize("file", ["line.release.json", "data-docs/index.html"])
def test_a_full_disk_is_a_fault_of_the_machine(promises_kept, tmp_path, file):
    """And no broken promise: what was promised can be kept where there is room."""
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).symlink_to("/dev/full")
    with pytest.raises(Fault, match=r"^(groups|Data Docs): no space is left on the disk"):
        judge("line", TABLES, STRUCTURE, promises_kept, tmp_path)


def test_too_little_memory_is_a_fault_of_the_machine(promises_kept, monkeypatch):
    def fail(*_):
        raise MemoryError("CANARY")

    monkeypatch.setattr(gate.gx, "ExpectationSuite", fail)
    with pytest.raises(Fault, match=r"^microdata: out of memory \(.* are available\)"):
        judge("line", TABLES, STRUCTURE, promises_kept)


def test_great_expectations_is_silent_and_calls_nobody(promises_kept, capfd):
    judge("line", TABLES, STRUCTURE, promises_kept)
    assert capfd.readouterr() == ("", "")
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"


def test_suite_checkpoint_and_result_are_stored_for_their_owner_alone(promises_kept, tmp_path):
    directory = tmp_path / "private" / "gx"
    directory.mkdir(parents=True, mode=0o755)
    for _ in range(2):  # a task that is tried again finds what it left
        judge("line", TABLES, STRUCTURE, promises_kept, directory)
    store = directory / "store"
    for name in ("line.release", "line.release.microdata"):
        place = name.replace(".", "/")
        suite = json.loads((store / f"expectations/{place}.json").read_text(encoding="utf-8"))
        assert suite["expectations"]
        assert (store / f"checkpoints/{name}.json").is_file()
        (result,) = (store / f"uncommitted/validations/{place}").glob("__none__/*/*.json")
        assert json.loads(result.read_text(encoding="utf-8"))["success"] is True
    for path in [directory, *directory.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
