"""The folder in which a stage hands its work to the next, and the documents beside it.

The documents are counts, but private.
"""

import csv
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_json

CHOICE = "choice"
"""The note of a stage with the choice for the line and the scores of all candidates."""
RELATED = "related"
"""The note of a stage with the counts of related rows."""
Judged = Literal["release", "source", "related", "composition", "attacks"]
_FOLDERS: Mapping[Judged, str] = {
    "release": "great-expectations",
    "source": "great-expectations-source",
    "related": "great-expectations-related",
    "composition": "great-expectations-composition",
    "attacks": "great-expectations-attacks",
}
_KEPT = "great-expectations"
_PAGE = "data-docs/index.html"
_TUTORIAL = shutil.ignore_patterns("*.gif")  # films of how Data Docs are used: nine tenths of them


def new_stage(run: Path, name: str) -> Path:
    """Return an empty private directory for a stage of a run."""
    return private_directory(run / name)


def write_note(stage: Path, name: str, document: Any) -> None:
    """Write a small document into a stage."""
    (stage / f"{name}.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")


def read_note(stage: Path, name: str) -> Any:
    """Return a document that a stage left."""
    return read_json(stage / f"{name}.json", None)


def write_private_list(place: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write values of people as CSV into a private file of a line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    write_atomically(place, text.getvalue().encode())


def gate_documents(place: Path, judged: Judged = "release") -> Path:
    """Return the private directory for documents of what is judged, in a run or a candidate."""
    return private_directory(place / _FOLDERS[judged])


def move_documents(candidate: Path) -> None:
    """Move the documents of a run's candidate into the candidate, which outlives the run."""
    for folder in _FOLDERS.values():
        if (candidate.parent / folder).is_dir() and not (candidate / folder).exists():
            (candidate.parent / folder).rename(candidate / folder)


def keep_documents(candidate: Path, reports: Path) -> Path | None:
    """Copy the documents of a candidate to the reports of the version made of it.

    Returns:
        The first page on what was published; None if there is none.
    """
    archive = private_directory(reports / _KEPT)
    for judged, folder in _FOLDERS.items():
        for place in (candidate / folder, candidate.parent / folder):
            if place.is_dir():
                target = private_directory(archive / judged)
                shutil.copytree(place, target, symlinks=True, ignore=_TUTORIAL, dirs_exist_ok=True)
                break
    page = archive / "release" / _PAGE
    return page if page.exists() else None
