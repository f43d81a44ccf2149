"""Die at a point: by SIGKILL, before or after a function, or before the n-th change of files.

`before:module:function`, `after:module:function` and `change:n`; a point that begins with `plain,`
leaves Prefect out of the flow, and `plain,` alone is no point.
"""

import importlib
import os
import signal
import sys
from pathlib import Path

_CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def arm(point):
    """Let this process die at a point."""
    when, _, where = point.partition(":")
    if when == "change":
        sys.addaudithook(_Changes(int(where)))
        return
    module, name = where.split(":")
    owner = importlib.import_module(module)
    original = getattr(owner, name)

    def die(*args, **kwargs):
        if when == "after":
            original(*args, **kwargs)
        _die()

    setattr(owner, name, die)


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


class _Changes:
    """Counts what Python does to files below the folder of the work directory; dies at the last."""

    def __init__(self, remaining):
        self._left, self._below = remaining, str(Path(os.environ["SFUMATO_WORK"]).parent)

    def __call__(self, event, arguments):
        if not (event in _CHANGES or (event == "open" and arguments[2] & _WRITING)):
            return
        if str(arguments[0]).startswith(self._below):
            self._left -= 1
            if not self._left:
                _die()


def main(point, arguments):
    """Run the command, to die at a point."""
    point, plain = point.removeprefix("plain,"), point.startswith("plain,")
    if plain:
        from prefect.context import refresh_global_settings_context

        os.environ.pop("PREFECT_API_URL", None)
        refresh_global_settings_context()
    if point:
        arm(point)
    sys.argv[1:] = arguments
    from sfumato.flows.cli.main import main as command

    command()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
