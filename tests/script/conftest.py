import shutil

import pytest


@pytest.fixture(autouse=True)
def node():
    """Skip what needs Node where there is none."""
    if shutil.which("node") is None:
        pytest.skip("there is no Node")
