"""Artifacts of a run, and the progress of its stages, for people who watch it in Prefect's UI.

Runs without Prefect show none of them: nothing would keep them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

from sfumato.expectations.machine.prefect_in_use import in_prefect_run
from sfumato.tasks.policy import say_in_run
from sfumato.tasks.workers.workers import Workers

J = TypeVar("J")
R = TypeVar("R")


def show_table(rows: Sequence[Mapping[str, Any]], key: str, description: str) -> None:
    """Show rows as a table."""
    if in_prefect_run():
        from prefect.artifacts import create_table_artifact

        create_table_artifact([dict(row) for row in rows], key=key, description=description)


def show_link(address: str, text: str, key: str) -> None:
    """Show a link."""
    if in_prefect_run():
        from prefect.artifacts import create_link_artifact

        create_link_artifact(address, text, key=key)


def show_markdown(text: str, key: str) -> None:
    """Show a text in Markdown."""
    if in_prefect_run():
        from prefect.artifacts import create_markdown_artifact

        create_markdown_artifact(text, key=key)


class ShownProgress:
    """The progress of a long stage, as an artifact that moves by tenths.

    Attributes:
        tenths: of all steps that are done.
        total: the number of steps, 0 before the first one is shown.
    """

    def __init__(self, key: str) -> None:
        """Show that nothing is done yet."""
        self._artifact = _begin_progress(key) if in_prefect_run() else None
        self.tenths = self.total = 0

    def show(self, done: int, total: int) -> None:
        """Show how many steps of the total are done."""
        self.total = total
        tenths = done * 10 // max(total, 1)
        if tenths > self.tenths:
            self.tenths = tenths
            if self._artifact is not None:
                _move_progress(self._artifact, 10.0 * tenths)


def _begin_progress(key: str) -> UUID:
    from prefect.artifacts import create_progress_artifact

    return cast(UUID, create_progress_artifact(0.0, key=key))


def _move_progress(artifact: UUID, percent: float) -> None:
    from prefect.artifacts import update_progress_artifact

    update_progress_artifact(artifact, percent)


@dataclass(frozen=True)
class WatchedWorkers:
    """Workers whose progress is shown: how many parts of how many are done.

    Attributes:
        workers: who does it.
        stage: what they do.
        progress: shows it.
    """

    workers: Workers
    stage: str
    progress: ShownProgress

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """See `Workers`."""
        todo = list(jobs)
        for done, result in enumerate(self.workers.each(work, todo), start=1):
            yield result
            before = self.progress.tenths
            self.progress.show(done, len(todo))
            if self.progress.tenths > before:
                message = f"{self.stage}: {done:,} of {len(todo):,} parts"
                say_in_run(message, {"parts": done, "of": len(todo)})


def watch_workers(workers: Workers, stage: str, line: str) -> WatchedWorkers:
    """Return workers whose progress at a stage of a line's run is shown as an artifact."""
    return WatchedWorkers(workers, stage, ShownProgress(f"{line}-{stage}"))
