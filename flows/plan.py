"""A run's plan: a spec resolved against the places and the environment of this machine."""

import os
from dataclasses import dataclass
from pathlib import Path

from sfumato.flows.spec import Overrides, ReleaseSpec, read_spec
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.source import local_path
from sfumato.tasks.private.backup import finish_restoring
from sfumato.tasks.private.workdir import line_directory, work_directory
from sfumato.tasks.publication.line import Line


@dataclass(frozen=True)
class Plan:
    """The plan of a run: its spec, its declaration and its places."""

    spec: ReleaseSpec
    terms: Terms
    base: Path
    line: Line

    @property
    def unit(self) -> str | None:
        """The identifier that says whom a row is about, None where rows are people."""
        return next((name for name, column in self.spec.columns.items() if column.unit), None)

    @property
    def withheld(self) -> tuple[str, ...]:
        """The columns that no published file may have."""
        return tuple(self.spec.named("identifier", "drop"))


def plan_run(path: Path, overrides: Overrides | None = None) -> Plan:
    """Read a spec and find the places it speaks of.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where a hierarchy of it cannot be read.
    """
    spec = read_spec(path, overrides)
    base = path.absolute().parent
    public = local_path(spec.publish.uri, base, os.environ) / spec.name
    private = line_directory(work_directory(os.environ), spec.name)
    finish_restoring(private)
    return Plan(spec, spec.terms(base), base, Line(spec.name, public, private))
