"""Trials of a line under faults: a run that is killed or fails, and the next one.

Every trial begins with a copy of a line that has one version, whose source then changed.
"""

import ctypes
import errno
import importlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.faults import whole
from tests.faults.stop_at import arm
from tests.forked import Ran, in_child

STAGES = ("ingest", "deidentify", "verify", "anonymize", "validate", "publish", "evaluate")
POINTS = (
    *(
        f"{when}:sfumato.flows.runs.releasing:{stage}"
        for stage in STAGES
        for when in ("before", "after")
    ),
    *(
        f"{when}:sfumato.tasks.{place}"
        for place in (
            "stages.ingest:save",
            "stages.deidentify:save",
            "stages.anonymize:write_tables",
            "validate:assess_candidate",
            "validate:seal_candidate",
            "publication.publish:recover",
            "publication.publish:stage",
            "publication.staging:check",
            "publication.staging:sync_tree",
            "publication.publish:_intend",
            "publication.publish:write_units",
            "publication.publish:appear",
            "publication.publish:begin_change",
            "publication.publish:_open_to_all",
            "publication.publish:_record",
            "publication.publish:_settle",
            "publication.publish:refresh_pages",
            "publication.publish:replace_record",
            "publication.publish:write_state",
            "stages.evaluate:record_accuracy",
        )
        for when in ("before", "after")
    ),
)
CHANGES = 120  # about as many changes of files as a run makes
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE, _MS_REMOUNT, _MS_RDONLY = 0x20000, 0x4000, 0x40000, 32, 1


@dataclass(frozen=True)
class Trial:
    """The course of a trial: what was done, how both runs ended, and what is wrong."""

    what: str
    code: int | None
    next_code: int | None
    problems: list[str]
    temporaries: list[str]


def template(place: Path) -> Path:
    """A line with one version, whose source has changed since."""

    def make() -> int:
        from tests.release.small import Small, people

        small = Small(place / "line").write(people(), versions="accepted-risk")
        code = release()
        small.write(people(first=1000, seed=2), versions="accepted-risk")
        return code

    place.mkdir()
    made = in_child(make, place)
    if made.code != 0:
        raise RuntimeError(made.err)
    return place


def release() -> int:
    """Run the release command in this process."""
    from sfumato.flows.cli.main import run

    return run(["release", "line/wages.yaml"])


def try_fault(
    made: Path,
    place: Path,
    what: str,
    first: Callable[[], int],
    after: float | None = None,
    expected: tuple[int, ...] = (0,),
) -> Trial:
    """Try one fault: run `first` in a child, killed `after` seconds, then release again."""
    shutil.copytree(made, place, symlinks=True)
    public = place / "line" / "public" / "wages"
    before = whole.versions(public)
    ran = in_child(first if after is None else lambda: _killed_later(first, after), place)

    def again() -> int:
        problems = list(whole.broken(public, before))
        code = release()
        problems += whole.broken(public, before)
        if code == 0:
            problems += [*whole.find_problems(public), *whole.left_behind(place)]
        print(json.dumps(problems))
        return code

    followed = in_child(again, place)
    problems = _read_problems(followed)
    if followed.code not in expected:
        problems.append(f"the next run ended with {followed.code}: {followed.err.strip()[-200:]}")
    if "Traceback" in ran.err + followed.err:
        problems.append(f"a traceback: {(ran.err + followed.err)[-300:]}")
    leftovers = whole.temporaries(place)
    shutil.rmtree(place, ignore_errors=True)
    return Trial(what, ran.code, followed.code, problems, leftovers)


def _read_problems(ran: Ran) -> list[str]:
    try:
        return list(json.loads(ran.out.splitlines()[-1]))
    except (ValueError, IndexError):
        return [f"nothing was told: {ran.err[-300:]}"]


def _killed_later(run: Callable[[], int], seconds: float) -> int:
    def kill() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    return run()


def killed_at(point: str) -> Callable[[], int]:
    """A run that dies at a point."""

    def run() -> int:
        arm(point)
        return release()

    return run


def kills(made: Path, scratch: Path, number: int, seed: int = 1) -> Iterator[Trial]:
    """Kill so many runs: at every named point, before random changes, at random instants."""
    rng = Random(seed)
    for n in range(number):
        place = scratch / "trial"
        if n < len(POINTS):
            yield try_fault(made, place, POINTS[n], killed_at(POINTS[n]))
        elif n % 2:
            point = f"change:{rng.randint(1, CHANGES)}"
            yield try_fault(made, place, point, killed_at(point))
        else:
            after = rng.uniform(0.0, 1.5)
            yield try_fault(made, place, f"after {after:.3f} s", release, after)


def lose_directories(made: Path, scratch: Path) -> Iterator[Trial]:
    """Take directories away in the middle of a run: it fails, and the next one says what is gone.

    What was published, or is known of it, cannot be made again: that is refused (3).
    """
    for stage in STAGES:
        for name, expected in (
            ("work/wages/runs", (0, 2)),
            ("work/wages", (2, 3)),
            ("work", (2, 3)),
            ("line/public", (0, 3)),
        ):

            def run(stage: str = stage, name: str = name) -> int:
                flow = importlib.import_module("sfumato.flows.runs.releasing")
                original = getattr(flow, stage)

                def empty_and_call(*args: object) -> object:
                    shutil.rmtree(name)
                    return original(*args)

                setattr(flow, stage, empty_and_call)
                return release()

            what = f"{name} vanishes before {stage}"
            trial = try_fault(made, scratch / "trial", what, run, expected=expected)
            yield _leave_out(trial, "version 0001 changed", "lists", "not there", "disagree")


