"""The run of a publication: an approved candidate becomes a version that everybody may see.

It is apart from the run that makes candidates. So the public place, its signing key and the file
of its reviewers may belong to another user of the machine.
"""

import logging
from os import environ
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.environment import imports_apart, quiet
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.resolved import resolve_run, with_references
from sfumato.flows.life.copies import bring_copies
from sfumato.flows.life.mending import tidy_up
from sfumato.flows.runs.releasing import line_of
from sfumato.tasks.outcomes import RunOutcome, published_outcome, standing_outcome
from sfumato.tasks.policy import PrivateFlow
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


_log = logging.getLogger("prefect.sfumato")


def _name_run(spec: str, digest: str, *_: Any, **__: Any) -> str:
    return f"{line_of(spec)} publish {str(digest)[:12]}"


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
) -> RunOutcome:
    """Publish the candidate of a release line that its reviewers approve of.

    Args:
        spec: path of the release spec.
        digest: of the candidate.
        signatures: decisions of reviewers; never a key or a passphrase, which Prefect would store.

    Returns:
        How the run ended; its result is the published directory.

    Raises:
        PromiseError: where the line asks for no approval.
    """
    tidy_up(environ, _log.warning)
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
    if not stood and resolved.wants_dossier:
        from sfumato.flows.life.dossier import keep_dossier  # few lines have one

        keep_dossier(resolved, version)
    behind = bring_copies(resolved)
    return (standing_outcome if stood else published_outcome)(version.resolve(), behind)


PUBLISH = PrivateFlow("publish", publish, _name_run, line_of)
"""The run of `sfumato publish`."""
