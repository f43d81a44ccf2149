"""Every quasi-identifier by itself: published, checked, asked, evaluated, refused when forged."""

import json
import shutil

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.table import Microdata, encode, load
from sfumato.tasks.publication import exposure
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.query.ask import answer
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.stages.evaluate import evaluate_release, exposures
from sfumato.tasks.terms.assessment import SeenGroups, assess, structure
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.small import SPEC, Small, people

JOBS = ("cook", "clerk", "baker", "smith", "nurse", "tailor")
ALPHA_BETA = {"model": "alpha-beta", "alpha": 0.5, "beta": 0.5}
PER_GROUP = {**ALPHA_BETA, "presence": "per-group"}
L2 = {"model": "l-diversity", "variant": "distinct", "l": 2}
COVER = {"method": "disjoint-cover"}
ASKED = {
    "workloads": [
        {"kind": "counts", "attributes": 2, "selectivity": [20, 60], "queries": 6},
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [10], "queries": 6},
    ]
}
COMBINED = {
    "cover": (COVER, [ALPHA_BETA]),
    "cover, diverse": (COVER, [ALPHA_BETA, L2]),
    "greedy": ({"method": "ambiguity"}, [PER_GROUP]),
    "calibrated": (
        {"method": "ambiguity", "calibrate": True},
        [{**ALPHA_BETA, "alpha": 0.8, "beta": 0.6}],
    ),
    "mondrian": ({"method": "mondrian"}, [L2]),
    "anatomy": ({"method": "anatomy"}, [L2]),
}


