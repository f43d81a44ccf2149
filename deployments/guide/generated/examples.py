"""The shipped specs, whole; the comments of each explain it."""

from pathlib import Path

import yaml

_DEPLOYMENTS = Path(__file__).parents[2]


def write_examples() -> str:
    """Markdown of every spec in `deployments/releases` and `deployments/examples`."""
    return "\n".join(
        _section(path)
        for folder in ("releases", "examples")
        for path in sorted((_DEPLOYMENTS / folder).glob("*.yaml"))
    )


def _section(path: Path) -> str:
    text = path.read_text(encoding="utf-8").rstrip()
    spec = yaml.safe_load(text)
    inside = path.relative_to(_DEPLOYMENTS.parent).as_posix()
    return f"## {spec['title']}\n\n`{inside}`\n\n```yaml\n{text}\n```\n"
