"""A line remembers: a draw stays, what would betray is refused, what was cut short heals."""

import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.versions import RECORD, read_record
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.people.identity import represented_part, write_suppressed_rows
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication import staging
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.withdrawal import withdraw
from tests.release.plain import without_script
from tests.release.small import people


def content(directory):
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def versions_in(line):
    return sorted(p.name for p in line.iterdir() if p.name.isdigit())


@pytest.fixture
def line(small):
    return small.folder / "public" / "wages"


class Killed(BaseException):
    """Not an error that anything handles."""


def kill(*_):
    raise Killed


def test_another_draw_of_the_same_rows_never_appears(small, release, line):
    before, stamp = content(line), (release / "index.html").stat().st_mtime_ns
    _, run = small.prepare_run("another draw")
    table_content = (run / "candidate" / "release" / "data" / "microdata.parquet").read_bytes()
    assert table_content != (release / "data" / "microdata.parquet").read_bytes()
    again = small.publish("yet another draw")
    assert (again.existed, again.directory) == (True, release)
    assert content(line) == before
    assert (release / "index.html").stat().st_mtime_ns == stamp


def test_a_changed_promise_is_another_spec(small, first):
    small.write(people(), promises=[{"model": "ke-anonymity", "k": 4, "e": 10.5}])
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.publish("two")


def test_a_refusal_leaves_the_line_as_it_was(small, first, line):
    before = content(line)
    small.write([*people(first=1000, seed=2), people()[7]])
    with pytest.raises(PromiseError) as refused:
        small.publish("two")
    assert refused.value.exit_code == 3
    assert content(line) == before
    assert versions_in(line) == ["0001"]


def test_accepted_risk_is_recorded(small, line):
    small.write(people(), versions="accepted-risk").publish("one")
    small.write(people(seed=5), versions="accepted-risk").publish("two")
    record = read_record(line)
    assert record.current == "0002"
    assert [v.status for _, v in sorted(record.versions.items())] == ["superseded", "published"]
    assert record.versions["0001"].predecessor is None
    assert record.versions["0002"].predecessor == record.versions["0001"].digest
    third = small.write(people(), versions="accepted-risk").publish("three")
    assert (third.directory.name, third.existed) == ("0001", True)


def test_after_a_withdrawal_the_one_before_is_current(small, first, line):
    small.write(people(first=1000, seed=2)).publish("two")
    plan, _ = small.prepare_run("three")
    withdraw(plan.line, "0002", "a test")
    record = read_record(line)
    assert (record.current, record.versions["0001"].status) == ("0001", "published")
    message = "version 0002 of this source and spec was withdrawn"
    with pytest.raises(PromiseError, match=message):
        small.publish("four")
    fourth = small.write(people(first=2000, seed=3)).publish("five").directory
    assert fourth.name == "0003"
    assert read_record(line).versions["0003"].predecessor == record.versions["0001"].digest


def test_a_deleted_version_is_not_drawn_again(small, first):
    shutil.rmtree(first.directory)
    with pytest.raises(PromiseError, match="is missing"):
        small.publish("another")


def test_units_of_a_deleted_or_withdrawn_version_still_count(small, first, line):
    plan, _ = small.prepare_run("two")
    withdraw(plan.line, "0001", "a test")
    shutil.rmtree(line / "0001")
    small.write(people(seed=5))
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.publish("three")


def test_killed_before_the_record_the_next_run_completes_it(small, line, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(publication, "_record", kill)
        with pytest.raises(Killed):
            small.publish("one")
    assert versions_in(line) == ["0001"]
    assert not (line / RECORD).exists()
    appeared = content(line / "0001")
    published = small.publish("another draw")
    assert (published.existed, published.directory.name) == (True, "0001")
    assert content(line / "0001") == appeared
    assert check(published.directory, read_record(line).versions["0001"].digest).verdicts


def test_killed_before_the_record_its_units_count(small, line, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(publication, "_record", kill)
        with pytest.raises(Killed):
            small.publish("one")
    small.write(people(seed=5))
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.publish("two")
    assert read_record(line).current == "0001"


def test_a_version_that_nobody_recorded_is_known_to_be_there(
    small, first, line, monkeypatch, tmp_path
):
    (line / RECORD).unlink()
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other"))
    small.write(people(seed=5))
    with pytest.raises(PromiseError, match="not known here"):
        small.publish("two")


def test_a_candidate_that_fails_its_check_leaves_nothing(small, line, monkeypatch):
    def refuse(*_, **__):
        raise PromiseError("no")

    with monkeypatch.context() as patched:
        patched.setattr(staging, "check", refuse)
        with pytest.raises(PromiseError):
            small.publish("one")
    assert not line.exists()
    assert small.publish("two").directory.name == "0001"


def test_what_killed_runs_staged_is_swept(small, line):
    stale = line / ".staging-0123456789abcdef" / "data"
    stale.mkdir(parents=True)
    (stale / "microdata.parquet").write_bytes(b"half")
    (stale / "microdata.parquet").chmod(0o444)
    small.publish("one")
    pages = ["CITATION.cff", "dcat.jsonld", "feed.atom", "index.html"]
    about = [*pages, "line.json", "log.json", RECORD, "verifier"]
    assert sorted(p.name for p in line.iterdir()) == [".lock", "0001", *about]


def test_nothing_published_says_who_a_row_is_about(small, first, line):
    for path in line.rglob("*"):
        if path.is_file() and line / "verifier" not in path.parents:  # code, the same everywhere
            raw = without_script(path.read_bytes())
            if path.suffix == ".parquet":
                raw += str(pq.read_table(path).to_pydict()).encode()
            assert not any(word in raw for word in (b"IDENT", b"NOTE", b'"person"', b'"note"'))
            assert path.name == ".lock" or path.stat().st_mode & 0o777 in (0o444, 0o644)


def test_what_a_killed_attempt_left_out_is_forgotten(small):
    plan, run = small.prepare_run("one")
    everybody = load(run / "deidentified")
    none_but_one = np.arange(everybody.rows) > 0
    write_suppressed_rows(plan.line.private, "0001", none_but_one)
    assert represented_part(plan.line.private, "0001", everybody).rows == 1
    small.publish("two")
    assert represented_part(plan.line.private, "0001", everybody).rows == everybody.rows
