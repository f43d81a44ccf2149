"""What a line's sources and terms are called by another key: they are read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.errors import InputError
from sfumato.flows.evaluation import ingest_again, names_in_source
from sfumato.flows.overrides import Overrides, SourceOverrides
from sfumato.flows.resolved import resolve_run, with_references
from sfumato.tasks.attacks.refusals import Called
from sfumato.tasks.private.line import fingerprint, unit_hashes
from sfumato.tasks.private.state import PublishedVersion

REFUSED_SOURCE = "refused"
"""How the names of sources begin of which no version was made: bars on attacks refused these."""


@dataclass(frozen=True)
class SourceReadAgain:
    """A source as it is known by one key, and by another.

    Attributes:
        before: its rows and terms by the present key.
        after: by the other one.
        units: whom it is about, hashed by the other key; None where rows are people.
    """

    before: Called
    after: Called
    units: bytes | None


def read_again(spec: Path, source: str, old: bytes, new: bytes) -> SourceReadAgain:
    """Read the source of a version, or of a candidate, again."""
    resolved = resolve_run(spec, Overrides(source=SourceOverrides(uri=source)))
    rows = ingest_again(resolved)
    shown = rows.keep(rows[name] for name in resolved.terms.columns)
    names = names_in_source(resolved, rows)
    before, after = (
        Called(fingerprint(shown, key, names), with_references(resolved, key).terms.digest())
        for key in (old, new)
    )
    units = unit_hashes(rows[resolved.unit], new).tobytes() if resolved.unit else None
    return SourceReadAgain(before, after, units)


def rekey_version(
    number: str, known: PublishedVersion, found: SourceReadAgain
) -> tuple[PublishedVersion, bytes | None]:
    """A version as the line knows it by another key, and whom it is about.

    Raises:
        InputError: where its source is not what it was made of.
    """
    if found.before.rows != known.rows:
        raise InputError(f"--source {number}: is not what version {number} was made of")
    spec = found.after.spec if known.spec == found.before.spec else known.spec
    return known.model_copy(update={"rows": found.after.rows, "spec": spec}), found.units


def sources_of_refused(sources: Mapping[str, str]) -> dict[str, str]:
    """Those of the sources of which no version was made."""
    return {name: uri for name, uri in sources.items() if name.startswith(REFUSED_SOURCE)}
