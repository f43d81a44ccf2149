"""Long work: commands of Sfumato in processes of their own, with progress, and a way to stop.

A command run here does what it does in a terminal. So a draft, a comparison or a release that was
made in the browser is the one that the command line makes.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from sfumato.expectations.shared.errors import InputError

_COMMAND = "from sfumato.flows.cli.main import main; main()"
_SAFE_PATH = ("-P",)  # modules that lie beside the data are never imported
_MOST_LINES = 2000
_MOST_BYTES = 1 << 24  # of output
_PATIENCE = 10.0  # seconds that a stopped command has to tidy up
_MOST_JOBS = 100
_GO_ON = ("compare", "sweep")  # commands that keep results on the way
_INTERRUPTED = (130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)


@dataclass
class Job:
    """A command that runs or has run.

    Attributes:
        id: letters that name it in addresses.
        kind: the name of the command, or of what it answers.
        title: what it does, in words.
        spec: the name of its spec.
        digest: of the state of the spec that it began with.
        target: the address to which its page leads when it is done.
        process: the process.
        lines: what it wrote for the person who watches.
        output: its answer.
        code: its exit code; None while it runs.
        is_stopped: whether the steward stopped it.
    """

    id: str
    kind: str
    title: str
    spec: str
    digest: str
    target: str
    process: "subprocess.Popen[bytes]"
    lines: list[str] = field(default_factory=list)
    output: str = ""
    code: int | None = None
    is_stopped: bool = False

    @property
    def is_running(self) -> bool:
        """True until its process has ended and its answer is read."""
        return self.code is None

    @property
    def state(self) -> str:
        """`running`, `done`, `stopped`, `refused` or `failed`."""
        if self.code is None:
            return "running"
        if self.is_stopped or self.code in _INTERRUPTED:
            return "stopped"
        return {0: "done", 2: "refused", 3: "refused"}.get(self.code, "failed")

    @property
    def document(self) -> Mapping[str, Any]:
        """Its answer as a document; empty if it gave none."""
        for line in reversed(self.output.splitlines()):
            with suppress(ValueError):
                answer = json.loads(line)
                return answer if isinstance(answer, dict) else {}
        return {}

    @property
    def after_stop(self) -> str:
        """The words on what becomes of a stopped command that is started again."""
        if self.kind in _GO_ON:
            return "Start it again to go on: what was tried before it was stopped is kept."
        return "It kept nothing, so it begins anew when you start it again."

    @property
    def message(self) -> str:
        """The last line that it wrote, without the name of the program."""
        return self.lines[-1].removeprefix("sfumato: ") if self.lines else ""


class Jobs:
    """The commands of one run of the workbench."""

    def __init__(self, folder: Path, work: Path) -> None:
        """Take the folder in which commands run, and the private work directory."""
        self._folder, self._work = folder, work
        self._jobs: dict[str, Job] = {}
        self._lock = Lock()

    def start(
        self,
        arguments: Sequence[str],
        title: str,
        target: str,
        *,
        spec: str = "",
        digest: str = "",
        kind: str = "",
    ) -> Job:
        """Start a command; the same command on the same state runs only once at a time.

        Args:
            arguments: of the command, its name first.
            title: what it does, in words.
            target: the address to which its page leads when it is done.
            spec: the name of its spec.
            digest: of the state of the spec.
            kind: of the command, if its name does not tell what it answers.

        Raises:
            InputError: where an argument has a character that no argument can have.
        """
        if any("\0" in argument for argument in arguments):
            raise InputError("the text contains the character NUL. Remove it")
        kind = kind or arguments[0]
        with self._lock:
            same = self._running(kind, spec)
            if same is not None:
                return same
            process = self._process(arguments)
            job = Job(secrets.token_urlsafe(9), kind, title, spec, digest, target, process)
            self._jobs[job.id] = job
            for old in list(self._jobs)[:-_MOST_JOBS]:
                if not self._jobs[old].is_running:
                    del self._jobs[old]
        Thread(target=_follow, args=(job,), daemon=True).start()
        return job

    def _process(self, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, "SFUMATO_WORK": str(self._work), "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, *_SAFE_PATH, "-c", _COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=environ,
            start_new_session=True,
        )

    def job(self, name: str) -> Job | None:
        """Return a job by its letters, or None."""
        return self._jobs.get(name)

    def latest(self, kind: str, spec: str) -> Job | None:
        """Return the latest job of a command for a spec, or None."""
        jobs = [job for job in self._jobs.values() if job.kind == kind and job.spec == spec]
        return jobs[-1] if jobs else None

    def _running(self, kind: str, spec: str) -> Job | None:
        job = self.latest(kind, spec)
        return job if job is not None and job.is_running and spec else None

    def is_busy(self) -> bool:
        """Return True if a command runs."""
        return any(job.is_running for job in self._jobs.values())

    def stop(self, job: Job) -> None:
        """Interrupt a command as ctrl-C does; one that does not end soon is killed."""
        if job.is_running:
            job.is_stopped = True
            _signal(job, signal.SIGINT)
            Thread(target=_kill_later, args=(job,), daemon=True).start()

    def stop_all(self) -> None:
        """Interrupt every command, and wait until they have ended."""
        running = [job for job in self._jobs.values() if job.is_running]
        for job in running:
            job.is_stopped = True
            _signal(job, signal.SIGINT)
        for job in running:
            _kill_later(job)


def _follow(job: Job) -> None:
    """Read what a command writes, until it ends."""
    errors = Thread(target=_read_lines, args=(job,), daemon=True)
    errors.start()
    assert job.process.stdout is not None  # noqa: S101 - it is a pipe
    output = job.process.stdout.read(_MOST_BYTES)
    errors.join()
    job.output = output.decode("utf-8", "replace")
    job.process.stdout.close()
    job.code = job.process.wait()


def _read_lines(job: Job) -> None:
    assert job.process.stderr is not None  # noqa: S101 - it is a pipe
    with job.process.stderr as stream:
        for line in stream:
            text = line.decode("utf-8", "replace").strip()
            if text and len(job.lines) < _MOST_LINES:
                job.lines.append(text)


def _signal(job: Job, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(job.process.pid, number)


def _kill_later(job: Job) -> None:
    try:
        job.process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        _signal(job, signal.SIGKILL)
