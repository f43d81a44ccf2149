"""Where the files of an experiment are."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Inputs:
    """The places that an experiment reads from, and writes its trials into.

    Attributes:
        adult: the Parquet file of UCI Adult.
        hierarchies: the folder with a CSV file for each of its columns.
        scratch: a private directory for the trials of one unit of work.
    """

    adult: Path
    hierarchies: Path
    scratch: Path
