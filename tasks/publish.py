"""The task that makes a judged candidate the line's next version."""

from datetime import UTC, datetime
from pathlib import Path

from prefect.artifacts import create_link_artifact

from tasks.policy import private_task
from tasks.release.publication import Line
from tasks.release.publication import publish as publish_version
from tasks.stages.anonymize import declaration, keep_facts, left_out
from tasks.stages.deidentify import identity


@private_task()
def publish(candidate: Path, deidentified: Path, line: Line) -> Path:
    """Stage, check, rename, record: a whole version appears, or none."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    published = publish_version(
        line,
        candidate / "data",
        declaration(candidate),
        identity(deidentified),
        now,
        left_out(candidate),
    )
    if not published.existed:
        keep_facts(candidate, line.reports(published.directory.name))
    page = published.directory / "index.html"
    create_link_artifact(page.absolute().as_uri(), "The release's page", key=f"{line.name}-page")
    return published.directory
