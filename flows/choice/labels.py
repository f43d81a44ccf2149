"""The labels that a hierarchy gives to the values of a source."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import require_in_memory, resolve_run
from sfumato.flows.inputs.source import coded_source, ingest_source
from sfumato.tasks.microdata.hierarchies import hierarchies


def hierarchy_labels(path: Path, column: str, overrides: Overrides) -> dict[str, Any]:
    """Return the labels of a column's hierarchy over the represented rows of its source, coded.

    Returns:
        `column`, `values` (how many different ones), and `levels`, each with its number and its
        labels in the order of the hierarchy, with how many values each stands for. The values
        themselves, level 0, are not listed.

    Raises:
        SpecError: where the spec is wrong, or the column has no hierarchy.
        InputError: where the source or the hierarchy cannot be read.
    """
    resolved = require_in_memory(resolve_run(path, overrides))
    spec = resolved.spec
    if column not in spec.columns or spec.columns[column].hierarchy is None:
        raise SpecError(f"{path}: columns: {column!r} has no hierarchy. Name a column that has one")
    source = coded_source(resolved, ingest_source(resolved).microdata)
    columns = {column: spec.columns[column]}
    levelled = hierarchies(columns, source, resolved.base)[column]
    present = set(pc.cast(source[column].values, pa.string()).to_pylist())
    levels = []
    for level in range(1, levelled.height + 1):
        labels: dict[str, int] = {}
        for leaf in levelled.leaves:
            if leaf in present:
                label = levelled.generalize(leaf, level)
                labels[label] = labels.get(label, 0) + 1
        levels.append({"level": level, "labels": labels})
    return {"column": column, "values": len(present), "levels": levels}
