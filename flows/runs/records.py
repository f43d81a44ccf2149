"""Records of runs without Prefect: what Prefect's server would know, in the work directory.

    <work>/.runs/<time>-<pid>.json   the stages of a run, their seconds, and how it ended

They have names, times, and the lines that commands print; nothing of the data. The newest are kept.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.outcomes import RunOutcome
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.failure import Event, listening
from sfumato.tasks.private.scratch import start_of_process
from sfumato.tasks.private.workdir import is_private, private_directory, work_directory
from sfumato.tasks.schema.files import read_bytes

KEPT = 200
"""The number of records that are kept in a work directory."""
_PLACE = ".runs"
_INTERRUPTED = "Interrupted"
_KILLED = "Killed"


class RecordedStage(BaseModel):
    """A stage of a run.

    Attributes:
        name: of the stage.
        seconds: that it took; None while it runs.
        ended: how; None while it runs.
    """

    name: str
    seconds: float | None = None
    ended: Literal["finished", "failed"] | None = None


class RunRecord(BaseModel):
    """A run: what it was about, and how it ended.

    Attributes:
        flow: the name of the flow.
        run: the name of the run.
        line: the name of its line, or of the flow if it is about no line.
        pid: the number of its process.
        process: when that process started, as the system tells.
        began: when the run began.
        stages: in the order in which they started.
        ended: when it ended; None if it has not, or was killed.
        outcome: the name of its end, as Prefect's UI would show it.
        message: one line about it.
    """

    flow: str
    run: str
    line: str
    pid: int
    process: str
    began: datetime
    stages: list[RecordedStage] = []
    ended: datetime | None = None
    outcome: str | None = None
    message: str | None = None

    @property
    def id(self) -> str:
        """The name that no other run of the work directory has."""
        return f"{self.began:%Y%m%dT%H%M%S.%fZ}-{self.pid}"

    @property
    def state(self) -> str:
        """The name of the end of the run; `Running` before it, `Killed` where there is none."""
        if self.outcome is not None:
            return self.outcome
        return "Running" if start_of_process(self.pid) == self.process else _KILLED

    @property
    def needs_attention(self) -> bool:
        """True for a fault, and for a run that was killed."""
        return self.state in ("Faulted", _KILLED)

    def end(self, outcome: RunOutcome) -> None:
        """Take how the run ended."""
        self.ended, self.outcome, self.message = _now(), outcome.name, _unicode(outcome.message)

    def document(self) -> dict[str, Any]:
        """Return the run for JSON."""
        return {**self.model_dump(mode="json", exclude={"pid", "process"}), "state": self.state}

    def words(self) -> str:
        """Return the run in a line."""
        seconds = "" if self.ended is None else f" in {(self.ended - self.began).seconds} s"
        reason = f": {self.message}" if self.message else ""
        return f"{self.run}, {self.began:%Y-%m-%d %H:%M UTC}: {self.state}{seconds}{reason}"


def begin_record(flow: str, run: str, line: str) -> RunRecord:
    """Return the record of a run of this process that begins now."""
    pid = os.getpid()
    process = start_of_process(pid)
    names = {"flow": flow, "run": _unicode(run), "line": _unicode(line)}
    return RunRecord(**names, pid=pid, process=process, began=_now())


@contextmanager
def keep_record(record: RunRecord, environ: Mapping[str, str]) -> Iterator[None]:
    """Keep the record of a run up to date while it lasts.

    A run does not fail for a record that cannot be written.
    """
    started: dict[str, float] = {}

    def listen(name: str, event: Event, _counts: object) -> None:
        if event == "started":
            started[name] = monotonic()
            record.stages.append(RecordedStage(name=name))
            _write(record, environ)
        elif event in ("finished", "failed"):
            stage = next(stage for stage in reversed(record.stages) if stage.name == name)
            stage.seconds, stage.ended = round(monotonic() - started[name], 3), event

    _delete_old(environ)
    _write(record, environ)
    try:
        with listening(listen):
            yield
    except BaseException:
        record.ended, record.outcome = _now(), _INTERRUPTED
        raise
    finally:
        _write(record, environ)


def read_runs(environ: Mapping[str, str]) -> list[RunRecord]:
    """Return the recorded runs of the work directory, the newest first."""
    records = (_read(path) for path in reversed(_paths(environ)))
    return [record for record in records if record is not None]


def latest_runs(environ: Mapping[str, str]) -> dict[str, RunRecord]:
    """Return the latest recorded run of each line, by its name."""
    return {record.line: record for record in reversed(read_runs(environ))}


def _write(record: RunRecord, environ: Mapping[str, str]) -> None:
    with suppress(OSError, SfumatoError):
        place = private_directory(private_directory(work_directory(environ)) / _PLACE)
        content = record.model_dump_json(indent=1).encode()
        write_atomically(place / f"{record.id}.json", content)


def _delete_old(environ: Mapping[str, str]) -> None:
    for path in _paths(environ)[: -(KEPT - 1)]:
        with suppress(OSError):
            path.unlink()


def _paths(environ: Mapping[str, str]) -> list[Path]:
    """Return the files of records, in the order in which their runs began."""
    place = work_directory(environ) / _PLACE
    private = is_private(place.parent) and is_private(place)
    return sorted(place.glob("*.json")) if private else []


def _read(path: Path) -> RunRecord | None:
    try:
        return RunRecord.model_validate_json(read_bytes(path))
    except (OSError, ValidationError, SfumatoError):
        return None


def _unicode(text: str) -> str:
    """Return a text with ? for each byte of a file's name that is no character."""
    return text.encode(errors="replace").decode()


def _now() -> datetime:
    return datetime.now(UTC)
