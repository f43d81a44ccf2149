"""The page of a release that shows each quasi-identifier by itself."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.model import Verdict
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.report.page import page
from sfumato.tasks.report.snippets import example_query, pandas_snippet
from tests.report.content import ambiguous_tables, ambiguously
from tests.report.test_page import HOSTILE, read

AGE, SEX, ZIP = [45, 20, 50, 60, 20, 50, 60, 60], list("MMMMFFFF"), list("abccdefe")
DISEASE = ["diabetes", "flu", "diarrhea", "stroke", "leukemia", "diabetes", "leukemia", "dyspepsia"]
ROWS = {"age": AGE, "sex": SEX, "zip": ZIP, "disease": DISEASE, "cost": [1, 2, 3, 4] * 2}
GROUP = [0, 0, 0, 0, 1, 1, 1, 1]
ONE = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    "sex": {"role": "quasi-identifier", "type": "string"},
    "zip": {"role": "quasi-identifier", "type": "string"},
    "disease": {"role": "sensitive", "type": "string"},
}
TWO = {**ONE, "cost": {"role": "sensitive", "type": "integer"}}
TOGETHER = {"method": "ambiguous", "sensitive": "together"}
ALPHA = {"model": "alpha-beta", "alpha": "0.45", "beta": "0.5", "sensitive": "disease"}
PER_GROUP = {**ALPHA, "presence": "per-group"}
DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 3, "sensitive": "disease"}
RANGE = {"model": "ke-anonymity", "k": 4, "e": 3, "sensitive": "cost"}
GREEDY = {"method": "ambiguity"}
COVER = {"method": "disjoint-cover"}


def page_of(columns=ONE, promises=(ALPHA,), partition=COVER, people=ROWS, group=GROUP, **changes):
    known_terms = {"columns": columns, "promises": list(promises), "partition": partition}
    return ambiguously(people, group, **known_terms, **changes)


def text(*arguments, **changes):
    return read(page_of(*arguments, **changes)).text


def test_the_paper_s_groups_are_measured_and_stated():
    page_text = text()
    assert (
        "no combination of quasi-identifiers is there with a probability of more than 0.45"
        in page_text
    )
    assert "no value of disease is more than a share 0.5 of a group" in page_text
    assert "any one combination is there, at most 0.45 ≈ 0.4444 (4/9)" in page_text
    assert "share of a group for any one value, at most 0.5 0.5" in page_text
    assert "(α,β)-privacy" in page_text


def test_a_promise_of_all_groups_is_not_said_of_the_worst_one():
    together, alone = text(), text(promises=[PER_GROUP])
    assert "kept by all 2 groups together" in together
    assert "Measured, at worst" in together
    assert "kept by all 2 groups Parameter" in alone
    assert "Measured, worst group" in alone
    broken = text(promises=[{**ALPHA, "alpha": "0.4"}])
    assert "NOT KEPT: 1 of 2 groups fall short" in broken


def test_says_what_is_shown_and_what_joins_it():
    page_text = text()
    for phrase in (
        "No table has a row for a person.",
        "has the values that the group admits",
        "each once. How often each occurs is not shown.",
        "each once, with its count",
        "Only group_id joins the tables",
        "integer; by itself, in at_age",
        "string; by itself, in at_zip",
    ):
        assert phrase in page_text
    assert "exactly as they were" not in page_text
    assert "shuffled" not in page_text


@pytest.mark.parametrize("form", [{"method": "ambiguous"}, TOGETHER])
def test_says_whether_sensitive_values_stay_together(form):
    together = form is TOGETHER
    page_text = text(TWO, [ALPHA, RANGE], form=form)
    assert ("begins with st_" in page_text) != together
    assert ("columns go together is not shown" in page_text) != together
    assert ("each combination once, with its count" in page_text) == together
    knows = "An attacker who knows one sensitive value of a person"
    assert (knows in page_text) == together
    assert ("or on sensitive ones together, joined by" in page_text) == together
    assert knows not in text(form=form)
    assert "or on sensitive ones together" not in text(form=form)
    assert "stay together" not in text(form=form)


def test_says_what_knowing_a_sensitive_value_leaves():
    promise = {**DIVERSE, "known": ["cost"], "l": 1}
    page_text = text(TWO, [ALPHA, RANGE, promise], form=TOGETHER)
    assert "Promises that name what is known state how many these are" in page_text
    assert "even from an attacker who knows the person's cost" in page_text
    assert "state how many these are" not in text(TWO, [ALPHA, RANGE], form=TOGETHER)


WARNING = "An attacker who joins all groups."


def test_says_whether_presence_is_of_all_groups_or_of_one():
    joined, alone = text(partition=GREEDY), text(promises=[PER_GROUP], partition=GREEDY)
    assert "To an attacker who joins all tables , with all groups, no combination" in joined
    assert WARNING not in joined
    assert "To an attacker who looks at only one group , whichever it is, no combination" in alone
    assert f"{WARNING} The promise looks at each group by itself." in alone
    assert "far more likely than 0.45 that the person is in the table: up to certain." in alone
    assert "with all groups" not in alone


def test_two_promises_of_presence_are_told_apart():
    other = {**ALPHA, "alpha": "0.5", "sensitive": "cost"}
    page_text = text(TWO, [PER_GROUP, other], partition=GREEDY)
    assert f"{WARNING} The promise of 0.45 for one group looks at" in page_text
    assert "in the table, as far as another promise allows." in page_text
    assert "up to certain" not in page_text
    assert "No value of cost belongs to more than a share 0.5" in page_text
    assert "No value of disease belongs to more than a share 0.5" in page_text


@pytest.mark.parametrize(
    ("partition", "strata", "key_columns", "warned"),
    [
        (COVER, [], None, False),
        (COVER, ["sex"], None, False),
        (COVER, ["sex"], ["age", "zip"], True),
        (COVER, [], ["age", "zip"], False),
        (GREEDY, ["sex"], None, True),
        ({"method": "anatomy"}, [], None, True),
    ],
)
def test_warns_of_joins_only_where_groups_may_overlap(partition, strata, key_columns, warned):
    promise = {**PER_GROUP, "alpha": "0.5", "quasi-identifiers": key_columns}
    page_text = text(promises=[promise], partition=partition, strata=strata)
    assert (WARNING in page_text) == warned


def test_names_the_quasi_identifiers_where_a_promise_is_about_some():
    some = {**ALPHA, "quasi-identifiers": ["age", "zip"], "alpha": "0.5"}
    assert "no combination of age , zip is there" in text(promises=[some])
    every = {**ALPHA, "quasi-identifiers": ["age", "sex", "zip"]}
    assert "no combination of quasi-identifiers is there" in text(promises=[every])


def test_says_against_whom_not():
    page_text = text()
    for limit in (
        "An attacker who knows how frequent values are.",
        "those of frequent values can be there with a higher probability than promised",
        "The published estimates use this, and an attacker can",
        "An attacker who has a table of all people who exist.",
        "if only one person has it, that person is in the table",
        "Who is not in the table is not hidden. A combination that no group admits is certainly",
        "People who are known to be in the table. Only the promises about the values of a group",
        "An attacker who learns from all groups together",
        "An attacker who knows other members' values",
        "An attacker who knows how the groups were made.",
        "An attacker who has another grouping of the same people",
    ):
        assert limit in page_text
    assert "Who is in the table. No promise covers this" not in page_text


def test_says_that_presence_is_not_promised():
    page_text = text(promises=[DIVERSE], partition={"method": "anatomy"})
    assert "Who is in the table. No promise covers this" in page_text
    assert "those of frequent values are there with a higher probability" in page_text
    assert "probability than promised" not in page_text
    assert "wants to know whether the person is in the table" not in page_text
    assert "and finds the group" in page_text
    assert "not those about presence" not in page_text
    assert "hidden among at least 3 different values" in page_text


def test_says_what_values_are_bounded_by():
    unbounded = "Different values are not equally likely"
    assert unbounded not in text()
    both = text(TWO, [ALPHA, RANGE])
    assert f"{unbounded} , except as a promise limits their shares." in both
    assert "have one value of cost , a guess" in both
    assert "hidden among at least 4 different values , which span at least 3" in both
    assert "have one value, a guess" in text(promises=[DIVERSE])


def test_says_whether_values_have_a_size():
    large = "the rough size of the value can be seen"
    assert large in text(TWO, [ALPHA, RANGE])
    assert large not in text()


@pytest.mark.parametrize(
    ("partition", "words", "unsaid"),
    [
        (GREEDY, "(at most 64 were tried)", "at most 1,000"),
        ({**GREEDY, "probes": 1000}, "(at most 1,000 were tried)", "at most 64"),
        (GREEDY, "kept the promise by itself, whatever other groups admit", "so that all groups"),
        (
            {**GREEDY, "calibrate": True},
            "so that all groups together keep it",
            "whatever other groups admit",
        ),
        (
            GREEDY,
            "fitted in no group were left out, but there were no such rows",
            "if a row had fitted",
        ),
        (
            {**GREEDY, "residue": "refuse"},
            "if a row had fitted in no group, nothing would have been published",
            "were left out, but",
        ),
        (COVER, "no two groups admit the same combination", "Rows that differ were grouped"),
        (COVER, "judged by random questions that are not published", "(ambiguity)"),
        (COVER, "The places of the cuts depend on the rows.", "Rows were put together"),
        (GREEDY, "Rows were put together because they differ", "The places of the cuts are"),
        (
            {"method": "mondrian"},
            "smaller groups would have broken a promise",
            "The places of the cuts",
        ),
        ({"method": "ke"}, "the best one that was found", "The places of the cuts"),
        ({"method": "anatomy"}, "Rows with different values", "how the groups were made"),
        (
            {"method": "ke", "objective": "random"},
            "taken in random order",
            "how the groups were made",
        ),
    ],
)
def test_says_how_groups_were_made(partition, words, unsaid):
    page_text = text(partition=partition)
    assert words in page_text
    assert unsaid not in page_text
    assert "separately within each" not in page_text
    assert "separately within each sex" in text(partition=partition, strata=["sex"])


def test_names_the_values_that_groups_took_rows_of():
    took = "of the values of disease that it could still take"
    assert took in text(partition=GREEDY)
    unnamed = {**ALPHA, "sensitive": None}
    assert took in text(promises=[unnamed], partition=GREEDY)
    assert "No value of disease belongs to more than" in text(promises=[unnamed])
    other = text(promises=[DIVERSE], partition=GREEDY)
    assert "of the values of the sensitive column that" in other


def test_other_promises_leave_groups_out():
    both = [ALPHA, DIVERSE]
    assert "and groups that broke another promise, were left out" in text(
        promises=both, partition=GREEDY
    )
    refused = text(promises=both, partition={**GREEDY, "residue": "refuse"})
    assert "or if a group had broken another promise, nothing would have been" in refused
    assert "broke another promise" not in text(partition=GREEDY)


def test_counts_rows_that_fitted_in_no_group():
    rows = {
        "read": 8,
        "dropped_by_filter": 0,
        "dropped_for_nulls": 0,
        "dropped_as_repeats": 0,
        "suppressed": 4,
        "published": 4,
        "fakes": 0,
    }
    page_text = text(partition=GREEDY, group=[0, 0, 0, 0, -1, -1, -1, -1], rows=rows)
    assert "Suppressed to keep the promise 4" in page_text
    assert "here 0 with missing values and 4 suppressed" in page_text
    assert "fitted in no group were left out. " in page_text
    assert "but there were no such rows" not in page_text


def test_says_that_counts_alone_are_answered():
    page_text = text()
    for words in (
        "Sfumato answers SQL counts with a lower and an upper bound",
        "You can ask only for counts",
        "Sums, averages and extremes are refused",
        "always lies between the two bounds, not only probably",
        "It carries no guarantee, and may be far off",
        "auxiliary tables and ready queries",
    ):
        assert words in page_text
    assert "as close as the published tables allow" not in page_text


@pytest.mark.parametrize("columns", [ONE, TWO])
def test_the_example_is_a_question_that_is_answered(columns):
    declared = page_of(columns, [ALPHA, RANGE][: len(columns) - 3]).declared
    assert example_query(declared) == 'SELECT "sex", COUNT(*) FROM microdata GROUP BY "sex"'
    assert read_question(example_query(declared), declared).group_by == ("sex",)
    numbers = {n: c for n, c in declared.columns.items() if n not in ("sex", "zip")}
    question = example_query(declared.model_copy(update={"columns": numbers}))
    assert question == 'SELECT "age", COUNT(*) FROM microdata GROUP BY "age"'


def test_the_snippet_reads_two_tables_as_they_are_called():
    assert pandas_snippet(page_of().declared).splitlines() == [
        "import pandas as pd",
        "",
        'st = pd.read_parquet("data/st.parquet")',
        'st.groupby("disease", dropna=False)["count"].sum()',
        'at_sex = pd.read_parquet("data/at_sex.parquet")',
        'sizes = st.groupby("group_id")["count"].sum()',
        'covering = at_sex.merge(sizes, on="group_id")',
        'covering.groupby("sex", dropna=False)["count"].sum()',
    ]
    apart = pandas_snippet(page_of(TWO, [ALPHA, RANGE], formats=["csv"]).declared)
    assert 'st_cost = pd.read_csv("data/st_cost.csv")' in apart
    together = pandas_snippet(page_of(TWO, [ALPHA, RANGE], form=TOGETHER).declared)
    assert 'st.groupby("cost", dropna=False)["count"].sum()' in together


def evaluate_snippet(snippet):
    """Return the values of a snippet's lines that are shown rather than named."""
    *lines, last = snippet.splitlines()
    names = {}
    for line in lines:
        exec(line, names)
    first = next(line for line in lines if line.endswith("sum()") and " = " not in line)
    return eval(first, names), eval(last, names)


