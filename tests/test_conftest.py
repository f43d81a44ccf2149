"""Effects of tests/conftest.py on a run as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("on", "code", "outcome"), [({"CI": "true"}, 1, "fail"), ({}, 0, "skip")])
def test_a_browser_test_that_is_skipped_fails_on_continuous_integration(on, code, outcome):
    chosen = "tests/browser/test_page.py::test_page_prints_on_paper[few]"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-rsfE", chosen],
        cwd=ROOT,
        env={**{k: v for k, v in os.environ.items() if k != "CI"}, "PATH": "/nowhere", **on},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert f"1 {outcome}" in ran.stdout or "1 error" in ran.stdout
