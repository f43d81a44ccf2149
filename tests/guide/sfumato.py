"""The command as shells of the guide's test find it: run by the process that has imported all."""

import os
import sys
from pathlib import Path

from tests.fork_server import ForkServer


def main() -> int:
    """Run it with the arguments, environment, directory and output of this process."""
    forks = ForkServer(Path(os.environ["GUIDE_FORKS"]), Path())
    run = forks.start(sys.argv[1:], os.environ, None, Path.cwd())
    out, error = run.communicate(timeout=300)
    sys.stdout.write(out)
    sys.stderr.write(error)
    return run.returncode or 0


if __name__ == "__main__":
    sys.exit(main())
