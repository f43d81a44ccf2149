"""Comparisons: the same queries to all, widths that decide, and nothing that is tried twice."""

import csv
import json
import re
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.choice.alternatives import alternatives_of, read_grid
from sfumato.flows.choice.compare import AskedComparison, compare_alternatives, write_recommended
from sfumato.flows.choice.reader import read_sweep
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.choose import comparison as running
from sfumato.tasks.choose import paired
from sfumato.tasks.choose.alternative import TriedOutcome, typical_width
from sfumato.tasks.choose.comparison import few_of_each
from sfumato.tasks.choose.paired import _pick_by_groups
from sfumato.tasks.choose.recommend import rank, recommend
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private import scratch
from sfumato.tasks.private.people.frozen import keep_choice
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.report.numbers import with_spaces
from sfumato.tasks.stages import anonymize as anonymizing
from tests.drafts.traces import trace
from tests.release.evolving import Evolving
from tests.release.small import SPEC, people
from tests.release.test_references import register

GRID = {
    "partition": [{"method": "ke", "objective": ["sum", "weighted"]}, {"method": "mondrian"}],
    "form": [{"method": "permuted"}, {"method": "split"}],
}


@pytest.fixture
def outcomes_heard():
    """The outcomes of which a comparison tells."""
    return []


@pytest.fixture
def compare(small, outcomes_heard):
    def run(grid=GRID, **options):
        def hear(outcome, done, total):
            outcomes_heard.append((outcome.name, done, total))

        return compare_alternatives(small.spec, Overrides(), AskedComparison(grid, **options), hear)

    return run


def test_all_are_asked_the_same_and_nothing_is_tried_twice(small, compare, outcomes_heard):
    first = compare()
    assert len(first.ranked) == len(outcomes_heard) == 6
    queries = (first.page.parents[1] / "queries" / "queries.sql").read_bytes()
    outcomes_heard.clear()
    again = compare({**GRID, "form": [*GRID["form"], {"method": "redistributed"}]})
    assert outcomes_heard == []  # redistributed does not admit the promise
    assert [row.outcome for row in again.ranked] == [row.outcome for row in first.ranked]
    assert (again.page.parents[1] / "queries" / "queries.sql").read_bytes() == queries
    compare({"partition": [{"method": "ke", "objective": "max"}]})
    assert outcomes_heard == [("ke (objective max) · permuted", 1, 1)]


