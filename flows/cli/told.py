"""What is told of a version that a command has just made: totals on stderr, its place on stdout."""

from pathlib import Path

from sfumato.flows.cli import show
from sfumato.flows.cli.terminal import echo, echo_json, one_line


def tell_version(directory: str, as_json: bool = False) -> None:
    """Say what was published, or what waits; the last line of stdout is its directory.

    Args:
        directory: of the version, or of the candidate that waits for approval.
        as_json: print a document in place of all that.
    """
    from sfumato.flows.life.version_summary import summarise_version

    found = summarise_version(Path(directory))
    if as_json:
        echo_json(found.document())
        return
    for name, text in found.lines():
        show.say(f"{name:<9} {one_line(text)}")
    echo(directory)
