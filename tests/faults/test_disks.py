"""Disks that are full, limited, read-only or closed: commands say so in words, with a way out."""

import errno
import os
import shutil

import duckdb
import pyarrow as pa
import pytest

from sfumato.expectations.machine import disks
from sfumato.expectations.machine.fault import explain, reason_of, with_remedies
from sfumato.expectations.shared.errors import Fault, SpecError, TransientFault
from sfumato.flows.inputs.environment import require_home
from sfumato.tasks.lines.line import require_writable
from sfumato.tasks.private.failure import sanitise_errors
from tests.faults.full_disk import FullDisk
from tests.release.small import Small, people

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]
NOBODY = 65534
of_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
WORDS = {
    errno.ENOSPC: ("no space is left on the disk of", "make room on"),
    errno.EDQUOT: ("the quota of", "have the quota raised"),
    errno.EFBIG: ("a file is larger than the disk of", "use a directory on another disk"),
    errno.EROFS: ("is mounted read-only", "have this one mounted for writing"),
    errno.EACCES: ("permission denied in", "lsattr"),
    errno.EPERM: ("permission denied in", "lsattr"),
    errno.EMFILE: ("too many files are open", "ulimit -n"),
    errno.EIO: ("failed: it could not be read or written", "dmesg"),
}


def failure(number, *path):
    return OSError(number, f"{os.strerror(number)}: CANARY", *map(str, path))


