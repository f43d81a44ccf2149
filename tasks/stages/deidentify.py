"""De-identify: what says who a row is about goes; a keyed hash of it stays in private."""

from pathlib import Path

import numpy as np

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.table import load, save
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.line import Identity, fingerprint, unit_hashes
from sfumato.tasks.stages.stage import new_stage, read_note, write_note


def write_deidentified(
    ingested: Path, terms: Terms, unit: str | None, line: Path, run: Path
) -> Path:
    """Keep the columns to be published, and the identity of what they are of.

    Args:
        ingested: the stage of the source.
        terms: what will be declared.
        unit: the identifier that is the unit, None where rows are.
        line: the line's private directory.
        run: the run's directory.
    """
    secret = line_key(line)
    microdata = load(ingested)
    shown = microdata.keep(microdata[name] for name in terms.columns)
    stage = new_stage(run, "deidentified")
    save(shown, stage)
    write_note(stage, "counts", read_note(ingested, "counts"))
    write_note(stage, "identity", {"rows": fingerprint(shown, secret), "spec": terms.digest()})
    if unit is not None:
        np.save(stage / "units.npy", unit_hashes(microdata[unit], secret))
    return stage


def identity(deidentified: Path) -> Identity:
    """What a de-identified stage is of."""
    units = deidentified / "units.npy"
    return Identity(
        **read_note(deidentified, "identity"), units=np.load(units) if units.exists() else None
    )
