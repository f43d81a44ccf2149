import shutil
from functools import cache

import pytest

from sfumato.tasks.publication.publish import Published
from tests.release.small import Small, people


@pytest.fixture(scope="session")
def versions_of_small(tmp_path_factory):
    """Gives the folder of a small line with one version or two, made once, to be copied."""

    @cache
    def make_versions(number):
        folder = tmp_path_factory.mktemp("versions")
        small = Small(folder / "line")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            small.write(people()).publish("one")
            if number == 2:
                small.write(people(first=1000, seed=2)).publish("two")
        return folder

    return make_versions


@pytest.fixture
def with_versions(small, versions_of_small, tmp_path):
    """Makes the small line have one version, or two about different people."""

    def copy_versions(number):
        shutil.copytree(versions_of_small(number), tmp_path, symlinks=True, dirs_exist_ok=True)
        line = small.plan().line
        (line.private / "published-in").write_text(str(line.public))
        return line

    return copy_versions


@pytest.fixture
def first(with_versions):
    """Return the published first candidate of the small line."""
    return Published(with_versions(1).public / "0001", existed=False)


@pytest.fixture
def release(with_versions):
    """A published version of the small line."""
    return with_versions(1).public / "0001"


@pytest.fixture
def two(with_versions):
    """The small line, with two versions about different people."""
    return with_versions(2)


@pytest.fixture
def writable(release, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy
