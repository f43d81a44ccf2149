"""Releases of labels and stars: published, checked, asked, evaluated, and refused when forged."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import Fault, InputError, PromiseError
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.forms.order import canonical_table
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.query.ask import answer
from sfumato.tasks.report.utility import utility_lines
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.assessment import SeenGroups, assess, structure
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables, write_tables
from sfumato.tasks.terms.utility import utility
from sfumato.tasks.verification.integrity import digest
from tests.release.small import SPEC, people

K3 = {"model": "k-anonymity", "k": 3}
L2 = {"model": "l-diversity", "variant": "distinct", "l": 2}
TOWNS = 'Aa,A-C,*\nBee,A-C,*\n"Cé, the long",A-C,*\n'
RANGES = {
    "workloads": [
        {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5, 20], "queries": 10},
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [1], "queries": 10},
    ]
}
PARTITIONS = {
    "full-domain": {"method": "full-domain"},
    "dropping": {"method": "full-domain", "suppression": 0.2},
    "starring": {"method": "full-domain", "suppression": 0.2, "suppressed": "star"},
    "mondrian": {"method": "mondrian"},
    "relaxed": {"method": "mondrian", "mode": "relaxed"},
    "forest": {"method": "forest"},
    "factors": {"method": "factors"},
}


def changes(partition, form, **more):
    columns = json.loads(json.dumps(SPEC["columns"]))
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    columns["town"]["hierarchy"] = "towns.csv"
    return {
        "columns": columns,
        "promises": [K3, L2],
        "partition": PARTITIONS[partition],
        "form": form if isinstance(form, dict) else {"method": form},
        "evaluate": RANGES,
    } | more


@pytest.fixture
def publish(small):
    def publish_recoded(partition, form, **more):
        small.write(people(), **changes(partition, form, **more))
        (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return small.publish("one").directory

    return publish_recoded


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
@pytest.mark.parametrize("partition", PARTITIONS)
def test_published_checked_and_evaluated(publish, small, partition, form):
    promises = [{"model": "k-anonymity", "k": 2}, L2] if partition == "factors" else [K3, L2]
    directory = publish(partition, form, promises=promises)
    verdicts = check(directory).verdicts
    assert [promise.name for promise, _ in verdicts] == ["k-anonymity", "distinct-l-diversity"]
    assert all(verdict.holds for _, verdict in verdicts)
    plan, original = small.plan(), load(small.folder / "one" / "deidentified")
    rows = evaluate_release(
        directory, original, plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    )
    assert [row["queries"] for row in rows.public] == [10, 10, 10]
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "How much was lost" in page
    assert "published as labels" in page


@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_great_expectations_judges_the_files(publish, small, tmp_path, form):
    opened = open_release(publish("mondrian", form))
    tables = read_tables(opened.declared, opened.directory / "data")
    promises = SeenGroups(opened.declared, tables).of_promises()
    judged = judge("wages", tables, structure(opened.declared), promises, tmp_path / "gx")
    require(judged)
    kinds = [row.type for row in judged]
    assert kinds.count("expect_readable_labels") == 2
    assert {"expect_k_anonymity", "expect_distinct_l_diversity"} <= set(kinds)
    wrong = {"microdata": with_label(tables["microdata"], "age", "no label")}
    with pytest.raises(PromiseError, match="expect_readable_labels is broken"):
        require(judge("wages", wrong, structure(opened.declared), promises, tmp_path / "again"))


def with_label(table, name, label):
    position = table.column_names.index(name)
    labels = [label, *table[name].to_pylist()[1:]]
    return table.set_column(position, table.schema.field(name), pa.array(labels, pa.string()))


def test_what_is_published_and_asked(publish):
    directory = publish("full-domain", "generalized")
    names = {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}
    assert names == {
        "data/microdata.csv",
        "data/microdata.parquet",
        "datapackage.json",
        "hierarchies/town.csv",
        "index.html",
        "sql/duckdb.sql",
        "validation.json",
    }
    assert (directory / "hierarchies/town.csv").read_text(encoding="utf-8") == TOWNS
    fields = json.loads((directory / MANIFEST).read_bytes())["resources"][1]["schema"]["fields"]
    assert [field["type"] for field in fields] == ["string", "string", "number"]
    (row,) = answer(open_release(directory), "SELECT COUNT(*), AVG(wage) FROM microdata").rows
    assert (row["count(*)"].lower, row["count(*)"].upper) == (60, 60)
    towns = answer(open_release(directory), "SELECT town, COUNT(*) FROM microdata GROUP BY town")
    assert [row["town"] for row in towns.rows] == ["Aa", "Bee", "Cé, the long", None]


def utility_of(opened):
    """The measures of a published table."""
    tables = {"microdata": opened.table("microdata")}
    sizes = SeenGroups(opened.declared, tables).of_all().sizes
    return utility(tables, opened.declared, sizes)


def test_dropped_rows_are_not_represented(publish, small):
    promises = [{"model": "k-anonymity", "k": 6}]
    wage = {**SPEC["columns"]["wage"], "unprotected": "a test"}
    columns = changes("dropping", "generalized")["columns"] | {"wage": wage}
    directory = publish("dropping", "generalized", promises=promises, columns=columns)
    opened = open_release(directory)
    gone = opened.declared.rows.suppressed
    assert 0 < gone <= 12
    assert opened.table("microdata").num_rows == 60 - gone
    measures = utility_of(opened)
    assert measures.suppressed_rows == gone
    plan, original = small.plan(), load(small.folder / "one" / "deidentified")
    again = plan.spec.evaluate, plan.line, seeded_keys(1), lambda *_: None
    evaluate_release(directory, original, *again)
    (plan.line.private / "left-out" / directory.name).unlink()
    with pytest.raises(Fault, match="withdrawn: the truth is outside the bounds"):
        evaluate_release(directory, original, *again)


def test_starred_rows_are_counted(publish):
    directory = publish("starring", "generalized")
    opened = open_release(directory)
    table = opened.table("microdata")
    stars = sum(row["age"] == "*" and row["town"] == "*" for row in table.to_pylist())
    measures = utility_of(opened)
    assert (measures.starred_rows, measures.suppressed_rows) == (stars, 0)
    assert [line.value for line in utility_lines(measures)][-2:] == [str(stars), "0"]


def test_linked_columns_are_suppressed_together(publish):
    form = {"method": "suppressed", "linked": [["age", "town"]]}
    table = open_release(publish("forest", form)).table("microdata")
    assert all((row["age"] == "*") == (row["town"] == "*") for row in table.to_pylist())
    assert any(row["age"] != "*" for row in table.to_pylist())


def test_a_value_that_reads_like_a_star_is_refused(small):
    rows = people()
    rows[0]["town"] = "*"
    small.write(rows, **changes("forest", "suppressed"))
    columns = changes("forest", "suppressed")["columns"]
    del columns["town"]["hierarchy"]
    small.write(rows, **changes("forest", "suppressed", columns=columns))
    with pytest.raises(InputError, match=r"column 'town': a value is '\*', which marks"):
        small.publish("one")


def test_another_hierarchy_is_another_spec(publish, small):
    first = publish("full-domain", "generalized")
    before = small.plan().terms.digest()
    (small.folder / "towns.csv").write_text(TOWNS.replace("A-C", "any"), encoding="utf-8")
    assert small.plan().terms.digest() != before
    with pytest.raises(PromiseError, match="units are in an earlier version"):
        small.publish("two")
    assert check(first).verdicts


def test_a_missing_hierarchy_is_told_before_anything_is_read(small):
    small.write(people(), **changes("full-domain", "generalized"))
    with pytest.raises(InputError, match=r"towns\.csv: cannot be read"):
        small.plan()


@pytest.fixture
def forged_release(publish, tmp_path):
    copy = tmp_path / "forged"
    shutil.copytree(publish("full-domain", "generalized"), copy, copy_function=shutil.copyfile)
    return copy


def rebuilt(directory, change):
    """The release anew with other tables or terms, everything derived and sealed again."""
    declared = open_release(directory).declared
    tables = dict(read_tables(declared, directory / "data"))
    declared = change(tables, declared) or declared
    shutil.rmtree(directory)
    write_release(directory, assess(declared, tables))


def reseal(directory, table, declared):
    """Other data or terms, and all else as it was: listed with true sizes and hashes."""
    opened = open_release(directory)
    write_tables({"microdata": table}, opened.declared, directory / "data")
    document = manifest(directory, declared, opened.manifest["sfumato"]["observed"])
    (directory / MANIFEST).write_bytes(canonical_json(document))


def test_a_label_without_meaning_is_refused(forged_release):
    opened = open_release(forged_release)
    table = opened.table("microdata")
    names = pa.array([f"{label} " for label in table["age"].to_pylist()])
    position = table.column_names.index("age")
    changed = table.set_column(position, table.schema.field("age"), names)
    reseal(forged_release, canonical_table(changed), opened.declared)
    with pytest.raises(PromiseError, match="expect_readable_labels is broken"):
        check(forged_release)


def test_another_declared_hierarchy_is_refused(forged_release):
    opened = open_release(forged_release)
    table, declared = opened.table("microdata"), opened.declared
    assert set(table["town"].to_pylist()) - {"*", "Aa", None}
    town = declared.columns["town"].model_copy(update={"hierarchy": (("Aa", "*"),)})
    columns = {**declared.columns, "town": town}
    reseal(forged_release, table, declared.model_copy(update={"columns": columns}))
    with pytest.raises(PromiseError, match="expect_readable_labels is broken"):
        check(forged_release)


def test_a_published_hierarchy_that_is_not_the_declared_one_is_refused(forged_release):
    path = forged_release / "hierarchies" / "town.csv"
    path.write_text(TOWNS.replace("A-C", "B-C"), encoding="utf-8")
    document = json.loads((forged_release / MANIFEST).read_bytes())
    document["sfumato"]["digest"] = digest(document)
    (forged_release / MANIFEST).write_bytes(canonical_json(document))
    with pytest.raises(PromiseError, match=r"hierarchies/town\.csv"):
        check(forged_release)


def test_a_row_taken_from_its_group_breaks_the_promise(forged_release):
    def change(tables, declared):
        table = tables["microdata"]
        sizes = table.group_by(["age", "town"]).aggregate([([], "count_all")]).to_pylist()
        least = min(sizes, key=lambda group: group["count_all"])
        rows_kept = [
            row
            for row in table.to_pylist()
            if (row["age"], row["town"]) != (least["age"], least["town"])
        ]
        two = [
            r for r in table.to_pylist() if (r["age"], r["town"]) == (least["age"], least["town"])
        ]
        tables["microdata"] = pa.Table.from_pylist(rows_kept + two[:2], table.schema)
        rows = declared.rows.model_copy(update={"published": len(rows_kept) + 2})
        return declared.model_copy(update={"rows": rows})

    rebuilt(forged_release, change)
    with pytest.raises(PromiseError, match="k-anonymity is broken"):
        check(forged_release)


def test_hierarchical_closeness_reads_the_published_hierarchy(small):
    rows = [{**row, "wage": ["low", "mid", "high"][i % 3]} for i, row in enumerate(people())]
    columns = changes("mondrian", "generalized")["columns"]
    columns["wage"] = {"role": "sensitive", "hierarchy": "wages.csv"}
    promise = {"model": "t-closeness", "t": 0.6, "distance": "hierarchical"}
    small.write(
        rows,
        **changes("mondrian", "generalized", columns=columns, promises=[K3, promise], evaluate={}),
    )
    (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
    (small.folder / "wages.csv").write_text(
        "low;modest;*\nmid;modest;*\nhigh;ample;*\n", encoding="utf-8"
    )
    directory = small.publish("one").directory
    (_, closeness) = check(directory).verdicts
    assert closeness[0].name == "t-closeness"
    assert pq.read_table(directory / "data/microdata.parquet")["wage"].null_count == 0
    assert (directory / "hierarchies/wage.csv").is_file()
