"""Exact rows beside grouped values: published, checked, asked, evaluated, refused when forged."""

import json
import shutil

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.forms import split
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.order import canonical_table, canonical_with
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.query.ask import answer
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.assessment import SeenGroups, assess, structure
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables, write_tables
from tests.release.small import SPEC, Small, people

KE = {"model": "ke-anonymity", "k": 3, "e": 10.5}
L3 = {"model": "l-diversity", "variant": "distinct", "l": 3}
TOWNS = 'Aa,A-C,*\nBee,A-C,*\n"Cé, the long",A-C,*\n'
ASKED = {
    "workloads": [
        {
            "kind": "range",
            "aggregate": "avg",
            "of": "wage",
            "over": "age",
            "spans": [5, 20],
            "queries": 5,
        },
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [1], "queries": 5},
        {"kind": "arbitrary", "aggregate": "sum", "of": "wage", "selected": [5, 30], "queries": 5},
        {"kind": "arbitrary", "aggregate": "max", "of": "wage", "selected": [10], "queries": 5},
    ]
}
OBJECTIVES = ["sum", "weighted", "max", "max-overlapping", "random"]
COMBINED = [
    ("split", {"method": "anatomy"}, L3),
    ("split", {"method": "ke"}, KE),
    ("split", {"method": "mondrian"}, L3),
    ("permuted", {"method": "anatomy"}, L3),
    ("permuted", {"method": "full-domain"}, L3),
    ("permuted", {"method": "full-domain", "suppression": 0.2}, L3),
    ("permuted", {"method": "mondrian"}, L3),
    *(("permuted", {"method": "ke", "objective": objective}, KE) for objective in OBJECTIVES),
]


def changes(form, partition, *promises, **more):
    columns = json.loads(json.dumps(SPEC["columns"]))
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    columns["town"]["hierarchy"] = "towns.csv"
    form = form if isinstance(form, dict) else {"method": form}
    settings = {"promises": list(promises), "partition": partition, "evaluate": ASKED}
    return {"columns": columns, "form": form, **settings, **more}


@pytest.fixture
def publish(small):
    def publish_split(form, partition, *promises):
        small.write(people(), **changes(form, partition, *promises))
        (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return small.publish("one").directory

    return publish_split


def tables_of(directory):
    return dict(read_tables(open_release(directory).declared, directory / "data"))


def originals(small):
    return load(small.folder / "one" / "deidentified")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("form", "partition", "promise"), COMBINED)
def test_published_checked_asked_and_evaluated(publish, small, form, partition, promise):
    directory = publish(form, partition, promise)
    ((_, verdict),) = check(directory).verdicts
    assert verdict.holds
    opened, plan = open_release(directory), small.plan()
    query = "SELECT town, COUNT(*), AVG(wage) FROM microdata WHERE wage > 300 GROUP BY town"
    assert [row["town"] for row in answer(opened, query).rows] == [
        "Aa",
        "Bee",
        "Cé, the long",
        None,
    ]
    (row,) = answer(opened, "SELECT COUNT(*), SUM(wage) FROM microdata").rows
    number_shown = opened.declared.rows.published
    assert (row["count(*)"].lower, row["count(*)"].upper) == (number_shown, number_shown)
    assert row["sum(wage)"].lower == row["sum(wage)"].upper
    scored = evaluate_release(
        directory, originals(small), plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    )
    assert [score["queries"] for score in scored.public] == [5] * 6
    assert number_shown == 60 or "suppression" in partition


@pytest.mark.parametrize("partition", ["anatomy", "ke"])
def test_both_forms_bound_alike(publish, tmp_path, partition):
    """Of the same rows in the same groups, the two tables tell what the shuffled one does."""
    query = (
        "SELECT town, COUNT(*), SUM(wage), MIN(wage), MAX(wage) FROM microdata "
        "WHERE age < 40 AND wage > 300 GROUP BY town"
    )
    promise = L3 if partition == "anatomy" else KE
    opened = open_release(publish("split", {"method": partition}, promise))
    tables = tables_of(opened.directory)
    form = PermutedParameters(method="permuted")
    again = tmp_path / "again"
    declared = opened.declared.model_copy(update={"form": form})
    table = canonical_table(in_one(tables["qit"], tables["st"]))
    write_release(again, assess(declared, {"microdata": table}))
    assert check(again).verdicts
    rows_found = answer(opened, query).rows
    assert answer(open_release(again), query).rows == rows_found
    assert any(row["sum(wage)"].lower < row["sum(wage)"].upper for row in rows_found)


