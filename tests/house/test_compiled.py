"""A compiled loop is kept beside its source, whose folder `sfumato` links to, for all processes."""

import subprocess
import sys
from pathlib import Path

from sfumato.tasks.partitions.anatomy.anatomy import _last
from tests.house.survey import ROOT

PROGRAM = """
import numpy as np
from sfumato.tasks.arrays.compiled import compile_loop
from sfumato.tasks.partitions.anatomy.anatomy import _last

loop = compile_loop(_last)
print(loop(np.array([3, 2, 2, 1]), 2, 0))
print(sum(loop.stats.cache_hits.values()))
print(loop.stats.cache_path)
"""
PLACE = ROOT / "tasks" / "partitions" / "anatomy" / "__pycache__"


def test_a_loop_is_compiled_once_for_all_processes():
    results = []
    for _ in range(2):
        started = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(started, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        results.append(done.stdout.split())
    assert [answer for answer, *_ in results] == ["2", "2"]
    assert results[1][1] == "1"
    assert {Path(place).resolve() for *_, place in results} == {PLACE}


CALLED_TOO = """
import numpy as np
from sfumato.tasks.arrays.compiled import compile_loop
from sfumato.tasks.partitions.anatomy.anatomy import _last
from tests.house.test_compiled import last_of

both = compile_loop(_last, last_of)
print(both(np.array([3, 2, 2, 1])), compile_loop(_last)(np.array([3, 2, 2, 1]), 2, 0))
"""


def last_of(counts):
    return _last(counts, 2, 0)


def test_a_loop_that_another_calls_can_be_called_too():
    """Kept as a part of the other, it cannot be called from Python."""
    for _ in range(2):
        started = [sys.executable, "-c", CALLED_TOO]
        done = subprocess.run(
            started, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.stdout.split() == ["2", "2"], done.stderr
