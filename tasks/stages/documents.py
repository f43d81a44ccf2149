"""Great Expectations' own documents of what it judged: in a run, and kept for each version.

They are counts, and private all the same.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sfumato.tasks.private.workdir import private_directory

Judged = Literal["release", "source", "composition", "attacks"]
_FOLDERS: Mapping[Judged, str] = {
    "release": "great-expectations",
    "source": "great-expectations-source",
    "composition": "great-expectations-composition",
    "attacks": "great-expectations-attacks",
}
_KEPT = "great-expectations"
_PAGE = "data-docs/index.html"
_TUTORIAL = shutil.ignore_patterns("*.gif")  # films of how Data Docs are used: nine tenths of them


def gate_documents(place: Path, of: Judged = "release") -> Path:
    """The private directory for documents of what is judged, in a run or a candidate."""
    return private_directory(place / _FOLDERS[of])


def move_documents(candidate: Path) -> None:
    """Put what was written of a run's candidate into the candidate, which outlives the run."""
    for folder in _FOLDERS.values():
        if (candidate.parent / folder).is_dir() and not (candidate / folder).exists():
            (candidate.parent / folder).rename(candidate / folder)


def keep_documents(candidate: Path, reports: Path) -> Path | None:
    """Keep what was written of a candidate in the reports of the version that was made of it.

    Returns:
        The first page on what was published; None where there is none.
    """
    kept = private_directory(reports / _KEPT)
    for of, folder in _FOLDERS.items():
        for place in (candidate / folder, candidate.parent / folder):
            if place.is_dir():
                target = private_directory(kept / of)
                shutil.copytree(place, target, symlinks=True, ignore=_TUTORIAL, dirs_exist_ok=True)
                break
    page = kept / "release" / _PAGE
    return page if page.exists() else None
