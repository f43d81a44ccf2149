"""Processes that try candidates end with the one that started them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


def test_processes_end_with_the_one_that_started_them(tmp_path):
    code = (
        "import os\n"
        "from sfumato.tasks.choose.trial import worker_processes\n"
        "if __name__ == '__main__':\n"
        "    with worker_processes(1) as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    script = tmp_path / "killed.py"
    script.write_text(code, encoding="utf-8")
    started = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    number = int(started.stdout.readline())
    started.stdout.close()
    started.wait()
    try:
        assert ends(number)
    finally:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def ends(number):
    """Tell if a process ends within ten seconds; one that nobody has waited for has ended, too."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").split()[2]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False