def test_what_attackers_guess_stands_beside_every_alternative_in_the_csv(small, compare):
    comparison = compare({"partition": [{"method": "ke"}, {"method": "mondrian"}]})
    with (comparison.page.parent / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    page = comparison.page.read_text(encoding="utf-8")
    assert "No noisy answer was drawn here" in page
    assert "AVG(wage), its sum of deviations from the middle" in page
    assert len(rows) == 2 * len({row["query"] for row in rows})
    guessed = {}
    for ranked_row in comparison.ranked:
        attacks = {f"wage: {s['measure']}": s for s in ranked_row.outcome.attacks["wage"]}
        scores = {name: s["share"] for name, s in attacks.items() if "skipped" not in s}
        assert {
            "wage: own value guessed from the group alone",  # homogeneity
            "wage: in a group whose range is below a fifth of the promised e",  # small range
            "wage: own value guessed by deFinetti's attack",
        } <= set(scores)
        for row in (row for row in rows if row["alternative"] == ranked_row.outcome.name):
            assert {name: float(row[name]) for name in scores} == scores
            assert {row[name] for name in attacks.keys() - scores.keys()} <= {""}
        guessed[ranked_row.outcome.name] = scores
        assert all(escape(with_spaces(name.removeprefix("wage: "))) in page for name in scores)
    assert len({json.dumps(scores) for scores in guessed.values()}) == 2


def test_what_was_cut_short_goes_on_where_it_was(compare, outcomes_heard, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(
            running, "try_alternative", killed_after(running.try_alternative, 2, outcomes_heard)
        )
        compare()
    assert len(outcomes_heard) == 2
    compare()
    assert [done for _, done, _ in outcomes_heard] == [1, 2, 3, 4, 5, 6]


def test_nothing_is_published_or_left_in_the_line_and_all_is_private(small, compare, tmp_path):
    small.publish("one")
    before = trace(tmp_path / "work", small.folder)
    comparison = compare()
    comparison.spec.unlink()
    assert trace(tmp_path / "work", small.folder) == before
    for path in comparison.page.parents[1].rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert not list((tmp_path / "work").rglob("*.parquet"))


def test_a_comparison_that_is_killed_again_keeps_no_rows(compare, monkeypatch):
    """Candidates are made where nothing is retained."""
    folder = compare({"partition": [{"method": "mondrian"}]}).page.parents[1]
    seen = []

    def look(alternative, *others):
        seen.append([path for path in folder.rglob("*") if path.suffix in (".csv", ".parquet")])
        return tried(alternative, *others)

    tried = running.try_alternative
    monkeypatch.setattr(running, "rmtree", lambda _: None)  # nobody cleans up after a kill
    monkeypatch.setattr(running, "try_alternative", look)
    compare({"partition": [{"method": "ke"}]})
    assert {path.name for path in seen[0]} == {"comparison.csv"}
    assert not list(folder.rglob("microdata.*"))


def test_the_true_answers_are_found_without_a_file(small, compare, monkeypatch):
    def refuse(*_):
        raise AssertionError

    answers_found = []
    answers = running.answers_over_all

    def watch(*others):
        with monkeypatch.context() as patch:
            patch.setattr(anonymizing, "write_tables", refuse)
            answers_found.append(answers(*others))
        return answers_found[-1]

    monkeypatch.setattr(running, "_truths_by_digest", {})
    monkeypatch.setattr(running, "answers_over_all", watch)
    compare({"partition": [{"method": "mondrian"}]})
    assert len(answers_found) == 1


def test_no_true_answer_is_found_that_is_not_asked_for(small, compare, monkeypatch):
    sought, tried = [], []
    answers, try_one = running.answers_over_all, running.try_alternative

    def watch(table, terms, queries, draw):
        sought.append([query.sql for query in queries])
        return answers(table, terms, queries, draw)

    def look(alternative, table, queries, truths, *others):
        tried.append((queries, truths, others[-1]))
        return try_one(alternative, table, queries, truths, *others)

    monkeypatch.setattr(running, "_truths_by_digest", {})
    monkeypatch.setattr(running, "answers_over_all", watch)
    monkeypatch.setattr(running, "try_alternative", look)
    monkeypatch.setattr(running, "_FIRST_QUERIES", 3)
    monkeypatch.setattr("sfumato.flows.choice.compare._FINALISTS", 1)
    compare()
    queries, truths, positions = tried[0]
    few = [queries[position].sql for position in positions]
    assert len(few) < len(queries)
    assert sought == [few, [query.sql for query in queries]]
    of_all = tried[-1][1]
    assert all(truths[position] == of_all[position] for position in positions)


def test_what_stands_beside_a_spec_is_not_written_over(small):
    own = small.spec.with_name("wages.recommended.yaml")
    own.write_text("mine", encoding="utf-8")
    changes = {"partition": {"method": "mondrian"}, "groups": None}
    first = write_recommended(small.spec, changes, Overrides())
    assert own.read_text(encoding="utf-8") == "mine"
    assert first.name == "wages.recommended-2.yaml"
    assert write_recommended(small.spec, changes, Overrides()) == first  # it says the same
    own.unlink()
    own.symlink_to(small.spec)
    assert write_recommended(small.spec, changes, Overrides()) == first
    assert own.is_symlink()


def test_true_answers_are_those_of_the_rows(small, compare):
    own = (
        "SELECT town, SUM(wage), COUNT(*) FROM microdata GROUP BY town",
        "SELECT AVG(wage) FROM microdata WHERE age BETWEEN 25 AND 50",
    )
    comparison = compare({"partition": [{"method": "mondrian"}]}, sql=own)
    ((outcome,),) = ([each.outcome for each in comparison.ranked],)
    rows = [row for row in people() if int(row["age"]) > 18 and row["wage"]]
    place = comparison.page.parents[1]
    queries = json.loads((place / "queries" / "queries.json").read_bytes())["queries"]
    expected = [n for n, query in enumerate(queries) if query["sql"] == own[1]]
    wages = [Fraction(row["wage"]) for row in rows if 25 <= int(row["age"]) <= 50]
    truth = sum(wages) / len(wages)
    assert len(expected) == 1
    assert outcome.errors[expected[0]] < 0.5
    assert truth > 0


def outcome(name, widths, **changed):
    scores = changed.pop("scores", [])
    facts = {"groups": 3, "published": 10, "relative": widths, "errors": widths}
    return TriedOutcome(name, widths=widths, attacks={"s": scores}, **{**facts, **changed})


def guess_score(share, measure="own value guessed from the group alone"):
    return {"measure": measure, "share": share, "without the release": 0.1}


TOPICS = ["ranges", "ranges"]


def test_the_narrowest_is_recommended_and_of_those_as_good_the_safest():
    narrow = outcome("narrow", [1.0, 2.0], scores=[guess_score(0.5)])
    as_good = outcome("as good", [1.01, 2.02], scores=[guess_score(0.3)])
    wide = outcome("wide", [2.0, 4.0], scores=[guess_score(0.1)])
    ranked = rank([wide, as_good, narrow], TOPICS)
    assert [row.outcome.name for row in ranked] == ["narrow", "as good", "wide"]
    assert recommend(ranked).outcome.name == "as good"
    assert [row.width for row in ranked] == pytest.approx([0.5, 0.505, 1.0])


def test_what_is_guessed_without_a_release_is_the_same_guess():
    near = {**guess_score(0.9, "within a window"), "without the release": 0.99}
    (row,) = rank([outcome("one", [1.0], scores=[guess_score(0.3), near])], TOPICS[:1])
    assert (row.guessed, row.base) == (0.3, 0.1)


def test_truths_decide_nothing():
    sole = outcome("one", [1.0, 1.0], scores=[guess_score(0.4)])
    other = outcome("other", [1.5, 1.5], scores=[guess_score(0.4)])
    before = recommend(rank([sole, other], TOPICS)).outcome.name
    learned = guess_score(0.9, "own value guessed by deFinetti's attack")
    worse = outcome("one", [1.0, 1.0], errors=[9.0, 9.0], scores=[guess_score(0.4), learned])
    assert recommend(rank([worse, other], TOPICS)).outcome.name == before == "one"


def test_what_is_not_answered_or_suppressed_counts_as_the_widest():
    without = outcome("without", [None, 0.0])
    whole = outcome("whole", [1.0, 0.0])
    fewer = outcome("fewer", [0.5, 0.0], published=5, suppressed=5)
    widths = {row.outcome.name: row.width for row in rank([without, whole, fewer], TOPICS)}
    assert widths == pytest.approx({"without": 0.5, "whole": 0.5, "fewer": 0.5 + 0.5 * 0.25})
    assert recommend([]) is None
    assert rank([TriedOutcome("refused", "cannot")], TOPICS) == []


def test_each_workload_has_one_vote_however_many_queries_it_has():
    """Eight queries of ages say that the first is best, one by town says that it is useless."""
    topics = ["by range of age"] * 8 + ["by town"]
    by_age = outcome("by age", [1.0] * 8 + [10.0])
    by_both = outcome("by both", [2.0] * 8 + [1.0])
    ranked = rank([by_age, by_both], topics)
    assert [entry.outcome.name for entry in ranked] == ["by both", "by age"]
    assert [entry.width for entry in ranked] == pytest.approx([(1 + 0.1) / 2, (0.5 + 1) / 2])
    assert typical_width([0.2] * 8 + [2.0], topics) == pytest.approx(1.1)
    assert typical_width([None, None], TOPICS) is None


def test_what_empties_a_column_is_never_recommended():
    empty = outcome("narrow", [1.0, 1.0], hidden_shares={"town": 0.95, "age": 0.5})
    wide = outcome("wide", [2.0, 2.0], hidden_shares={"town": 0.94})
    ranked = rank([empty, wide], TOPICS)
    assert [entry.outcome.name for entry in ranked] == ["narrow", "wide"]
    assert (empty.emptied_columns, wide.emptied_columns) == (["town"], [])
    assert recommend(ranked).outcome.name == "wide"
    assert recommend(rank([empty], TOPICS)) is None


def test_what_was_asked_few_queries_is_ranked_by_these_and_never_recommended():
    first = outcome("first pass", [1.0, None], positions=(0,))
    whole = outcome("whole", [2.0, 2.0])
    ranked = rank([first, whole], ["a", "b"])
    assert [(entry.outcome.name, entry.width) for entry in ranked] == [
        ("first pass", 0.5),
        ("whole", 1.0),
    ]
    assert ranked[0].guessed is None
    assert recommend(ranked).outcome.name == "whole"


@given(topics=st.lists(st.sampled_from("abc"), max_size=60), number=st.integers(1, 60))
def test_a_first_pass_asks_something_of_every_topic(topics, number):
    chosen = few_of_each(topics, number)
    assert {topics[place] for place in chosen} == set(topics)
    assert list(chosen) == sorted(set(chosen))
    most = max(1, number // max(len(set(topics)), 1))
    assert all(sum(topics[place] == name for place in chosen) <= most for name in set(topics))


def test_many_alternatives_are_asked_few_queries_first(compare, outcomes_heard, monkeypatch):
    monkeypatch.setattr("sfumato.flows.choice.compare._FINALISTS", 2)
    compared = compare()
    asked_all = [entry for entry in compared.ranked if entry.outcome.positions is None]
    few = [entry for entry in compared.ranked if entry.outcome.positions is not None]
    assert [total for _, _, total in outcomes_heard] == [6] * 6 + [2] * 2
    assert len(asked_all) == 2
    assert len(few) == 4
    assert compared.chosen in asked_all
    assert all(entry.outcome.attacks for entry in asked_all)
    assert not any(entry.outcome.attacks for entry in few)
    page = compared.page.read_text(encoding="utf-8")
    assert page.count("not attacked") >= 8


def test_distinct_diversity_of_numbers_is_tried_with_ke_in_other_words(small):
    columns = {**SPEC["columns"], "town": {"role": "quasi-identifier", "nulls": "drop-row"}}
    promise = {"model": "l-diversity", "variant": "distinct", "l": 3}
    own = {"promises": [promise], "partition": {"method": "anatomy"}, "columns": columns}
    spec = small.write(people(), **own).spec
    tried, _, changes = alternatives_of(spec, Overrides(), read_grid(None))
    ke = {"model": "ke-anonymity", "k": 3, "e": 0, "sensitive": "wage"}
    reworded = [a for a in tried if changes[a.name].get("promises") == [ke]]
    assert {a.terms.partition.method for a in reworded} == {"ke"}
    assert {"permuted", "split"} <= {a.terms.form.method for a in reworded}
    assert not any(a.other_promise for a in reworded)
    for more in ({"variant": "entropy"}, {"known": ["town"]}, {"dont_care": ["1"]}):
        spec = small.write(people(), **{**own, "promises": [{**promise, **more}]}).spec
        try:
            _, _, changes = alternatives_of(spec, Overrides(), read_grid(None))
        except SpecError:
            continue
        assert not any(change.get("promises") for change in changes.values())


def test_with_k_anonymity_ke_is_tried_and_never_recommended(small):
    k_anonymous = {"model": "k-anonymity", "k": 3}
    diverse = {"model": "l-diversity", "variant": "distinct", "l": 3, "sensitive": "wage"}
    written = {**K_ANONYMOUS, "promises": [k_anonymous, diverse]}
    tried, _, changes = alternatives_of(
        small.write(people(), **written).spec, Overrides(), read_grid(None)
    )
    ke = {"model": "ke-anonymity", "k": 3, "e": 0, "sensitive": "wage"}
    exact = [a for a in tried if changes[a.name].get("promises") == [ke]]
    assert {a.terms.form.method for a in exact} == {"permuted", "split"}
    assert all(a.other_promise for a in exact)


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-3, 4), st.booleans()), min_size=1, max_size=7
)


