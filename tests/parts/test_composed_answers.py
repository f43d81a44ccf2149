"""A composed version in parts answers as the same groups do that were published as one table."""

from dataclasses import replace
from functools import cache, partial

import duckdb
import pytest

from sfumato.tasks.forms.lineage import LINEAGE, PREVIOUS
from sfumato.tasks.query.ask import answer, answer_on, files_of_tables
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.opened import open_release
from tests.parts.composed_line import ComposedLine
from tests.parts.test_answers import answered_by, as_one
from tests.parts.test_composed import lineages

QUERIES = [
    "SELECT COUNT(*) FROM microdata",
    "SELECT year, COUNT(*) FROM microdata WHERE age BETWEEN 25 AND 45 GROUP BY year",
    "SELECT COUNT(*) FROM microdata WHERE job = 'job 1' AND age > 30",
    "SELECT job, COUNT(*) FROM microdata WHERE age < 50 GROUP BY job",
    "SELECT year, COUNT(*) FROM microdata WHERE job IN ('job 1', 'job 2') GROUP BY year",
    "SELECT COUNT(*) FROM microdata WHERE age > 200",
]


@pytest.fixture(scope="module")
def release_of_kind(tmp_path_factory):
    """The second version of a line of a kind, whose groups have been left by some."""

    @cache
    def make_line(kind):
        folder = tmp_path_factory.mktemp("asked")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            line = ComposedLine(folder / "line", kind)
            line.publish()
            line.move(join=36, leave=20)
            return line, line.publish()

    return make_line


@pytest.mark.parametrize("kind", ["permuted", "split", "generalized", "suppressed"])
def test_answers_are_those_of_one_table(release_of_kind, kind):
    _, release = release_of_kind(kind)
    assert release.declared.rows.vacant > 10
    opened = replace(open_release(release.directory), verified=True)
    tables, declared = as_one(release.directory)
    for query in QUERIES:
        answerers = (partial(answer, opened, query), partial(answer_on, tables, declared, query))
        in_parts, as_table = map(answered_by, answerers)
        assert in_parts == as_table, query


def test_groups_go_on_from_groups_of_all_parts(release_of_kind):
    line, release = release_of_kind("split")
    lineage = read_table(files_of_tables(release, [])[LINEAGE])
    before = open_release(line.versions[0]).declared
    previous = lineage[PREVIOUS].to_pylist()
    assert previous == lineages(release)
    assert lineage[GROUP_ID].to_pylist() == list(range(len(previous)))
    numbers = sorted(number for number in previous if number is not None)
    assert numbers == sorted(set(numbers))
    assert numbers[-1] >= before.made_of[-1].first_group
    assert numbers[-1] < sum(part.groups for part in before.made_of)


@pytest.mark.parametrize("kind", ["permuted", "generalized"])
def test_the_ready_sql_numbers_groups_through_all_parts(release_of_kind, kind, monkeypatch):
    _, release = release_of_kind(kind)
    monkeypatch.chdir(release.directory)
    with duckdb.connect() as connection:
        connection.execute((release.directory / "sql" / "duckdb.sql").read_text(encoding="utf-8"))
        sql = "SELECT COUNT(DISTINCT group_id), MAX(group_id) FROM {}"
        counts = [
            connection.execute(sql.format(table_name)).fetchone()
            for table_name in ("microdata", "lineage")
        ]
    groups = sum(part.groups for part in release.declared.made_of)
    assert counts == [(groups, groups - 1)] * 2
