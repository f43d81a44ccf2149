"""Codings that are computed once and kept: by versions, backups, other keys and lost files."""

import os
import shutil
from collections import Counter
from datetime import date
from decimal import Decimal

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.backup import backup, pack, state_files, unpack_files
from sfumato.tasks.private.people.frozen import CODINGS, read_frozen
from sfumato.tasks.private.people.keys import PEOPLE, people_key
from sfumato.tasks.private.state import read_state, write_state
from sfumato.tasks.terms.opened import open_release
from tests.codings.stays import COLUMNS, EXACT, Stays, jobs_of, stays
from tests.codings.test_release import expected_rows, released_rows, shift_key, threshold
from tests.lines import publish_prepared
from tests.release.small import people

LATER = stays(first=1000, seed=2)


@pytest.fixture(scope="module")
def first_version(tmp_path_factory):
    """The folder of a line with one version, to be copied."""
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        Stays(folder / "line").write(stays()).publish("one")
    return folder


@pytest.fixture
def first_published(line, first_version, tmp_path):
    """The line with one version; its private directory."""
    shutil.copytree(first_version, tmp_path, symlinks=True, dirs_exist_ok=True)
    line_plan = line.plan().line
    (line_plan.private / "published-in").write_bytes(os.fsencode(line_plan.public))
    return line_plan.private


def test_later_versions_are_coded_by_what_was_found_of_the_first(line, first_published):
    content = (first_published / CODINGS).read_bytes()
    dear = [row | {"cost": str(Decimal(row["cost"]) * 9)} for row in LATER]
    of_first = threshold(stays())
    assert threshold(dear) > of_first * 2
    second = line.write([row | {"job": "farrier"} for row in dear]).publish("two").directory
    rows = expected_rows(dear, shift_key(first_published), of_first, set())
    assert released_rows(second) == Counter(rows)
    assert second.name == "0002"
    assert (first_published / CODINGS).read_bytes() == content
    assert (first_published / CODINGS).stat().st_mode & 0o777 == 0o600


def test_what_is_kept_is_what_was_found(line, first_published):
    codings = {column.column: column.found for column in read_frozen(first_published).columns}
    jobs = sorted(jobs_of(stays()))
    assert codings == {"cost": {"top": str(threshold(stays()))}, "job": {"fold": jobs}}


def test_the_same_source_and_spec_is_the_version_that_stands(line, first_published):
    assert line.publish("again").existed


def test_a_source_that_differs_below_the_codings_is_the_same(line, first_published):
    """The codings would publish the same table, which is never drawn again."""
    rows = stays()
    assert rows[0]["code"][4:6] == "XY"
    rows[0]["code"] = f"{rows[0]['code'][:4]}-and-more"
    assert line.write(rows).publish("again").existed


def test_a_person_is_moved_by_the_same_days_in_all_versions(line, first_published):
    """Seen by somebody who knows when people came: one difference for each person."""
    rows = {row["person"]: row for row in stays()}
    accepted = {"versions": "accepted-risk"}
    line.write(list(rows.values()), **accepted).publish("two")
    later = [
        row | {"came": date.fromisoformat(row["came"]).replace(year=2022).isoformat()}
        for row in rows.values()
    ]
    _, run = line.write(later, **accepted).prepare_run("three")
    moved = load(run / "deidentified").table().to_pylist()
    key = shift_key(first_published)
    expected_days = list(expected_rows(later, key, threshold(stays()), jobs_of(stays())))
    assert [
        tuple(row[n] for n in ("left", "code", "job", "cost")) for row in moved
    ] == expected_days


def test_changed_codings_are_found_anew_and_those_before_stay(line, first_published):
    columns = {**COLUMNS, "cost": COLUMNS["cost"] | {"top": {"share": "0.1"}}}
    line.write(LATER, columns=columns).publish("two")
    codings = [
        column.found for column in read_frozen(first_published).columns if column.column == "cost"
    ]
    assert codings == [
        {"top": str(threshold(stays()))},
        {"top": str(threshold(LATER, Decimal("0.1")))},
    ]
    line.write(stays(first=2000, seed=3)).publish("three")
    assert len(read_frozen(first_published).columns) == 3


def test_a_run_that_publishes_nothing_keeps_nothing(line):
    line.prepare_run("refused")
    private = line.plan().line.private
    assert not (private / CODINGS).exists()
    line.write(LATER).publish("one")
    codings = {column.column: column.found for column in read_frozen(private).columns}
    assert codings["cost"] == {"top": str(threshold(LATER))}


def test_of_two_first_runs_at_once_one_is_refused(line):
    first_run = line.prepare_run("one")
    two = line.write(LATER).prepare_run("two")
    publish_prepared(*first_run)
    with pytest.raises(PromiseError, match="other thresholds in the meantime"):
        publish_prepared(*two)
    public = line.plan().line.public
    assert sorted(path.name for path in public.glob("[!.]*[0-9]")) == ["0001"]
    assert line.publish("again").directory.name == "0002"


