"""Killed anywhere, a withdrawal has not begun or is completed by whatever opens the line next."""

import shutil
import signal
from importlib import import_module

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.lines import tombstones
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.terms.tombstone import is_tombstone, read_tombstone
from tests.faults.stop_at import arm
from tests.forked import in_child
from tests.release.small import people

WITHDRAWAL = "sfumato.tasks.publication.withdrawal"
TOMBSTONES = "sfumato.tasks.lines.tombstones"
NOT_BEGUN = [
    f"before:{WITHDRAWAL}:keep_release",
    f"after:{WITHDRAWAL}:keep_release",
    f"before:{WITHDRAWAL}:stage_tombstone",
    f"before:{TOMBSTONES}:write_atomically",
    f"after:{TOMBSTONES}:write_atomically",
    f"after:{WITHDRAWAL}:stage_tombstone",
    f"before:{WITHDRAWAL}:replace_record",
]
BEGUN = [
    f"after:{WITHDRAWAL}:replace_record",
    f"before:{TOMBSTONES}:exchange",
    f"after:{TOMBSTONES}:exchange",
    f"before:{TOMBSTONES}:_delete_left",
    f"before:{WITHDRAWAL}:refresh_pages",
    f"after:{WITHDRAWAL}:refresh_pages",
]
RENAMES = [
    f"before:{TOMBSTONES}:rename",
    f"after:{TOMBSTONES}:rename",
    f"before:{TOMBSTONES}:sync_directory",
]
REASON = "a wrong table"
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A line with two versions."""
    from tests.release.small import Small

    place = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        small = Small(place / "line").write(people())
        small.publish("one")
        small.write(people(first=1000, seed=2)).publish("two")
    return place


@pytest.fixture
def place(template, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(template, copy, symlinks=True)
    monkeypatch.setenv("SFUMATO_WORK", str(copy / "work"))
    return copy


def kill_withdrawal(place, point, *, renames=False):
    def withdraw_here():
        if renames:
            tombstones._exchange_at_once = lambda *_: False
        arm(point)
        return run(["withdraw", "line/public/wages/0002", "--reason", REASON, "--yes"])

    ran = in_child(withdraw_here, place)
    assert ran.code == -signal.SIGKILL, ran.err


def line_of(place):
    from tests.release.small import Small

    return Small(place / "line")


def of_withdrawal(public):
    return [path.name for path in public.glob(".withdraw*")]


def test_every_point_is_still_there():
    for point in [*NOT_BEGUN, *BEGUN, *RENAMES]:
        module, name = point.partition(":")[2].split(":")
        assert callable(getattr(import_module(module), name)), point


@pytest.mark.parametrize("point", NOT_BEGUN)
def test_before_the_record_nothing_is_withdrawn(place, point):
    public = place / "line" / "public" / "wages"
    before = (public / "index.html").read_bytes()
    kill_withdrawal(place, point)
    assert read_record(public).current == "0002"
    assert run(["check", str(public / "0002")]) == 0
    small = line_of(place)
    small.write(people(first=2000, seed=3)).publish("three")
    record = read_record(public)
    assert (record.current, record.versions["0002"].status) == ("0003", "superseded")
    assert of_withdrawal(public) == []
    assert REASON.encode() not in (public / "index.html").read_bytes()
    assert before != (public / "index.html").read_bytes()


@pytest.mark.parametrize("again", ["withdraw", "release", "describe"])
@pytest.mark.parametrize("point", BEGUN)
def test_after_the_record_it_is_completed(place, point, again):
    assert reason_left(place, point, again) == REASON


@pytest.mark.parametrize("again", ["withdraw", "release"])
@pytest.mark.parametrize("point", RENAMES)
def test_between_two_renames_it_is_completed(place, point, again):
    assert reason_left(place, point, again, renames=True) == REASON


def reason_left(place, point, again, *, renames=False):
    """The reason on the tombstone, once another command has completed what was killed."""
    public = place / "line" / "public" / "wages"
    kill_withdrawal(place, point, renames=renames)
    version = public / "0002"
    record = read_record(public)
    assert (record.current, record.versions["0002"].status) == ("0001", "withdrawn")
    # whole, or a tombstone, or for a moment nothing; never read as if it stood
    assert is_tombstone(version) or (version / "datapackage.json").exists() or not version.exists()
    assert run(["check", str(version)]) == 3
    assert run(["check", str(public / "0001")]) == 0
    small = line_of(place)
    if again == "withdraw":
        assert withdraw(small.plan().line, "0002", "another reason").existed
    elif again == "release":
        third = small.write(people(first=2000, seed=3)).publish("three").directory
        assert third.name == "0003"
    else:
        assert run(["describe", str(public), "--title", "Wages"]) == 0
    assert sorted(path.name for path in version.iterdir()) == ["index.html", "withdrawal.json"]
    assert of_withdrawal(public) == []
    for page in (public / "index.html", public / "feed.atom", public / "dcat.jsonld"):
        assert b"withdrawn" in page.read_bytes()
    assert REASON.encode() in (public / "index.html").read_bytes()
    assert b"withdrawn" in (public.parent / "index.html").read_bytes()
    return read_tombstone(version).reason


def test_between_two_renames_readers_are_told(place, capfd):
    """Nothing is in the place for a moment, and the record says why."""
    kill_withdrawal(place, f"after:{TOMBSTONES}:rename", renames=True)
    version = place / "line" / "public" / "wages" / "0002"
    assert not version.exists()
    for command in (["check"], ["query"], ["load"]):
        rest = {"query": ["SELECT COUNT(*) FROM microdata"], "load": ["sqlite:///x.db"]}
        assert run([*command, str(version), *rest.get(command[0], [])]) == 3
        assert f"{version}: was withdrawn, " in capfd.readouterr().err
    assert run(["check", str(version.with_name("0003"))]) == 2
