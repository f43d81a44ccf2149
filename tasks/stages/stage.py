"""How one stage hands its work to the next: a private directory with Parquet and a little JSON."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_json

CHOICE = "choice"
"""What was chosen for the line, with the scores of all candidates, in the stage that it was of."""


def new_stage(run: Path, name: str) -> Path:
    """An empty private directory for a stage of a run."""
    return private_directory(run / name)


def write_note(stage: Path, name: str, document: Any) -> None:
    """Leave a small document in a stage."""
    (stage / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def read_note(stage: Path, name: str) -> Any:
    """What a stage left."""
    return read_json(stage / f"{name}.json", None)


def write_private_list(place: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write values of people as CSV into a private file of a line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    write_atomically(place, text.getvalue().encode())