PEOPLE = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["f", "m", "x"]), st.sampled_from("abc")),
    min_size=1,
    max_size=12,
)


@given(PEOPLE, st.data(), st.sampled_from(["parquet", "csv"]))
def test_the_snippet_is_right(tmp_path_factory, people, data, format_):
    columns = {name: ONE[name] for name in ("age", "sex", "disease")}
    rows = dict(zip(columns, zip(*people, strict=True), strict=True))
    groups_drawn = data.draw(
        st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people))
    )
    group = [sorted(set(groups_drawn)).index(number) for number in groups_drawn]
    about = page_of(columns, people=rows, group=group, formats=[format_]).declared
    folder = tmp_path_factory.mktemp("release")
    (folder / "data").mkdir()
    for name, table in ambiguous_tables(about, rows, group).items():
        if format_ == "csv":
            csv.write_csv(table, folder / "data" / f"{name}.csv")
        else:
            pq.write_table(table, folder / "data" / f"{name}.parquet")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        totals, most = evaluate_snippet(pandas_snippet(about))
    assert totals.to_dict() == pd.Series(rows["disease"]).value_counts().to_dict()
    actual: dict[str, int] = pd.Series(rows["sex"]).value_counts().to_dict()
    assert most.keys().tolist() == sorted(actual)
    assert all(most[value] >= count for value, count in actual.items())
    assert most.max() <= len(people)


