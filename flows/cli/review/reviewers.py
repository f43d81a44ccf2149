"""`sfumato review trust|distrust|reviewers`: whose approval counts, as the publishing user says."""

import os
from pathlib import Path

import click

from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.terminal import echo, echo_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", "pattern", required=True, help="the line, or a pattern such as hospital-*")
def trust(file: Path, pattern: str) -> None:
    """Let the approval of FILE's key count (sfumato keys export prints such a file).

    Compare its fingerprint with the one that the reviewer told you in another way.
    """
    from sfumato.flows.review.reviewers import let_review

    key = let_review(file, pattern, os.environ)
    echo(f"{pattern}: {key}")


@click.command()
@click.argument("fingerprint")
def distrust(fingerprint: str) -> None:
    """Let the key that has FINGERPRINT count for no line any more."""
    from sfumato.tasks.approval.reviewers import distrust_reviewer

    for key in distrust_reviewer(fingerprint, os.environ):
        echo(f"no more: {key}")


@click.command()
@as_document
def reviewers(as_json: bool) -> None:
    """List whose approval counts, by line."""
    from sfumato.tasks.approval.reviewers import read_reviewers

    if as_json:
        lines = read_reviewers(os.environ).lines
        echo_json({"reviewers": {line: [*map(str, keys)] for line, keys in lines.items()}})
        return
    for pattern, keys in read_reviewers(os.environ).lines.items():
        for key in keys:
            echo(f"{pattern}: {key}")
