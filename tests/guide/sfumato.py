"""The command as shells of the guide's test find it: run by the process that has imported all."""

import os
import sys
from pathlib import Path

from tests.fork_server import ForkServer


def main() -> int:
    """Run it with the arguments, environment and output of this process."""
    run = ForkServer(Path(os.environ["GUIDE_FORKS"]), Path()).start(sys.argv[1:], os.environ, None)
    out, said = run.communicate(timeout=300)
    sys.stdout.write(out)
    sys.stderr.write(said)
    return run.returncode or 0


if __name__ == "__main__":
    sys.exit(main())