def test_a_long_fraction_is_rounded():
    content = page_of()
    (promise, verdict), *_ = content.verdicts
    for observed, expected in (
        (Fraction(10**70, 3 * 10**71 + 1), "≈ 0.03333"),
        (Fraction(1, 3), "≈ 0.3333 (1/3)"),
        (Fraction(1, 2**90), "≈ 8.078e-28"),
    ):
        seen = {**verdict.observed, "alpha": observed}
        verdict_seen = Verdict(verdict.required, seen, verdict.groups, verdict.failing)
        page_text = read(replace(content, verdicts=((promise, verdict_seen),))).text
        assert f"at most 0.45 {expected} " in page_text


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("partition", [GREEDY, COVER])
def test_hostile_names_are_text(hostile, partition):
    hostile = hostile.replace("\ud800", "")  # no file has it in a name
    name = f"{hostile}s"
    columns = {
        hostile: {"role": "quasi-identifier", "type": "string"},
        name: {"role": "sensitive", "type": "integer"},
        "cost": {"role": "sensitive", "type": "integer", "unprotected": hostile},
    }
    promise = {**PER_GROUP, "alpha": 1, "quasi-identifiers": [hostile], "sensitive": name}
    rows = {hostile: list("abcd"), name: [1, 2, 3, 4], "cost": [4, 3, 2, 1]}
    page_html = page_of(columns, [promise], partition, rows, [0, 0, 1, 1], strata=[hostile])
    assert len(read(page_html).all("style")) == 1
    page(page_html).encode("utf-8")
