"""`sfumato publish`: publish a candidate that was approved."""

from functools import partial
from pathlib import Path

import click

from sfumato.flows.cli.options import as_document, with_prefect
from sfumato.flows.cli.runs import run_here, tell_version


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--digest", required=True, help="the digest of the candidate, as its reviewers approved it"
)
@click.option(
    "--signature",
    "signatures",
    multiple=True,
    help="a decision of a reviewer as text; repeat the option for several",
)
@with_prefect
@as_document
def publish(
    spec: Path, digest: str, signatures: tuple[str, ...], prefect: bool, as_json: bool
) -> None:
    """Publish the candidate of SPEC's line that its reviewers approved.

    The last line of output is the directory of the version.
    """
    from sfumato.flows.inputs.resolved import resolve_run
    from sfumato.flows.operation.deployments import PUBLISH, tags_of
    from sfumato.tasks.lines.line import require_writable

    resolved = resolve_run(spec)  # a wrong spec is told before a server is started
    require_writable(resolved.line)
    parameters = {"spec": str(spec), "digest": digest, "signatures": signatures}
    tags = partial(tags_of, resolved.spec, PUBLISH)
    tell_version(run_here("publish", parameters, tags, with_prefect=prefect), as_json)
