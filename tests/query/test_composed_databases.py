"""Composed releases in databases: rewritten queries give there the bounds given here."""

import random
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import engine
from sfumato.tasks.query.load import load
from sfumato.tasks.query.ready_sql import duckdb_script
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.dialect_fixes import write_bounds
from sfumato.tasks.query.views import groups_view
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.query import asked
from tests.query.composed import as_composed, publish_composed
from tests.query.dialect_laws import LOCAL, SERVERS, address, answered_rows, assert_same_rows
from tests.query.test_apart import counts_answered
from tests.query.test_dialects import TYPES, agree_on_groups
from tests.query.worlds import column, declare

QUERIES = 12
EACH = [*LOCAL, *SERVERS]


def of_rows(declared, seed):
    """A release of every type, some of whose rows are those of people who left."""
    rng, declared = random.Random(seed), as_composed(declared)
    table = asked.microdata(rng)
    group = table["group_id"].to_pylist()
    first = {number: place for place, number in reversed(list(enumerate(group)))}
    kind = [
        int(first[number] != place and rng.random() < 0.3) for place, number in enumerate(group)
    ]
    columns = {name: table[name].to_pylist() for name in declared.columns}
    people = table.filter(pa.array([not is_leaver for is_leaver in kind]))
    return declared, publish_composed(declared, columns, group, kind), people.num_rows, people


@cache
def release(form, sensitive):
    return of_rows(asked.declare(form, sensitive), f"{form} {sensitive}")


@cache
def questions(form, sensitive):
    """Random queries with their readings, as they are rewritten, and their rows; or none."""
    declared, tables, _, _ = release(form, sensitive)
    rng, questions_found = random.Random(f"{form} {sensitive}"), []
    with engine(tables, declared) as asking:
        while len(questions_found) < QUERIES:
            query, reading = asked.Queries(rng, sensitive == "together").query()
            try:
                expected = answered_rows(asking, declared, query, reading)
            except QueryError:
                continue
            try:
                tree = rewrite(query, declared, reading).tree
            except QueryError:
                tree = None
            questions_found.append(((query, reading), tree, expected))
    return questions_found


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize(("form", "sensitive"), asked.FORMS)
def test_exact_rows(form, sensitive, kind, tmp_path):
    declared, tables, people, _ = release(form, sensitive)
    url, outcomes = address(kind, tmp_path), Counter()
    loaded = load(asked.on_disk(tmp_path / "release", tables, declared), url, replace=True)
    assert set(tables) <= set(loaded)
    with target(url) as database, engine(tables, declared) as asking:
        for asked_for, tree, expected in questions(form, sensitive):
            if tree is None:
                continue
            try:
                text = write_bounds(tree, DIALECTS[kind], TYPES)
            except QueryError:
                continue
            assert_same_rows(database.execute(text), expected, asked_for)
            outcomes["compared"] += 1
        ((rows, size),) = database.execute("SELECT SUM(size), COUNT(*) FROM groups_loss")
        assert (rows, size) == (people, tables["lineage"].num_rows)
        groups = 'SELECT "Sex", MIN(seen) FROM microdata WHERE loss < 3 GROUP BY "Sex"'
        for having in ("COUNT(*) < 99", "SUM(loss) > 0"):
            agree_on_groups(database, kind, asking, declared, f"{groups} HAVING {having}")
        whole = tables["lineage"].to_pylist()
        assert len(database.execute("SELECT * FROM lineage")) == len(whole)
    assert outcomes["compared"] >= QUERIES / 3


@cache
def counted_release():
    """A release of counts, its people, and random queries: as they are rewritten, their rows."""
    declared, tables, people, _ = of_rows(asked.declare("ambiguous", "independent"), "counts")
    answers_found = counts_answered(declared, tables, random.Random(4), QUERIES)
    return declared, tables, people, answers_found


@pytest.mark.parametrize("kind", EACH)
def test_counts(kind, tmp_path):
    declared, tables, people, answers_found = counted_release()
    url, outcomes = address(kind, tmp_path), Counter()
    load(asked.on_disk(tmp_path / "release", tables, declared), url, replace=True)
    whole = rewrite("SELECT COUNT(*) AS n FROM microdata", declared).sql(kind)
    with target(url) as database:
        ((low, high, expected),) = database.execute(whole)
        assert low == high == expected == people
        for query, rewritten, expected_rows in answers_found:
            try:
                text = rewritten.sql(kind)
            except QueryError:
                continue
            assert_same_rows(database.execute(text), expected_rows, query)
            outcomes["compared"] += 1
    assert outcomes["compared"] >= QUERIES / 2


LOSSES = as_composed(
    declare(
        rows=column("quasi-identifier", "integer"),
        vacant=column("quasi-identifier", "string"),
        size=column("sensitive", "integer"),
        live=column("sensitive", "integer"),
    )
)


@pytest.mark.parametrize("kind", EACH)
def test_names_that_lineages_use(kind, tmp_path):
    columns = {"rows": [1, 2, 3], "vacant": list("aab"), "size": [4, 5, 9], "live": [7, 8, 9]}
    tables = publish_composed(LOSSES, columns, [0, 0, 0], [0, 0, 1])
    url = address(kind, tmp_path)
    load(asked.on_disk(tmp_path / "release", tables, LOSSES), url, replace=True)
    query = 'SELECT "rows", SUM(size) AS n FROM microdata WHERE live > 7 GROUP BY "rows"'
    with target(url) as database, engine(tables, LOSSES) as asking:
        expected = answered_rows(asking, LOSSES, query)
        assert [row[1:] for row in expected] == [[4, 9], [4, 9]]
        assert_same_rows(database.execute(rewrite(query, LOSSES).sql(kind)), expected, query)


def test_ready_sql_reads_all_tables():
    script = duckdb_script(LOSSES.model_copy(update={"formats": ("parquet",)}))
    for name in ("microdata", "vacant", "lineage"):
        assert f"VIEW {name} AS" in script
    view = groups_view(LOSSES, "size", DIALECTS["duckdb"]).create
    assert "sum_lower" in view
    assert "sum_upper" in view


REVIEWED = {
    "permuted": "SELECT age, COUNT(*) AS n, SUM(loss) AS s FROM microdata WHERE loss > 0 "
    "GROUP BY age",
    "ambiguous": "SELECT sex, COUNT(*) AS n FROM microdata WHERE age >= 50 GROUP BY sex "
    "HAVING COUNT(*) > 1",
}


@pytest.mark.parametrize("form", REVIEWED)
def test_rewritten_as_reviewed(form):
    declared = as_composed(
        declare(
            form,
            age=column("quasi-identifier", "integer"),
            sex=column("quasi-identifier", "string"),
            loss=column("sensitive", "integer"),
        )
    )
    golden = Path(__file__).with_name("golden_composed") / f"{form}.sql"
    written = rewrite(REVIEWED[form], declared, "certain").sql()
    assert written + "\n" == golden.read_text(encoding="utf-8")
