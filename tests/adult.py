"""UCI Adult as the repository ships it, and as the text that it was made of."""

from pathlib import Path

import pyarrow.parquet as pq

from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.schema.names import CsvDialect

DEPLOYMENTS = Path(__file__).parents[1] / "deployments"
HIERARCHIES = DEPLOYMENTS / "releases" / "hierarchies"
ADULT = DEPLOYMENTS / "data" / "adult.parquet"
NAMES = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country salary-class
"""
HEADER = NAMES.split()
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
DIALECT = CsvDialect(header=HEADER, null_values=("?",), skip_initial_space=True)


def parquet_source(where: str | None = None) -> Source:
    """The shipped table as the source of a spec."""
    return Source(uri=str(ADULT), format="parquet", where=where)


def text_source(directory: Path, where: str | None = None) -> Source:
    """The original text, written to a directory, as the source of a spec."""
    path = directory / "adult.data"
    path.write_text(original_text(), encoding="ascii")
    return Source(uri=str(path), csv=DIALECT, where=where)


def records() -> list[tuple[str, ...]]:
    """The cells of the original text, row by row."""
    columns = pq.read_table(ADULT).to_pydict().values()
    return [
        tuple("?" if cell is None else str(cell) for cell in row)
        for row in zip(*columns, strict=True)
    ]


def original_text() -> str:
    """The text of `adult.data`, which ends in an empty line."""
    return "".join(", ".join(record) + "\n" for record in records()) + "\n"
