"""A made-up hospital: patients and their stays, as files and as a spec."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pc
import yaml

DIAGNOSES = ("asthma", "cancer", "flu", "gout")


class Hospital(NamedTuple):
    """Patients, and the stays of some of them."""

    patients: pa.Table
    stays: pa.Table


def columns_of(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The columns of rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def made_up(seed: int, patients: int, most: int = 4, ages: int = 60) -> Hospital:
    """A hospital whose patients have up to so many stays each; at least one has one."""
    random = Random(seed)
    people: list[tuple[str, int, str]] = []
    rows: list[tuple[str, str, int]] = []
    for number in range(patients):
        name = f"p{number}"
        people.append((name, random.randint(20, 20 + ages), random.choice("fm")))
        stays = random.randint(0, most) if random.random() < 0.7 else 0
        rows += [(name, random.choice(DIAGNOSES), random.randint(-3, 40)) for _ in range(stays)]
    if not rows:
        rows.append(("p0", "flu", 7))
    random.shuffle(rows)
    return Hospital(
        pa.table(dict(zip(("patient", "age", "sex"), columns_of(people), strict=True))),
        pa.table(dict(zip(("patient", "diagnosis", "cost"), columns_of(rows), strict=True))),
    )


def toy() -> Hospital:
    """Eight patients in two halves, with five and seven stays."""
    patients = [
        *(("p1", 30, "f"), ("p2", 34, "f"), ("p3", 39, "m"), ("p4", 44, "m")),
        *(("p5", 61, "m"), ("p6", 66, "f"), ("p7", 70, "f"), ("p8", 74, "m")),
    ]
    stays = [
        *(("p1", "flu", 400), ("p1", "gout", 900), ("p2", "asthma", 1200)),
        *(("p3", "gout", 700), ("p3", "flu", 500), ("p5", "cancer", 5000)),
        *(("p5", "cancer", 7000), ("p5", "gout", 800), ("p6", "flu", 600)),
        *(("p7", "asthma", 1500), ("p8", "gout", 1000), ("p8", "asthma", 1300)),
    ]
    return Hospital(
        pa.table(dict(zip(("patient", "age", "sex"), columns_of(patients), strict=True))),
        pa.table(dict(zip(("patient", "diagnosis", "cost"), columns_of(stays), strict=True))),
    )


def spec_with(place: Path, hospital: Hospital, **changes: Any) -> Path:
    """Write a hospital's tables and its spec; `changes` replace keys of the spec."""
    place.mkdir(parents=True, exist_ok=True)
    pc.write_csv(hospital.patients, place / "patients.csv")
    pc.write_csv(hospital.stays, place / "stays.csv")
    spec = place / "hospital.yaml"
    document = {**spec_of_hospital(place), **changes}
    document = {key: value for key, value in document.items() if value is not None}
    spec.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return spec


def spec_of_hospital(place: Path) -> dict[str, Any]:
    """The spec of a hospital."""
    return {
        "version": 2,
        "name": "hospital",
        "title": "A made-up hospital",
        "tables": {"patients": patients(), "stays": stays()},
        "promises": [
            {"model": "people", "k": 2},
            {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"},
        ],
        "partition": {"method": "mondrian"},
        "publish": {"uri": str(place / "releases")},
    }


def patients() -> dict[str, Any]:
    """The table of patients in a spec."""
    return {
        "source": {"uri": "patients.csv"},
        "columns": {
            "patient": {"role": "identifier", "unit": True},
            "age": {"role": "quasi-identifier", "type": "integer"},
            "sex": {"role": "quasi-identifier"},
        },
    }


def stays(**changes: Any) -> dict[str, Any]:
    """The table of stays in a spec; `changes` replace its keys."""
    columns: Mapping[str, Any] = {
        "patient": {"role": "key"},
        "diagnosis": {"role": "sensitive"},
        "cost": {"role": "sensitive", "type": "integer", "unprotected": "rates are public"},
    }
    return {"of": "patients", "source": {"uri": "stays.csv"}, "columns": dict(columns), **changes}
