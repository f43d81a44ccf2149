"""Lines whose rows are people are compared by the rows of their sources."""

from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.expectations.errors import PromiseError
from sfumato.flows.resolved import resolve_run
from sfumato.tasks.microdata.randomness import seeded_keys
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.backup import state_files
from sfumato.tasks.private.people.keys import people_key
from sfumato.tasks.private.source_rows import hashed_rows, read_rows, rows_in_common
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.stages.deidentify import identity
from tests.lines import prepare, publish_prepared
from tests.release.evolving import Evolving, spec

ALONE = {"versions": "disjoint", "unit": "row", "people": None}
ROW = {name: c for name, c in spec("split", "any", Path())["columns"].items() if name != "id"}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def first(tmp_path):
    return Evolving(tmp_path / "first", "split", "first")


def beside(first, kind="permuted", others=0, name="second", **changes):
    """A line about the first line's people, save some, which does not know them."""
    line = Evolving(first.folder.parent / name, kind, name, seed=8)
    line.people = {n: line.people[n] if n < others else p for n, p in first.people.items()}
    columns = {"id": {"role": "drop", "type": "integer"}, **ROW}
    return line.publish(**ALONE | {"columns": columns} | changes)


def as_rows(first, **changes):
    columns = {"id": {"role": "drop", "type": "integer"}, **ROW}
    return first.publish(**ALONE | {"columns": columns} | changes)


def test_a_second_line_of_the_same_rows_is_refused(first):
    as_rows(first)
    with pytest.raises(PromiseError, match="72 rows are those of line first, too") as refused:
        beside(first)
    assert refused.value.exit_code == 3


def test_the_same_rows_are_refused_before_anything_is_made(first):
    as_rows(first)
    with pytest.raises(PromiseError, match="72 rows"):
        beside(first)
    second = first.folder.parent / "second"
    resolved, known = resolve_run(second / "spec.yaml"), identity(second / "run-0" / "deidentified")
    with pytest.raises(PromiseError, match="72 rows are those of line first, too"):
        existing_version(resolved.line, known, "disjoint")


def test_more_than_half_of_the_rows_are_the_same_people(first):
    as_rows(first)
    with pytest.raises(PromiseError, match="rows are those of line first"):
        beside(first, others=30)


def test_fewer_are_others(first, work):
    as_rows(first)
    beside(first, others=40)
    kept = work / "second" / "rows" / "0001"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "rows/0001" in state_files(work / "second")


def test_rows_of_a_line_that_knows_its_people(first):
    first.publish(people=None)
    with pytest.raises(PromiseError, match="72 rows are those of line first"):
        beside(first)


def test_a_line_that_knows_its_people_beside_rows(first):
    as_rows(first)
    second = Evolving(first.folder.parent / "second", "permuted", "second")
    with pytest.raises(PromiseError, match="72 rows are those of line first"):
        second.publish()


def test_a_line_that_came_after_the_source_was_read_is_not_passed_over(first):
    """What a line that knows its people publishes alone is not hashed row by row."""
    run = first.folder / "early"
    early = prepare(first.write(), run, seeded_keys(1))
    beside(first)
    assert identity(run / "deidentified").hashed is None
    with pytest.raises(PromiseError, match="line second, which knows nobody, was published since"):
        publish_prepared(early, run)
    with pytest.raises(PromiseError, match="72 rows are those of line second"):
        first.publish()


def test_the_risk_may_be_accepted_or_the_people_be_others(first):
    as_rows(first, people="town")
    with pytest.raises(PromiseError, match="72 rows"):
        beside(first, people="town")
    beside(first, people="village", name="others")
    beside(first, name="third", **{"across-lines": "accepted-risk"})


def table(**columns):
    made = [encode(name, "insensitive", pa.array(of)) for name, of in columns.items()]
    return Microdata(tuple(made), len(next(iter(columns.values()))))


def test_rows_are_compared_as_multisets_over_common_columns(tmp_path):
    one = table(a=[1, 1, 2, None], b=["x", "x", "y", "z"], c=[1, 2, 3, 4])
    other = table(b=["x", "x", "x", "y"], d=[0, 0, 0, 0], a=["1", "1", "1", "2"])
    secret = people_key(tmp_path)
    rows = [hashed_rows(of, secret) for of in (one, other)]
    assert rows_in_common(*rows) == rows_in_common(*reversed(rows)) == 3
    assert rows_in_common(rows[0].select(["c"]), rows[1]) == 0
    assert read_rows(tmp_path, "0001") is None
    another = hashed_rows(one, b"another key")
    assert rows_in_common(rows[0], another) == 0
