"""Scores of many queries at once are those of the laws that answer one query at a time."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sqlglot import exp

from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.intervals.calibration import blocks_of_groups, blocks_of_rows
from sfumato.tasks.query.intervals.calibration.blocks_of_counts import count_reach
from sfumato.tasks.query.intervals.calibration.drawn_queries import DrawnConditions
from sfumato.tasks.query.intervals.calibration.factors import (
    QueriesOnOriginal,
    conformal_quantile,
)
from sfumato.tasks.query.intervals.calibration.original import OriginalRows
from sfumato.tasks.query.intervals.calibration.registry import BLOCKS
from sfumato.tasks.query.intervals.calibration.settled import SelectedProfiles
from sfumato.tasks.query.intervals.counts import ShuffledGroups
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.query.intervals.shapes import ALIKE
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import ROWS
from sfumato.tasks.schema.stated import rounded_up
from sfumato.tasks.sql.session import session
from tests.intervals import test_nulls, test_ways
from tests.intervals.releases import DECLARED, publish_permuted, wages
from tests.query.worlds import column, shape

QUERIES = 30


def permuted_release(rows, k, *, boxes):
    return *publish_permuted(wages(rows), boxes=boxes, k=k), DECLARED


def with_nulls():
    return *test_nulls.release(400), test_nulls.DECLARED


def split(tables, original, declared):
    """The same groups, with values and their counts in a table of their own."""
    rows = tables["microdata"]
    counted = rows.group_by(["group_id", "wage"]).aggregate([([], "count_all")])
    apart = {
        "qit": rows.select(["age", "town", "group_id"]),
        "st": counted.rename_columns({"count_all": "count"}),
    }
    return apart, original, declared.model_copy(update={"form": shape("split")})


def generalized_release(*, nulls):
    """Labels, of which some rows may miss the wage."""
    declared, tables, original = test_ways.release_of_form("generalized")
    if not nulls:
        return tables, original, declared
    missing = np.random.default_rng(5).random(original.rows) < 0.2
    columns = [
        encode(c.name, c.role, pc.if_else(pa.array(missing), None, c.array()))
        if c.name == "wage"
        else c
        for c in original.columns
    ]
    rows = tables["microdata"]
    wages_shown = pc.if_else(
        pa.array(np.random.default_rng(6).random(len(rows)) < 0.2), None, rows["wage"]
    )
    tables = {"microdata": rows.set_column(rows.column_names.index("wage"), "wage", wages_shown)}
    wage = column("sensitive", "integer", nulls=True)
    declared = declared.model_copy(update={"columns": {**declared.columns, "wage": wage}})
    return tables, Microdata(tuple(columns), original.rows), declared


RELEASES = {
    "boxes": lambda: permuted_release(300, 4, boxes=True),
    "chance": lambda: permuted_release(500, 7, boxes=False),
    "large groups": lambda: permuted_release(600, 150, boxes=False),
    "pairs": lambda: permuted_release(200, 2, boxes=True),
    "nulls": with_nulls,
    "split": lambda: split(*permuted_release(300, 6, boxes=False)),
    "split nulls": lambda: split(*with_nulls()),
    "labels": lambda: generalized_release(nulls=False),
    "labels nulls": lambda: generalized_release(nulls=True),
}


def truth_of(aggregate, original, condition):
    """The answer of DuckDB on the original."""
    table = pa.table({column.name: column.array() for column in original.columns})
    query = exp.select(aggregate).from_("original").where(condition)
    with session({"original": table}) as connection:
        (answer,) = connection.execute(query.sql("duckdb")).fetchone()
    return None if answer is None else float(answer)


def expression_of(aggregate):
    """An aggregate as DuckDB asks for it."""
    if aggregate.kind.counts_rows:
        return "COUNT(*)"
    share = "" if aggregate.share is None else f", {float(aggregate.share)}"
    names = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}
    return f"{names.get(aggregate.function, aggregate.function)}({aggregate.sensitive}{share})"


@pytest.mark.parametrize("several", [False, True], ids=["one column", "several columns"])
@pytest.mark.parametrize("release", RELEASES)
def test_scores_in_blocks_are_those_of_single_queries(release, several):
    check_scores(RELEASES[release](), several)


@pytest.mark.parametrize("several", [False, True], ids=["one column", "several columns"])
@pytest.mark.parametrize("release", ["boxes", "chance", "large groups", "nulls", "split nulls"])
def test_scores_are_the_same_where_samples_of_groups_are_never_enough(
    release, several, monkeypatch
):
    """Each query is then asked of all groups that matter to it, or at last of all groups."""
    monkeypatch.setattr(blocks_of_rows, "ROWS", 20)
    monkeypatch.setattr(blocks_of_groups, "CUT", 10**6)
    check_scores(RELEASES[release](), several)


def check_scores(release, several):
    """Compare the scores of queries in blocks with those of each, asked alone."""
    tables, original, declared = release
    with asking_in_blocks(tables, original, declared) as (likely, asking, blocks):
        targets = {(alike, "wage") for alike in ALIKE}
        targets |= {("rows", "")} if "rows" in likely.laws else set()
        queries = asking.draw_block(QUERIES, targets, several, seeded_keys(4))
        rows = OriginalRows(original, ["age", "town"], ["wage"])
        counted = set()
        for (alike, name), scores in blocks.scores(queries, rows):
            assert len(scores) == QUERIES
            for number, score in enumerate(scores.tolist()):
                selections = list(queries.selections[number])
                aggregate = ROWS
                if alike == "count":
                    selections.append(queries.matching[name][number])
                elif alike != "rows":
                    aggregate = queries.aggregates[alike, name][number]
                condition = exp.and_(*(selection.condition for selection in selections))
                question = question_of(aggregate, condition, declared)
                law = likely.spreads(question).get((), {}).get(aggregate)
                truth = truth_of(expression_of(aggregate), original, condition)
                if law is None or truth is None or law.size.is_small or law.is_exact:
                    assert np.isnan(score), (alike, number)
                else:
                    counted.add(alike)
                    expected = law.score(truth)
                    assert score == pytest.approx(expected, rel=1e-6, abs=1e-7), (alike, number)
        assert counted >= {"count", "sum", "avg", "spread"}


@contextmanager
def asking_in_blocks(tables, original, declared):
    """The laws of one query at a time, random queries, and what asks them in blocks."""
    shows = declared.form.shows
    with ENGINES[shows](tables, declared, "weighted") as engine, session({}) as values:
        likely = LIKELY[shows](engine, DrawnConditions(values))
        blocks = BLOCKS[shows](likely, ["age", "town"], ["wage"], seeded_keys(3))
        yield likely, QueriesOnOriginal(likely, declared, original), blocks


@pytest.mark.parametrize("several", [False, True], ids=["one column", "several columns"])
def test_factors_from_a_sample_of_groups_are_about_those_from_all(several, monkeypatch):
    """The factor of a sample, rounded up to the grid, meets the scores that all groups give."""
    tables, original, declared = permuted_release(6_000, 5, boxes=False)
    scores = []
    for rows in (1_500, 10**6):
        monkeypatch.setattr(blocks_of_rows, "ROWS", rows)
        with asking_in_blocks(tables, original, declared) as (_, asking, blocks):
            targets = {(alike, "wage") for alike in ALIKE}
            queries = asking.draw_block(400, targets, several, seeded_keys(4))
            rows_of_original = OriginalRows(original, ["age", "town"], ["wage"])
            scores.append(dict(blocks.scores(queries, rows_of_original)))
    sampled, exact = scores
    assert any((sampled[target] != exact[target]).any() for target in sampled)
    for target, from_all in exact.items():
        quantiles = [
            conformal_quantile(part[~np.isnan(part)]) for part in (sampled[target], from_all)
        ]
        assert quantiles[0] == pytest.approx(quantiles[1], rel=0.1), target
        met = np.mean(from_all[~np.isnan(from_all)] <= rounded_up(quantiles[0]))
        assert met > 0.94, (target, met)
        both = ~np.isnan(sampled[target]) & (from_all > 0)
        assert np.median(sampled[target][both] / from_all[both]) == pytest.approx(1, abs=0.03)


def test_nothing_is_asked_again_where_all_queries_are_settled(monkeypatch):
    """Larger samples are then left: the first of them settles what its forerunner did not."""
    monkeypatch.setattr(blocks_of_rows, "ROWS", 20)
    queries_asked = []

    def evaluate(block):
        queries_asked.extend(block.queries.tolist())
        times = np.array([queries_asked.count(query) for query in block.queries])
        return np.zeros((1, len(block.queries))), times > 1

    release = permuted_release(6_000, 5, boxes=False)
    with asking_in_blocks(*release) as (_, asking, blocks):
        rows = blocks._rows
        assert rows.number_of_samples > 2
        queries = asking.draw_block(QUERIES, {("avg", "wage")}, True, seeded_keys(4))
        SelectedProfiles(rows, queries.selections).settle(evaluate)
    assert sorted(queries_asked) == sorted([*range(QUERIES)] * 2)


@pytest.mark.parametrize(("groups", "size"), [(400, 5), (3, 90), (30, 40), (2, 4000)])
def test_ranges_of_many_counts_are_those_of_each(groups, size):
    rng = np.random.default_rng(groups)
    sizes = rng.integers(max(size // 2, 1), size + 1, groups)
    selected, matching = (
        rng.binomial(np.tile(sizes, (30, 1)), rng.random((30, 1)) ** power) for power in (1, 3)
    )
    reach = count_reach(*(counts.astype(float) for counts in (sizes, matching, selected)))
    mean = (selected * matching / sizes).sum(axis=1)
    for number in range(30):
        some = selected[number] > 0
        if some.any():
            law = ShuffledGroups(sizes[some], matching[number][some], selected[number][some])
            ends = mean[number] - reach.below[number], mean[number] + reach.above[number]
            assert ends == pytest.approx(law.quantiles())
