"""A withdrawn version: its tombstone, what readers are told, and what goes on to count."""

import json
import os
import shutil

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.life.lines import back_up, restore
from sfumato.tasks.lines import tombstones as exchanges
from sfumato.tasks.lines.kept import keep_release
from sfumato.tasks.lines.line import replace_record
from sfumato.tasks.lines.snapshot import snapshot
from sfumato.tasks.lines.versions import RECORD, read_record, write_record
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.backup import WITHDRAWN, pack, state_files
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.withdrawal import withdraw, withdraw_after_evaluation
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tombstone import WITHDRAWAL, Tombstone, read_tombstone
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.corpus.lines import PASSPHRASE as CORPUS_PASSPHRASE
from tests.corpus.lines import frozen_lines
from tests.parts.divided import Divided, visits
from tests.release.evolving import Evolving, digest_of, forge
from tests.release.small import people
from tests.release.test_previous import VALUES, by_group, continued_groups, other_job

REASON = "the wrong table"
TIME = "2026-02-03T04:05:06+00:00"


@pytest.fixture(autouse=True)
def reader(monkeypatch, tmp_path):
    """A reader who knows no release and trusts nobody yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_tombstone_stands_in_its_place(two):
    digest = digest_of(two.public / "0002")
    done = withdraw(two, "0002", REASON, TIME)
    place = two.public / "0002"
    assert names(place) == ["index.html", "withdrawal.json"]
    tombstone = Tombstone(line="wages", version="0002", digest=digest, time=TIME, reason=REASON)
    assert (done.tombstone, done.current, done.existed) == (tombstone, "0001", False)
    assert read_tombstone(place) == tombstone
    assert place.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o444}
    assert not [*two.public.glob(".withdraw*"), *two.public.glob(".*.tmp")]
    record = read_record(two.public)
    assert (record.current, record.versions["0002"].status) == ("0001", "withdrawn")
    assert check(two.public / "0001").verdicts


def test_the_latest_that_was_not_withdrawn_is_current_or_none(two):
    assert withdraw(two, "0001", REASON).current == "0002"
    assert withdraw(two, "0002", REASON).current is None


def test_what_is_done_is_done_once(two):
    first = withdraw(two, "0002", REASON, TIME)
    again = withdraw(two, "0002", "another reason")
    assert (again.existed, again.tombstone) == (True, first.tombstone)


def test_nothing_of_what_was_published_is_in_a_tombstone(two):
    place = two.public / "0002"
    rows = open_release(place).table("microdata").to_pylist()
    observed = json.loads((place / "datapackage.json").read_bytes())["sfumato"]["observed"]
    assert rows
    assert observed
    withdraw(two, "0002", REASON)
    content = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    for secret in ("Cé, the long", "Bee", "observed", "promises", "ke-anonymity"):
        assert secret.encode() not in content.split(b"</style>")[-1], secret


@pytest.mark.parametrize(
    "command",
    [
        ("check", "{}"),
        ("check", "{}", "--digest", "0" * 64),
        ("query", "{}", "SELECT COUNT(*) FROM microdata"),
        ("query", "--serve", "{}"),
        ("load", "{}", "sqlite:///{}/x.db"),
        ("diff", "{}", "{}"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_readers_are_told(two, call, command):
    withdraw(two, "0002", REASON, TIME)
    place = two.public / "0002"
    code, out, error = call(*(part.format(place) for part in command))
    assert (code, out) == (3, "")
    assert f"{place}: was withdrawn on 2026-02-03: {REASON}" in error


def test_readers_are_told_before_the_files_are_gone(two, call):
    """Killed after the record, or withdrawn by software that knew no tombstones."""
    replace_record(two, read_record(two.public).with_withdrawal("0002"))
    for command in (("check",), ("query",)):
        sql = ("SELECT COUNT(*) FROM microdata",) if command == ("query",) else ()
        code, out, error = call(*command, two.public / "0002", *sql)
        assert (
            code,
            out,
            "0002: was withdrawn, " in error and "the record beside it" in error,
        ) == (
            3,
            "",
            True,
        )
    assert call("check", two.public / "0001")[0] == 0


def test_a_record_of_other_versions_says_nothing_of_this_one(two, tmp_path, call):
    replace_record(two, read_record(two.public).with_withdrawal("0002"))
    shutil.copytree(two.public / "0001", tmp_path / "copies" / "0002")
    shutil.copy(two.public / RECORD, tmp_path / "copies" / RECORD)
    assert call("check", tmp_path / "copies" / "0002")[0] == 0


def test_what_older_software_only_marked_is_finished(two):
    replace_record(two, read_record(two.public).with_withdrawal("0002"))
    done = withdraw(two, "0002", REASON)
    assert (done.existed, names(two.public / "0002")) == (False, ["index.html", "withdrawal.json"])


def test_a_version_whose_directory_is_gone_is_withdrawn_all_the_same(two):
    shutil.rmtree(two.public / "0002")
    withdraw(two, "0002", REASON)
    assert read_tombstone(two.public / "0002").reason == REASON


def test_a_tombstone_that_cannot_be_read_is_one(two, call):
    withdraw(two, "0002", REASON)
    place = two.public / "0002" / "withdrawal.json"
    place.chmod(0o644)
    place.write_text("{")
    code, _, error = call("check", place.parent)
    assert (code, "was withdrawn" in error) == (3, True)


@pytest.mark.parametrize("forged", ["{", None])
def test_one_beside_the_files_of_a_version_is_nobodys_word(two, forged, call):
    """Whoever can write there could else keep a version in its place, under a reason of his own."""
    place = two.public / "0002"
    tombstone = Tombstone(
        line="wages", version="0002", digest="0" * 64, time=TIME, reason="not ours"
    )
    (place / "withdrawal.json").write_text(forged or tombstone.model_dump_json())
    replace_record(two, read_record(two.public).with_withdrawal("0002"))
    assert "withdrawn, in place" in call("releases", two.public)[1]
    done = withdraw(two, "0002", REASON)
    assert (done.existed, names(place)) == (False, ["index.html", "withdrawal.json"])
    assert read_tombstone(place).reason == REASON
    assert not [*two.public.glob(".withdraw*")]


def test_a_record_that_contradicts_itself_is_put_right(two):
    record = read_record(two.public)
    marked = record.versions["0002"].model_copy(update={"status": "withdrawn"})
    versions = {**record.versions, "0002": marked}
    replace_record(two, record.model_copy(update={"versions": versions}))
    assert withdraw(two, "0002", REASON).current == "0001"
    assert read_record(two.public) == record.with_withdrawal("0002")


def test_a_pipe_in_the_name_of_a_tombstone_is_not_waited_for(two, call):
    os.mkfifo(two.public / "0002" / "withdrawal.json")
    assert call("check", two.public / "0002")[0] == 3  # it does not belong there
    assert read_tombstone(two.public / "0002") is None


def test_a_tombstone_that_the_record_forgot_is_recorded_again(two):
    withdraw(two, "0002", REASON)
    record = read_record(two.public)
    stands = record.versions["0002"].model_copy(update={"status": "published"})
    versions = {**record.versions, "0002": stands}
    write_record(two.public, record.model_copy(update={"versions": versions, "current": "0002"}))
    assert withdraw(two, "0002", REASON).existed
    assert read_record(two.public).current == "0001"


def test_words_that_cannot_be_read_keep_no_version_in_its_place(two):
    (two.public / "line.json").write_text("{")
    withdraw(two, "0002", REASON)
    assert read_tombstone(two.public / "0002").reason == REASON


def test_two_renames_where_no_step_exchanges(two, monkeypatch):
    renamed = []

    def rename(old, new):
        renamed.append((old.name, new.name))
        old.rename(new)

    monkeypatch.setattr(exchanges, "_exchange_at_once", lambda *_: False)
    monkeypatch.setattr(exchanges, "rename", rename)
    withdraw(two, "0002", REASON)
    assert renamed == [("0002", ".withdrawn-0002"), (".withdrawal-0002", "0002")]
    assert names(two.public / "0002") == ["index.html", "withdrawal.json"]
    assert not [*two.public.glob(".withdraw*")]


def test_the_exchange_is_one_step_here(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchanges._exchange_at_once(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system cannot exchange two directories")
    assert (names(tmp_path / "one"), names(tmp_path / "other")) == (["other"], ["one"])


@pytest.mark.parametrize("number", ["0003", "..", "keys.json"])
def test_only_a_version_is_withdrawn(two, number):
    with pytest.raises(InputError, match="is not a version of wages"):
        withdraw(two, number, REASON)


def test_another_work_directory_withdraws_nothing(two, tmp_path, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "another"))
    code, _, error = call("withdraw", two.public / "0002", "--reason", REASON, "--yes")
    assert (code, "was not published by a line wages" in error) == (3, True)
    assert check(two.public / "0002").verdicts


def test_the_line_goes_on_and_nobody_of_it_is_published_again(small, two):
    withdraw(two, "0002", REASON)
    with pytest.raises(PromiseError, match="was withdrawn"):
        small.publish("again")
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.write(people(first=1000, seed=5)).publish("others' values")
    assert small.write(people(first=2000, seed=3)).publish("three").directory.name == "0003"


class TestOnTheCommandLine:
    def test_without_a_terminal_it_is_not_done_unasked(self, two, call):
        code, out, error = call("withdraw", two.public / "0002", "--reason", REASON)
        assert (code, out, error.count(REASON)) == (2, "", 1)
        assert "nothing was withdrawn, because there is no terminal" in error
        assert check(two.public / "0002").verdicts

    @pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 1)])
    def test_the_reason_is_shown_before_it_is_asked(self, two, call, monkeypatch, answer, code):
        questions = []

        class Terminal:
            def isatty(self):
                return True

        def confirm(text, **_):
            questions.append(text)
            return answer

        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("click.confirm", confirm)
        exit_code, _, error = call("withdraw", two.public / "0002", "--reason", REASON)
        assert (exit_code, len(questions)) == (code, 1)
        lines = error.splitlines()
        assert lines[lines.index(f"  {REASON}") - 1].startswith("This reason will be public")
        assert "Copies that others have cannot be recalled" in error
        assert (read_tombstone(two.public / "0002") is not None) == answer

    @pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 501, "\x1b[2J"])
    def test_a_reason_is_a_line_of_text(self, two, call, reason):
        code, _, error = call("withdraw", two.public / "0002", "--reason", reason, "--yes")
        assert (code, "reason: must be one line of text" in error) == (2, True)

    def test_done_again_it_says_so(self, two, call):
        assert call("withdraw", two.public / "0002", "--reason", REASON, "--yes")[0] == 0
        code, _, error = call("withdraw", two.public / "0002", "--reason", "another")
        assert (code, f": {REASON}" in error) == (0, True)


class TestSigned:
    @pytest.fixture
    def signed_version(self, small, call, monkeypatch):
        monkeypatch.setenv(PASSPHRASE, "correct horse")
        assert call("keys", "generate", "town")[0] == 0
        assert call("keys", "generate", "next")[0] == 0
        small.write(people(), publish={"uri": "public", "signed-by": "town"})
        version = small.publish("one").directory
        assert call("keys", "trust", version.parent)[0] == 0
        return version

    def refusal_text(self, call, version):
        code, _, error = call("check", version)
        assert code == 3
        return error

    def test_by_the_key_of_the_version(self, signed_version, call):
        assert call("withdraw", signed_version, "--reason", REASON, "--yes")[0] == 0
        assert "the withdrawal is signed by town (" in self.refusal_text(call, signed_version)
        assert "you do not trust yet" not in self.refusal_text(call, signed_version)
        (there,) = snapshot(signed_version.parent).withdrawn
        assert list(there.tombstone())[-1] == WITHDRAWAL, "what makes it one is copied last"

    def test_by_the_key_that_took_its_place(self, signed_version, call):
        assert call("keys", "rotate", "town", "next", signed_version.parent)[0] == 0
        assert call("withdraw", signed_version, "--reason", REASON, "--yes")[0] == 0
        assert "the withdrawal is signed by next (" in self.refusal_text(call, signed_version)

    def test_by_none_where_that_is_said(self, signed_version, call):
        assert call("withdraw", signed_version, "--reason", REASON, "--yes", "--unsigned")[0] == 0
        assert "the withdrawal is not signed" in self.refusal_text(call, signed_version)

    def test_without_the_passphrase_nothing_is_withdrawn(self, signed_version, call, monkeypatch):
        monkeypatch.delenv(PASSPHRASE)
        code, _, error = call("withdraw", signed_version, "--reason", REASON, "--yes")
        assert (code, "--unsigned withdraws it" in error) == (2, True)
        assert call("check", signed_version)[0] == 0

    def test_without_the_key_nothing_is_withdrawn(self, signed_version, call, tmp_path):
        (tmp_path / "work" / "keys" / "town").unlink()
        code, _, error = call("withdraw", signed_version, "--reason", REASON, "--yes")
        assert (code, "--signed-by: the version was signed by town" in error) == (2, True)

    @pytest.mark.parametrize("field", ["reason", "time", "digest", "version"])
    def test_another_word_is_not_the_publishers(self, signed_version, call, field):
        assert call("withdraw", signed_version, "--reason", REASON, "--yes")[0] == 0
        place = signed_version / "withdrawal.json"
        document = json.loads(place.read_bytes())
        others = {"reason": "x", "time": TIME, "digest": "0" * 64, "version": "0007"}
        place.chmod(0o644)
        place.write_text(json.dumps({**document, field: others[field]}))
        assert "the signature of the withdrawal does not match it" in self.refusal_text(
            call, signed_version
        )

    def test_after_a_failed_evaluation(self, signed_version, small, call, monkeypatch):
        withdraw_after_evaluation(small.plan().line, "0001", REASON)
        assert "is signed by town (" in self.refusal_text(call, signed_version)

    def test_that_nobody_can_sign_saves_no_version(self, signed_version, small, call, monkeypatch):
        monkeypatch.delenv(PASSPHRASE)
        withdraw_after_evaluation(small.plan().line, "0001", REASON)
        assert "the withdrawal is not signed" in self.refusal_text(call, signed_version)


class TestComposed:
    """A withdrawn version goes on to count."""

    @pytest.fixture(params=["split", "generalized"])
    def line(self, request, tmp_path, monkeypatch):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        line = Evolving(tmp_path / "line", request.param)
        line.publish()
        line.move()
        line.publish()
        return line

    def place(self, line, tmp_path):
        return self.line_of_spec(line).private / WITHDRAWN / "0002"

    def line_of_spec(self, line):
        from sfumato.flows.inputs.resolved import resolve_run

        return resolve_run(line.write()).line

    def test_the_next_version_continues_it(self, line, tmp_path):
        before = digest_of(line.versions[1])
        done = withdraw(self.line_of_spec(line), "0002", REASON)
        assert (done.kept, self.place(line, tmp_path).stat().st_mode & 0o777) == (True, 0o600)
        line.move()
        now = open_release(line.publish()).declared
        assert (line.versions[-1].name, now.predecessor) == ("0003", before)
        composition_file = self.line_of_spec(line).reports("0003") / "composition.json"
        assert json.loads(composition_file.read_bytes())["exposure"]["versions"] == 3
        assert check(line.versions[-1]).verdicts
        assert not self.place(line, tmp_path).exists()

    def test_what_was_kept_before_the_files_were_gone_is_still_kept(self, line, tmp_path):
        of_line = self.line_of_spec(line)
        assert keep_release(of_line, "0002", read_state(of_line.private))
        for path in sorted(line.versions[1].rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        assert withdraw(of_line, "0002", REASON).kept is True

    def test_of_versions_before_the_last_nothing_is_kept(self, line, tmp_path):
        assert withdraw(self.line_of_spec(line), "0001", REASON).kept is False
        assert not (self.line_of_spec(line).private / WITHDRAWN).exists()
        line.move()
        assert line.publish().name == "0003"

    def test_the_next_version_is_held_against_its_tables(self, line, tmp_path):
        def change(tables):
            group = by_group(tables[VALUES[line.kind]])[continued_groups(tables)[0]]
            group[0]["job"] = other_job(group)

        forged = forge(line.versions[1], tmp_path / "forged", change)
        withdraw(self.line_of_spec(line), "0002", REASON)
        paths = [forged / "datapackage.json", *(forged / "data").glob("*.parquet")]
        files = {path.relative_to(forged).as_posix(): path.read_bytes() for path in paths}
        self.place(line, tmp_path).write_bytes(pack("0002", files))
        line.move()
        with pytest.raises(PromiseError, match=r"composed is broken: .*other values than before"):
            line.publish()

    @pytest.mark.parametrize("lost", ["gone", "damaged"])
    def test_without_what_was_kept_nothing_follows(self, line, tmp_path, lost):
        withdraw(self.line_of_spec(line), "0002", REASON)
        place = self.place(line, tmp_path)
        if lost == "gone":
            place.unlink()
        else:
            place.write_bytes(place.read_bytes().replace(b"PAR1", b"PAR2"))
        line.move()
        with pytest.raises(PromiseError, match="the private copy for this comparison is missing"):
            line.publish()

    def test_a_backup_has_it_and_an_older_one_leaves_it(self, line, tmp_path):
        older, newer = tmp_path / "older", tmp_path / "newer"
        back_up(line.write(), older)
        withdraw(self.line_of_spec(line), "0002", REASON)
        place = self.place(line, tmp_path)
        content = place.read_bytes()
        back_up(line.write(), newer)
        restore(line.write(), older)
        assert place.read_bytes() == content
        place.unlink()
        restore(line.write(), newer)
        assert state_files(self.line_of_spec(line).private)[f"{WITHDRAWN}/0002"] == content
        line.move()
        assert line.publish().name == "0003"


def contents(directory):
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory): path.read_bytes() for path in files}


@pytest.mark.parametrize("line", frozen_lines(), ids=lambda line: f"{line.folder.name}-{line.form}")
@pytest.mark.usefixtures("few_queries", "undrawn")
def test_versions_of_every_format_are_withdrawn(line, tmp_path, monkeypatch, call):
    copy = line.copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    monkeypatch.setenv(PASSPHRASE, CORPUS_PASSPHRASE)
    code, out, error = call("withdraw", copy.public / "0002", "--reason", REASON, "--yes")
    assert (code, out.endswith("withdrawn; current: 0001\n")) == (0, True), error
    assert call("check", copy.public / "0002")[0] == 3
    before = line.public / "0001"  # which tests/reader/test_frozen_lines.py checks
    assert contents(copy.public / "0001") == contents(before)
    published = copy.run("third", tmp_path / "run", seeded_keys(3))
    assert (published.existed, published.directory.name) == (False, "0003")


def test_a_release_in_parts_is_withdrawn(tmp_path, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    divided = Divided(tmp_path / "line").write(visits(200))
    version = divided.publish("one").directory
    assert (version / "parts").is_dir()
    assert call("withdraw", version, "--reason", REASON, "--yes")[0] == 0
    assert names(version) == ["index.html", "withdrawal.json"]
    assert call("check", version)[0] == 3
