"""The release flow as a worker loads it; a file `stop` beside the work directory says where to die.

The file is taken away first, so that the next run lives.
"""

import os
from pathlib import Path

from sfumato.flows.release import release
from tests.faults.stop_at import arm

__all__ = ["release"]

_STOP = Path(os.environ["SFUMATO_WORK"]).with_name("stop")
if _STOP.exists():
    _point = _STOP.read_text(encoding="utf-8")
    _STOP.unlink()
    arm(_point)
