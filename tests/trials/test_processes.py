"""Processes that try candidates end with the one that started them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


def test_processes_end_with_the_one_that_started_them(tmp_path):
    told = (
        "import os\n"
        "from sfumato.tasks.trials.processes import worker_processes\n"
        "if __name__ == '__main__':\n"
        "    with worker_processes(1) as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    script = tmp_path / "killed.py"
    script.write_text(told, encoding="utf-8")
    started = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    number = int(started.stdout.readline())
    started.stdout.close()
    started.wait()
    for _ in range(100):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        if "Z" in Path(f"/proc/{number}/stat").read_text(encoding="utf-8").split()[2]:
            return
        time.sleep(0.1)
    os.kill(number, 9)
    pytest.fail("it goes on alone")
