"""Hold a line's sensitive texts to what its spec says of them, before anything is made of them."""

from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import InputError
from sfumato.tasks.arrays.at_rest import is_encrypted
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.sensitive_texts import SensitiveTexts
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.durable import copy_atomically
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.stages.stage import read_note, write_note, write_private_list

LISTED = "sensitive-texts.csv"
"""The file of a line with the values that are asked about."""
_NOTE = "sensitive-texts"


def judge_texts(deidentified: Path, columns: Mapping[str, ColumnSpec], line: Line) -> None:
    """Judge the sensitive texts of a de-identified stage; see `require_texts`."""
    texts = SensitiveTexts(columns)
    if texts.columns:
        texts.add(load(deidentified))
    require_texts(texts, deidentified, line)


def require_texts(texts: SensitiveTexts, deidentified: Path, line: Line) -> None:
    """Refuse sensitive texts that break what promises say, unless the line has versions already.

    Such a line goes on as it was: what would be refused is left in the stage, to be said. The
    values are listed in a private file of the line, unless stages are encrypted.

    Raises:
        InputError: with the columns, counts and each way out.
    """
    faults = texts.faults()
    words = [fault.words for fault in faults]
    if faults and not is_encrypted(deidentified.parent):
        rows = [(fault.column, value) for fault in faults for value in fault.values.to_pylist()]
        write_private_list(line.private / LISTED, ("column", "value"), rows)
        words[-1] += f" (the values: {line.private / LISTED}, for your eyes alone)"
    if faults and not read_record(line.public).versions:
        raise InputError("; ".join(words))
    write_note(deidentified, _NOTE, words)


def said_of_texts(deidentified: Path) -> list[str]:
    """What is to be said of the sensitive texts of a line that has versions already."""
    if not (deidentified / f"{_NOTE}.json").exists():
        return []
    words: list[str] = read_note(deidentified, _NOTE)
    return words


def keep_texts(deidentified: Path, reports: Path) -> None:
    """Keep among private reports what was said, if anything was."""
    if said_of_texts(deidentified):
        copy_atomically(deidentified / f"{_NOTE}.json", reports / f"{_NOTE}.json")
