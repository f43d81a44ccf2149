"""What bars on attacks cost: the CPU of attacking a candidate by that of making and judging it."""

import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.microdata.table import load
from sfumato.tasks.stages.attack import attack_candidate
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate
from tests.lines import prepare

ROWS = 10**6
SURE = {"max-share-above": {"belief": 0.9, "share": 1}}
SPEC = {
    "version": 2,
    "name": "many",
    "title": "Many",
    "source": {"uri": "many.parquet", "format": "parquet"},
    "columns": {
        "person": {"role": "identifier", "type": "integer", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "zip": {"role": "quasi-identifier", "type": "integer"},
        "sex": {"role": "quasi-identifier", "type": "integer"},
        "job": {"role": "sensitive", "type": "integer"},
    },
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 4}],
    "partition": {"method": "anatomy"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public", "formats": ["parquet"]},
    "people": "many",
    "attacks": {"definetti": {"max-lift": 1}, "background": {"known": 1, **SURE}},
}


def main(rows: int = ROWS) -> None:
    """Print how many times the CPU of a candidate goes into attacking it; few rows warm it up."""
    for number in (10_000, rows):
        with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ") as known:
            known["SFUMATO_WORK"] = f"{folder}/work"
            making, attacking = _seconds(Path(folder), number)
    print(f"attack of {rows:,} rows: {attacking / making:.2f} of making and judging", flush=True)


def _seconds(place: Path, rows: int) -> tuple[float, float]:
    """The CPU seconds of making and judging a candidate, and of attacking it."""
    pq.write_table(_people(rows), place / "many.parquet")
    (place / "many.yaml").write_text(yaml.safe_dump(SPEC), encoding="utf-8")
    run, begun = place / "run", time.process_time()
    resolved = _candidate(place / "many.yaml", run)
    whose, original = identity(run / "deidentified"), load(run / "deidentified")
    made, asked = time.process_time(), resolved.spec.attacks
    attack_candidate(run / "candidate", original, asked, whose, resolved.line, lambda _: ())
    return made - begun, time.process_time() - made


def _candidate(spec: Path, run: Path):
    resolved = prepare(spec, run, operating_system)
    seal_candidate(run / "candidate", assess_candidate(run / "candidate"))
    return resolved


def _people(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    job = rng.integers(0, 50, rows)
    return pa.table(
        {
            "person": np.arange(rows),
            "age": (job + rng.integers(0, 60, rows)) % 90,
            "zip": rng.integers(0, 500, rows),
            "sex": rng.integers(0, 2, rows),
            "job": job,
        }
    )


if __name__ == "__main__":
    main()
