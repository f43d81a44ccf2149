"""A release line: where it is published, and where its private state is."""

from dataclasses import dataclass
from pathlib import Path

from sfumato.tasks.private.workdir import private_directory


@dataclass(frozen=True)
class Line:
    """A release line: its name, its public directory and its private one."""

    name: str
    public: Path
    private: Path

    def reports(self, version: str) -> Path:
        """Where a version's private reports are."""
        return private_directory(private_directory(self.private / "reports") / version)


@dataclass(frozen=True)
class Published:
    """A version's directory, and whether it was there before."""

    directory: Path
    existed: bool
