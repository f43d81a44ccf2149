"""The source of a plan read in this process, for commands that publish nothing."""

from os import environ

from sfumato.flows.passphrases import source_secrets
from sfumato.flows.plan import Plan, require_in_memory
from sfumato.tasks.microdata.source import Ingested, ingest
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.stages.ingest import FETCHED


def ingest_source(plan: Plan) -> Ingested:
    """The rows that a run of this plan is about, with all declared columns.

    Raises:
        SpecError: where the spec asks for parts.
        InputError: where the source is not as declared.
        TransientFault: where it cannot be reached.
    """
    spec = require_in_memory(plan).spec
    with source_secrets(spec.source, environ), scratch_directory(environ) as scratch:
        place, known = scratch / FETCHED, with_secrets(environ)
        return ingest(spec.source, spec.columns, spec.nulls, plan.base, known, place)