def workers(rows=90):
    """People with a town, an age, a shift and a job; some jobs are rarer."""
    rows_ = [{**row, "shift": "abc"[i % 3]} for i, row in enumerate(people(rows=rows))]
    return [{**row, "job": JOBS[i % 3 and i // 3 % 6]} for i, row in enumerate(rows_)]


def changes(partition, promises, **more):
    columns = json.loads(json.dumps(SPEC["columns"]))
    columns |= {"wage": {"role": "drop"}, "shift": {"role": "quasi-identifier"}}
    columns |= {"job": {"role": "sensitive"}}
    settings = {"columns": columns, "form": {"method": "ambiguous"}, "evaluate": ASKED}
    return {**settings, "promises": list(promises), "partition": partition} | more


@pytest.fixture
def publish(small):
    def publish_ambiguous(partition, promises, **more):
        small.write(workers(), **changes(partition, promises, **more))
        return small.publish("one").directory

    return publish_ambiguous


@pytest.mark.parametrize("combined", COMBINED)
def test_published_checked_asked_and_evaluated(publish, small, combined):
    partition, promises = COMBINED[combined]
    directory = publish(partition, promises)
    verdicts = check(directory).verdicts
    assert all(verdict.holds for _, verdict in verdicts)
    opened, plan = open_release(directory), small.plan()
    (row,) = answer(opened, "SELECT COUNT(*) FROM microdata").rows
    number_shown = opened.declared.rows.published
    assert (row["count(*)"].lower, row["count(*)"].upper) == (number_shown, number_shown)
    assert number_shown + opened.declared.rows.suppressed == 91
    towns = answer(opened, "SELECT town, COUNT(*) FROM microdata WHERE job = 'cook' GROUP BY town")
    assert [row["town"] for row in towns.rows] == ["Aa", "Bee", "Cé, the long", None]
    original = load(small.folder / "one" / "deidentified")
    scored = evaluate_release(
        directory, original, plan.spec.evaluate, plan.line, np_random, lambda *_: None
    )
    assert [score["queries"] for score in scored.public] == [6] * 3
    reports = plan.line.reports(directory.name)
    presence = reports / "exposure.json"
    assert presence.exists() == any(p["model"] == "alpha-beta" for p in promises)
    if presence.exists():
        (seen,) = json.loads(presence.read_text())
        assert seen["rows_above_alpha"]["per_group"] == 0
        assert combined == "greedy" or seen["rows_above_alpha"]["combined_sum"] == 0
        assert seen["weighted_presence"]["largest"] > 0
        assert "Presence of the people in the release" in (reports / "accuracy.html").read_text()


def test_presence_that_takes_too_long_is_said_to_be_unmeasured(publish, small, monkeypatch):
    directory, plan = publish(COVER, [ALPHA_BETA]), small.plan()
    original = load(small.folder / "one" / "deidentified")
    monkeypatch.setattr(exposure, "_MOST", 100)
    evaluate_release(directory, original, plan.spec.evaluate, plan.line, np_random, lambda *_: None)
    reports = plan.line.reports(directory.name)
    (seen,) = json.loads((reports / "exposure.json").read_text())
    assert seen["skipped"]["compared_at_most"] == 100 < seen["skipped"]["pairs_to_compare"]
    assert "and the limit is 100." in (reports / "accuracy.html").read_text()


def np_random(n):
    return np.random.default_rng(n).integers(0, 2**63, n).astype(np.uint64)


def test_what_is_published(publish):
    directory = publish(COVER, [ALPHA_BETA])
    names = {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}
    tables = [f"at_{name}" for name in ("age", "town", "shift")]
    assert names == {
        *(f"data/{name}.{kind}" for name in (*tables, "st") for kind in ("csv", "parquet")),
        *(f"sql/help_{name}.parquet" for name in ("age", "town", "shift")),
        *("sql/duckdb.sql", "datapackage.json", "validation.json", "index.html"),
    }
    text = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in directory.rglob("*.*")
        if path.is_file()
    )
    assert "IDENT-" not in text
    assert "NOTE-" not in text


def test_a_promise_over_joins_refuses_the_greedy(publish):
    with pytest.raises(PromiseError, match=r"all groups together break α = 0\.1"):
        publish({"method": "ambiguity"}, [{**ALPHA_BETA, "alpha": 0.1}])


def test_what_fits_in_no_group_is_left_out_and_counted(publish, small):
    tight = {**PER_GROUP, "beta": 0.25}
    directory = publish({"method": "ambiguity"}, [tight])
    opened, plan = open_release(directory), small.plan()
    number_left = opened.declared.rows.suppressed
    assert 0 < number_left < 91
    original = load(small.folder / "one" / "deidentified")
    evaluate_release(directory, original, plan.spec.evaluate, plan.line, np_random, lambda *_: None)
    answer_ = answer(opened, "SELECT COUNT(*) FROM microdata")
    assert answer_.not_represented["suppressed"] == number_left
    refusing = {"method": "ambiguity", "residue": "refuse"}
    small.write(workers(), **changes(refusing, [tight], name="other"))
    with pytest.raises(PromiseError, match="cannot be kept"):
        small.publish("two")


@pytest.mark.parametrize("changed_fields", [{"shift": "z"}, {"town": "Nowhere"}, {"age": 99}])
def test_a_version_that_does_not_cover_its_rows_is_withdrawn(
    publish, small, monkeypatch, changed_fields
):
    """Told of other rows than it represents, evaluation does not measure on as if nothing were."""
    monkeypatch.setattr("sfumato.tasks.stages.evaluate.evaluate", lambda *_: [])
    directory, plan = publish(COVER, [ALPHA_BETA]), small.plan()
    original = load(small.folder / "one" / "deidentified")
    assert exposures(open_release(directory), original)
    rows = original.table().to_pylist()
    rows[3] |= changed_fields
    columns = tuple(
        encode(c.name, c.role, pa.array([row[c.name] for row in rows], c.values.type))
        for c in original.columns
    )
    wrong = Microdata(columns, original.rows)
    with pytest.raises(Fault, match="withdrawn: it does not cover"):
        evaluate_release(
            directory, wrong, plan.spec.evaluate, plan.line, np_random, lambda *_: None
        )
    assert read_record(plan.line.public).versions[directory.name].status == "withdrawn"


def test_ready_sql_runs(publish, monkeypatch):
    directory = publish(COVER, [ALPHA_BETA])
    monkeypatch.chdir(directory)
    with duckdb.connect() as connection:
        script = (directory / "sql" / "duckdb.sql").read_text(encoding="utf-8")
        *views, total, by_age = connection.extract_statements(script)
        for view in views:
            connection.execute(view)
        assert connection.execute(total).fetchall() == [(91, 91, 91.0)]
        rows = connection.execute(by_age).fetchall()
    answer_ = answer(
        open_release(directory), "SELECT age, COUNT(*) AS n FROM microdata GROUP BY age"
    )
    assert sorted(rows) == [
        (row["age"], row["n"].lower, row["n"].upper, pytest.approx(float(row["n"].estimate)))
        for row in answer_.rows
    ]


@pytest.fixture(scope="module")
def published_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("SFUMATO_WORK", str(folder / "work"))
        small = Small(folder / "line").write(workers(), **changes(COVER, [ALPHA_BETA]))
        return small.publish("one").directory


@pytest.fixture
def forged_release(published_once, tmp_path):
    return shutil.copytree(published_once, tmp_path / "forged", copy_function=shutil.copyfile)


def rebuilt(directory, tables):
    """All else made anew from forged tables, as a forger would."""
    declared = open_release(directory).declared
    shutil.rmtree(directory)
    write_release(directory, assess(declared, tables))


def tables_of(directory):
    return dict(read_tables(open_release(directory).declared, directory / "data"))


def with_ids(table, ids):
    position = table.column_names.index("group_id")
    return table.set_column(position, table.schema.field("group_id"), pa.array(ids, pa.int64()))


def in_order(table):
    other = next(name for name in table.column_names if name != "group_id")
    sort_keys = [("group_id", "ascending", "at_start"), (other, "ascending", "at_start")]
    return table.take(pa.compute.sort_indices(table, sort_keys=sort_keys))


def swapped_groups(tables):
    """Two groups exchange their numbers in all tables: a message in the order of groups."""
    swap = {0: 1, 1: 0}
    return {
        name: in_order(with_ids(table, [swap.get(g, g) for g in table["group_id"].to_pylist()]))
        for name, table in tables.items()
    }


def one_value_less(tables):
    """A group admits a value less: more present than it says."""
    table = tables["at_age"]
    groups = np.bincount(table["group_id"].to_numpy())
    group = int(np.argmax(groups > 1))
    rows = table["group_id"].to_numpy()
    keep = np.delete(np.arange(len(rows)), np.flatnonzero(rows == group)[0])
    return {**tables, "at_age": table.take(pa.array(keep))}


def moved_value(tables):
    """A group admits a value of another one, too: their boxes overlap."""
    table = tables["at_age"]
    of_first = table.filter(pa.compute.equal(table["group_id"], 0))["age"].to_pylist()
    more = next(age for age in table["age"].to_pylist() if age not in of_first)
    row = pa.table({"age": [more], "group_id": [0]}).cast(table.schema)
    return {**tables, "at_age": in_order(pa.concat_tables([table, row]))}


def moved_count(tables):
    table = tables["st"]
    counts = table["count"].to_numpy().copy()
    counts[0] += 1
    counts[-1] -= 1
    position = table.column_names.index("count")
    return {
        **tables,
        "st": table.set_column(position, table.schema.field("count"), pa.array(counts)),
    }


def test_rebuilt_as_it_was_it_is_accepted(forged_release):
    rebuilt(forged_release, tables_of(forged_release))
    assert check(forged_release).verdicts


@pytest.mark.parametrize("change", [swapped_groups, moved_value, one_value_less, moved_count])
def test_forged_tables_are_refused(forged_release, published_once, change):
    tables = change(tables_of(forged_release))
    changed = sum(
        not table.equals(tables_of(forged_release)[name]) for name, table in tables.items()
    )
    assert changed
    digest = open_release(published_once).manifest["sfumato"]["digest"]
    with pytest.raises(PromiseError):
        rebuilt(forged_release, tables)
        check(forged_release, digest)


def test_a_message_in_the_order_of_groups_is_refused(forged_release):
    rebuilt(forged_release, swapped_groups(tables_of(forged_release)))
    with pytest.raises(PromiseError, match="canonical order across all tables"):
        check(forged_release)


def test_a_group_that_admits_less_breaks_the_promise(forged_release):
    opened = open_release(forged_release)
    tables = tables_of(forged_release)
    groups = ambiguous.groups(tables, opened.declared.columns, ["age", "town", "shift"], ["job"])
    (promise,) = opened.declared.promises
    largest = int(np.argmax(promise.measure(groups)["alpha"]))
    for name in ("at_age", "at_town", "at_shift"):
        ids = tables[name]["group_id"].to_numpy()
        drop = np.flatnonzero(ids == largest)[1:]
        tables[name] = tables[name].take(pa.array(np.delete(np.arange(len(ids)), drop)))
    rebuilt(forged_release, ambiguous.canonical(tables))
    with pytest.raises(PromiseError, match="alpha-beta is broken"):
        check(forged_release)


def test_a_help_table_of_other_estimates_is_refused(forged_release):
    import pyarrow.parquet as pq

    path = forged_release / "sql" / "help_age.parquet"
    table = pq.read_table(path)
    column = pa.array(np.ones(table.num_rows))
    pq.write_table(table.set_column(2, "occurrences", column), path)
    opened = open_release(forged_release)
    document = manifest(forged_release, opened.declared, opened.manifest["sfumato"]["observed"])
    (forged_release / MANIFEST).write_bytes(canonical_json(document))
    with pytest.raises(PromiseError, match="differs from the published tables"):
        check(forged_release)


def test_great_expectations_judges_the_files(published_once, tmp_path):
    opened = open_release(published_once)
    tables = tables_of(published_once)
    promises = SeenGroups(opened.declared, tables).of_promises()
    judged = judge("wages", tables, structure(opened.declared), promises, tmp_path / "gx")
    require(judged)
    assert "expect_alpha_beta" in {row.type for row in judged}
    twice = pa.concat_tables([tables["at_town"].slice(0, 1), tables["at_town"]])
    wrong = {**tables, "at_town": twice}
    with pytest.raises(PromiseError, match="expect_canonical_order is broken"):
        require(judge("wages", wrong, structure(opened.declared), promises, tmp_path / "again"))