@given(rows=ROWS, function=st.sampled_from(["count", "sum", "avg", "min", "max"]))
def test_picked_groups_are_bounded_as_by_every_set_of_rows_that_may_count(rows, function):
    """A group counts whole where all its rows are picked; else any number of its rows may."""
    groups = np.array([group for group, _, _ in rows])
    picked = np.array([picks for _, _, picks in rows])
    column = encode("s", "sensitive", pa.array([value for _, value, _ in rows]))
    table = Microdata((column,), len(rows))
    widths = _pick_by_groups(table, groups, Aggregate(function, "s", "x"))(picked)
    assert widths == enumerate_bounds(rows, function)


def enumerate_bounds(rows, function):
    choices = []
    for group in {group for group, _, _ in rows}:
        values = [value for g, value, _ in rows if g == group]
        hits = sum(picks for g, _, picks in rows if g == group)
        some = range(len(values) + 1)
        sizes = [len(values)] if hits == len(values) else list(some) if hits else [0]
        choices.append([set_ for size in sizes for set_ in combinations(values, size)])
    taken = [[value for part in parts for value in part] for parts in product(*choices)]
    if function == "count":
        return min(map(len, taken)), max(map(len, taken))
    aggregate = {"sum": sum, "avg": lambda v: Fraction(sum(v), len(v)), "min": min, "max": max}[
        function
    ]
    values_of_choices = [aggregate(values) for values in taken if values]
    return (min(values_of_choices), max(values_of_choices)) if values_of_choices else (None, None)


