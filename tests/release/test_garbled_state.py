"""Private files of a line that are garbled, or no files: one line, exit code 2 or 3, no wait."""

import os
import shutil

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.keys import names_of, people_key
from sfumato.tasks.private.people.lines import units_met
from sfumato.tasks.private.people.store import slots_so_far
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.stages.deidentify import identity
from tests.lines import deidentify
from tests.release.evolving import Evolving

STAGE = "deidentified"

SPECIAL = {
    "garbled": lambda path: path.write_bytes(b"\xff\x00{]garbled" * 7),
    "a list": lambda path: path.write_text("[1, 2]"),
    "null": lambda path: path.write_text("null"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:10]),
    "empty": lambda path: path.write_bytes(b""),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "is a link to a file that does not exist": lambda path: (
        path.unlink(),
        path.symlink_to("nowhere"),
    ),
}
FILES = (
    "line/state.json",
    "line/key",
    "line/units/0001",
    "line/units-normal/0001",
    "line/rows-normal/0001",
    "line/map/0001",
    "other/state.json",
    "other/units-normal/0001",
    "other/rows-normal/0001",
    "other/map/0001",
    "people/key",
    "people/lines/other",
)
NOT_READ = {"line/units/0001"}  # of a composed line, whose people are those of its map


@pytest.fixture(scope="module")
def two_lines(tmp_path_factory):
    """A composed line whose next version is prepared, and another one, in one work directory."""
    folder = tmp_path_factory.mktemp("garbled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        other = Evolving(folder / "others", "split", "other", seed=9)
        other.people = {n + 5_000: {**p, "id": n + 5_000} for n, p in other.people.items()}
        other.publish()
        line = Evolving(folder / "line", "split", "line")
        line.publish()
        line.move(join=30, leave=2)
        deidentify(line.write(), folder / "next")
    return folder


def go_on(folder):
    """Read what a run reads of both lines before it makes anything."""
    line, line_identity = (
        resolve_run(folder / "line" / "spec.yaml").line,
        identity(folder / "next" / STAGE),
    )
    line_key(line.private)
    existing_version(line, line_identity, "composed")
    unit = encode("id", "identifier", pa.array([1, 2]))
    units_met(line.work, line.name, unit, names_of(unit, people_key(line.work)))
    slots_so_far(line.private, read_state(line.private))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("what", SPECIAL)
def test_a_run_is_refused_in_one_line(two_lines, what, file, tmp_path, monkeypatch):
    folder = tmp_path / "all"
    shutil.copytree(two_lines, folder, symlinks=True)
    monkeypatch.setenv("SFUMATO_WORK", str(folder / "work"))
    go_on(folder)
    SPECIAL[what](folder / "work" / file)
    if file in NOT_READ:
        go_on(folder)
        return
    with pytest.raises(SfumatoError) as refused:
        go_on(folder)
    assert refused.value.exit_code in (2, 3)
    assert str(refused.value).count("\n") == 0
