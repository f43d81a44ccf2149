"""The cost of attacks: the CPU of attacking a candidate by that of a release without it.

Once with bars on what is heaviest, and once without, where samples are learned from. A release is
all of its stages, from reading the source to the published version, without evaluation; making and
judging the candidate are told apart. Attacks that take a hundredth of the release are named.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.attacks.registry import attacks_on
from sfumato.tasks.microdata.table import load, operating_system
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.stages.attack import _targets, attack_candidate
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from tests.lines import TIME, prepare

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
}
BARS = {"definetti": {"max-lift": 1}, "background": {"known": 1, **SURE}}


def main(rows: int = ROWS) -> None:
    """Print how many times the CPU of a candidate goes into attacking it; few rows warm it up."""
    for number in (60_000, rows):
        for words, bars in (("without bars", {}), ("with bars", BARS)):
            with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ") as environment:
                environment["SFUMATO_WORK"] = f"{folder}/work"
                making, attacking, release = _seconds(Path(folder), number, bars)
                longest = _longest(Path(folder) / "run", release / 100)
            print(
                f"attack of {number:,} rows {words}: {attacking:.1f} s of CPU, "
                f"{attacking / release:.2f} of the release without it, "
                f"{attacking / making:.2f} of making and judging ({longest})",
                flush=True,
            )


def _seconds(place: Path, rows: int, bars: Mapping[str, Any]) -> tuple[float, float, float]:
    """The CPU seconds of making and judging a candidate, of attacking it, and of the release."""
    pq.write_table(_people(rows), place / "many.parquet")
    spec = yaml.safe_dump({**SPEC, "attacks": dict(bars)})
    (place / "many.yaml").write_text(spec, encoding="utf-8")
    run, begun = place / "run", time.process_time()
    resolved = _candidate(place / "many.yaml", run)
    whose, original = identity(run / "deidentified"), load(run / "deidentified")
    made, attacks = time.process_time(), resolved.spec.attacks
    attack_candidate(run / "candidate", original, attacks, whose, resolved.line, lambda _: ())
    attacked = time.process_time()
    publish(resolved.line, sealed_candidate(run / "candidate"), whose, TIME)
    published = time.process_time() - attacked
    return made - begun, attacked - made, made - begun + published


def _longest(run: Path, least: float) -> str:
    """The attacks without bars that take so many CPU seconds, in words."""
    (target,) = _targets(run / "candidate", load(run / "deidentified"))
    seconds = {}
    for name, attack in attacks_on(target).items():
        begun = time.process_time()
        attack(target)
        seconds[name] = time.process_time() - begun
    named = sorted(seconds, key=seconds.__getitem__, reverse=True)
    return ", ".join(f"{name} {seconds[name]:.2f} s" for name in named if seconds[name] >= least)


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
