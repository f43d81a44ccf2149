"""The task that makes a judged candidate the line's next version."""

from datetime import UTC, datetime
from pathlib import Path

from prefect.artifacts import create_link_artifact

from sfumato.tasks.policy import private_task
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.publish import publish as publish_version
from sfumato.tasks.stages.anonymize import declaration, keep_facts, left_out
from sfumato.tasks.stages.deidentify import identity


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