def test_a_grid_is_each_with_each_and_says_what_the_spec_does_not_admit(small):
    grid = {**GRID, "form": [*GRID["form"], {"method": "redistributed"}], "promises": {"k": [2, 3]}}
    tried, refused, _ = alternatives_of(small.spec, Overrides(), grid)
    assert len(tried) == 3 * 2 * 2
    assert tried[0].name == "ke (objective sum) · permuted · k = 2"
    assert tried[0].terms.promises[0].k == 2
    assert len(refused) == 6
    assert all(str(small.spec) not in why for why in refused.values())


def test_without_a_grid_every_partition_is_tried_in_every_form(small):
    tried, _, _ = alternatives_of(small.spec, Overrides(), read_grid(None))
    methods = {
        (candidate.terms.partition.method, candidate.terms.form.method) for candidate in tried
    }
    assert methods >= {("ke", "permuted"), ("ke", "split"), ("mondrian", "generalized")}


K_ANONYMOUS = {
    "version": 2,
    "columns": {
        **SPEC["columns"],
        "age": {**SPEC["columns"]["age"], "hierarchy": {"intervals": [10, 30]}},
    },
    "promises": [{"model": "k-anonymity", "k": 3}, {"model": "ke-anonymity", "k": 2, "e": 10}],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "evaluate": {"workloads": SPEC["evaluate"]["workloads"][:1]},
}


