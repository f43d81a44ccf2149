"""Our expectations in anybody's project: of frames and in SQLite, with our own verdicts."""

import json
import logging
import math
import os
import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.expectations import gallery
from sfumato.expectations.gallery import (
    ExpectAlphaK,
    ExpectBetaLikeness,
    ExpectDeltaDisclosure,
    ExpectDistinctLDiversity,
    ExpectEntropyLDiversity,
    ExpectKAnonymity,
    ExpectKeAnonymity,
    ExpectKmAnonymity,
    ExpectKMap,
    ExpectLkcPrivacy,
    ExpectRecursiveLDiversity,
    ExpectTCloseness,
)
from sfumato.expectations.models.promises import PROMISE, models
from sfumato.expectations.rules.verdicts import observation
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.suites import examples
from sfumato.expectations.suites.groups import to_frame
from sfumato.expectations.suites.in_database import count_groups
from sfumato.expectations.suites.promises import assertable
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from tests.fork_server import ROOT
from tests.gallery.batches import (
    FORMATS,
    fill,
    hush_warnings,
    message,
    of_frame,
    of_table,
    project,
    validate,
    verdicts,
)

BY = ("text", "number")


@pytest.fixture(scope="module")
def context():
    with project() as made:
        yield made


def promises_of_kinds(key_columns=BY, sensitive="value"):
    """One expectation of each kind, and of each distance that a table has."""
    scope = {"quasi_identifiers": list(key_columns), "sensitive": sensitive}
    return [
        ExpectKAnonymity(quasi_identifiers=list(key_columns), k=2),
        ExpectDistinctLDiversity(**scope, l=2),
        ExpectDistinctLDiversity(**scope, l=1, known=["number"]),
        ExpectEntropyLDiversity(**scope, l=1.5),
        ExpectRecursiveLDiversity(**scope, c=2, l=2),
        ExpectRecursiveLDiversity(**scope, c=3, l=2, dont_care=["1"]),
        ExpectTCloseness(**scope, t=0.3, distance="equal"),
        ExpectTCloseness(**scope, t=0.3, distance="ordered"),
        ExpectDeltaDisclosure(**scope, delta=1),
        ExpectBetaLikeness(**scope, beta=1),
        ExpectAlphaK(**scope, alpha=0.5, k=2),
        ExpectKeAnonymity(**scope, k=2, e=1),
        ExpectKMap(quasi_identifiers=list(key_columns), weight=sensitive, k=2),
        ExpectKmAnonymity(quasi_identifiers=list(key_columns), k=2, m=1),
        ExpectLkcPrivacy(**scope, l=1, k=2, c=0.5),
    ]


def test_every_promise_that_rows_can_keep_is_there():
    kinds = ("AlphaK", "BetaLikeness", "DeltaDisclosure", "KAnonymity", "KMap")
    names = {f"Expect{name}" for name in kinds}
    names |= {f"Expect{name}LDiversity" for name in ("Distinct", "Entropy", "Recursive")}
    names |= {"ExpectKeAnonymity", "ExpectTCloseness", "ExpectKmAnonymity", "ExpectLkcPrivacy"}
    assert set(gallery.__all__) == names
    assert set(dir(gallery)) == set(gallery.__all__)
    unassertable = {model.name for model in models()} - {model.name for model in assertable()}
    of_two_tables = {"people", "related-l-diversity", "related-alpha"}
    assert unassertable - of_two_tables == {
        "alpha-beta",
        "p-privacy",
        "delta-presence",
        "bayes-optimal",
    }
    with pytest.raises(AttributeError, match="no attribute 'ExpectPPrivacy'"):
        gallery.ExpectPPrivacy  # noqa: B018


@pytest.mark.parametrize("name", gallery.__all__)
def test_examples_are_as_they_say(context, name, tmp_path):
    kind = getattr(gallery, name)
    (example,) = kind.examples
    df = pd.DataFrame(example["data"])
    fill(f"sqlite:///{tmp_path}/db", df, "t")
    for batch in (of_frame(context, df), of_table(context, f"sqlite:///{tmp_path}/db", "t")):
        for test in example["tests"]:
            ((result,), _) = validate(batch, [kind(**test["in"])])
            assert result.success is test["out"]["success"]
            result_shown = {"success": result.success, "result": result.result}
            assert str(result_shown) in kind.__doc__
    assert [test["out"]["success"] for test in example["tests"]] == [True, False]
    assert "Args:\n    quasi_identifiers: the columns" in kind.__doc__


