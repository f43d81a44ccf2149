"""Backups of every format but today's newest are put back, and the line stands and goes on."""

import json
import shutil
import tarfile

import pytest

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.backup import state_files
from tests.corpus.lines import CONTINUED, CORPUS, PASSPHRASE, VERSIONS, FrozenLine

BACKUPS = CORPUS / "backups"
LINES = {  # of each format the line that was backed up
    "format-1": ("format-3", "permuted"),  # in parts, with cuts
    "format-2": ("format-2", "split"),  # composed; version 0002 was withdrawn before
    "format-4": ("format-4", "permuted"),  # with thresholds of codings
    "format-5": ("format-6-people", "permuted"),  # with factors of intervals
}
ELSEWHERE = {"format-3"}  # of the line that was approved: test_approved.py


def members(name: str) -> dict[str, bytes]:
    with tarfile.open(BACKUPS / f"{name}.tar") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}


def test_every_backup_is_tried_and_of_its_format():
    names = {path.stem for path in BACKUPS.glob("*.tar")}
    assert names == LINES.keys() | ELSEWHERE
    for name in names:
        assert json.loads(members(name)["backup.json"])["format"] == int(name[-1])


@pytest.fixture(params=LINES)
def backup(request):
    return request.param


def test_a_backup_is_put_back(backup, few_queries, undrawn, call, tmp_path, monkeypatch):
    folder, form = LINES[backup]
    line = FrozenLine(CORPUS / folder, form).copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(line.folder / "private"))
    monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", PASSPHRASE)
    stand = dict(VERSIONS)
    if backup == "format-2":
        options = ("--reason", "rehearsed", "--yes")
        assert call("withdraw", line.public / "0002", *options)[0] == 0
        del stand["0002"]
    shutil.rmtree(line.private)

    assert call("line", "restore", line.spec, BACKUPS / f"{backup}.tar")[0] == 0
    saved = members(backup)
    state_contents = state_files(line.private)
    assert state_contents == {
        name: saved[name] for name in saved.keys() - {"backup.json", "people-key"}
    }
    for number, source in stand.items():
        published = line.run(source, tmp_path / source, seeded_keys(99))
        assert (published.existed, published.directory.name) == (True, number)
    published = line.run(CONTINUED, tmp_path / "next", seeded_keys(3))
    assert (published.existed, published.directory.name) == (False, "0003")
