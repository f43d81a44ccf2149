"""What a spec would give, before anything is published: a hierarchy's labels, the next version.

A version is rehearsed in a private directory that goes when it ends. Everything is made as for a
release; what it would tell together with other lines is not judged, and the line does not remember
it.
"""

from os import environ
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import SpecError
from sfumato.flows.passphrases import passphrases, source_secrets
from sfumato.flows.plan import plan_run, require_in_memory
from sfumato.flows.source import coded_source, ingest_source
from sfumato.flows.spec import Overrides
from sfumato.tasks.microdata.hierarchies import hierarchies
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.partitions.continued.parameters import rule_of
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.scratch import run_directory
from sfumato.tasks.publication.combined.lines.same_rows import require_other_rows
from sfumato.tasks.publication.standing import standing_version
from sfumato.tasks.stages.anonymize import declaration, write_candidate
from sfumato.tasks.stages.deidentify import identity, write_deidentified
from sfumato.tasks.stages.ingest import write_ingested, write_source
from sfumato.tasks.stages.stage import read_note

_OF_GROUPS = ("groups_continued", "groups_new", "groups_retired")


def preview(path: Path, column: str, overrides: Overrides) -> dict[str, Any]:
    """The labels of a column's hierarchy over the represented rows of its source, coded.

    Returns:
        `column`, `values` (how many different ones), and `levels`, each with its number and its
        labels in the order of the hierarchy, with how many values each stands for. The values
        themselves, level 0, are not listed.

    Raises:
        SpecError: where the spec is wrong, or the column has no hierarchy.
        InputError: where the source or the hierarchy cannot be read.
    """
    plan = require_in_memory(plan_run(path, overrides))
    spec = plan.spec
    if column not in spec.columns or spec.columns[column].hierarchy is None:
        raise SpecError(f"{path}: columns: {column!r} has no hierarchy")
    source = coded_source(plan, ingest_source(plan).microdata)
    wanted = {column: spec.columns[column]}
    known = hierarchies(wanted, source, plan.base)[column]
    present = set(pc.cast(source[column].values, pa.string()).to_pylist())
    levels = []
    for level in range(1, known.height + 1):
        labels: dict[str, int] = {}
        for leaf in known.leaves:
            if leaf in present:
                label = known.generalize(leaf, level)
                labels[label] = labels.get(label, 0) + 1
        levels.append({"level": level, "labels": labels})
    return {"column": column, "values": len(present), "levels": levels}


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
    plan = require_in_memory(plan_run(path, overrides))
    spec, line = plan.spec, plan.line.private
    with (
        run_directory(line) as run,
        sanitised("rehearse"),
        source_secrets(spec.source, environ),
    ):
        whole = write_source(spec.source, spec.columns, plan.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, plan.base, run)
        kept = write_deidentified(ingested, plan.terms, plan.unit, line, run, spec.remember)
        known = identity(kept)
        stands = standing_version(plan.line, known, rule_of(plan.terms.versions))
        if stands is not None:
            return {"stands": stands}
        require_other_rows(plan.line, known)
        candidate = write_candidate(
            kept, plan.terms, run, operating_system, plan.continuing, plan.line
        )
        facts = read_note(candidate, "facts")
        rows = declaration(candidate).rows.model_dump(mode="json")
        return {"rows": rows, **{name: facts[name] for name in _OF_GROUPS if name in facts}}
