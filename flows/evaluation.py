"""Evaluating a published version again, apart from the run that published it."""

from os import environ
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.flows.life.delivery import deliver_known
from sfumato.flows.overrides import Overrides
from sfumato.flows.passphrases import passphrases
from sfumato.flows.resolved import ResolvedRun, resolve_run
from sfumato.flows.source import coded_source, ingest_source
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.line import fingerprint
from sfumato.tasks.private.people.keys import names_of, people_key
from sfumato.tasks.private.progress import say
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.stages.evaluate import evaluate_release


def ingest_again(resolved: ResolvedRun) -> Microdata:
    """The rows that a run of a spec is about, read from its source, coded as its versions."""
    return coded_source(resolved, ingest_source(resolved).microdata)


def names_in_source(resolved: ResolvedRun, source: Microdata) -> np.ndarray | None:
    """The name of each row's person (S16), None where it makes no difference to a fingerprint."""
    if not resolved.terms.composed or resolved.unit is None:
        return None
    return names_of(source[resolved.unit], people_key(resolved.line.work))


@passphrases(environ)
def evaluate_again(directory: Path, spec: Path, overrides: Overrides) -> MeasuredBounds:
    """Measure a version on the spec's workloads, against the original.

    Raises:
        InputError: where the version is not one of this line, or of another source.
    """
    resolved = resolve_run(spec, overrides)
    version, line = directory.resolve(), resolved.line
    if version.parent != line.public.resolve():
        raise InputError(f"{directory}: is not a version of the spec's line, {line.public}")
    with sanitised("evaluate"):
        original = ingest_again(resolved)
        names = names_in_source(resolved, original)
        original = original.keep(original[name] for name in resolved.terms.columns)
        known = read_state(line.private).versions.get(version.name)
        if known is None or known.rows != fingerprint(original, line_key(line.private), names):
            raise InputError(f"{directory}: was not made of this source")
        try:
            return evaluate_release(
                version,
                original,
                resolved.spec.evaluate,
                line,
                operating_system,
                lambda _, __: None,
            )
        finally:  # the record has changed, also where the version was withdrawn
            for said in (said for one in deliver_known(line) for said in one.said):
                say(said)
