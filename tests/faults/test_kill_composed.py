"""Killed around its appearance, a composed version and the private map agree after the next run."""

import signal

import pytest

from sfumato.tasks.private.people.store import slots_so_far
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from tests.faults import whole
from tests.release.evolving import Evolving

POINTS = [
    "after:sfumato.tasks.lines.line:keep_map",
    "before:sfumato.tasks.publication.publish:appear",
    "after:sfumato.tasks.publication.publish:appear",
    "before:sfumato.tasks.publication.publish:_record",
    "after:sfumato.tasks.publication.publish:replace_record",
]
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("point", POINTS)
def test_the_map_is_that_of_the_versions_there_are(tmp_path, monkeypatch, start, point):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Evolving(tmp_path / "line", "split")
    line.publish()
    public = line.versions[0].parent
    before = whole.versions(public)
    line.move()
    spec = str(line.write())
    killed = start("release", spec, stop=f"plain,{point}")
    _, error = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, error
    assert list(whole.broken(public, before)) == []
    again = start("release", spec, stop="plain,")
    _, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    private = tmp_path / "work" / "coming-and-going"
    state = read_state(private)
    assert sorted(state.versions) == ["0001", "0002"] == sorted(whole.versions(public))
    slots = slots_so_far(private, state)
    assert slots is not None
    assert len(slots) == 72 + 24
    line.move(join=12)
    line.versions.append(public / "0002")
    check(line.publish())
