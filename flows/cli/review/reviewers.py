"""`sfumato review trust|distrust|reviewers`: whose approval counts, as the publishing user says."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from sfumato.flows.cli.options import Printout, as_document, with_document, with_documents
from sfumato.flows.cli.show import echo, echo_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", "pattern", required=True, help="the line, or a pattern such as hospital-*")
@with_document
def trust(file: Path, pattern: str) -> Printout:
    """Accept approvals signed with the key in FILE (sfumato keys export prints such a file).

    Compare its fingerprint with the one that the reviewer told you in another way.
    """
    from sfumato.flows.review import let_review

    key = let_review(file, pattern, os.environ)
    return {"line": pattern, "key": str(key)}, f"{pattern}: {key}"


@click.command()
@click.argument("fingerprint")
@with_documents("no_more")
def distrust(fingerprint: str) -> Iterator[Printout]:
    """Stop accepting approvals, for all lines, signed with the key that has FINGERPRINT."""
    from sfumato.tasks.approval.reviewers import distrust_reviewer

    for key in distrust_reviewer(fingerprint, os.environ):
        yield {"key": str(key)}, f"not trusted any more: {key}"


@click.command()
@as_document
def reviewers(as_json: bool) -> None:
    """List the keys with which approvals count, by line."""
    from sfumato.tasks.approval.reviewers import read_reviewers

    if as_json:
        lines = read_reviewers(os.environ).lines
        echo_json({"reviewers": {line: [*map(str, keys)] for line, keys in lines.items()}})
        return
    for pattern, keys in read_reviewers(os.environ).lines.items():
        for key in keys:
            echo(f"{pattern}: {key}")