class TestWords:
    @pytest.mark.parametrize("number", WORDS)
    def test_every_kind_says_what_failed_and_what_to_do(self, number, tmp_path):
        fault = explain(failure(number, tmp_path / "CANARY"))
        reason, remedy = WORDS[number]
        assert reason in fault.reason
        assert any(remedy in line for line in fault.remedies)
        assert fault.kind is (TransientFault if number == errno.EIO else Fault)
        assert "CANARY" not in str(fault.error("publish"))

    def test_a_disk_is_named_with_what_is_free_on_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 4200))
        monkeypatch.setattr(os.path, "ismount", lambda place: str(place) == str(tmp_path))
        reason = explain(failure(errno.ENOSPC, tmp_path / "below" / "file")).reason
        assert reason == (
            f"no space is left on the disk of {tmp_path}: 4.2 kB are free on {tmp_path}"
        )

    def test_of_disks_that_no_error_names_the_fullest_is_named(self, tmp_path, monkeypatch):
        free = {tmp_path / "full": 5}
        monkeypatch.setattr(
            shutil, "disk_usage", lambda p: shutil._ntuple_diskusage(9, 9, free.get(p, 1 << 40))
        )
        for name in ("full", "other"):
            (tmp_path / name).mkdir()
        with disks.writing_below(tmp_path / "full"), disks.writing_below(tmp_path / "other"):
            reason = explain(failure(errno.ENOSPC)).reason
        assert f"{tmp_path / 'full'}: 5 bytes are free" in reason

    def test_a_disk_without_room_for_names(self, tmp_path, monkeypatch):
        status = os.statvfs_result((4096, 4096, 9, 9, 9, 9, 0, 0, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda _: status)
        assert "no file more (no inode) is left" in explain(failure(28, tmp_path / "x")).reason

    @pytest.mark.parametrize(
        "error",
        [
            shutil.Error([("CANARY", "x", "[Errno 28] No space left on device: 'CANARY'")]),
            ValueError("IO Error: Could not write file CANARY: No space left on device"),
            RuntimeError("(sqlite3.OperationalError) database or disk is full"),
        ],
    )
    def test_errors_without_a_number_quote_the_system(self, error):
        message = str(explain(error).error())
        assert message.startswith("no space is left on the disk of ")
        assert "CANARY" not in message

    def test_a_path_that_is_too_long_is_the_users(self):
        fault = explain(failure(errno.ENAMETOOLONG, "x" * 9))
        assert (fault.kind, "shorten the paths" in fault.reason) == (SpecError, True)

    def test_a_bug_is_none(self):
        assert explain(KeyError("Permission")) is None
        assert explain(FileNotFoundError(2, "No such file")) is None
        assert reason_of(FileNotFoundError(2, "CANARY")) == "No such file or directory"

    @pytest.mark.parametrize(
        "error",
        [
            pa.ArrowInvalid("CSV conversion error to int64: invalid value No space left on device"),
            duckdb.ConversionException("Could not convert string No space left on device to INT32"),
            RuntimeError("column 'a': 'No space left on device' is no number"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_values_that_read_like_the_systems_words_are_none(self, error):
        assert explain(error) is None

    def test_a_table_with_such_a_value_is_to_blame_itself(self, tmp_path, call):
        table = tmp_path / "table.csv"
        table.write_text("age,sex\n30,f\nNo space left on device,m\n", encoding="utf-8")
        code, _, error = call("measure", table, "--qi", "age", "--types", "age=integer")
        assert code == 2
        assert "free on" not in error

    def test_words_in_parentheses_have_the_ways_out_below(self):
        message, *ways_out = with_remedies("here: cannot be written", failure(30)).splitlines()
        assert message.startswith("here: cannot be written (the disk of ")
        assert ways_out[0].startswith("  - use a directory on another disk")

    def test_a_stage_is_named_with_the_words(self, tmp_path):
        def fail():
            with sanitise_errors("anonymize"):
                raise failure(errno.ENOSPC, tmp_path / "CANARY")

        with pytest.raises(Fault) as caught:
            fail()
        words = f"anonymize: no space is left on the disk of {tmp_path}: "
        assert str(caught.value).startswith(words)
        assert caught.value.__context__ is None

    def test_a_machine_that_cannot_be_examined(self, tmp_path, monkeypatch):
        def fail(_):
            raise OSError(errno.EIO, "CANARY")

        monkeypatch.setattr(os, "statvfs", fail)
        assert explain(failure(28, tmp_path / "x")).reason == "No space left on device"


def test_a_full_home_is_said_before_a_server_starts(tmp_path, monkeypatch):
    FullDisk(tmp_path, 0).install(monkeypatch)
    with pytest.raises(Fault, match=r"PREFECT_HOME: .* cannot be written \(no space is left on"):
        require_home({"PREFECT_HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_a_home_with_room_is_left_as_it_was(tmp_path):
    require_home({"PREFECT_HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_public_place_is_said_before_a_run(tmp_path, monkeypatch):
    status = os.statvfs_result((4096, 4096, 9, 9, 9, 9, 9, 9, os.ST_RDONLY, 255))
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(os, "statvfs", lambda _: status)
    line = Small(tmp_path / "line").write(people()).plan().line
    with pytest.raises(Fault) as caught:
        require_writable(line)
    first, *ways_out = str(caught.value).splitlines()
    assert first == (
        f"publish.uri: {line.public}: cannot be written "
        f"(the disk of {tmp_path / 'line'} is mounted read-only)"
    )
    assert ways_out[-1] == "  - name another directory: --set publish.uri=DIRECTORY"


@pytest.fixture
def machine(small, forks, tmp_path):
    """Runs a command of a user without powers over others' files; its code, and what it says."""
    (tmp_path / "home").mkdir()

    def run(*arguments, limits=None, **variables):
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
        environ |= {"HOME": str(tmp_path / "home"), "SFUMATO_WORK": str(tmp_path / "work")}
        environ |= {name: str(value) for name, value in variables.items()}
        arguments = [str(argument) for argument in arguments]
        done = forks.start(arguments, environ, None, limits=limits or {})
        _, message = done.communicate(timeout=150)
        return done.returncode, message

    return small, run


def closed_place(place, mode):
    """Make a file or directory another user's, with a mode."""
    place.chmod(mode)
    os.chown(place, NOBODY, NOBODY)
    return place


def test_a_limit_of_files_is_said_in_words(machine):
    small, run = machine
    code, message = run("plan", small.spec, limits={"RLIMIT_FSIZE": 2048})
    *_, reason, remedy = message.splitlines()
    assert code == 1
    assert "is larger than this process may write (2.0 kB)" in reason
    assert "ulimit -f unlimited" in remedy


def test_a_limit_in_a_run_has_the_same_words_in_its_state(machine, prefect_api):
    from prefect.client.orchestration import get_client

    small, run = machine
    limits = {"RLIMIT_FSIZE": 2048}
    code, message = run("release", small.spec, limits=limits, PREFECT_API_URL=prefect_api)
    words = message[message.index("sfumato: ") :].removeprefix("sfumato: ").strip()
    assert (code, "is larger than this process may write (2.0 kB)" in words) == (1, True)
    assert not (small.folder / "public").exists()
    with get_client(sync_client=True) as client:
        states = [flow.state for flow in client.read_flow_runs()]
    assert ("Faulted", words) in [(state.name, state.message) for state in states if state]


@of_root
class TestPlacesOfOthers:
    @pytest.mark.parametrize("command", ["release", "plan", "measure", "init"])
    def test_a_source(self, machine, command):
        small, run = machine
        source = closed_place(small.folder / "people.csv", 0o600)
        arguments = {
            "release": [small.spec],
            "plan": [small.spec],
            "measure": [source, "--qi", "age"],
            "init": [source, "--out", small.folder / "draft.yaml"],
        }
        code, message = run(command, *arguments[command])
        assert code == 2
        assert (
            f"permission denied: {source} belongs to nobody (mode 0600), the command runs as root"
            in message
        )
        assert "  - run the command as nobody\n" in message
        assert "ingest" not in message or command != "release"  # it has not begun

    @pytest.mark.parametrize("command", ["plan", "release"])
    def test_a_spec(self, machine, command):
        small, run = machine
        closed_place(small.spec, 0o600)
        code, message = run(command, small.spec)
        reason, owner, access = message.splitlines()
        assert code == 2
        assert reason == (
            f"sfumato: {small.spec}: cannot be read "
            f"(permission denied: {small.spec} belongs to nobody (mode 0600), "
            "the command runs as root)"
        )
        assert owner == "  - run the command as nobody"
        assert access == f"  - have nobody type: setfacl --modify u:root:r {small.spec}"

    def test_a_public_place_before_anything_is_read(self, machine):
        small, run = machine
        (small.folder / "public").mkdir()
        place = closed_place(small.folder / "public", 0o755)
        code, message = run("release", small.spec)
        reason, *_, another = message.splitlines()
        assert code == 1
        assert reason == (
            f"sfumato: publish.uri: {place / 'wages'}: cannot be written "
            f"(permission denied: {place} belongs to nobody (mode 0755), the command runs as root)"
        )
        assert another == "  - name another directory: --set publish.uri=DIRECTORY"
        assert list(place.iterdir()) == []

    def test_the_private_state(self, machine, tmp_path):
        small, run = machine
        place = tmp_path / "closed"
        place.mkdir()
        closed_place(place, 0o755)
        code, message = run("plan", small.spec, SFUMATO_WORK=place / "work")
        assert code == 2
        reason = (
            f"cannot be used as a private directory (permission denied: {place} belongs to nobody"
        )
        assert f"{place / 'work'}: {reason}" in message

    def test_prefects_home(self, machine, tmp_path):
        small, run = machine
        place = tmp_path / "prefect"
        place.mkdir()
        closed_place(place, 0o755)
        code, message = run("release", small.spec, "--prefect", PREFECT_HOME=place)
        assert code == 1
        assert (
            f"PREFECT_HOME: files in {place} cannot be written (permission denied: {place}"
            in message
        )
        assert len(message.splitlines()) < 6

    def test_an_output(self, machine, tmp_path):
        small, run = machine
        place = tmp_path / "closed"
        place.mkdir()
        closed_place(place, 0o755)
        source = small.folder / "people.csv"
        code, message = run("init", source, "--out", place / "draft.yaml")
        assert code == 1
        assert (
            f"permission denied: {place} belongs to nobody (mode 0755), the command runs as root"
            in message
        )

    @pytest.mark.parametrize("name", [".", "datapackage.json"])
    def test_a_release(self, machine, name, tmp_path):
        small, run = machine
        version = small.publish("one").directory
        place = closed_place(version / name, 0o700 if name == "." else 0o600)
        code, message = run("query", version, "SELECT COUNT(*) FROM microdata")
        assert code == 2
        assert f"permission denied: {place} belongs to nobody" in message
