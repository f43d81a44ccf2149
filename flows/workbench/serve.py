"""One run of the workbench: from a place on disk to a page in a browser, and its end."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.workbench.app import application
from sfumato.flows.workbench.counts import TableCounter
from sfumato.flows.workbench.desk import Folder
from sfumato.flows.workbench.guard import Keys
from sfumato.flows.workbench.jobs import Jobs
from sfumato.flows.workbench.server import (
    IDLE_SECONDS,
    WorkbenchServer,
    open_browser,
    open_port,
    opening_file,
)
from sfumato.flows.workbench.visit import Bench
from sfumato.tasks.private.workdir import work_directory

_SPEC_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True)
class OpenWorkbench:
    """A workbench whose port is open.

    Attributes:
        bench: what its pages share.
        server: its server, which does not answer before `run`.
        opening: the private file that lets one browser in.
    """

    bench: Bench
    server: WorkbenchServer
    opening: Path

    def open_browser(self) -> bool:
        """Open the browser of this user; return False where there is none."""
        return open_browser(self.opening)

    def run(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Answer the browser until the terminal ends or nobody has used it for long."""
        self.server.run(self.opening, idle_seconds)


@contextmanager
def open_workbench(place: Path, environ: Mapping[str, str]) -> Iterator[OpenWorkbench]:
    """Open a workbench for a folder, a table or a spec; end its commands when the block ends.

    Args:
        place: a directory, or a file in it.
        environ: the environment, which names the work directory.

    Raises:
        InputError: where there is no such place, no port is free, or the work directory is open to
            others.
    """
    folder, beginning = _folder_of(place)
    work = work_directory(environ)
    keys, desk = Keys(beginning), Folder(folder, work)
    jobs, counting = Jobs(desk.folder, work), TableCounter()
    bench = Bench(desk, jobs, counting, keys.place)
    listener = open_port()
    try:
        port = listener.getsockname()[1]
        server = WorkbenchServer(application(bench), keys, listener, jobs.is_busy)
        with opening_file(desk.private, keys, port) as opening:
            yield OpenWorkbench(bench, server, opening)
    finally:
        listener.close()
        counting.close()
        jobs.stop_all()


def _folder_of(place: Path) -> tuple[Path, str]:
    """Return the folder of a place, and the page of the workbench that is about the place.

    Raises:
        InputError: where there is no such place.
    """
    if place.is_dir():
        return place, ""
    if not place.is_file():
        raise InputError(
            f"{place}: is neither a file nor a directory. Name a table, a spec, or the directory "
            "in which they are"
        )
    if place.suffix.lower() in _SPEC_ENDINGS:
        return place.absolute().parent, f"columns/{quote(place.name)}"
    return place.absolute().parent, f"table?{urlencode({'file': place.name})}"
