"""A line's private state: lost, old, another's, backed up, wrapped, rekeyed."""

import json
import os
import shutil

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.cli.main import run
from sfumato.flows.life import lines
from sfumato.tasks.lines import line as places
from sfumato.tasks.lines.line import require_ours
from sfumato.tasks.lines.versions import RECORD, read_record
from sfumato.tasks.private import workdir
from sfumato.tasks.private.keys import PASSPHRASE, line_key
from sfumato.tasks.private.people import backup as backups
from sfumato.tasks.private.people.lines import forget_line
from sfumato.tasks.private.state import STATE, read_state
from tests.release.small import people

FRESH = {"first": 1000, "seed": 2}


@pytest.fixture
def line(with_versions):
    """The line's places, one version being published."""
    return with_versions(1)


def files_of(directory):
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def state_of(line):
    return backups.state_files(line.private)


def as_format_0(line):
    """The state and the record as software before formats wrote them."""
    for place, later in ((line.private / STATE, ()), (line.public / RECORD, ("owner",))):
        document = json.loads(place.read_bytes())
        for name in ("format", "counter", *later):
            del document[name]
        place.write_text(json.dumps(document), encoding="utf-8")
    return (line.private / STATE).read_bytes()


def test_state_and_record_count_every_version(small, line):
    small.write(people(**FRESH)).publish("two")
    state, record = read_state(line.private), read_record(line.public)
    assert (state.counter, record.counter) == (2, 2)
    assert (state.format, record.format) == (3, 1)
    small.publish("three")  # stands
    assert read_record(line.public).counter == 2
    assert not list(line.private.glob("*.format-*"))  # no older software ever wrote them


def test_a_version_stands_also_where_its_line_told_nothing_of_itself(small, line):
    forget_line(line.work, line.name)
    assert small.publish("stands").existed


def test_a_record_without_an_owner_is_not_somebody_elses(line):
    state = read_state(line.private).model_copy(update={"former_mark": "before"})
    record = read_record(line.public)
    with pytest.raises(PromiseError, match="of another work directory"):
        require_ours(line, state, record.model_copy(update={"owner": "other"}), ["0001"])
    assert require_ours(line, state, record.model_copy(update={"owner": None}), ["0001"]) is None


def test_what_format_0_said_is_kept_for_older_software(small, line):
    before = as_format_0(line)
    public = (line.public / RECORD).read_bytes()
    assert small.publish("stands").existed
    assert (line.private / STATE).read_bytes() == before
    small.write(people(**FRESH)).publish("two")
    assert (line.private / "state.format-0.json").read_bytes() == before
    assert (line.private / "releases.format-0.json").read_bytes() == public
    record = read_record(line.public)
    assert (record.format, record.counter, read_state(line.private).counter) == (1, 1, 1)
    assert record.owner is not None


@pytest.mark.parametrize("place", [STATE, RECORD])
def test_what_newer_software_wrote_is_refused_in_one_line(small, line, place):
    path = (line.private if place == STATE else line.public) / place
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "format": 9}), encoding="utf-8")
    before = files_of(line.public)
    with pytest.raises(
        InputError, match=("format 9 is newer than this software, which reads formats")
    ):
        small.publish("two")
    assert files_of(line.public) == before


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"17", b"{", b'{"versions": 3}', b"[" * 100_000, b"\xff\xfe\x00\xd8"]
)
def test_a_damaged_state_is_refused(small, line, content):
    (line.private / STATE).write_bytes(content)
    with pytest.raises(PromiseError, match=r"state\.json: cannot be read"):
        small.publish("two")


@pytest.mark.parametrize("versions", ["disjoint", "accepted-risk"])
def test_a_lost_state_refuses_rather_than_redraws(small, line, versions):
    (line.private / STATE).unlink()
    small.write(people(seed=5), versions=versions)
    with pytest.raises(
        PromiseError,
        match=r"lost or from an old backup: it is older .* \(0 < 1\). To continue, restore",
    ):
        small.publish("two")


def test_a_lost_key_refuses_rather_than_recognises_nobody(small, line):
    (line.private / "key").unlink()
    with pytest.raises(PromiseError, match="key: the key is missing"):
        small.write(people(**FRESH)).publish("two")
    assert not (line.private / "key").exists()


def test_another_key_is_another_line(small, line):
    (line.private / "key").write_bytes(os.urandom(32))
    with pytest.raises(PromiseError, match="another work directory"):
        small.write(people(**FRESH)).publish("two")


def test_an_old_backup_put_back_by_hand_is_noticed(small, line, tmp_path):
    shutil.copytree(line.private, tmp_path / "backup")
    small.write(people(**FRESH)).publish("two")
    shutil.rmtree(line.private)
    shutil.copytree(tmp_path / "backup", line.private)
    with pytest.raises(PromiseError, match=r"older than its public record \(1 < 2\)"):
        small.write(people(first=3000)).publish("three")


