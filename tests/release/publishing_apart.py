"""What a process of its own does: spawned, so nothing is shared but the disk."""

from pathlib import Path


def publish_apart(folder: Path, name: str) -> str:
    """Publish and say the version's directory, or why it was refused."""
    from small import Small

    from sfumato.expectations.errors import PromiseError

    try:
        return str(Small(folder).publish(name).directory)
    except PromiseError as error:
        return f"refused: {error}"
