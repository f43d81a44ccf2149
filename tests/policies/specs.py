"""Specs that keep each policy, and one change for each rule that breaks it."""

import csv
import random
from pathlib import Path
from typing import Any

import yaml

Spec = dict[str, Any]
AREAS = ["021", "100", "606", "941"]


def patients(rows: int = 120, seed: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """Made-up patients; `changes` replace values of the first one."""
    rng = random.Random(seed)
    people = [
        {
            "patient": f"P{seed}-{number}",
            "age": rng.randint(20, 95),
            "zip": rng.choice(AREAS) + f"{rng.randint(0, 99):02}",
            "admitted": rng.randint(2019, 2025),
            "born": rng.randint(1925, 2005),
            "cost": rng.randint(100, 999),
        }
        for number in range(rows)
    ]
    return [{**people[0], **changes}, *people[1:]]


def base(**changes: Any) -> Spec:
    """A spec of labels over four quasi-identifiers, without a policy."""
    return {
        "version": 2,
        "name": "stays",
        "title": "Stays in hospitals",
        "source": {"uri": "patients.csv", "format": "csv"},
        "columns": {
            "patient": {"role": "identifier", "unit": True},
            "age": {
                "role": "quasi-identifier",
                "type": "integer",
                "top": "90",
                "hierarchy": {"intervals": [10, 20]},
            },
            "zip": {"role": "quasi-identifier", "prefix": 3},
            "admitted": {
                "role": "quasi-identifier",
                "type": "integer",
                "range": {"min": 1900, "max": 2100},
            },
            "born": {
                "role": "insensitive",
                "type": "integer",
                "bottom": "1935",
                "range": {"min": 1900, "max": 2100},
            },
            "cost": {"role": "sensitive", "type": "integer"},
        },
        "promises": [
            {"model": "k-anonymity", "k": 12},
            {"model": "l-diversity", "variant": "distinct", "l": 2},
        ],
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
        "publish": {"uri": "public"},
        **changes,
    }


KINDS = {
    "patient": "H",
    "age": "C-age",
    "zip": "B-zip3",
    "admitted": "C",
    "born": "C-birth",
    "cost": "other",
}
SAFE_HARBOR = {"name": "hipaa-safe-harbor", "year": 2025, "columns": KINDS}
LIMITS = {name: {"max-share": 1} for name in ("singling-out", "linkability", "inference")}
KEPT: dict[str, Spec] = {
    "ema-0070": base(policy="ema-0070"),
    "health-canada-prci": base(policy="health-canada-prci"),
    "hipaa-safe-harbor": base(policy=SAFE_HARBOR),
    "statistical-office": base(policy="statistical-office"),
    "tre-10": base(policy="tre-10"),
    "gdpr-wp216": base(policy="gdpr-wp216", attacks=LIMITS),
}
"""A spec that keeps each policy that is not refused."""


def with_column(spec: Spec, name: str, **keys: Any) -> Spec:
    """The spec with other keys of a column; None takes a key away."""
    column = {k: v for k, v in {**spec["columns"][name], **keys}.items() if v is not None}
    return {**spec, "columns": {**spec["columns"], name: column}}


def with_k(k: int, policy: str) -> Spec:
    """A spec with another k under a policy."""
    rest = base()["promises"][1:]
    return base(policy=policy, promises=[{"model": "k-anonymity", "k": k}, *rest])


def with_kind(name: str, kind: str | None) -> Spec:
    """The spec of the safe harbor with another kind of a column; None takes its kind away."""
    kinds = {k: v for k, v in {**KINDS, name: kind}.items() if v is not None}
    return base(policy={**SAFE_HARBOR, "columns": kinds})


def with_register(policy: str, attacks: Spec) -> Spec:
    """A spec without codings, which a register can be compared with."""
    plain = {"age": {"top": None}, "zip": {"prefix": None}, "born": {"bottom": None}}
    spec = base(policy=policy, attacks=attacks)
    for name, keys in plain.items():
        spec = with_column(spec, name, **keys)
    return spec


def answer_all(spec: Spec, names: list[str]) -> Spec:
    """The spec with an answer to each of these questions."""
    wish = spec["policy"]
    keys = {"name": wish} if isinstance(wish, str) else wish
    return {**spec, "policy": {**keys, "states": {name: f"Answer to {name}." for name in names}}}


def write(folder: Path, spec: Spec, rows: list[dict[str, Any]] | None = None) -> Path:
    """Write a spec and its source into a folder; return the spec's path."""
    people = patients() if rows is None else rows
    with (folder / "patients.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(people[0]))
        writer.writeheader()
        writer.writerows(people)
    place = folder / "stays.yaml"
    place.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    return place
