"""A release of coded values: what is published, verified, asked and said of it."""

import json
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from math import ceil

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.people.frozen import CODINGS, shift_key
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.accuracy.usefulness import NOT_JUDGED
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.report.watched import summary
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate
from sfumato.tasks.terms.assessment import count_uncoded
from sfumato.tasks.terms.opened import open_release
from tests.codings.stays import COLUMNS, EXACT, SPEC, jobs_of, stays, table_of
from tests.codings.test_offsets import days_of
from tests.codings.test_oracles import nearest
from tests.release.plain import without_tables
from tests.release.small import people
from tests.report.html import Read

RARE = "farrier"


def text_of(file):
    """A page as it is read, without spaces before commas and points."""
    text = " ".join(Read(file.read_text(encoding="utf-8")).text.split())
    return text.replace(" ,", ",").replace(" .", ".").replace(" :", ":")


def threshold(rows, share=Decimal("0.02")):
    costs = sorted(Decimal(row["cost"]) for row in rows)
    return costs[-ceil(share * len(costs))]


def expected_rows(rows, key, limit, jobs):
    """The rows as they should be coded, quasi-identifiers apart, each as a tuple."""
    for row in rows:
        days = timedelta(days=days_of(row["person"], 30, key))
        yield (
            date.fromisoformat(row["left"]) + days if row["left"] else None,
            row["code"][:4],
            row["job"] if row["job"] in jobs else "other",
            nearest(min(Decimal(row["cost"]), limit), 100, "even"),
        )


def released_rows(release):
    table = table_of(release).select(["left", "code", "job", "cost"]).to_pylist()
    return Counter(tuple(row.values()) for row in table)


def test_what_is_published_is_coded(line):
    rows = stays()
    release = line.publish("one").directory
    key = shift_key(line.plan().line.private)
    assert released_rows(release) == Counter(
        expected_rows(rows, key, threshold(rows), jobs_of(rows))
    )
    assert RARE not in jobs_of(rows)
    checked = check(release)
    assert (checked.derived, {v.holds for _, v in checked.verdicts}) == ("equal", {True})


def test_quasi_identifiers_that_are_shown_as_they_are_are_coded(line):
    rows = stays()
    release = line.write(rows, **EXACT).publish("one").directory
    ages = Counter(table_of(release)["age"].to_pylist())
    assert ages == Counter(nearest(min(max(row["age"], 18), 90), 2, "even") for row in rows)
    assert {18, 90} <= ages.keys()


def test_all_stages_after_the_first_see_coded_values(line):
    rows = stays()
    plan, run = line.prepare_run("one")
    key, microdata = shift_key(plan.line.private), load(run / "deidentified")
    counts = Counter(
        tuple(row.values())
        for row in microdata.table().select(["left", "code", "job", "cost"]).to_pylist()
    )
    assert counts == Counter(expected_rows(rows, key, threshold(rows), jobs_of(rows)))
    assert microdata["came"].array().to_pylist() == [
        date.fromisoformat(row["came"]) + timedelta(days=days_of(row["person"], 30, key))
        for row in rows
    ]


def test_the_release_says_what_was_coded_and_no_computed_threshold(line):
    rows = stays()
    release = line.publish("one").directory
    declared = json.loads((release / "datapackage.json").read_bytes())["sfumato"]
    columns = {column["name"]: column for column in declared["columns"]}
    assert declared["format"] == 4
    assert columns["age"]["round"] == {"to": "2", "ties": "even"}
    assert columns["cost"]["top"] == {"share": "0.02"}
    assert columns["left"]["shift"] == {"days": 30}
    text = without_tables((release / "index.html").read_text(encoding="utf-8")) + json.dumps(
        declared
    )
    for threshold_ in (threshold(rows), nearest(threshold(rows), 100, "even")):
        assert str(threshold_) not in text
    assert not any(job in text for job in ("nurse", RARE))


def test_the_page_says_it_and_what_each_coding_leaves(line):
    page = text_of(line.publish("one").directory / "index.html")
    for words in (
        "What was coded before",
        "Every larger value is shown as 90.",
        "Every smaller value is shown as 18.",
        "nearest multiple of 2; one halfway between two as the even multiple",
        "from 30 earlier to 30 later, each as likely as another, 0 among them",
        "A reader who recognises a person and knows one of these dates knows all of them.",
        "a share of 0.02 stood at it, or somewhat more",
        "Only the first 4 characters are kept.",
        "Values that fewer than 20 people of the first version had are shown as “other”",
        "Some columns have coded values: age, came, code, cost, job, left",
    ):
        assert words in page, words
    assert "These dates were not moved" not in page