def test_without_further_words_it_is_asked_for_in_full():
    configuration = ExpectKAnonymity(quasi_identifiers=["age"], k=5).configuration
    assert configuration.to_domain_obj() == ExpectKAnonymity(quasi_identifiers=["age"], k=5)
    assert configuration.kwargs == {"model": "k-anonymity", "quasi_identifiers": ["age"], "k": 5}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"k": 0}, "k: must be at least 1"),
        ({"k": 2, "model": "alpha-k", "alpha": 1}, "extra fields"),
        ({}, "k: is missing"),
        ({"k": 2, "l": 3}, "extra fields"),
    ],
)
def test_what_is_no_such_promise_is_refused_when_it_is_written(kwargs, message):
    with pytest.raises(ValueError, match=message):
        ExpectKAnonymity(quasi_identifiers=["age"], **kwargs)


def test_another_promise_under_the_name_of_one_is_refused():
    with pytest.raises(ValueError, match="another promise than distinct-l-diversity"):
        ExpectDistinctLDiversity(variant="entropy", sensitive="s", quasi_identifiers=["a"], l=2)


def test_a_parameter_may_be_given_when_it_is_run(context):
    df = pd.DataFrame({"age": [1, 1, 2]})
    expectation = ExpectKAnonymity(quasi_identifiers=["age"], k={"$PARAMETER": "least"})
    with hush_warnings():
        batch = of_frame(context, df)
        for k, holds in ((1, True), (2, False)):
            assert batch.validate(expectation, expectation_parameters={"least": k}).success is holds


REFUSALS = {
    "quasi_identifiers: name the columns by which rows are grouped": {"k": 2},
    "column 'sx' is not in the table": {"k": 2, "quasi_identifiers": ["sx"]},
    "members: a table does not show households; leave members out": {
        "k": 1,
        "quasi_identifiers": ["sex"],
        "members": "linkable",
    },
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_cannot_be_evaluated_fails_and_says_why(context, refusal, tmp_path):
    df = pd.DataFrame({"age": [1, 1, 2]})
    fill(f"sqlite:///{tmp_path}/db", df, "t")
    other = ExpectKAnonymity(quasi_identifiers=["age"], k=1)
    for batch in (of_frame(context, df), of_table(context, f"sqlite:///{tmp_path}/db", "t")):
        (broken, passing), _ = validate(batch, [ExpectKAnonymity(**REFUSALS[refusal]), other])
        assert (broken.success, message(broken)) == (False, refusal)
        assert (passing.success, message(passing)) == (True, None)


def test_a_column_that_is_there_twice_is_refused(context):
    df = pd.DataFrame([[1, 1]], columns=["age", "age"])
    (result,), _ = validate(
        of_frame(context, df), [ExpectKAnonymity(quasi_identifiers=["age"], k=1)]
    )
    assert (result.success, message(result)) == (False, "column 'age' is twice in the table")


def test_a_frame_that_lost_its_groups_is_judged_by_no_column(context, groups_of):
    """The observed values say how many rows each group had."""
    lost = to_frame(groups_of([("g", 1), ("h", 2)]))
    lost.attrs.clear()
    (name,) = lost.columns
    (result,), _ = validate(
        of_frame(context, lost), [ExpectKAnonymity(quasi_identifiers=[name], k=2)]
    )
    assert (result.success, message(result)) == (
        False,
        "the frame was changed after its groups were counted",
    )


def test_an_empty_table_keeps_no_promise(context, tmp_path):
    df = pd.DataFrame({"text": ["a"], "number": [1.0], "value": [1]}).iloc[:0]
    fill(f"sqlite:///{tmp_path}/db", df, "t")
    for batch in (of_frame(context, df), of_table(context, f"sqlite:///{tmp_path}/db", "t")):
        assert not any(success for success, _ in verdicts(batch, promises_of_kinds()))


TEXTS = st.sampled_from(["a", "A", "á", "a\u0301", "a ", " a", "", "0", "\U0001f600", None])
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan, 1e300])
VALUES = st.sampled_from([1, 2, 3, 2**53 + 1])
ROWS = st.lists(st.tuples(TEXTS, NUMBERS, VALUES), min_size=1, max_size=12)


