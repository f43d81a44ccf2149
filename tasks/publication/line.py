"""A release line: where it is published, and where its private state is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.tasks.private.durable import locked, sync_directory
from sfumato.tasks.private.workdir import private_directory, state_lock


@dataclass(frozen=True)
class Line:
    """A release line.

    Attributes:
        name: of it.
        public: the directory of its versions.
        private: the directory of its state.
        signing_key: the file of the key that signs its versions, None where they are not signed.
    """

    name: str
    public: Path
    private: Path
    signing_key: Path | None = None

    def reports(self, version: str) -> Path:
        """The folder of a version's private reports."""
        return private_directory(private_directory(self.private / "reports") / version)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate for a version: files that were assessed.

    Attributes:
        release: the directory of the whole release.
        sha256: of each of its files when it was assessed, by its path from there.
        versions: whether people may be in several versions of the line.
        suppressed: which rows are not published, in canonical order (bool), None where all are.
    """

    release: Path
    sha256: Mapping[str, str]
    versions: str
    suppressed: np.ndarray | None = None


@dataclass(frozen=True)
class Published:
    """A version's directory, and whether it was there before."""

    directory: Path
    existed: bool


@contextmanager
def hold(line: Line) -> Iterator[None]:
    """Hold the locks of the private line and of its public directory, in this order."""
    if not line.public.is_dir():
        line.public.mkdir(parents=True, exist_ok=True)
        sync_directory(line.public.parent)
    with state_lock(line.private), locked(line.public / ".lock"):
        yield
