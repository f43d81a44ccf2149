"""Files that commands left for the steward: private reports, and pages as they are published."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.workbench.jobs import Job

REPORT, PREVIEW = "report", "release"


def _two_above(key: str) -> Callable[[Mapping[str, Any]], Path | None]:
    """Return what gives the directory two above the file that a document names."""

    def place(document: Mapping[str, Any]) -> Path | None:
        return Path(document[key]).parent.parent if document.get(key) else None

    return place


def _directory(document: Mapping[str, Any]) -> Path | None:
    return Path(document["directory"]) if document.get("directory") else None


def _folder_of_profile(document: Mapping[str, Any]) -> Path | None:
    return Path(document["profile"]).parent if document.get("profile") else None


_PLACES: Mapping[str, Callable[[Mapping[str, Any]], Path | None]] = {
    "plan": _two_above("page"),
    "compare": _two_above("page"),
    "release": _directory,
    "publish": _directory,
    "init": _folder_of_profile,
}
"""The directory that a command's answer names, by the name of the command."""
_WITHIN: Mapping[str, tuple[str, ...]] = {
    "plan": (REPORT, PREVIEW),
    "compare": (REPORT,),
    "release": ("",),
    "publish": ("",),
    "init": ("profile.html",),
}
"""The parts of that directory that are shown; an empty name is all of it."""


def place_of_job(job: Job) -> Path | None:
    """Return the directory of what a command left, or None if it left nothing to look at."""
    find = _PLACES.get(job.kind)
    return None if find is None or job.state != "done" else find(job.document)


def file_of_job(job: Job, name: str) -> Path | None:
    """Return the path of a file that a command left, or None for what is not shown.

    Args:
        job: the command.
        name: the path of the file, relative to the directory of the command's answer.
    """
    place = place_of_job(job)
    if place is None or "\0" in name:
        return None
    root, path = place.resolve(), (place / name).resolve()
    allowed = [(root / part).resolve() for part in _WITHIN[job.kind]]
    if not any(path == part or path.is_relative_to(part) for part in allowed):
        return None
    return path if path.is_file() else None


def released_version(job: Job | None) -> Mapping[str, Any] | None:
    """Return the summary of the version that a command released, or None."""
    if job is None or job.kind not in ("release", "publish") or job.state != "done":
        return None
    return job.document if "published" in job.document else None


def page_of_draft(place: str, job: Job | None) -> str | None:
    """Return the address of a draft's own report, or None without one.

    Args:
        place: the secret path.
        job: the command.
    """
    if job is None or job.state != "done" or not job.document.get("page"):
        return None
    root = place_of_job(job)
    if root is None:
        return None
    try:
        inside = Path(job.document["page"]).relative_to(root)
    except (ValueError, SfumatoError):
        return None
    return f"{place}/private/{job.id}/{inside.as_posix()}"
