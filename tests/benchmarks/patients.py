"""The cost of promises over people: the CPU of a release of stays by that of one that counts rows.

Stays in hospital, generated: 100,000 of 70,000 people; most have one, few have ten. Age and sex are
the person's, the kind of admission is the stay's, and half of the diagnoses are the same as before.
"""

import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate
from tests.lines import prepare

STAYS, PEOPLE = 100_000, 70_000
K = {"model": "k-anonymity", "k": 5}
L = {"model": "l-diversity", "variant": "distinct", "l": 3, "sensitive": "diagnosis"}
T = {"model": "t-closeness", "t": 0.4, "distance": "equal", "sensitive": "diagnosis"}
E = {"model": "ke-anonymity", "k": 5, "e": 20, "sensitive": "cost"}
OPEN = {"role": "sensitive", "type": "integer", "unprotected": "of no interest here"}
WAYS = {
    "mondrian, generalized": ("mondrian", "generalized", [K, L]),
    "mondrian, generalized, t": ("mondrian", "generalized", [K, L, T]),
    "full-domain, generalized": ("full-domain", "generalized", [K, L]),
    "anatomy, split": ("anatomy", "split", [L]),
    "ke, permuted": ("ke", "permuted", [E, L]),
}


def main(stays: int = STAYS, people: int = PEOPLE) -> None:
    """Print, by partition and form, how many times the CPU goes into people."""
    for way in WAYS:
        for rows, people_count in ((2_000, 1_400), (stays, people)):  # few rows warm it up
            by_rows, over_people = (
                _seconds(way, rows, people_count, unit) for unit in ("stay", "patient")
            )
        ratio = over_people / by_rows
        print(f"{way}: {ratio:.2f} of rows ({over_people:.2f} CPU s)", flush=True)


def _seconds(way: str, rows: int, people: int, unit: str) -> float:
    """The CPU seconds of making, judging and sealing a candidate, whose unit is one of two."""
    partition, form, promises = WAYS[way]
    quasi_identifier = {"role": "quasi-identifier", "type": "integer"}
    other = {"patient": "stay", "stay": "patient"}[unit]
    spec = {
        "version": 2,
        "name": "stays",
        "title": "Stays",
        "source": {"uri": "stays.parquet", "format": "parquet"},
        "columns": {
            unit: {"role": "identifier", "type": "integer", "unit": True, "repeat": "all"},
            other: {"role": "drop", "type": "integer"},
            "age": {**quasi_identifier, "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "sex": quasi_identifier,
            "admission": quasi_identifier,
            "diagnosis": {"role": "sensitive", "type": "integer"},
            "cost": OPEN,
        },
        "promises": promises,
        "partition": {"method": partition},
        "form": {"method": form},
        "publish": {"uri": "public", "formats": ["parquet"]},
    }
    if unit == "stay":
        spec["columns"][unit].pop("repeat")
    with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ") as environ:
        environ["SFUMATO_WORK"] = f"{folder}/work"
        place = Path(folder)
        pq.write_table(stays_of(rows, people), place / "stays.parquet")
        (place / "stays.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
        begun = time.process_time()
        prepare(place / "stays.yaml", place / "run", operating_system)
        seal_candidate(place / "run/candidate", assess_candidate(place / "run/candidate"))
        return time.process_time() - begun


def stays_of(rows: int, people: int) -> pa.Table:
    """Everybody has a stay, and some have more: the later their number, the more of them."""
    rng = np.random.default_rng(1)
    again = people * rng.power(8, rows - people)
    patient = np.concatenate([np.arange(people), again.astype(np.int64)])
    of_person = {name: rng.integers(0, n, people) for name, n in (("age", 90), ("sex", 2))}
    order = rng.permutation(rows)
    patient = patient[order]
    diagnosis = rng.integers(0, 60, people)[patient]
    changed = rng.random(rows) < 0.5
    return pa.table(
        {
            "stay": np.arange(rows),
            "patient": patient,
            **{name: values[patient] for name, values in of_person.items()},
            "admission": rng.integers(0, 8, rows),
            "diagnosis": np.where(changed, rng.integers(0, 60, rows), diagnosis),
            "cost": rng.integers(100, 5_000, rows),
        }
    )


if __name__ == "__main__":
    main()