def test_what_the_promises_leave_out_is_tried_with_promises_of_its_own(small):
    spec = small.write(people(), **K_ANONYMOUS).spec
    tried, refused, changes = alternatives_of(spec, Overrides(), read_grid(None))
    by_name = {candidate.name: candidate for candidate in tried}
    assert {
        candidate.terms.form.method for candidate in tried if not candidate.other_promise
    } & EXACT == set()
    assert {candidate.terms.form.method for candidate in tried if candidate.other_promise} == EXACT
    name = "ke (objective sum) · permuted · promises instead: ke-anonymity (e 10, k 2)"
    assert [promise.name for promise in by_name[name].terms.promises] == ["ke-anonymity"]
    assert changes[name]["promises"] == [K_ANONYMOUS["promises"][1]]
    assert any("k-anonymity cannot be measured in form permuted" in why for why in refused.values())
    methods = {name for name in by_name if name.startswith("mondrian")}
    assert {"mondrian · generalized", "mondrian (leave 0.25) · generalized"} <= methods
    by_level = "mondrian · generalized · strata {column: age, level: 2}"
    assert str(by_name[by_level].terms.strata[0]) == "age at level 2"


def test_a_column_that_no_promise_is_left_of_gets_one_about_its_values(small):
    columns = {**SPEC["columns"], "town": {"role": "sensitive", "nulls": "drop-row"}}
    for column, own in (
        ("wage", {"model": "ke-anonymity", "k": 4, "e": 0, "sensitive": "wage"}),
        ("town", {"model": "l-diversity", "variant": "distinct", "l": 4, "sensitive": "town"}),
    ):
        other = {"wage": "town", "town": "wage"}[column]
        promise = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": other}
        promises = [{"model": "alpha-k", "alpha": 0.5, "k": 4, "sensitive": column}, promise]
        spec = small.write(
            people(), **{**K_ANONYMOUS, "columns": columns, "promises": promises, "evaluate": {}}
        ).spec
        _, _, changes = alternatives_of(spec, Overrides(), read_grid(None))
        promises_found = [change["promises"] for change in changes.values() if "promises" in change]
        assert [promise, own] in promises_found


EXACT = {"permuted", "split"}


