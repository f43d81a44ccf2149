"""The work of a process of its own: nothing is shared with others but the disk."""

import os
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from tests.release.small import Small


def publish_apart(folder: Path, name: str, work: str) -> str:
    """Publish and say the version's directory, or why it was refused.

    The work directory is told: the environment is that of the process that forks.
    """
    os.environ["SFUMATO_WORK"] = work
    try:
        return str(Small(folder).publish(name).directory)
    except PromiseError as error:
        return f"refused: {error}"
