"""The labels that a hierarchy gives to the values of a source."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import require_in_memory, resolve_run
from sfumato.flows.inputs.source import coded_source, ingest_source
from sfumato.tasks.microdata.hierarchies import hierarchies
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.other_tools.arx_hierarchies import written_for_arx
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.hierarchy import Hierarchy

_PRIVATE_MODE = 0o600


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
    levelled, source = _hierarchy_and_source(path, column, overrides)
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


def write_for_arx(path: Path, column: str, overrides: Overrides, place: Path) -> int:
    """Write a column's hierarchy as a private CSV file for ARX; return the number of its leaves.

    A hierarchy by a rule has the source's values as its leaves, so the file is as private as they.

    Raises:
        SpecError: where the spec is wrong, the column has no hierarchy, or the file exists already.
        InputError: where the source or the hierarchy cannot be read.
    """
    if place.exists() or place.is_symlink():
        raise SpecError(f"{place}: exists already, and is not overwritten. Choose another name")
    if not place.absolute().parent.is_dir():
        raise InputError(f"{place.parent}: the directory does not exist. Make it first")
    levelled, _ = _hierarchy_and_source(path, column, overrides)
    write_atomically(place, written_for_arx(levelled), _PRIVATE_MODE)
    return len(levelled.leaves)


def _hierarchy_and_source(
    path: Path, column: str, overrides: Overrides
) -> tuple[Hierarchy, Microdata]:
    """Return the hierarchy of a column, and the represented rows of its source, coded."""
    resolved = require_in_memory(resolve_run(path, overrides))
    spec = resolved.spec
    if column not in spec.columns or spec.columns[column].hierarchy is None:
        raise SpecError(f"{path}: columns: {column!r} has no hierarchy. Name a column that has one")
    source = coded_source(resolved, ingest_source(resolved).microdata)
    columns = {column: spec.columns[column]}
    return hierarchies(columns, source, resolved.base)[column], source