def test_another_promise_is_never_recommended_and_said_to_be_one(small, call):
    spec = small.write(people(), **K_ANONYMOUS).spec
    instead = [[{"model": "ke-anonymity", "k": 2, "e": 10}]]
    grid = {"form": [{"method": "permuted"}, {"method": "redistributed"}], "promises": instead}
    code, output, error = call("compare", spec, "--grid", yaml.safe_dump(grid), "--processes", 1)
    assert code == 0
    assert "recommended: nothing" in output
    assert "other promises than the spec's: 1 of the alternatives" in error
    assert "left out, 1: " in error
    page = Path(output.splitlines()[-1]).read_text(encoding="utf-8")
    assert "Alternatives with other promises than the spec: 1" in page
    assert "<td>another</td>" in page
    assert "no alternative keeps the promises of the spec" in page
    assert not list(small.folder.glob("*.recommended.yaml"))


@pytest.mark.parametrize(
    "text", ["promises: [{k: 2}]", "[1]", "who: [1]", "{", "partition: [ke]", "form: 3"]
)
def test_what_is_no_grid_is_refused(small, text):
    with pytest.raises(SpecError, match=r"--grid"):
        alternatives_of(small.spec, Overrides(), read_grid(text))


def test_a_parameter_that_no_promise_has_is_refused(small, call):
    with pytest.raises(
        SpecError,
        match=("promises: no promise of the spec has the parameter 'kk'; choose from e, k"),
    ):
        alternatives_of(small.spec, Overrides(), {"promises": {"kk": [2, 3]}})
    code, _, error = call("plan", small.spec, "--sweep", "kk=2..3")
    assert (
        code,
        "promises: no promise of the spec has the parameter 'kk'; choose from" in error,
    ) == (2, True)


def test_a_sweep_tells_what_each_value_costs_and_recommends_nothing(small, call, tmp_path):
    code, output, _ = call("plan", small.spec, "--sweep", "k=2,3,200")
    assert code == 0
    lines = output.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == [
        *("ke · permuted · k = 2", "ke · permuted · k = 3")
    ]
    page = Path(lines[-1]).read_text(encoding="utf-8")
    assert "What each value of <strong>k</strong> costs" in page
    assert "k = 200" in page  # it cannot be kept
    assert not list(small.folder.glob("*.recommended.yaml"))


@pytest.mark.parametrize("text", ["k", "k=", "=3", "k=a..b", "k=5..2", "k=0..3", "k=2...3"])
def test_what_is_no_sweep_is_refused(text):
    with pytest.raises(SpecError, match=r"^--sweep"):
        read_sweep(text)


@given(st.integers(1, 50), st.integers(0, 500))
def test_a_range_is_both_ends_and_at_most_twelve_values(low, more):
    _, values = read_sweep(f"k={low}..{low + more}")
    assert values[0] == low
    assert values[-1] == low + more
    assert len(values) == min(12, more + 1)
    assert values == sorted(set(values))


STYLES = [
    "partition: {method: ke}  # as before\nform: {method: permuted}\n",
    "partition:\n  method: ke\n  objective: sum\n# a remark\nform:\n  method: permuted\n",
    "form: {method: permuted}\n",
    "form: {method: permuted}\n# a remark\nstrata:\n- town\n- age\n",
]


@pytest.mark.parametrize("style", STYLES)
def test_the_recommended_spec_is_the_spec_with_other_keys(small, style):
    rest = yaml.safe_dump({k: v for k, v in SPEC.items() if k not in ("partition", "form")})
    groups = "" if "partition" in style else "groups: others\npeople: all\n"
    small.spec.write_text(f"# told first\n{rest}{style}{groups}# told last\n")
    partition = {"method": "mondrian"}
    place = write_recommended(small.spec, {"partition": partition, "groups": None}, Overrides())
    text = place.read_text()
    assert text.startswith("# told first\n")
    assert yaml.safe_load(text) == {
        **{k: v for k, v in yaml.safe_load(small.spec.read_text()).items() if k != "groups"},
        "partition": partition,
    }


def test_the_command_prints_the_best_and_then_the_page(small, call):
    own = small.folder / "own.sql"
    own.write_text("-- mine\nSELECT town, AVG(wage) FROM microdata GROUP BY town;\n")
    grid = "partition: [{method: ke, objective: [sum, weighted]}]"
    code, output, error = call(
        "compare", small.spec, "--grid", grid, "--queries", own, "--processes", 1
    )
    assert code == 0
    assert "1/2 ke (objective sum)" in error
    lines = output.splitlines()
    assert lines[-2].startswith("recommended: ke (objective ")
    page = Path(lines[-1]).read_text(encoding="utf-8")
    assert "the steward&#39;s own queries" in page
    assert "<svg" in page


