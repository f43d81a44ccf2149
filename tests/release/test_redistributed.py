"""Values redistributed as a target says: published, checked, asked, refused when forged."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.forms import redistributed
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.query.ask import answer
from sfumato.tasks.report.snippets import pandas_snippet
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.assessment import SeenGroups, assess, structure
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.papers.test_distribution import PEOPLE as RUNNING
from tests.release.small import Small, people
from tests.report.html import Read

SOURCE = {"model": "p-privacy", "target": "source"}
UNIFORM = {"model": "p-privacy", "target": "uniform"}
CLOSE = {"model": "t-closeness", "t": 0.9, "distance": "ordered"}
BANDS = [{"column": "age", "bands": [30, 45]}]
FAKING = {"method": "redistributed", "fakes": 0.2}
ASKED = {
    "workloads": [
        {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5, 20], "queries": 5},
        {"kind": "range", "aggregate": "count", "over": "age", "spans": [9], "queries": 5},
        {"kind": "arbitrary", "aggregate": "sum", "selected": [10], "queries": 5},
        {"kind": "counts", "attributes": 1, "selectivity": [50], "queries": 5},
    ]
}
COMBINED = {
    "source by band": ("stratum", FAKING | {"fakes": 0}, [SOURCE, CLOSE], BANDS),
    "table by band": ("stratum", FAKING, [{**SOURCE, "per": "table"}, CLOSE], BANDS),
    "uniform with fakes": ("stratum", FAKING, [UNIFORM], BANDS),
    "a number of fakes": ("stratum", {**FAKING, "fakes": 4}, [UNIFORM], []),
    "median, ternary": ("stratum", {**FAKING, "tree": "median", "arity": 3}, [SOURCE], ["town"]),
    "zipf": ("stratum", FAKING, [{"model": "p-privacy", "target": {"zipf": 0.5}}], []),
    "normal": (
        "stratum",
        FAKING,
        [{"model": "p-privacy", "target": {"normal": {"mean": 500, "variance": 40000}}}],
        [],
    ),
    "exact": ("exact-qi", FAKING, [SOURCE], BANDS),
    "exact ratios": ("stratum", {**FAKING, "denominator": None}, [SOURCE], BANDS),
}


def changes(partition, form, promises, strata, **more):
    settings = {"partition": {"method": partition}, "form": form, "promises": list(promises)}
    return {**settings, "strata": list(strata), "evaluate": ASKED, **more}


@pytest.fixture
def publish(small):
    def publish_redistributed(*combined, **more):
        small.write(people(), **changes(*combined, **more))
        return small.publish("one").directory

    return publish_redistributed


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("combined", COMBINED)
def test_published_checked_asked_and_evaluated(publish, small, combined):
    directory = publish(*COMBINED[combined])
    assert all(verdict.holds for _, verdict in check(directory).verdicts)
    opened, plan = open_release(directory), small.plan()
    (row,) = answer(opened, "SELECT COUNT(*), AVG(wage), MIN(wage) FROM microdata").rows
    assert (row["count(*)"].lower, row["count(*)"].upper) == (60, 60)
    assert row["avg(wage)"].lower <= row["avg(wage)"].estimate <= row["avg(wage)"].upper
    answer_ = answer(opened, "SELECT town, SUM(wage) FROM microdata WHERE wage > 300 GROUP BY town")
    assert [row["town"] for row in answer_.rows] == ["Aa", "Bee", "Cé, the long", None]
    original = load(small.folder / "one" / "deidentified")
    scored = evaluate_release(
        directory, original, plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    )
    assert [score["queries"] for score in scored.public] == [5] * 5
    facts = json.loads((small.folder / "one" / "candidate" / "facts.json").read_text())
    assert facts["fakes"] == opened.declared.rows.fakes
    assert len(facts["distance_of_targets"]) == facts["targets"]


def test_fakes_are_nobodys(publish):
    """Their number is told, and that is all: no table with a row for each person has them."""
    directory = publish("stratum", FAKING, [{**SOURCE, "per": "table"}], BANDS)
    opened = open_release(directory)
    tables = read_tables(opened.declared, directory / "data")
    made_up = opened.declared.rows.fakes
    assert 0 < made_up <= 12
    assert tables["qit"].num_rows == 60
    assert pc.sum(tables["st"]["count"]).as_py() == 60 + made_up
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert f"{made_up} of the values are made up" in page
    names = {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}
    assert names == {
        *(f"data/{n}.{k}" for n in ("qit", "st", "aims", "targets") for k in ("csv", "parquet")),
        *("sql/help_wage.parquet", "sql/duckdb.sql", "datapackage.json", "validation.json"),
        "index.html",
    }


def test_a_targets_file_is_part_of_what_is_declared(small):
    wages = sorted({row["wage"] for row in people() if row["wage"] and row["age"] > 18})
    target = {"model": "p-privacy", "target": {"file": "target.csv"}}
    small.write(people(), **changes("stratum", FAKING, [target], []))
    with pytest.raises(InputError, match=r"target\.csv: cannot be read"):
        small.plan()
    lines = ["value,probability", *(f"{wage},0" for wage in wages[2:])]
    path = small.folder / "target.csv"
    path.write_text("\n".join([*lines, f"{wages[0]},0.25", f"{wages[1]},0.75"]))
    first = small.publish("one")
    (promise,) = open_release(first.directory).declared.promises
    assert promise.target.given[0] == ("value", "probability")
    assert check(first.directory).verdicts
    before = small.plan().terms.digest()
    path.write_text("\n".join([*lines, f"{wages[0]},0.5", f"{wages[1]},0.5"]))
    assert small.plan().terms.digest() != before
    with pytest.raises(PromiseError, match="units are in an earlier version"):
        small.publish("two")


@pytest.mark.parametrize(
    ("combined", "rule"),
    [
        (("exact-qi", {**FAKING, "fakes": 3}, [SOURCE], []), "must be a share below 1"),
        (("ke", FAKING, [{"model": "ke-anonymity", "k": 2, "e": 1}], []), "redistributed"),
        (
            ("stratum", {"method": "permuted"}, [SOURCE], []),
            ("cannot be measured in form permuted"),
        ),
        (("stratum", FAKING, [SOURCE, UNIFORM], []), "one p-privacy promise"),
        (("stratum", {**FAKING, "tree": "hierarchy"}, [SOURCE], []), "has no hierarchy"),
        (("stratum", FAKING, [CLOSE], []), "needs a p-privacy promise"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_spec_is_read(small, combined, rule):
    small.write(people(), **changes(*combined))
    with pytest.raises(SpecError, match=rule):
        small.plan()


def test_strata_that_are_not_close_are_refused(publish):
    with pytest.raises(PromiseError, match="t-closeness"):
        publish("stratum", FAKING, [SOURCE, {**CLOSE, "t": 0.0001}], BANDS)


@pytest.fixture(scope="module")
def published_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("SFUMATO_WORK", str(folder / "work"))
        line = Small(folder / "line").write(people(), **changes(*COMBINED["table by band"]))
        return line.publish("one").directory


@pytest.fixture
def forged_release(published_once, tmp_path):
    return shutil.copytree(published_once, tmp_path / "forged", copy_function=shutil.copyfile)


def tables_of(directory):
    return dict(read_tables(open_release(directory).declared, directory / "data"))


def with_column(table, name, values):
    position = table.column_names.index(name)
    return table.set_column(
        position, table.schema.field(name), pa.array(values, table.schema.types[position])
    )


def narrow_ranges(tables):
    """A subdomain is replaced by a part of it: more is told of that value than declared."""
    st = tables["st"].to_pylist()
    wide = next(row for row in st if row["lower"] != row["upper"])
    wide["count"] -= 1
    leaf = {**wide, "upper": wide["lower"], "count": 1}
    rows = [row for row in [*st, leaf] if row["count"]]
    merged = {}
    for row in rows:
        key = (row["group_id"], row["lower"], row["upper"])
        merged[key] = merged.get(key, 0) + row["count"]
    rows_ = [
        {"group_id": g, "lower": low, "upper": high, "count": n}
        for (g, low, high), n in sorted(merged.items())
    ]
    return {**tables, "st": pa.Table.from_pylist(rows_, tables["st"].schema)}


def written_otherwise(tables):
    """The same distribution by weights that have a common divisor."""
    doubled = tables["targets"]["weight"].to_numpy() * 2
    number = tables["targets"]["target"].to_numpy()
    doubled[np.diff(number, prepend=-1) > 0] = 1
    return {**tables, "targets": with_column(tables["targets"], "weight", doubled)}


def one_more(tables):
    counts = tables["st"]["count"].to_numpy().copy()
    counts[0] += 1
    return {**tables, "st": with_column(tables["st"], "count", counts)}


def another_target(tables):
    """The declared distribution is another one."""
    weights = tables["targets"]["weight"].to_numpy().copy()
    weights[1] += 1
    return {**tables, "targets": with_column(tables["targets"], "weight", weights)}


def no_such_node(tables):
    uppers = tables["st"]["upper"].to_pylist()
    lowers = tables["st"]["lower"].to_pylist()
    last = max(uppers)
    position = next(
        i for i, (low, high) in enumerate(zip(lowers, uppers, strict=True)) if high != last
    )
    uppers[position] = last
    return {**tables, "st": with_column(tables["st"], "upper", uppers)}


FORGERIES = [narrow_ranges, one_more, another_target, written_otherwise, no_such_node]


@pytest.mark.parametrize("change", FORGERIES)
def test_forged_tables_are_refused(forged_release, change):
    opened = open_release(forged_release)
    tables = change(tables_of(forged_release))
    shutil.rmtree(forged_release)
    with pytest.raises(PromiseError):
        write_release(forged_release, assess(opened.declared, redistributed.canonical(tables)))
        check(forged_release)


def test_rebuilt_as_it_was_it_is_accepted(forged_release):
    opened, tables = open_release(forged_release), tables_of(forged_release)
    shutil.rmtree(forged_release)
    write_release(forged_release, assess(opened.declared, tables))
    assert check(forged_release).verdicts


def test_a_wrong_number_of_fakes_is_refused(forged_release):
    opened, tables = open_release(forged_release), tables_of(forged_release)
    rows = opened.declared.rows
    more = rows.model_copy(update={"fakes": rows.fakes + 1})
    shutil.rmtree(forged_release)
    write_release(forged_release, assess(opened.declared.model_copy(update={"rows": more}), tables))
    with pytest.raises(PromiseError, match="does not state how many values are invented"):
        check(forged_release)


def test_great_expectations_judges_the_files(published_once, tmp_path):
    opened, tables = open_release(published_once), tables_of(published_once)
    declared = opened.declared
    judged = judge(
        "wages",
        tables,
        structure(declared),
        SeenGroups(declared, tables).of_promises(),
        tmp_path / "gx",
    )
    require(judged)
    assert {"expect_p_privacy", "expect_t_closeness"} <= {row.type for row in judged}
    wrong = narrow_ranges(tables)
    with pytest.raises(PromiseError, match="p-privacy is broken"):
        require(
            judge(
                "wages",
                wrong,
                structure(declared),
                SeenGroups(declared, wrong).of_promises(),
                tmp_path / "again",
            )
        )


def page_text(directory):
    seen = Read((directory / "index.html").read_text(encoding="utf-8"))
    assert seen.faults == []
    return seen.text


def test_the_page_says_what_may_be_learned_and_what_is_made_up(published_once, publish):
    text = page_text(published_once)
    assert "that is declared for a group is like that of all published rows together" in text
    assert "in every group are distributed like" not in text
    assert "no promise limits how far it may be from that of all rows" not in text
    assert "of the values are made up, so that ranges can be narrower" in text
    assert "age in bands from 30, 45" in text
    plain = page_text(publish("exact-qi", {**FAKING, "fakes": 0}, [UNIFORM], []))
    assert "no promise limits how far it may be from that of all rows" in plain
    assert "A group has as many ranges as rows." in plain
    assert "Rows with the same quasi-identifiers are a group" in plain


def test_the_snippet_of_the_page_runs(published_once, monkeypatch):
    monkeypatch.chdir(published_once)
    *lines, last = pandas_snippet(open_release(published_once).declared).splitlines()
    scope = {}
    exec("\n".join(lines), scope)
    of_groups = eval(last, scope)
    assert of_groups["count"].sum() == scope["st"]["count"].sum()
    assert (of_groups["lower"] <= of_groups["upper"]).all()


DISTINCT4 = {"model": "l-diversity", "variant": "distinct", "l": 4}


@pytest.fixture
def running(small):
    """The paper's running table: the owner's groups are the first three digits of zip codes."""

    def write(*promises, target=UNIFORM, **form):
        small.write(
            [
                {"person": n, "age": 40, "area": zip_[:3], "zip": zip_, "sex": sex, "salary": pay}
                for n, (zip_, sex, pay) in enumerate(RUNNING)
            ],
            columns={
                "person": {"role": "identifier", "unit": True},
                "age": {"role": "drop", "type": "integer"},
                "area": {"role": "quasi-identifier"},
                "zip": {"role": "quasi-identifier"},
                "sex": {"role": "quasi-identifier"},
                "salary": {"role": "sensitive", "type": "integer"},
            },
            strata=["area"],
            promises=[target, *promises],
            partition={"method": "stratum"},
            form={"method": "redistributed", **form},
            evaluate={"workloads": []},
        )
        return small

    return write


def test_the_running_table_has_four_values_in_every_zip_group(running):
    """The owner wants 4-diversity everywhere, and declares the uniform target, which has it.

    The values of the groups 912 and 913 are only three and two.
    """
    directory = running(DISTINCT4).publish("one").directory
    verdicts = {promise.name: verdict for promise, verdict in check(directory).verdicts}
    assert verdicts["distinct-l-diversity"].observed == {"l": 4}
    assert verdicts["distinct-l-diversity"].groups == 3
    opened = open_release(directory)
    st = read_tables(opened.declared, directory / "data")["st"].to_pylist()
    by_group = {}
    for row in st:
        by_group.setdefault(row["group_id"], []).extend(
            [(row["lower"], row["upper"])] * row["count"]
        )
    ones = [(30, 30), (40, 40), (50, 50), (60, 60)]
    three, four = ([(30, 40), *[(30, 60)] * n, (50, 60)] for n in (1, 2))
    assert sorted(map(sorted, by_group.values())) == sorted([ones, three, four])


@pytest.mark.parametrize(
    ("promise", "observed"),
    [
        ({"model": "l-diversity", "variant": "entropy", "l": 4}, {"l": 4}),
        ({"model": "l-diversity", "variant": "recursive", "l": 4, "c": 1.5}, {"c": 1, "l": 4}),
        ({"model": "beta-likeness", "beta": 0.1}, {"beta": 0}),
        ({"model": "t-closeness", "t": 0.1, "distance": "equal"}, {"t": 0}),
        ({"model": "delta-disclosure", "delta": 0.1}, {"delta": 0}),
    ],
    ids=["entropy", "recursive", "beta", "t", "delta"],
)
def test_equal_targets_are_judged_as_they_are_published(running, promise, observed):
    directory = running(promise).publish("one").directory
    verdicts = {promise.name: verdict for promise, verdict in check(directory).verdicts}
    (name,) = verdicts.keys() - {"p-privacy"}
    assert verdicts[name].holds
    assert verdicts[name].observed == observed


def test_a_promise_that_targets_break_is_refused_before_anything_is_made(running):
    with pytest.raises(PromiseError, match=r"targets of p-privacy break it in 3 of 3 groups"):
        running(DISTINCT4 | {"l": 5}).publish("one")


def test_a_promise_that_rounding_breaks_is_refused_with_both_figures(running):
    """Up to denominator 4 the ratios 59:41, 35:24 and 30:11 become 2:1, 2:1 and 3:1."""
    entropy = {"model": "l-diversity", "variant": "entropy", "l": 3.6}
    target = {"model": "p-privacy", "target": {"file": "target.csv"}}
    small = running(entropy, target=target, denominator=4)
    lines = ["value,probability", "30,0.35", "40,0.24", "50,0.30", "60,0.11"]
    (small.folder / "target.csv").write_text("\n".join(lines), encoding="utf-8")
    figures = r"keep it \(l=3\.720796\), .* in 3 of 3 groups \(l=3\.484421, required l=3\.6\)"
    with pytest.raises(PromiseError, match=figures):
        small.publish("one")


def test_disclosure_of_declared_distributions_is_of_format_13(running):
    """The page says that equal targets are not apart; where values keep it, so must targets."""
    directory = running({"model": "delta-disclosure", "delta": 0.1}).publish("one").directory
    assert open_release(directory).declared.format == 13
    assert "Where all groups have the same one, nothing is apart" in page_text(directory)


def test_a_target_that_lacks_a_value_breaks_disclosure(running):
    small = running(
        {"model": "delta-disclosure", "delta": 9},
        target={"model": "p-privacy", "target": {"file": "target.csv"}},
    )
    lines = ["area,value,probability", *(f"911,{pay},0.25" for pay in (30, 40, 50, 60))]
    lines += [f"{area},{pay},0.5" for area in (912, 913) for pay in (40, 60)]
    (small.folder / "target.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(PromiseError, match=r"targets of p-privacy break it in 2 of 3 groups"):
        small.publish("one")


def test_fakes_by_the_width_of_means_are_of_format_13(running):
    directory = running(fakes={"most": 8, "by": "width"}).publish("one").directory
    declared = open_release(directory).declared
    form = declared.form.model_dump(mode="json", by_alias=True)
    assert (declared.format, form["fakes"], form["fakes-by"]) == (13, 8, "width")
    assert declared.rows.fakes == 2
    assert check(directory).derived == "equal"
    text = page_text(directory)
    assert "chosen by the group's own values, so that the bounds of its mean are as narrow" in text


def test_fakes_by_ranges_are_what_they_were(running):
    directory = running(fakes={"most": 8, "by": "ranges"}).publish("one").directory
    declared = open_release(directory).declared
    assert (declared.format, declared.rows.fakes) == (0, 9)
    assert "fakes-by" not in declared.form.model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"fakes": {"most": 8, "by": "bounds"}}, r"fakes: must be .* by \(ranges or width\)"),
        ({"fakes": {"by": "width"}}, r"fakes: must be a number, or have"),
        ({"fakes": {"most": 8, "least": 1}}, r"fakes: must be a number, or have"),
        ({"fakes": {"most": -1}}, r"form\.fakes: must be at least 0"),
        ({"fakes-by": "width"}, r"fakes-by: there are no fakes"),
    ],
)
def test_fakes_out_of_range_are_refused_by_name(running, form, words):
    with pytest.raises(SpecError, match=words):
        running(**form).plan()