def test_a_record_without_its_counter_does_not_hide_unknown_versions(small, line, tmp_path):
    """Whoever owns the public directory can edit it: the versions themselves still count."""
    shutil.copytree(line.private, tmp_path / "backup")
    small.write(people(**FRESH)).publish("two")
    shutil.rmtree(line.private)
    shutil.copytree(tmp_path / "backup", line.private)
    record = json.loads((line.public / RECORD).read_bytes())
    (line.public / RECORD).write_text(json.dumps({**record, "counter": 0}), encoding="utf-8")
    with pytest.raises(PromiseError, match=r"version 0002 .* is not known here"):
        small.publish("three")


def test_a_backup_brings_a_lost_line_back(small, line, tmp_path, capsys):
    file = tmp_path / "kept" / "wages.backup"
    file.parent.mkdir()
    assert run(["line", "backup", str(small.spec), str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    before = state_of(line)
    shutil.rmtree(line.private)
    assert run(["line", "restore", str(small.spec), str(file)]) == 0
    assert state_of(line) == before
    assert all(p.stat().st_mode & 0o077 == 0 for p in [line.private, *line.private.rglob("*")])
    assert small.publish("again").existed
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.write(people(seed=5)).publish("two")


def test_a_backup_replaces_a_damaged_state(small, line, tmp_path):
    file = tmp_path / "backup"
    lines.back_up(small.spec, file)
    (line.private / STATE).write_bytes(b"{")
    (line.private / "units" / "0007").write_bytes(b"stray")
    lines.restore(small.spec, file)
    assert small.publish("again").existed
    assert not (line.private / "units" / "0007").exists()


def test_an_old_backup_is_refused(small, line, tmp_path):
    file = tmp_path / "backup"
    lines.back_up(small.spec, file)
    small.write(people(**FRESH)).publish("two")
    before = state_of(line)
    with pytest.raises(
        PromiseError,
        match=(
            r"is older than the line \(1 < 2\), and would lose "
            r"later"
        ),
    ):
        lines.restore(small.spec, file)
    assert state_of(line) == before
    shutil.rmtree(line.private)
    with pytest.raises(
        PromiseError,
        match=(
            r"is older than the line \(1 < 2\), and would lose "
            r"later"
        ),
    ):
        lines.restore(small.spec, file)


def damaged_backups(content):
    """Backups that are none, by what is wrong with them."""
    middle = content.index(b"versions")
    yield "empty", b""
    yield "no archive", b"x" * 2000
    yield "cut", content[: len(content) // 2]
    yield "flipped", content[:middle] + b"X" + content[middle + 1 :]


@pytest.mark.parametrize("kind", ["empty", "no archive", "cut", "flipped"])
def test_a_damaged_backup_changes_nothing(small, line, tmp_path, kind):
    file = tmp_path / "backup"
    lines.back_up(small.spec, file)
    file.write_bytes(dict(damaged_backups(file.read_bytes()))[kind])
    before = state_of(line)
    with pytest.raises(InputError, match=r"is not a backup|is damaged"):
        lines.restore(small.spec, file)
    assert state_of(line) == before


@pytest.mark.parametrize("stray", ["../outside", "/outside", "units/../../outside", "other"])
def test_a_backup_writes_nothing_but_a_state(small, line, tmp_path, stray):
    file = tmp_path / "backup"
    file.write_bytes(backups.pack(line.name, {**state_of(line), stray: b"x"}))
    with pytest.raises(InputError, match="is damaged or incomplete"):
        lines.restore(small.spec, file)
    assert not (line.private.parent / "outside").exists()


def test_another_lines_backup_is_refused(small, line, tmp_path):
    file = tmp_path / "backup"
    file.write_bytes(backups.pack("other", state_of(line)))
    with pytest.raises(InputError, match="something other than wages"):
        lines.restore(small.spec, file)


def test_a_restore_that_was_cut_short_is_finished(small, line, tmp_path, monkeypatch):
    file = tmp_path / "backup"
    lines.back_up(small.spec, file)
    before = state_of(line)
    shutil.rmtree(line.private)
    written = []

    def once(path, content, mode=0o600):
        if written:
            raise KeyboardInterrupt
        written.append(path)
        write(path, content, mode)

    write = backups.write_atomically
    with monkeypatch.context() as patched:
        patched.setattr(backups, "write_atomically", once)
        with pytest.raises(KeyboardInterrupt):
            lines.restore(small.spec, file)
    assert state_of(line) == {}
    assert small.publish("again").existed
    assert state_of(line) == before


def test_a_new_lines_key_is_wrapped_where_there_is_a_passphrase(small, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    small.publish("one")
    line = small.plan().line
    wrapped = (line.private / "key").read_bytes()
    secret = line_key(line.private)
    assert secret not in wrapped
    assert json.loads(wrapped)["format"] == 1
    monkeypatch.setenv(PASSPHRASE, "mistaken")
    with pytest.raises(InputError, match=r"passphrase in .* is wrong") as refused:
        small.publish("two")
    assert "mistaken" not in str(refused.value)
    monkeypatch.delenv(PASSPHRASE)
    with pytest.raises(InputError, match=r"is encrypted\. Set SFUMATO_KEY_PASSPHRASE"):
        small.publish("three")


def test_the_passphrase_changes_and_the_secret_stays(small, line, monkeypatch):
    secret = line_key(line.private)
    assert run(["line", "passphrase", str(small.spec)]) == 2  # none is given
    for old, new in ((None, "first"), ("first", "second")):
        if old:
            monkeypatch.setenv(PASSPHRASE, old)
        monkeypatch.setenv(lines.NEW_PASSPHRASE, new)
        assert run(["line", "passphrase", str(small.spec)]) == 0
        monkeypatch.setenv(PASSPHRASE, new)
        assert line_key(line.private) == secret
        assert (line.private / "key").read_bytes() != secret
    assert small.publish("again").existed
    assert run(["line", "passphrase", str(small.spec), "--remove"]) == 0
    assert (line.private / "key").read_bytes() == secret


@pytest.mark.parametrize("field", ["salt", "nonce", "wrapped", "cost"])
def test_a_damaged_wrapped_key_is_refused(small, monkeypatch, field):
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    small.publish("one")
    path = small.plan().line.private / "key"
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, field: "AAAA"}), encoding="utf-8")
    with pytest.raises((InputError, PromiseError)) as refused:
        small.publish("two")
    assert "key" in str(refused.value)


def rekey_line(small, *more):
    return run(["line", "rekey", str(small.spec), *more])


@pytest.fixture
def two_sources(small, line):
    """A line of two versions, and the source of each by its number."""
    shutil.copyfile(small.folder / "people.csv", small.folder / "first.csv")
    small.write(people(**FRESH)).publish("two")
    return {"0001": "first.csv", "0002": "people.csv"}


def test_rekeying_says_that_the_key_of_names_stays(small, line, two_sources, capsys):
    names = line.work / "people" / "key"
    before = names.read_bytes()
    assert rekey_line(small, "--source=0001=first.csv", "--source=0002=people.csv") == 0
    assert (
        f"{names}: the key of people's names is another key, and did not change"
        in capsys.readouterr().err
    )
    assert names.read_bytes() == before


def test_a_rekeyed_line_recognises_everybody_by_another_key(small, line, two_sources):
    old, before = line_key(line.private), state_of(line)
    options = [f"--source={number}={uri}" for number, uri in two_sources.items()]
    assert rekey_line(small, *options) == 0
    assert line_key(line.private) != old
    after = state_of(line)
    assert after.keys() == before.keys()
    of_people = ("map/", "units-normal/", "rows-normal/")  # named by the other key
    hashed = [path for path in after if not path.startswith(of_people)]
    assert all(after[path] != before[path] for path in hashed)
    state, record = read_state(line.private), read_record(line.public)
    assert (state.counter, record.counter) == (3, 3)
    assert small.publish("stands").existed
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.write(people(seed=5)).publish("three")
    third = small.write(people(first=5000, seed=9)).publish("four")
    assert third.directory.name == "0003"


def test_a_line_is_not_rekeyed_without_every_source(small, line, two_sources, capsys):
    before = state_of(line)
    assert rekey_line(small, "--source=0001=first.csv") == 2
    assert "--source 0002: its source is missing" in capsys.readouterr().err
    options = ["--source=0001=first.csv", "--source=0002=people.csv"]
    assert rekey_line(small, *options, "--source=0009=people.csv") == 2
    assert "--source 0009: is not a version of the line" in capsys.readouterr().err
    assert rekey_line(small, "--source=0001=people.csv", "--source=0002=people.csv") == 2
    assert "version 0001 was not made from this source" in capsys.readouterr().err
    assert state_of(line) == before


def test_a_backup_from_before_the_rekeying_is_noticed(small, line, two_sources, tmp_path):
    shutil.copytree(line.private, tmp_path / "old")
    assert rekey_line(small, *[f"--source={n}={uri}" for n, uri in two_sources.items()]) == 0
    shutil.rmtree(line.private)
    shutil.copytree(tmp_path / "old", line.private)
    with pytest.raises(PromiseError, match="another work directory"):
        small.publish("three")


def test_rekeying_that_was_cut_short_before_the_record_goes_on(
    small, line, two_sources, monkeypatch
):
    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lines, "take_ownership", kill)
        with pytest.raises(KeyboardInterrupt):
            lines.rekey(small.spec, two_sources, {})
    third = small.write(people(first=5000, seed=9)).publish("three")
    assert third.directory.name == "0003"
    assert small.publish("again").existed


def test_two_directories_of_one_line_never_get_two_draws(small, line):
    """The line's own lock is taken first: the second run finds what the first remembers."""
    small.write(people(), publish={"uri": "elsewhere"})
    with pytest.raises(PromiseError, match="is missing in"):
        small.publish("two")


def test_both_locks_are_taken_the_lines_first(small, line, monkeypatch):
    taken = []

    def note_lock(path):
        taken.append(path)
        return locked(path)

    locked = places.hold_lock
    monkeypatch.setattr(places, "hold_lock", note_lock)
    monkeypatch.setattr(workdir, "hold_lock", note_lock)
    with places.hold(line):
        assert taken == [line.private / ".publishing", line.public / ".lock"]