def test_what_is_lost_is_not_found_again(line, first_published):
    (first_published / CODINGS).unlink()
    with pytest.raises(
        PromiseError, match=r"codings\.json: does not contain how column 'job' is coded"
    ):
        line.write(LATER).publish("two")
    line.write(LATER, columns=_without_found()).publish("other-terms")


def _without_found():
    plain = {"job": {"role": "insensitive"}, "cost": {"role": "sensitive", "type": "decimal"}}
    return {**COLUMNS, **plain}


def test_a_lost_mark_of_the_days_is_no_other_key(line):
    line.write(stays(), columns=_without_found()).publish("one")
    private = line.plan().line.private
    assert not read_frozen(private).columns
    (private / CODINGS).unlink()
    with pytest.raises(
        PromiseError, match=r"codings\.json: does not contain the mark of the key that shifts"
    ):
        line.write(LATER, columns=_without_found()).publish("two")


def test_another_key_moves_no_dates(line, first_published):
    """Lost with all that could tell of it, and drawn anew: the line's mark tells."""
    shutil.rmtree(first_published.parent / PEOPLE)
    with pytest.raises(
        PromiseError, match="dates were shifted with another key than the one in the work dir"
    ):
        line.write(LATER).publish("two")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"columns": 3}', b"[" * 100_000])
def test_what_cannot_be_read_is_refused(line, first_published, content):
    (first_published / CODINGS).write_bytes(content)
    with pytest.raises(PromiseError, match=r"codings\.json: cannot be read"):
        line.write(LATER).publish("two")


def test_what_newer_software_wrote_is_refused(line, first_published):
    (first_published / CODINGS).write_text(
        '{"format": 2, "columns": [], "more": 1}', encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"codings\.json: format 2 is newer than this software"):
        line.write(LATER).publish("two")


def test_a_backup_brings_back_thresholds_and_days(line, first_published, tmp_path, call):
    file = tmp_path / "stays.backup"
    assert call("line", "backup", line.spec, file)[0] == 0
    files = unpack_files(file, file.read_bytes(), "stays")
    assert {CODINGS, "people-key"} <= files.keys()
    codings, key = (first_published / CODINGS).read_bytes(), shift_key(first_published)
    shutil.rmtree(first_published.parent)
    assert call("line", "restore", line.spec, file)[0] == 0
    assert ((first_published / CODINGS).read_bytes(), shift_key(first_published)) == (codings, key)
    assert line.publish("again").existed


def test_older_software_is_told_that_a_backup_is_newer(first_published, small):
    assert b'"format": 8' in backup(first_published)
    files = {path: b"" for path in state_files(first_published) if "-normal/" not in path}
    assert b'"format": 4' in pack("stays", files)
    small.write(people(first=5000)).publish("plain")
    assert b'"format": 8' in backup(small.plan().line.private)


def test_another_key_of_the_line_leaves_days_and_thresholds(line, first_published, call):
    codings, key = (first_published / CODINGS).read_bytes(), shift_key(first_published)
    source = f"0001={line.folder / 'stays.csv'}"
    assert call("line", "rekey", line.spec, "--source", source)[0] == 0
    assert ((first_published / CODINGS).read_bytes(), shift_key(first_published)) == (codings, key)
    assert line.publish("again").existed
    assert line.write(LATER).publish("two").directory.name == "0002"


def test_units_are_not_renamed_where_dates_move_by_them(line, first_published, tmp_path, call):
    names = tmp_path / "names.csv"
    names.write_text("IDENT-1,IDENT-9999\n", encoding="utf-8")
    code, _, error = call("line", "rekey", line.spec, "--units", names)
    assert (code, "units cannot be renamed" in error) == (2, True)


def test_later_versions_are_evaluated_as_they_were_coded(line, first_published, call):
    second = line.write(LATER).publish("two").directory
    assert call("evaluate", second, "--spec", line.spec)[0] == 0


def test_a_rehearsal_keeps_nothing(line, call):
    code, out, _ = call("release", line.spec, "--dry")
    assert (code, "240" in out) == (0, True), out
    assert not (line.plan().line.private / CODINGS).exists()