def test_dates_that_stay_beside_dates_that_move_are_named(line):
    columns = {**COLUMNS, "left": {"role": "insensitive", "type": "date", "nulls": "category"}}
    release = line.write(stays(), columns=columns).publish("one").directory
    text = text_of(release / "index.html")
    assert "These dates were not moved: left." in text


def test_a_page_without_codings_says_nothing_of_them(small):
    page = without_tables(
        (small.publish("one").directory / "index.html").read_text(encoding="utf-8")
    )
    assert "coded" not in page.lower()


def test_a_query_says_that_its_answer_is_about_coded_values(line, call):
    release = line.write(stays(), **EXACT).publish("one").directory
    sql = "SELECT COUNT(*) FROM microdata WHERE age = 95"
    code, out, _ = call("query", release, sql)
    sentence = "about coded values: age (bottom, top, round), code (prefix), cost (top, round)"
    assert (code, sentence in out) == (0, True), out
    document = json.loads(call("query", release, sql, "--format", "json")[1])
    assert document["coded"]["age"] == ["bottom", "top", "round"]
    assert document["rows"][0]["COUNT(*)"]["upper"] == 0
    at_top = answer(open_release(release), "SELECT COUNT(*) FROM microdata WHERE age = 90")
    beyond = sum(row["age"] >= 90 for row in stays())
    assert at_top.rows[0]["count(*)"].lower == beyond


def test_an_answer_about_values_as_they_are_says_no_more_than_before(small):
    result = answer(open_release(small.publish("one").directory), "SELECT COUNT(*) FROM microdata")
    assert "coded" not in document(result)


def test_accuracy_is_that_of_coded_values_and_says_so(line, call):
    release = line.publish("one").directory
    code, _, error = call("evaluate", release, "--spec", line.spec)
    assert (code, error) == (0, "")
    report = text_of(line.plan().line.private / "reports" / "0001" / "accuracy.html")
    assert "No answer lies outside its bounds" in report
    assert (
        "True answers are computed from the coded values of age, came, code, cost, job, left."
        in report
    )


@pytest.mark.parametrize(
    ("name", "keys", "values", "wrong"),
    [
        ("age", {"type": "integer", "top": "90"}, [90, 91, 95, None], 2),
        ("age", {"type": "integer", "bottom": "18", "round": {"to": "2"}}, [18, 19, 16, 20], 2),
        ("cost", {"type": "decimal", "scale": 2, "round": {"to": "0.5"}}, ["1.50", "1.25"], 1),
        ("code", {"type": "string", "prefix": 4}, ["1000", "10001", "é😀é😀"], 1),
        (
            "code",
            {"type": "string", "prefix": 2, "fold": {"below": 5, "into": "other"}},
            ["ab", "other", "another"],
            1,
        ),
        ("age", {"type": "integer", "top": {"share": "0.1"}}, [1, 10**9], 0),
        ("came", {"type": "date", "shift": {"days": 3}}, [date(2020, 1, 1)], 0),
    ],
)
def test_values_that_no_coding_gives_are_counted(name, keys, values, wrong):
    column = DeclaredColumn(role="insensitive", **keys)
    cells = [Decimal(v) if column.type == "decimal" else v for v in values]
    table = pa.table({name: pa.array(cells, column.arrow_type)})
    assert count_uncoded(table, name, column) == wrong
    encoded = pa.table({name: table[name].dictionary_encode()})
    assert count_uncoded(encoded, name, column) == wrong


def test_a_value_that_was_not_coded_is_not_published(line, monkeypatch):
    """The gate sees it in the files, whatever went wrong before."""
    from sfumato.tasks.private.people import coding as coded

    code_column = coded.code_column
    monkeypatch.setattr(
        coded,
        "code_column",
        lambda column, declared, codings: (
            (column, code_column(column, declared, codings)[1])
            if column.name == "code"
            else code_column(column, declared, codings)
        ),
    )
    with pytest.raises(PromiseError, match="expect_coded_values"):
        line.publish("one")


