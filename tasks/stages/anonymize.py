"""Anonymize: group the rows and write what will be shown of each group."""

import shutil
from pathlib import Path

import numpy as np

from sfumato.tasks.declaration.tables import write_tables
from sfumato.tasks.declaration.terms import Declared, RowCounts, Terms
from sfumato.tasks.forms.optional import diagnostics, fakes
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.partitions.strata import with_strata
from sfumato.tasks.private.line import canonical_row_order
from sfumato.tasks.publication.diagnostics.divergence import divergence
from sfumato.tasks.publication.software import software
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.stages.stage import new_stage, read_note, write_note

RELEASE = "release"  # the folder of a candidate with what would be published, and nothing else
SUPPRESSED = "left_out.npy"


def write_candidate(deidentified: Path, terms: Terms, run: Path, randomness: Randomness) -> Path:
    """Write the tables to be judged, and what they would declare.

    Raises:
        PromiseError: where the partition cannot keep the promises.
    """
    microdata = with_hierarchies(load(deidentified), terms.hierarchies)
    partition = PARTITIONS[terms.partition.method](
        *with_strata(microdata, terms.strata), terms.promises, terms.partition, randomness
    )
    form = FORMS[terms.form.method]
    tables = form.publish(microdata, partition, terms.form, randomness)
    made_up = fakes(form, tables)
    declared = _declared(terms, microdata, partition, read_note(deidentified, "counts"), made_up)
    stage = new_stage(run, "candidate")
    write_tables(tables, declared, stage / RELEASE / "data")
    write_note(stage, "declared", declared.model_dump(mode="json", by_alias=True))
    lost = divergence(microdata, tables, declared)
    of_form = diagnostics(form, microdata, partition, tables, declared.columns, terms.form)
    write_note(stage, "facts", {**partition.facts, **(vars(lost) if lost else {}), **of_form})
    if partition.suppressed:
        np.save(stage / SUPPRESSED, partition.group[canonical_row_order(microdata)] < 0)
    return stage


def keep_private_diagnostics(candidate: Path, private: Path) -> None:
    """Leave what only the steward may know of a partition among a version's private reports."""
    shutil.copyfile(candidate / "facts.json", private / "partition.json")


def declaration(candidate: Path) -> Declared:
    """What a candidate would declare."""
    return Declared.model_validate(read_note(candidate, "declared"))


def _declared(
    terms: Terms, microdata: Microdata, partition: Partition, counts: dict[str, int], fakes: int
) -> Declared:
    columns = {
        name: column.model_copy(update={"scale": microdata[name].values.type.scale})
        if column.type == "decimal"
        else column
        for name, column in terms.columns.items()
    }
    rows = RowCounts(
        read=counts["read"],
        dropped_by_filter=counts["dropped_by_filter"],
        dropped_for_nulls=counts["dropped_for_nulls"],
        dropped_as_repeats=counts["dropped_as_repeats"],
        suppressed=partition.suppressed,
        published=microdata.rows - partition.suppressed,
        fakes=fakes,
    )
    described: dict[str, DeclaredColumn] = columns
    return Declared(
        **{**{name: getattr(terms, name) for name in Terms.model_fields}, "columns": described},
        rows=rows,
        software=software(),
    )
