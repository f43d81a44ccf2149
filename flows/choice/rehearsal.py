"""What the next version of a line would be, in counts.

A version is rehearsed in a private directory that goes when it ends. Everything is made as for a
release; what it would tell together with other lines is not judged, and the line does not remember
it.
"""

from os import environ
from pathlib import Path
from typing import Any

from sfumato.flows.overrides import Overrides
from sfumato.flows.passphrases import passphrases, source_secrets
from sfumato.flows.resolved import require_in_memory, resolve_run, with_references
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.same_people import require_other_people
from sfumato.tasks.lines.standing import standing_version
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.scratch import run_directory
from sfumato.tasks.stages.anonymize import declaration, write_candidate
from sfumato.tasks.stages.deidentify import choose_terms, identity, write_deidentified
from sfumato.tasks.stages.ingest import write_ingested, write_source
from sfumato.tasks.stages.stage import read_note

_OF_GROUPS = ("groups_continued", "groups_new", "groups_retired")


@passphrases(environ)
def rehearse(path: Path, overrides: Overrides) -> dict[str, Any]:
    """What the next version of a line would be, in counts.

    Returns:
        `rows` as a release declares them, and of a composed line which groups would go on, come
        and be retired; `stands`, a version's number, where this source and spec have one.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where the source cannot be read.
        PromiseError: where a promise cannot be kept, groups cannot go on, or what the line or
            others published forbids it.
    """
    resolved = with_references(require_in_memory(resolve_run(path, overrides)))
    spec, line = resolved.spec, resolved.line.private
    with (
        run_directory(line) as run,
        sanitised("rehearse"),
        source_secrets(spec.source, environ),
    ):
        whole = write_source(spec.source, spec.columns, resolved.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, resolved.base, run)
        kept = write_deidentified(
            ingested, resolved.terms, resolved.identifiers, line, run, spec.remember
        )
        terms = choose_terms(
            kept, resolved.terms, spec.choosing, line, operating_system, keep=False
        )
        known = identity(kept)
        stands = standing_version(resolved.line, known, rule_of(resolved.terms.versions))
        if stands is not None:
            return {"stands": stands}
        require_other_people(resolved.line, known, rule_of(resolved.terms.versions))
        candidate = write_candidate(
            kept, terms, run, operating_system, resolved.continuing, resolved.line
        )
        facts = read_note(candidate, "facts")
        rows = declaration(candidate).rows.model_dump(mode="json")
        return {"rows": rows, **{name: facts[name] for name in _OF_GROUPS if name in facts}}
