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
def released(tmp_path_factory):
    """The second version of a line of a kind, whose groups have been left by some."""

    @cache
    def made(kind):
        folder = tmp_path_factory.mktemp("asked")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            line = ComposedLine(folder / "line", kind)
            line.publish()
            line.move(join=36, leave=20)
            return line, line.publish()

    return made


@pytest.mark.parametrize("kind", ["permuted", "split", "generalized", "suppressed"])
def test_answers_are_those_of_one_table(released, kind):
    _, release = released(kind)
    assert release.declared.rows.vacant > 10
    opened = replace(open_release(release.directory), verified=True)
    tables, declared = as_one(release.directory)
    for query in QUERIES:
        asked = (partial(answer, opened, query), partial(answer_on, tables, declared, query))
        in_parts, as_table = map(answered_by, asked)
        assert in_parts == as_table, query


def test_groups_go_on_from_groups_of_all_parts(released):
    line, release = released("split")
    lineage = read_table(files_of_tables(release, [])[LINEAGE])
    before = open_release(line.versions[0]).declared
    previous = lineage[PREVIOUS].to_pylist()
    assert previous == lineages(release)
    assert lineage[GROUP_ID].to_pylist() == list(range(len(previous)))
    known = sorted(number for number in previous if number is not None)
    assert known == sorted(set(known))
    assert known[-1] >= before.made_of[-1].first_group
    assert known[-1] < sum(part.groups for part in before.made_of)


@pytest.mark.parametrize("kind", ["permuted", "generalized"])
def test_the_ready_sql_numbers_groups_through_all_parts(released, kind, monkeypatch):
    _, release = released(kind)
    monkeypatch.chdir(release.directory)
    with duckdb.connect() as connection:
        connection.execute((release.directory / "sql" / "duckdb.sql").read_text(encoding="utf-8"))
        asked = "SELECT COUNT(DISTINCT group_id), MAX(group_id) FROM {}"
        found = [connection.execute(asked.format(of)).fetchone() for of in ("microdata", "lineage")]
    groups = sum(part.groups for part in release.declared.made_of)
    assert found == [(groups, groups - 1)] * 2