def test_a_passphrase_does_not_change_the_days(line, first_published, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_NEW_KEY_PASSPHRASE", "secret")
    assert call("line", "passphrase", line.spec)[0] == 0
    monkeypatch.setenv("SFUMATO_KEY_PASSPHRASE", "secret")
    assert line.publish("again").existed


class TestThePeoplesKey:
    """Its passphrase can be changed; the key cannot, and says so."""

    @pytest.fixture
    def secret(self, line, first_published):
        return people_key(line.plan().line.work)

    @pytest.fixture
    def change_passphrase(self, line, monkeypatch, call):
        """Wrap it with another passphrase, and have that in the environment."""

        def change_to(new, *options):
            monkeypatch.setenv("SFUMATO_NEW_KEY_PASSPHRASE", new)
            code, _, error = call("line", "passphrase", line.spec, "--people", *options)
            assert (code, "older backups have the key under the old passphrase" in error) == (
                0,
                True,
            ), error
            monkeypatch.setenv("SFUMATO_PEOPLE_PASSPHRASE", new)

        return change_to

    def test_the_passphrase_changes_and_the_secret_stays(
        self, line, secret, change_passphrase, monkeypatch, call
    ):
        own = line_key(line.plan().line.private)
        path = line.plan().line.work / "people" / "key"
        for new in ("first", "second"):
            change_passphrase(new)
            assert path.read_bytes() != secret
            assert people_key(path.parents[1]) == secret
        assert line_key(line.plan().line.private) == own
        assert line.publish("again").existed
        change_passphrase("none", "--remove")
        assert path.read_bytes() == secret

    def test_it_is_refused_without_the_present_one(
        self, line, secret, change_passphrase, monkeypatch, call
    ):
        change_passphrase("first")
        for present in ("", "wrong"):
            monkeypatch.setenv("SFUMATO_PEOPLE_PASSPHRASE", present)
            code, _, error = call("line", "passphrase", line.spec, "--people")
            assert (code, "SFUMATO_PEOPLE_PASSPHRASE" in error) == (2, True)
            assert "first" not in error

    @pytest.mark.parametrize("wrapped", [True, False])
    def test_a_backup_of_before_is_put_back(
        self, line, secret, change_passphrase, wrapped, tmp_path, monkeypatch, call
    ):
        if wrapped:
            change_passphrase("first")
        assert call("line", "backup", line.spec, tmp_path / "copy")[0] == 0
        change_passphrase("second")
        restored = ("line", "restore", line.spec, tmp_path / "copy")
        if wrapped:
            code, _, error = call(*restored)
            assert (code, "Set SFUMATO_FORMER_PEOPLE_PASSPHRASE" in error) == (2, True)
            monkeypatch.setenv("SFUMATO_FORMER_PEOPLE_PASSPHRASE", "first")
        assert call(*restored)[0] == 0
        assert people_key(line.plan().line.work) == secret
        assert line.publish("again").existed

    def test_a_backup_with_another_one_is_refused(
        self, line, secret, change_passphrase, tmp_path, call
    ):
        assert call("line", "backup", line.spec, tmp_path / "copy")[0] == 0
        path = line.plan().line.work / "people" / "key"
        path.write_bytes(bytes(32))
        change_passphrase("second")
        code, _, error = call("line", "restore", line.spec, tmp_path / "copy")
        assert (code, "uses another key for people's names" in error) == (2, True)


def test_a_version_that_may_have_appeared_counts_as_one(line, first_published):
    """Of a run that was killed between its two steps."""
    state = read_state(first_published)
    number, version = next(iter(state.versions.items()))
    write_state(
        first_published, state.model_copy(update={"versions": {}, "pending": (number, version)})
    )
    (first_published / CODINGS).unlink()
    with pytest.raises(PromiseError, match="does not contain how column"):
        line.write(LATER).prepare_run("two")


def test_days_are_remembered_through_versions_without_dates(line, first_published):
    plain = {name: {k: v for k, v in c.items() if k != "shift"} for name, c in COLUMNS.items()}
    line.write(LATER, columns=plain).publish("two")
    assert read_frozen(first_published).shift is not None
    shutil.rmtree(first_published.parent / PEOPLE)
    with pytest.raises(PromiseError, match="dates were shifted with another key"):
        line.write(stays(first=2000)).prepare_run("three")


def test_a_backup_has_the_key_of_days_also_where_nobody_is_mapped(line):
    line.write(stays(), remember="units").publish("one")
    private = line.plan().line.private
    assert not (private / "map").exists()
    assert b"people-key" in backup(private)


COMPOSED = [
    {},
    {
        "columns": EXACT["columns"],
        "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
        "partition": {"method": "anatomy"},
        "form": {"method": "permuted"},
    },
]


@pytest.mark.parametrize("changes", COMPOSED, ids=["generalized", "permuted"])
def test_composed_versions_go_on_with_coded_values(line, changes, call):
    """Who is the same below the codings has not changed."""
    composed = {"versions": {"rule": "composed"}, **changes}
    first = line.write(stays(), **composed).publish("one").directory
    going = stays()[6:]
    going[0]["code"] = f"{going[0]['code'][:4]}-moved-within"
    second = line.write([*going, *stays(12, first=1000, seed=5)], **composed).publish("two")
    rows = open_release(second.directory).declared.rows
    assert rows.read == 246
    assert rows.published > 230
    assert call("check", second.directory, "--previous", first)[0] == 0
