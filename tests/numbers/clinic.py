"""A made-up hospital whose release shows numbers of stays."""

from pathlib import Path
from typing import Any

from tests.related.hospital import Hospital, patients, spec_with, stays

NUMBER = "number_of_stays"
DIVERSE = {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"}
EASY = [{"model": "people", "k": 2}, {**DIVERSE, "l": 1}]


def tables(numbers: str, **of_people: Any) -> dict[str, Any]:
    """The tables of a spec; `of_people` are further columns of patients."""
    people = patients()
    people["columns"].update(of_people)
    return {"patients": people, "stays": stays(numbers=numbers)}


def spec_of_numbers(place: Path, hospital: Hospital, numbers: str, **changes: Any) -> Path:
    """Write a spec in which numbers are shown; `changes` replace keys."""
    return spec_with(place, hospital, **{"tables": tables(numbers), "promises": EASY, **changes})