def _leave_out(trial: Trial, *words_left_out: str) -> Trial:
    """Without what follows from the fault itself."""
    rest = [
        problem for problem in trial.problems if not any(word in problem for word in words_left_out)
    ]
    return Trial(trial.what, trial.code, trial.next_code, rest, trial.temporaries)


def set_back(made: Path, scratch: Path) -> Iterator[Trial]:
    """Let a run believe that it is long ago: the new version is current all the same."""

    def run() -> int:
        from datetime import UTC, datetime

        from sfumato.tasks import publish

        class LongAgo(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime(1999, 1, 1, tzinfo=UTC)

        publish.datetime = LongAgo
        time.time = lambda: 915148800.0
        return release()

    yield try_fault(made, scratch / "trial", "the clock is set back", run)


def old_backup(made: Path, scratch: Path) -> Iterator[Trial]:
    """Put the private directory back as it was one version ago: refused, and nothing is drawn."""

    def run() -> int:
        shutil.copytree("work", "kept")
        code = release()
        shutil.rmtree("work")
        Path("kept").rename("work")
        return code

    trial = try_fault(made, scratch / "trial", "an old backup is put back", run, expected=(3,))
    yield _leave_out(trial, "versions appeared")


ROOM = {"work": range(0, 12_000, 400), "line/public": range(0, 130, 2)}  # kilobytes


def full(made: Path, scratch: Path) -> Iterator[Trial]:
    """Run with little room, enough for some stages: with more room, the next run publishes.

    Mounted in a mount namespace of the child alone; nothing where that is not permitted.
    """
    for name, sizes in ROOM.items():
        for kilobytes in sizes:

            def run(name: str = name, kilobytes: int = kilobytes) -> int:
                return _on_small_disk(Path(name), kilobytes, read_only=False)

            yield _alone(made, scratch, f"{name} has {kilobytes} KB left", run)


def read_only(made: Path, scratch: Path) -> Iterator[Trial]:
    """Run where nothing can be written, in a mount namespace of the child alone."""
    for name in ("work", "line/public"):

        def run(name: str = name) -> int:
            return _on_small_disk(Path(name), 10_000, read_only=True)

        yield _alone(made, scratch, f"{name} is read-only", run)


def may_mount() -> bool:
    """Decide whether a process here may have mounts of its own."""
    if (child := os.fork()) == 0:
        try:
            _own_mounts()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _alone(made: Path, scratch: Path, what: str, run: Callable[[], int]) -> Trial:
    """A trial whose both runs are in one child: its mounts end with it."""
    place = scratch / "trial"
    shutil.copytree(made, place, symlinks=True)
    ran = in_child(run, place)
    shutil.rmtree(place, ignore_errors=True)
    all_problems = _read_problems(ran)
    code, next_code = (
        (all_problems.pop(), all_problems.pop()) if len(all_problems) > 1 else (ran.code, None)
    )
    problems = [str(problem) for problem in all_problems]
    if "Traceback" in ran.err:
        problems.append(f"a traceback: {ran.err[-300:]}")
    return Trial(what, int(code or 0), next_code and int(next_code), problems, [])


def _on_small_disk(folder: Path, kilobytes: int, *, read_only: bool) -> int:
    """Release twice with `folder` on a file system of its own: without room, then with room."""
    public = Path("line/public/wages").absolute()
    before = whole.versions(public)
    files = [path for path in folder.rglob("*") if path.is_file()]
    used = sum(-(-path.stat().st_size // 4096) * 4 for path in files)
    with _tmpfs(folder, used + kilobytes) as change:
        if read_only:
            change(None)
        code = release()
        problems = [] if code in (0, 1, 2, 3) else [f"ended with {code}"]
        change(100_000)
        problems += whole.broken(public, before)
        next_code = release()
        problems += whole.broken(public, before)
        if next_code == 0:
            problems += [*whole.find_problems(public), *whole.left_behind(Path())]
        else:
            problems.append(f"the next run ended with {next_code}")
        print(json.dumps([*problems, next_code, code]))
    return 0


@contextmanager
def _tmpfs(folder: Path, kilobytes: int) -> Iterator[Callable[[int | None], None]]:
    """Move a folder to a file system of so many kilobytes; changes its size, None: read-only."""
    _own_mounts()
    aside = folder.with_name(f"{folder.name}-aside")
    shutil.copytree(folder, aside, symlinks=True)
    target = str(folder.absolute()).encode()
    _mount(b"tmpfs", target, b"tmpfs", 0, f"size={kilobytes}k,mode=700".encode())
    shutil.copytree(aside, folder, symlinks=True, dirs_exist_ok=True)

    def change(size: int | None) -> None:
        flags = _MS_REMOUNT | (_MS_RDONLY if size is None else 0)
        data = b"" if size is None else f"size={size}k".encode()
        _mount(b"tmpfs", target, b"tmpfs", flags, data)

    yield change


def _own_mounts() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno() or errno.EPERM, "no mount namespace of one's own")
    _mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)


def _mount(
    source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes | None
) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source, target, kind, ctypes.c_ulong(flags), data):
        raise OSError(ctypes.get_errno(), "cannot mount")
