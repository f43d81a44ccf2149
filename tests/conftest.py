"""How Hypothesis searches (`HYPOTHESIS_PROFILE`: dev, ci or deep), and what many tests share."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=300, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("deep", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

_small = importlib.util.spec_from_file_location(
    "small_line", Path(__file__).parent / "release" / "small.py"
)
small_line = importlib.util.module_from_spec(_small)
sys.modules["small_line"] = small_line
_small.loader.exec_module(small_line)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A small line whose stages run here."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return small_line.Small(tmp_path / "line").write(small_line.people())


@pytest.fixture(scope="session")
def prefect_api():
    """The address of the run's one Prefect server."""
    spec = importlib.util.spec_from_file_location(
        "prefect_server", Path(__file__).with_name("prefect_server.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["prefect_server"] = module
    spec.loader.exec_module(module)
    with module.server() as address:
        yield address