def as_frame(rows):
    text, number, value = zip(*rows, strict=True)
    return pd.DataFrame({"text": text, "number": np.array(number), "value": value})


def by_hand(rows, more_key=()):
    """Count how often each value occurs in each group; NaN and null are the one value None."""
    counts = defaultdict(Counter)
    for text, number, value in rows:
        key = (text, None if math.isnan(number) else number, *more_key)
        counts[key][value] += 1
    return counts


def as_measured(df, expectation, folder):
    """Return what we measure ourselves, as `sfumato measure` reads a table and judges it."""
    promise = PROMISE.validate_python(expectation.configuration.kwargs)
    place = str(folder / "measured.parquet")
    pq.write_table(pa.Table.from_pandas(df, preserve_index=False), place)
    about = [promise.sensitive] if promise.sensitive else []
    read = read_inferred(place, [*promise.adversary_columns, *about], Written())
    labelled = promise.adversary_columns if promise.needs_labels else ()
    verdict = promise.check(groups_of(read, promise.adversary_columns, about, labelled=labelled))
    return verdict.holds, observation(verdict)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_frames_and_sqlite_say_what_we_measure(context, tmp_path, rows):
    df, url = as_frame(rows), f"sqlite:///{tmp_path}/law"
    fill(url, df, "t", {"text": sa.Text(collation="NOCASE")})
    promises = promises_of_kinds()
    measured = [as_measured(df, promise, tmp_path) for promise in promises]
    assert verdicts(of_frame(context, df), promises) == measured
    assert verdicts(of_table(context, url, "t"), promises) == measured
    by_hand_ = by_hand(rows)
    smallest = min(map(Counter.total, by_hand_.values()))
    fewest = min(map(len, by_hand_.values()))
    assert measured[0] == (smallest >= 2, {**measured[0][1], "k": smallest})
    assert measured[1] == (fewest >= 2, {**measured[1][1], "l": fewest})


@given(rows=ROWS)
def test_sqlite_counts_as_by_hand(rows):
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        text = sa.Text(collation="RTRIM")
        as_frame(rows).to_sql("t", connection, index=False, dtype={"text": text})
        columns_of_key = [sa.column(name) for name in BY]
        groups = count_groups(connection, sa.table("t"), columns_of_key, [sa.column("value")])
    engine.dispose()
    counts = groups.counts_of("value")
    counts_by_key = defaultdict(dict)
    for group, value, times in zip(counts.group, counts.value, counts.count, strict=True):
        counts_by_key[group][counts.labels[value].as_py()] = times
    as_sets = Counter(
        frozenset(count_of_values.items()) for count_of_values in counts_by_key.values()
    )
    assert as_sets == Counter(
        frozenset(count_of_values.items()) for count_of_values in by_hand(rows).values()
    )