def test_free_text_is_refused_unless_it_is_accepted_or_dropped(line):
    rows = [row | {"note": f"was seen on ward {n} by me"} for n, row in enumerate(stays())]
    as_text = {"role": "insensitive"}
    line.write(rows, columns={**COLUMNS, "note": as_text})
    with pytest.raises(InputError) as failed:
        line.publish("refused")
    assert str(failed.value).startswith("columns.note: has free text")
    assert "ward" not in str(failed.value)
    short = {**as_text, "prefix": 3}
    assert line.write(rows, columns={**COLUMNS, "note": short}).publish("short").directory


def test_accepted_free_text_is_told_on_the_page(line):
    rows = [row | {"note": f"was seen on ward {n} by me"} for n, row in enumerate(stays())]
    accepted = {"role": "insensitive", "free-text": "Written by <machines> alone"}
    release = line.write(rows, columns={**COLUMNS, "note": accepted}).publish("one").directory
    page = (release / "index.html").read_text(encoding="utf-8")
    assert "<code>note</code> contains free text." in page
    assert "Written by &lt;machines&gt; alone" in page
    assert check(release).derived == "equal"


def test_a_hierarchy_has_coded_values_as_its_leaves(line):
    file = line.folder / "codes.csv"
    column = {"role": "quasi-identifier", "prefix": 4, "hierarchy": "codes.csv"}
    line.write(stays(), columns={**COLUMNS, "code": column})
    file.write_text("".join(f"{n},*\n" for n in range(1000, 1005)), encoding="utf-8")
    assert check(line.publish("one").directory).derived == "equal"
    file.write_text("".join(f"{n},*\n" for n in range(1000, 1004)), encoding="utf-8")
    with pytest.raises(InputError, match=r"columns\.code: a coded value is not in the column"):
        line.prepare_run("two")


def test_a_hierarchy_is_previewed_over_coded_values(line, call):
    column = {**COLUMNS["age"], "hierarchy": {"intervals": [10, 50]}}
    line.write(stays(), columns={**COLUMNS, "age": column})
    code, out, _ = call("hierarchy", line.spec, "--column", "age", "--format", "json")
    assert (code, json.loads(out)["values"]) == (0, len(range(18, 91, 2)))
    assert not (line.plan().line.private / CODINGS).exists()


def test_rows_are_compared_with_other_lines_as_they_were_read(line, tmp_path):
    """Two lines of the same rows, of which one is coded, still are about the same people."""
    rows = [{k: v for k, v in row.items() if k != "person"} for row in stays()]
    columns = {
        name: {k: v for k, v in column.items() if k != "shift"}
        for name, column in COLUMNS.items()
        if name != "person"
    }
    plain = {
        name: {k: column[k] for k in ("role", "type", "nulls") if k in column}
        for name, column in columns.items()
    }
    line.write(rows, unit="row", columns=columns)
    _, run = line.prepare_run("coded")
    coded = identity(run / "deidentified")
    line.write(rows, unit="row", columns=plain)
    _, run = line.prepare_run("plain")
    other = identity(run / "deidentified")
    assert coded.normal.path.read_bytes() == other.normal.path.read_bytes()
    assert coded.rows != other.rows
    assert SPEC["columns"] == COLUMNS


def test_the_gate_expects_the_same_of_a_candidate(line):
    """Great Expectations finds what is found without it, of every coding that can be seen."""
    plan, run = line.write(stays(), **EXACT).prepare_run("one")
    gate = partial(judge, plan.line.name, documents=run / "documents")
    findings = assess_candidate(run / "candidate", plan.withheld, gate).findings
    assert findings == assess_candidate(run / "candidate", plan.withheld).findings
    codings = {
        f.parameters["column"]: f.parameters["codings"] for f in findings if _is_of_codings(f)
    }
    assert codings == {
        "age": ["bottom", "top", "round"],
        "code": ["prefix"],
        "cost": ["round"],
    }


def test_labels_are_not_held_to_codings(line):
    plan, run = line.prepare_run("one")
    findings = assess_candidate(run / "candidate", plan.withheld).findings
    assert {f.parameters["column"] for f in findings if _is_of_codings(f)} == {"code", "cost"}


def _is_of_codings(finding):
    return finding.type == "expect_coded_values"


def test_the_summary_of_a_run_says_it(line, small):
    line.write(stays())
    text = summary(open_release(line.publish("one").directory), [], NOT_JUDGED)
    assert "All figures are about coded values of `age`, `came`, `code`, `cost`, `job`" in text
    small.write(people(first=5000))
    assert "coded" not in summary(open_release(small.publish("plain").directory), [], NOT_JUDGED)
