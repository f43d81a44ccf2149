"""Who builds a release and who publishes it are two users of the machine, who share private files.

Users are numbers that nobody has, and every command is a process of one of them. They may read
everything here, for the interpreter is somewhere in the home of who runs the tests; what they may
write is as it would be for anybody.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.publication.check import check
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.fork_server import ForkServer
from tests.release.small import Small, people

_GROUP, _BUILDER, _PUBLISHER, _REVIEWER = 40100, 40001, 40002, 40003
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can be several users: untested here"
)


@dataclass
class Machine:
    """A folder with a home, and what else is whose."""

    folder: Path
    forks: ForkServer

    def own(self, name, user, group, mode):
        place = self.folder / name
        place.mkdir()
        os.chown(place, user, group)
        place.chmod(mode)
        return place

    def run(self, user, *arguments, work="work"):
        """Run the command as a user, without Prefect; its exit code, output and messages."""
        home = self.folder / f"home-{user}"
        if not home.exists():
            self.own(home.name, user, user, 0o700)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SFUMATO_GROUP": str(_GROUP),
            "SFUMATO_WORK": str(self.folder / work),
            PASSPHRASE: "correct horse",
        }
        whose, words = (user, _GROUP), [str(argument) for argument in arguments]
        run = self.forks.start(words, environment, "plain,", self.folder, whose)
        out, err = run.communicate(120)
        return run.returncode, out, err


@pytest.fixture
def machine(forks):
    """A machine in a folder that all users can enter, which those of pytest are not."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield _set_up(Machine(Path(folder), forks))


def _set_up(machine):
    machine.own("work", _BUILDER, _GROUP, 0o2770)
    machine.own("public", _PUBLISHER, _PUBLISHER, 0o755)
    machine.own("reviewer", _REVIEWER, _REVIEWER, 0o700)
    place = {"uri": str(machine.folder / "public")}
    Small(machine.folder / "line").write(people(), approval="required", publish=place)
    return machine


def test_who_builds_cannot_publish_and_who_publishes_can(machine):
    spec = machine.folder / "line" / "wages.yaml"
    code, output, error = machine.run(_BUILDER, "release", spec)
    assert code == 0, error
    place = output.split()[-1]
    assert not list((machine.folder / "public").iterdir())

    assert machine.run(_REVIEWER, "keys", "generate", "ann", work="reviewer")[0] == 0
    _, public, _ = machine.run(_REVIEWER, "keys", "export", "ann", work="reviewer")
    key = machine.folder / "ann.json"
    key.write_text(public)
    for user in (_BUILDER, _PUBLISHER):
        assert machine.run(user, "review", "trust", key, "--line", "wages")[0] == 0
    decide = ("review", "approve", place, "--key", "ann", "--reason", "as agreed")
    code, _, error = machine.run(_REVIEWER, *decide, work="reviewer")
    assert code == 0, error
    _, listed, _ = machine.run(_PUBLISHER, "review", "list", "--json")
    digest = json.loads(listed)["candidates"][0]["digest"]

    publish = ("publish", spec, "--digest", digest)
    code, _, error = machine.run(_BUILDER, *publish)
    assert (code, "publish.uri" in error and "permission denied" in error) == (1, True), error
    code, _, error = machine.run(_PUBLISHER, *publish)
    assert code == 0, error
    version = machine.folder / "public" / "wages" / "0001"
    check(version)
    assert version.stat().st_uid == _PUBLISHER
    assert read_record(version.parent).versions["0001"].approvals
    _nothing_is_open_to_others(machine.folder / "work")

    code, output, error = machine.run(_BUILDER, "release", spec)
    assert (code, output.split()[-1]) == (0, str(version)), error
    assert list((machine.folder / "work" / "wages" / "review").iterdir()) == []


def _nothing_is_open_to_others(work):
    assert [place.name for place in (work, *work.iterdir()) if place.stat().st_mode & 0o007] == []


def test_files_that_another_group_shares_are_open_to_others(machine):
    spec = machine.folder / "line" / "wages.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}._GROUP", 40999)
        code, _, error = machine.run(_BUILDER, "release", spec)
    assert code == 2
    assert "open to other users" in error