def of_arrow(values):
    """A column in which NaN and null are two values."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, pa.float64())))


TYPES = {
    "categories": pd.Series(["a", "b", "a", None], dtype="category"),
    "objects": pd.Series(["a", None, "a", float("nan")], dtype=object),
    "strings": pd.Series(["a", "b", "a", None], dtype="string"),
    "arrow": of_arrow([0.0, math.nan, -0.0, None]),
    "masked": pd.Series([1, None, 1, None], dtype="Int64"),
    "moments": pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-01", None])),
    "flags": pd.Series([True, False, True, False]),
    "half": pd.Series([0.0, 1.0, -0.0, 1.0], dtype="float32"),
}
PARTS = {"categories": (1, 3), "strings": (1, 3), "arrow": (1, 3)}  # k, groups; else two by two


@pytest.mark.parametrize("name", TYPES)
def test_frames_of_all_types(context, name):
    expectation = ExpectKAnonymity(quasi_identifiers=["c"], k=1)
    (verdict,) = verdicts(of_frame(context, pd.DataFrame({"c": TYPES[name]})), [expectation])
    k, groups = PARTS.get(name, (2, 2))
    assert verdict == (True, {"k": k, "groups": groups, "failing": 0})


def test_nan_is_a_value_without_an_order(context):
    df = pd.DataFrame({"q": [1, 1], "s": of_arrow([math.nan, 1.0])})
    scope = {"quasi_identifiers": ["q"], "sensitive": "s"}
    expectations = [ExpectDistinctLDiversity(**scope, l=2), ExpectKeAnonymity(**scope, k=1, e=0)]
    distinct, spread = verdicts(of_frame(context, df), expectations)
    assert distinct == (True, {"l": 2, "groups": 1, "failing": 0})
    assert spread == (False, {"k": None, "e": None, "groups": 1, "failing": 1})


def test_dates_of_sqlite_have_an_order(context, tmp_path):
    df = pd.DataFrame({"q": [1, 1], "day": pd.to_datetime(["2020-01-01", "2020-03-01"])})
    fill(f"sqlite:///{tmp_path}/db", df, "t")
    expectation = ExpectKeAnonymity(quasi_identifiers=["q"], sensitive="day", k=2, e=60 * 86400)
    (verdict,) = verdicts(of_table(context, f"sqlite:///{tmp_path}/db", "t"), [expectation])
    assert verdict == (True, {"k": 2, "e": 60 * 86400, "groups": 1, "failing": 0})


def test_a_query_is_judged_by_its_rows(context, tmp_path):
    df = pd.DataFrame({"q": ["a", "a", "b"]})
    fill(f"sqlite:///{tmp_path}/db", df, "t")
    query = "SELECT q FROM t WHERE q = 'a'"
    batch = of_table(context, f"sqlite:///{tmp_path}/db", "some", query=query)
    expectation = ExpectKAnonymity(quasi_identifiers=["q"], k=2)
    assert verdicts(batch, [expectation]) == [(True, {"k": 2, "groups": 1, "failing": 0})]


def test_databases_that_are_not_known_are_refused():
    class Foreign:
        class dialect:
            name = "oracle"

    with pytest.raises(
        PromiseError, match="exactly; use one of postgresql, sqlite, mariadb, mysql"
    ):
        count_groups(Foreign(), sa.table("t"), [sa.column("q")], [])


SECRET = "CANARY-41c9"


@pytest.mark.parametrize("result_format", FORMATS)
@pytest.mark.parametrize("engine", ["pandas", "sqlite"])
def test_no_value_is_in_any_result(context, tmp_path, engine, result_format, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    rows = [f"{SECRET}-{n % 7}" for n in range(20)]
    df = pd.DataFrame({"text": rows, "number": range(20), "value": [*rows[:-1], None]})
    if engine == "pandas":
        mixed = pd.Series([*rows[:-1], 5], dtype=object)  # no column of one type
        batch = of_frame(context, df.assign(mixed=mixed))
    else:
        fill(f"sqlite:///{tmp_path}/db", df, "t")
        engine = sa.create_engine(f"sqlite:///{tmp_path}/db")
        with engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE t ADD COLUMN mixed DATE"))
            connection.execute(sa.text("UPDATE t SET mixed = text"))  # no date
        engine.dispose()
        batch = of_table(context, f"sqlite:///{tmp_path}/db", "t")
    broken = ExpectDistinctLDiversity(quasi_identifiers=["number"], sensitive="mixed", l=2)
    results, whole = validate(batch, [*promises_of_kinds(), broken], result_format)
    assert not results[-1].success
    assert message(results[-1])
    assert not results[0].success
    text = json.dumps(whole.to_json_dict()) + repr(whole) + str(whole)
    text += "".join(capfd.readouterr()) + caplog.text
    assert "expect_distinct_l_diversity" in text
    assert SECRET not in text


def test_rows_of_examples_are_parallel():
    assert {len(column) for column in examples.DATA.values()} == {8}


def test_the_guide_runs_as_it_stands(tmp_path):
    """The guide's example of another project's suite runs in a process that knows nothing yet."""
    page = ROOT / "deployments" / "guide" / "pages" / "how-to" / "great-expectations.md"
    parts = page.read_text(encoding="utf-8").split("```")
    (code,) = [part for part in parts if part.startswith("python\nimport great_exp")]
    url = f"sqlite:///{tmp_path / 'stays.db'}"
    rows = [(age, "Delft", f"d{n}") for age in (30, 40) for n in range(5)]
    fill(url, pd.DataFrame(rows, columns=["age", "city", "diagnosis"]), "stays")
    program = code.removeprefix("python\n").replace("postgresql+psycopg://…", url)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("SFUMATO_")},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
