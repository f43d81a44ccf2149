import shutil

import pytest


@pytest.fixture
def release(small):
    """A published version of the small line."""
    return small.publish("one").directory


@pytest.fixture
def writable(release, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy
