"""`sfumato review trust|distrust|reviewers`: whose approval counts, as the publishing user says."""

import os
from pathlib import Path

import click

from sfumato.flows.cli.terminal import echo


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
def reviewers() -> None:
    """List whose approval counts, by line."""
    from sfumato.tasks.approval.reviewers import read_reviewers

    for pattern, keys in read_reviewers(os.environ).lines.items():
        for key in keys:
            echo(f"{pattern}: {key}")
