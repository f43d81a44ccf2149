"""Three hundred inputs of all kinds (thousands by `make fuzz`); few where tests must be quick."""

import os
import subprocess
import sys

import pytest

from tests.fork_server import ROOT
from tests.fuzz.kinds import KINDS

INPUTS = 43 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" else 3  # of each of the seven kinds


@pytest.mark.timeout(1800)
def test_every_input_is_answered_or_refused_in_one_line():
    command = [sys.executable, "-m", "tests.fuzz", "--fresh", "--inputs", str(INPUTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in KINDS:
        assert f"{kind}: {INPUTS} inputs" in done.stdout
