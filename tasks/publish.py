"""The task that makes a judged candidate the line's next version."""

from datetime import UTC, datetime
from pathlib import Path

from prefect.artifacts import create_link_artifact

from sfumato.tasks.policy import private_task
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.publish import publish as publish_version
from sfumato.tasks.stages.anonymize import keep_private_diagnostics
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import sealed_candidate


@private_task()
def publish(candidate: Path, deidentified: Path, line: Line) -> Path:
    """Stage, check, rename, record: a whole version appears, or none."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    published = publish_version(line, sealed_candidate(candidate), identity(deidentified), now)
    if not published.existed:
        keep_private_diagnostics(candidate, line.reports(published.directory.name))
    page = published.directory / "index.html"
    create_link_artifact(page.absolute().as_uri(), "The release's page", key=f"{line.name}-page")
    return published.directory
