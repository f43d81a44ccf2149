import gc
import shutil

import pytest

from tests.parts.divided import Divided, visits


@pytest.fixture(autouse=True)
def earlier_tests_apart():
    """Parts are collected after each of them: let that pass over what the room has imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def divided_line(tmp_path, monkeypatch):
    """A line in parts whose source is not written yet."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Divided(tmp_path / "line")


@pytest.fixture(scope="session")
def published_parts(tmp_path_factory):
    """A published version of such a line, and the line."""
    place = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        line = Divided(place / "line").write(visits())
        return line.publish("one").directory, line


@pytest.fixture(scope="session")
def published_as(tmp_path_factory):
    """Gives the version of such a line with some changes to its spec, made once, and the line."""
    made = {}

    def publish_changed(name, changes):
        if name not in made:
            place = tmp_path_factory.mktemp("parts")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SFUMATO_WORK", str(place / "work"))
                line = Divided(place / "line").write(visits(), **changes)
                made[name] = line.publish("one").directory, line
        return made[name]

    return publish_changed


@pytest.fixture
def release(published_parts):
    """A version that nothing changes."""
    return published_parts[0]


@pytest.fixture
def writable(release, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy
