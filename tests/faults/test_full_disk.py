"""The sweep over a full disk at the publisher: each write fails once, and every one after it."""

import shutil

import pytest

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.life.mending import mend_lines
from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.pages import pages_behind
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.failure import listening, sanitise_errors
from tests.faults import whole
from tests.faults.full_disk import FullDisk
from tests.flow_here import release_here
from tests.lines import publish_prepared
from tests.release.small import people

NO_SPACE = "no space is left on the disk of"
pytestmark = pytest.mark.usefixtures("undrawn")


class Sweep:
    """A line that is published with room for more and more writes, each time as it was before."""

    def __init__(self, folder, public, patch):
        self.folder, self.public, self.patch = folder, public, patch
        self.before = whole.versions(public)
        for name in ("line", "work"):
            shutil.copytree(folder / name, folder / "kept" / name, symlinks=True)

    def run(self, publish, room=None):
        """Publish: the writes, the exit code, and what was said."""
        for name in ("line", "work"):
            shutil.rmtree(self.folder / name)
            shutil.copytree(self.folder / "kept" / name, self.folder / name, symlinks=True)
        disk, code, texts = FullDisk(self.public.parent, room), 0, []
        with (
            self.patch.context() as patched,
            listening(lambda text, event, _: texts.append(text) if event == "said" else None),
        ):
            disk.install(patched)
            try:
                with sanitise_errors("publish"):
                    texts += publish()
            except SfumatoError as error:
                code = error.exit_code
                texts.append(str(error))
        return disk.writes, code, texts

    def require_told(self, code, texts):
        """Require that versions are whole, nothing is half there, and what is not done was said."""
        appeared, listed = self.state
        broken = list(whole.broken(self.public, self.before))
        assert broken == [] or (appeared and not listed)
        assert not [*self.public.glob(".*.tmp"), *self.public.glob(".staging-*")]
        if not appeared:
            assert texts[-1].startswith(
                f"{self.public}: cannot be written ({NO_SPACE} {self.public}"
            )
            assert "free on" in texts[-1]
            assert "make room on" in texts[-1]
            assert (code, find_left_over(self.public)) == (1, ())
            return
        behind = pages_behind(self.public)
        if behind or not listed:
            assert find_left_over(self.public)
        elif code:  # its accuracy could not be written, which its state says
            assert read_record(self.public).versions["0002"].status == "pending"
        if code:
            assert texts[-1].startswith("version 0002 ")
            assert f"({NO_SPACE}" in texts[-1]
        else:
            assert listed
            text = "\n".join(texts)
            assert all(f"{name.removeprefix('../')}: is out of date" in text for name in behind)

    def require_mended(self):
        """The next command of the owner mends it."""
        appeared, _ = self.state
        assert mend_lines()[1] == []
        assert (find_left_over(self.public), pages_behind(self.public)) == ((), [])
        assert self.state == (appeared, appeared)

    @property
    def state(self):
        """Tell if the version appeared, and if the record lists it."""
        listed = "0002" in read_record(self.public).versions
        return (self.public / "0002").is_dir(), listed


@pytest.fixture
def sweep(small, tmp_path, monkeypatch):
    """A line with one version, whose source then changed."""
    public = small.publish("one").directory.parent
    small.write(people(first=1000, seed=2), versions="accepted-risk")
    return lambda: Sweep(tmp_path, public, monkeypatch)


def test_every_write_of_a_publication_that_fails_is_told_and_mended(small, sweep):
    prepared = small.prepare_run("second")
    swept, states = sweep(), set()

    def publish():
        return publish_prepared(*prepared).notices

    writes, *ended = swept.run(publish)
    assert ended == [0, []]
    begun = writes.index(("open", ".unfinished"))
    for room in (*range(0, begun, 5), *range(begun, len(writes))):  # nothing appeared until then
        _, code, texts = swept.run(publish, room)
        assert texts
        swept.require_told(code, texts)
        states.add((code, *swept.state))
        swept.require_mended()
    assert states == {(1, False, False), (1, True, False), (0, True, True)}


def test_every_write_of_a_run_after_the_appearance_that_fails_is_told_and_mended(
    small, sweep, monkeypatch
):
    swept, codes = sweep(), set()

    def publish():
        release_here(small.spec)
        return ()

    writes, *_ = swept.run(publish)
    begun = writes.index(("open", ".unfinished"))
    for room in (room for room in range(begun, len(writes)) if writes[room][0] == "open"):
        _, code, texts = swept.run(publish, room)
        swept.require_told(code, texts)
        codes.add(code)
        swept.require_mended()
    assert codes == {0, 1}
    release_here(small.spec)
    assert list(whole.find_problems(swept.public)) == []


@pytest.mark.parametrize("room", [2, 4, 12])
def test_a_first_release_that_fails_leaves_no_directory(small, monkeypatch, room):
    prepared = small.prepare_run("one")
    public = prepared[0].line.public
    with monkeypatch.context() as patched, pytest.raises(SfumatoError) as refused:
        FullDisk(public.parent, room).install(patched)
        with sanitise_errors("publish"):
            publish_prepared(*prepared)
    assert f"({NO_SPACE} {public.parent}" in str(refused.value)
    assert not public.exists()
    assert small.publish("again").directory.name == "0001"
