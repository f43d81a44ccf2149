"""Pseudonyms of people, handed over privately: for joining sources, never published."""

from os import environ
from pathlib import Path

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.inputs.resolved import ResolvedRun, require_in_memory, resolve_run
from sfumato.flows.inputs.source import coded_source, ingest_source
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.coding import pseudonymous_table, pseudonyms_of, write_handed_over
from sfumato.tasks.private.people.frozen import pseudonym_key
from sfumato.tasks.schema.columns import Pseudonym


@passphrases(environ)
def hand_over(path: Path, purpose: str, overrides: Overrides) -> Path:
    """Write the pseudonyms of a source for a purpose into the line's private directory.

    The rows are those that a release would speak of; the columns beside pseudonyms are coded as
    its own.

    Returns:
        The file.

    Raises:
        SpecError: where the spec is wrong, or declares no pseudonym for the purpose.
        InputError: where the source cannot be read.
    """
    resolved = resolve_run(path, overrides)
    declared = _pseudonyms_for(resolved, purpose)
    if not declared:
        raise SpecError(
            f"{path}: no column has a pseudonym for the purpose {purpose!r}: say "
            "columns.<identifier>.pseudonym: {purpose: …}"
        )
    with sanitise_errors("hand over"):
        source = coded_source(resolved, ingest_source(require_in_memory(resolved)).microdata)
        key = pseudonym_key(resolved.line.work, purpose)
        named = {name: pseudonyms_of(source[name], key) for name in declared}
        beside = [other for pseudonym in declared.values() for other in pseudonym.beside]
        shown_columns = {name: source[name].array() for name in dict.fromkeys(beside)}
        return write_handed_over(
            resolved.line.private, purpose, pseudonymous_table(named, shown_columns)
        )


def _pseudonyms_for(resolved: ResolvedRun, purpose: str) -> dict[str, Pseudonym]:
    wished = {name: column.pseudonym for name, column in resolved.spec.columns.items()}
    return {
        name: pseudonym
        for name, pseudonym in wished.items()
        if pseudonym is not None and pseudonym.purpose == purpose
    }
