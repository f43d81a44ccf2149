import pytest


@pytest.fixture
def release(small):
    """A published version of the small line."""
    return small.publish("one").directory