def in_one(qit, st):
    """Each row beside one of the values of its group, every value as often as it is counted."""
    times = np.repeat(np.arange(st.num_rows), st["count"].to_numpy())
    rows = np.argsort(qit[GROUP_ID].to_numpy(), kind="stable")
    microdata = qit.take(pa.array(rows)).append_column("wage", st["wage"].take(pa.array(times)))
    return microdata.select(["age", "town", "wage", GROUP_ID])


def test_what_is_published(publish, monkeypatch):
    directory = publish("split", {"method": "anatomy"}, L3)
    names = {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}
    assert names == {
        *(f"data/{table}.{ending}" for table in ("qit", "st") for ending in ("csv", "parquet")),
        "datapackage.json",
        "index.html",
        "sql/duckdb.sql",
        "sql/help_wage.parquet",
        "validation.json",
    }
    assert tables_of(directory)["qit"].column_names == ["age", "town", "group_id"]
    assert tables_of(directory)["st"].column_names == ["group_id", "wage", "count"]
    monkeypatch.chdir(directory)
    script = (directory / "sql/duckdb.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        *_, by_age = [
            connection.execute(statement).fetchall()
            for statement in duckdb.extract_statements(script)
        ]
        (rows,) = connection.execute("SELECT count(*) FROM qit JOIN st USING (group_id)").fetchone()
    assert len(by_age) == len(set(tables_of(directory)["qit"]["age"].to_pylist()))
    assert rows > 60


def test_the_snippet_of_the_page_runs(publish, monkeypatch):
    directory = publish("split", {"method": "ke"}, KE)
    page = (directory / "index.html").read_text(encoding="utf-8")
    start = page.index("import pandas as pd")
    snippet = page[start : page.index("</code>", start)].replace("&#34;", '"')
    monkeypatch.chdir(directory)
    namespace = {}
    exec(snippet, namespace)
    assert len(namespace["qit"]) == 60
    assert namespace["st"]["count"].sum() == 60


def with_values(table, name, values):
    position = table.column_names.index(name)
    return table.set_column(position, table.schema.field(name), pa.array(values, table[name].type))


def one_more(tables):
    st = tables["st"]
    counts = st["count"].to_pylist()
    return {**tables, "st": with_values(st, "count", [counts[0] + 1, *counts[1:]])}


def move_value(st):
    """One more of a value that its group has, one less of a value of another group."""
    counts, ids = st["count"].to_pylist(), st[GROUP_ID].to_pylist()
    taken = next(i for i, times in enumerate(counts) if times > 1)
    position = next(i for i, group in enumerate(ids) if group != ids[taken])
    counts[taken], counts[position] = counts[taken] - 1, counts[position] + 1
    return with_values(st, "count", counts)


def turn_rows(tables):
    st = tables["st"]
    return {**tables, "st": st.take(pa.array(range(st.num_rows)[::-1]))}


def with_a_gap(tables):
    """The group with the highest number has one that is higher still."""
    ids = {name: table[GROUP_ID].to_pylist() for name, table in tables.items()}
    highest = max(ids["st"])
    return {
        name: with_values(table, GROUP_ID, [g + (g == highest) for g in ids[name]])
        for name, table in tables.items()
    }


def said_twice(tables):
    """A value that several of a group have, in two rows whose counts add up."""
    st = tables["st"]
    rows = st.to_pylist()
    position = next(i for i, row in enumerate(rows) if row["count"] > 1)
    less = {**rows[position], "count": rows[position]["count"] - 1}
    rows[position : position + 1] = [{**rows[position], "count": 1}, less]
    return {**tables, "st": pa.Table.from_pylist(rows, st.schema)}


FORGERIES = {
    "one more": (one_more, "expect_total_count"),
    "turned": (turn_rows, "expect_canonical_order"),
    "with a gap": (with_a_gap, "expect_canonical_order"),
    "said twice": (said_twice, "expect_canonical_order"),
}


def alike():
    """People of whom several earn the same, so that counts are above 1."""
    return [
        {**row, "wage": row["wage"] and f"{200 + 50 * (i % 12)}.5"}
        for i, row in enumerate(people())
    ]


@pytest.fixture(scope="module")
def repeated_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repeated")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("SFUMATO_WORK", str(folder / "work"))
        line = Small(folder / "line").write(alike(), **changes("split", {"method": "mondrian"}, L3))
        (line.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return line.publish("one").directory


@pytest.fixture
def repeated_release(repeated_once, tmp_path):
    """A copy that may be changed."""
    copy = tmp_path / "repeated"
    shutil.copytree(repeated_once, copy, copy_function=shutil.copyfile)
    return copy


def judge_tables(directory, tmp_path, change=dict):
    """Return what Great Expectations finds in the tables, or in what was made of them."""
    opened, tables = open_release(directory), tables_of(directory)
    promises = SeenGroups(opened.declared, tables).of_promises()
    return judge("wages", change(tables), structure(opened.declared), promises, tmp_path / "gx")


def test_great_expectations_passes_the_files(repeated_release, tmp_path):
    rows = judge_tables(repeated_release, tmp_path)
    require(rows)
    kinds = {(row.table, row.type) for row in rows}
    assert {("st", "expect_total_count"), ("groups", "expect_distinct_l_diversity")} <= kinds


@pytest.mark.parametrize("forgery", FORGERIES)
def test_great_expectations_refuses_forged_files(repeated_release, tmp_path, forgery):
    change, broken = FORGERIES[forgery]
    rows = judge_tables(repeated_release, tmp_path, change)
    assert {row.type for row in rows if not row.passed} == {broken}
    with pytest.raises(PromiseError, match=f"{broken} is broken"):
        require(rows)


def rebuilt(directory, tables, declared):
    """The whole release anew, everything derived from the forged tables and sealed."""
    shutil.rmtree(directory)
    write_release(directory, assess(declared, tables))


def reseal(directory, tables, declared):
    """Other data, and all else as it was: listed with true sizes and hashes."""
    opened = open_release(directory)
    write_tables(tables, declared, directory / "data")
    document = manifest(directory, declared, opened.manifest["sfumato"]["observed"])
    (directory / MANIFEST).write_bytes(canonical_json(document))


WRONG = {name: change for name, (change, _) in FORGERIES.items()} | {
    "moved": lambda tables: {**tables, "st": move_value(tables["st"])},
    "none": lambda tables: {**tables, "st": first_count(tables["st"], 0)},
    "less than none": lambda tables: {**tables, "st": first_count(tables["st"], -1)},
    "more than memory": lambda tables: {**tables, "st": first_count(tables["st"], 2**40)},
}


def first_count(st, number):
    return with_values(st, "count", [number, *st["count"].to_pylist()[1:]])


@pytest.mark.parametrize("forgery", WRONG)
def test_forged_counts_are_refused(repeated_release, forgery):
    opened, tables = open_release(repeated_release), tables_of(repeated_release)
    reseal(repeated_release, WRONG[forgery](tables), opened.declared)
    with pytest.raises(PromiseError, match=r"is broken|counts of a group"):
        check(repeated_release)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_tables_are_refused_although_all_else_follows(
    repeated_release, monkeypatch, forgery
):
    """A forger need not run our own checks before writing what follows from the tables."""
    opened, tables = open_release(repeated_release), tables_of(repeated_release)
    with monkeypatch.context() as careless:
        careless.setattr(split, "_require_matching", lambda *_: None)
        rebuilt(repeated_release, WRONG[forgery](tables), opened.declared)
    with pytest.raises(PromiseError, match=r"is broken|counts of a group"):
        check(repeated_release)


def test_counts_moved_between_groups_are_refused_although_their_sum_is_right(
    repeated_release, monkeypatch
):
    opened, tables = open_release(repeated_release), tables_of(repeated_release)
    wrong = {**tables, "st": move_value(tables["st"])}
    assert pc.sum(wrong["st"]["count"]).as_py() == opened.declared.rows.published
    for name, rules in structure(opened.declared).items():
        assert all(rule.holds(wrong[name]) for rule in rules)
    with monkeypatch.context() as careless:
        careless.setattr(split, "_require_matching", lambda *_: None)
        rebuilt(repeated_release, wrong, opened.declared)
    with pytest.raises(PromiseError, match="counts of a group do not add up to its rows"):
        check(repeated_release)


def test_a_group_made_to_break_its_promise(repeated_release):
    opened, tables = open_release(repeated_release), tables_of(repeated_release)
    merged = tables["st"].to_pylist()
    values = sorted({row["wage"] for row in merged if row[GROUP_ID] == 0})
    st = pa.Table.from_pylist(
        [
            {**row, "wage": values[0]} if row[GROUP_ID] == 0 and row["wage"] != values[-1] else row
            for row in merged
        ],
        tables["st"].schema,
    )
    st = st.group_by([GROUP_ID, "wage"]).aggregate([("count", "sum")])
    st = st.rename_columns({"count_sum": "count"}).cast(tables["st"].schema)
    rebuilt(repeated_release, canonical_with({**tables, "st": st}, "qit"), opened.declared)
    with pytest.raises(PromiseError, match="distinct-l-diversity is broken in 1 of"):
        check(repeated_release)


SECOND = {"role": "sensitive", "type": "string", "nulls": "drop-row"}
KNOWN = {**L3, "sensitive": "wage"}


def two(form, sensitive, *promises):
    """A spec with two sensitive columns, and the rows for it."""
    rows = [
        {**row, "trade": ["baker", "cook", "smith", "tailor"][i % 4]}
        for i, row in enumerate(people())
    ]
    columns = {**changes(form, {})["columns"], "trade": SECOND}
    by_trade = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "trade"}
    return rows, changes(
        {"method": form, "sensitive": sensitive},
        {"method": "mondrian"},
        *(promises or [KNOWN]),
        by_trade,
        columns=columns,
    )