def test_workloads_are_needed(small, call):
    small.write(people(), evaluate={})
    code, _, error = call("compare", small.spec, "--grid", "form: [{method: permuted}]")
    assert code == 2
    assert "evaluate: compare needs queries" in error


@pytest.mark.parametrize("stages", ["plain", "encrypted"])
def test_rows_are_encrypted_where_stages_are(small, compare, monkeypatch, stages):
    small.write(people(), stages=stages)
    seen, tried = [], running.try_alternative

    def look(*arguments):
        scratch = small.folder.parent / "work" / ".scratch"
        seen.extend(path.read_bytes() for path in scratch.rglob("*") if path.is_file())
        return tried(*arguments)

    monkeypatch.setattr(running, "try_alternative", look)
    compare({"partition": [{"method": "ke"}]}, processes=1 + (stages == "encrypted"))
    readable = any("Cé, the long".encode() in content for content in seen)
    assert readable == (stages == "plain")


def test_a_comparison_that_was_killed_is_found_again_after_what_killed_runs_left_is_swept(
    compare, outcomes_heard, monkeypatch
):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        retain = scratch._retain  # what is done when it ends, a killed process does not do
        patch.setattr(
            scratch, "_retain", lambda *arguments: None if outcomes_heard else retain(*arguments)
        )
        patch.setattr(
            running, "try_alternative", killed_after(running.try_alternative, 2, outcomes_heard)
        )
        compare()
    scratch.sweep()
    compare()
    assert [done for _, done, _ in outcomes_heard] == [1, 2, 3, 4, 5, 6]


def killed_after(tried, number, heard):
    def kill(alternative, *others):
        if len(heard) == number:
            raise KeyboardInterrupt
        return tried(alternative, *others)

    return kill


def test_queries_that_were_cut_short_are_drawn_anew(compare, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(paired.json, "dumps", interrupt)
        compare()
    assert len(compare().ranked) == 6


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_alternative_that_fails_keeps_no_other_from_being_tried(compare, monkeypatch):
    def refuse(*arguments):
        raise InputError("too many rows for it")

    monkeypatch.setitem(PARTITIONS, "mondrian", refuse)
    comparison = compare()
    assert len(comparison.ranked) == 4
    assert "too many rows for it" in comparison.page.read_text(encoding="utf-8")


def test_a_composed_line_is_compared_as_a_table_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Evolving(tmp_path / "line", "ranges")
    line.publish()
    workload = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [9], "queries": 3}
    spec = line.write(evaluate={"workloads": [workload]})
    request = AskedComparison({"partition": [{"method": "ke", "objective": ["sum", "weighted"]}]})
    comparison = compare_alternatives(spec, Overrides(), request, lambda *_: None)
    assert len(comparison.ranked) == 2
    assert yaml.safe_load(comparison.spec.read_text())["versions"] == {"rule": "composed"}


def test_groups_of_another_line_are_not_swept(small, call):
    small.write(people(), partition=None, groups="others", people="all")
    code, _, error = call("plan", small.spec, "--sweep", "k=2,3")
    assert code == 2
    assert "it uses the groups of another line; name partitions" in error


def test_what_auto_chooses_is_tried_without_a_grid_and_said(small, compare):
    tried, refused, _ = alternatives_of(small.spec, Overrides(), read_grid(None))
    chosen = {candidate.terms.form.method for candidate in tried if candidate.choosing is not None}
    assert chosen == {"permuted", "split", "generalized", "suppressed"}
    assert "because the width of its answers depends on more than" in refused["auto · ambiguous"]
    aims = next(candidate.choosing.aims for candidate in tried if candidate.choosing is not None)
    assert [aim.kind for aim in aims] == ["range", "arbitrary"]
    comparison = compare({"partition": [{"method": "auto"}, {"method": "mondrian"}]})
    best = comparison.ranked[0].outcome
    assert (best.name, best.chose.split(" · ")[1]) == ("auto · permuted", "permuted")
    assert best.chose.split(" ")[0] in PARTITIONS
    (alternative, _) = comparison.document()["alternatives"]
    assert alternative["chose"] == best.chose
    assert f"auto · permuted, which chose {best.chose}" in comparison.page.read_text(
        encoding="utf-8"
    )
    assert yaml.safe_load(comparison.spec.read_text(encoding="utf-8"))["partition"] == {
        "method": "auto"
    }


