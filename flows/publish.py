"""The publication flow: an approved candidate becomes a version that everybody may see.

It runs apart from the flow that makes candidates. So the public place, its signing key and the file
of its reviewers may belong to another user of the machine.
"""

from os import environ
from pathlib import Path
from typing import Annotated

from prefect.client.schemas import State
from prefect.logging import get_logger
from prefect.runtime import flow_run
from pydantic import Field

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.environment import imports_apart, quiet
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.resolved import resolve_run, with_references
from sfumato.flows.inputs.spec import line_named
from sfumato.flows.life.copies import bring_copies
from sfumato.flows.life.dossier import keep_dossier
from sfumato.flows.life.mending import tidy_up
from sfumato.tasks.outcomes import published_state, standing_state
from sfumato.tasks.policy import private_flow
from sfumato.tasks.publish import publish_approved

quiet()

Digest = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="the digest of the candidate, as reviewers approved it",
    ),
]
Signature = Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$", max_length=8192)]


def _line_name() -> str:
    return line_named(Path(flow_run.parameters["spec"]))


def _run_name() -> str:
    return f"{_line_name()} publish {str(flow_run.parameters.get('digest'))[:12]}"


@private_flow(_run_name, _line_name)
def publish(
    spec: str,
    digest: Digest,
    signatures: Annotated[
        tuple[Signature, ...],
        Field(
            description=(
                "decisions as sfumato review prints them, beside those written with the candidate"
            )
        ),
    ] = (),
) -> State:
    """Publish the candidate of a release line that its reviewers approve of.

    Args:
        spec: path of the release spec.
        digest: of the candidate.
        signatures: decisions of reviewers; never a key or a passphrase, which Prefect would store.

    Returns:
        The state of the run, whose result is the published directory.

    Raises:
        PromiseError: where the line asks for no approval.
    """
    tidy_up(environ, get_logger("sfumato").warning)
    resolved = resolve_run(Path(spec))
    if not resolved.line.reviewers:
        raise PromiseError(
            f"{spec}: approval: the spec asks for no approval. To publish, run sfumato release"
        )
    with imports_apart(), passphrases(environ):
        version, stood = publish_approved(
            digest,
            with_references(resolved).terms.digest(),
            signatures,
            resolved.line,
            resolved.page_of,
            resolved.spec.artifacts == "all",
        )
    if not stood:
        keep_dossier(resolved, version)
    behind = bring_copies(resolved)
    return (standing_state if stood else published_state)(version.resolve(), behind)