@pytest.fixture
def publish_two(small):
    def publish_columns(form, sensitive, *promises):
        rows, changed = two(form, sensitive, *promises)
        small.write(rows, **changed)
        (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return small.publish("one").directory

    return publish_columns


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("sensitive", ["independent", "together"])
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_two_sensitive_columns(publish_two, small, form, sensitive):
    directory = publish_two(form, sensitive)
    assert len(check(directory).verdicts) == 2
    opened, plan = open_release(directory), small.plan()
    stored = {path.stem for path in (directory / "data").iterdir()}
    apart, joined = {"qit", "st_wage", "st_trade"}, {"qit", "st"}
    expected = {"microdata"} if form == "permuted" else joined if sensitive == "together" else apart
    assert stored == expected
    query = "SELECT COUNT(*), AVG(wage) FROM microdata WHERE trade = 'cook'"
    (row,) = answer(opened, query).rows
    assert row["count(*)"].lower == row["count(*)"].upper == 15
    average = row["avg(wage)"]
    assert (average.lower == average.upper) == (sensitive == "together")
    page = (directory / "index.html").read_text(encoding="utf-8")
    words = "which values of different sensitive columns go together is not shown"
    assert (words in page.lower()) == (sensitive == "independent")
    assert ("stay together" in page) == (sensitive == "together")
    evaluated = plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    assert evaluate_release(directory, originals(small), *evaluated)


@pytest.mark.parametrize("form", ["permuted", "split"])
def test_what_is_known_protects_only_together(publish_two, form):
    promise = {**KNOWN, "l": 2, "known": ["trade"]}
    with pytest.raises(SpecError, match=r"known: .*sensitive: together"):
        publish_two(form, "independent", promise)
    directory = publish_two(form, "together", promise)
    ((first, verdict), _) = check(directory).verdicts
    assert first.known == ("trade",)
    assert verdict.holds
    assert verdict.groups > len(set(tables_of(directory)[NAMES[form]][GROUP_ID].to_pylist()))
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "even from an attacker who knows the person" in page


NAMES = {"permuted": "microdata", "split": "qit"}