AIMS = [
    {"kind": "range", "over": "age", "spans": [5]},
    {"kind": "arbitrary", "selected": [10]},
]


def test_partitions_that_need_aims_have_those_of_the_workloads(small):
    tried, refused, changes = alternatives_of(small.spec, Overrides(), read_grid(None))
    for name in ("hybrid · permuted", "contiguous · split"):
        (candidate,) = (candidate for candidate in tried if candidate.name == name)
        assert [aim.model_dump(mode="json") for aim in candidate.terms.partition.aims] == AIMS
        assert changes[name]["partition"]["aims"] == AIMS
    assert "does not show; use form" in refused["hybrid · generalized"]
    assert "partition.aims: is missing" not in refused.values()
    own = [{"kind": "range", "over": "age", "spans": [9]}]
    grid = {"partition": [{"method": "hybrid", "aims": [own]}]}
    ((candidate,), _, _) = alternatives_of(small.spec, Overrides(), grid)
    assert [aim.spans for aim in candidate.terms.partition.aims] == [(9,)]


def test_nothing_is_aimed_at_where_no_workload_has_ranges(small):
    keys = {**K_ANONYMOUS, "evaluate": {"workloads": [{"kind": "counts", "queries": 2}]}}
    spec = small.write(people(), **{**keys, "version": 2}).spec
    _, refused, _ = alternatives_of(spec, Overrides(), read_grid(None))
    assert (
        "chooses by queries over ranges, and evaluate.workloads" in refused["hybrid · generalized"]
    )


def test_the_recommended_spec_names_aims_and_runs(small, start):
    def output_of(*arguments):
        process = start(*map(str, arguments))
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        return out.splitlines()

    grid = "partition: [{method: hybrid}, {method: contiguous}]"
    line = output_of("compare", small.spec, "--grid", grid, "--processes", 1)[-2]
    match = re.fullmatch(r"recommended: (hybrid|contiguous) · permuted: (.+)", line)
    method, place = match.groups()
    partition = {"method": method, "aims": AIMS}
    assert yaml.safe_load(Path(place).read_text(encoding="utf-8"))["partition"] == partition
    manifest = Path(output_of("release", place)[-1]) / "datapackage.json"
    assert json.loads(manifest.read_bytes())["sfumato"]["partition"] == partition


def test_what_the_line_has_chosen_is_not_chosen_again(small, compare):
    small.write(people(), version=2, partition={"method": "auto"})
    chosen = {"partition": {"method": "ke", "objective": "max"}, "strata": []}
    plan = small.plan()
    keep_choice(plan.line.private, plan.terms.wish, {**chosen, "form": {"method": "permuted"}})
    (auto, named) = compare({"partition": [{"method": "auto"}, chosen["partition"]]}).ranked
    assert auto.outcome.chose == named.outcome.chose == ""
    assert auto.outcome.groups == named.outcome.groups


def test_promises_about_a_population_are_kept_by_alternatives(small, compare):
    """Everybody of the table is three times in the register, so that a share is a third at most."""
    columns = {**SPEC["columns"], "age": K_ANONYMOUS["columns"]["age"]}
    presence = {"model": "delta-presence", "min": 0, "max": 0.9, "reference": "register.csv"}
    few = {**presence, "max": 0.05}
    l2 = {"model": "l-diversity", "variant": "distinct", "l": 2}
    keys = {**K_ANONYMOUS, "columns": columns, "partition": {"method": "mondrian"}}
    small.write(people(), **{**keys, "promises": [presence, l2]})
    register(small.folder)
    grid = {"partition": [{"method": "mondrian"}], "promises": [[presence, l2], [few, l2]]}
    comparison = compare(grid)
    assert [row.outcome.name.count("max 0.9") for row in comparison.ranked] == [1]
    page = comparison.page.read_text(encoding="utf-8")
    assert re.search(r"<dt>[^<]*delta-presence[^<]*</dt><dd>[^<]*max 0.05", page)
    register(small.folder, times=0, more=[(33, "Bee", "100.00")])
    with pytest.raises(
        PromiseError, match=("the reference does not contain all people of the table")
    ):
        compare(grid)
    (small.folder / "register.csv").unlink()
    with pytest.raises(InputError, match="cannot be read as a reference"):
        compare(grid)
