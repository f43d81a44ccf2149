import shutil

import pytest

from tests.release.small import people


@pytest.fixture
def release(small):
    """A published version of the small line."""
    return small.publish("one").directory


@pytest.fixture
def two(small):
    """The small line, with two versions about different people."""
    small.publish("one")
    small.write(people(first=1000, seed=2)).publish("two")
    return small.plan().line


@pytest.fixture
def writable(release, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy
