"""The output of the command line: progress and messages on stderr, answers on stdout.

Texts may come from a release that somebody else made. Escape sequences in them could hide or
change the screen, and controls of direction could reorder it.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from sfumato.expectations.machine.prefect_in_use import in_prefect_run
from sfumato.expectations.shared.errors import WAY_OUT, InputError
from sfumato.flows.operation.log_lines import as_json, facts_of_run, log_line

if TYPE_CHECKING:
    from sfumato.tasks.private.failure import Counts, Listener


INTERRUPTED = 130
"""The exit code of an interrupted command: 128 plus the number of the signal."""
CLOSED_PIPE = 141
"""The exit code of a command whose answers nobody reads any more, as of one that SIGPIPE ends."""
# Controls but tab and newline, of both sets; delete; line and direction controls of Unicode; halves
# of characters, which have no place in UTF-8.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class ClosedPipeError(Exception):
    """The program that read the answers has ended, as `head` does after some lines."""


def speak_utf8() -> None:
    """Write UTF-8 into files and pipes, and to terminals what they can show, on every system."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")


def visible(text: str) -> str:
    r"""Return the text with each character that would act on a terminal written as `\x1b`.

    >>> visible("\x1b[2J harmless")
    '\\x1b[2J harmless'
    """
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return the text on one line, visible."""
    return visible(" ".join(text.split()))


def echo(text: object, *, err: bool = False) -> None:
    """Print a text, lines of it as lines."""
    _write(visible(str(text)), err=err)


def echo_json(document: Any, indent: int | None = None, *, err: bool = False) -> None:
    """Print a document as JSON, which has its own way of writing such characters."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    written = _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    _write(written, err=err)


def _write(text: str, *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    with _read_by_somebody(stream, needed=not err):
        click.echo(text, file=stream)  # noqa: TID251 - the one place


@contextmanager
def direct_answers() -> Iterator[None]:
    """Let a library write to stdout, all of it before the block ends.

    Raises:
        ClosedPipeError: where nobody reads the answers.
    """
    with _read_by_somebody(sys.stdout, needed=True):
        yield
        sys.stdout.flush()


@contextmanager
def _read_by_somebody(stream: TextIO, *, needed: bool) -> Iterator[None]:
    """Write to a stream; name the file of one that has no room.

    Args:
        stream: stdout or stderr.
        needed: whether a command ends if nobody reads it.

    Raises:
        ClosedPipeError: where nobody reads what is needed.
    """
    try:
        yield
    except BrokenPipeError:
        # a stream of tests has no descriptor
        with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nobody:
            os.dup2(nobody.fileno(), stream.fileno())
        if needed:
            raise ClosedPipeError from None
    except OSError as error:
        with suppress(OSError, ValueError):
            error.filename = str(Path(f"/proc/self/fd/{stream.fileno()}").readlink())
        raise


def failure(message: str) -> None:
    """Print what went wrong in one line, and each way out in a line below it."""
    lines = WAY_OUT.join(map(one_line, message.split(WAY_OUT)))
    _tell("error", one_line(message), f"sfumato: {lines}")


def say(message: str) -> None:
    """Print a line on stderr for the person who watches."""
    _tell("info", message, message)


def _tell(level: str, message: str, text: str, facts: Mapping[str, Any] | None = None) -> None:
    """Print a message as a text, or as a line of JSON with further facts."""
    if not _wants_json():
        echo(text, err=True)
        return
    echo_json(log_line(level, message, datetime.now(UTC), facts or {}), err=True)


def _wants_json() -> bool:
    with suppress(InputError):  # which a command says before it does anything
        return as_json(os.environ)
    return False


def document(content: Mapping[str, Any], format_: str) -> None:
    """Print a document as JSON, or as lines of dotted names."""
    if format_ == "json":
        echo_json(content)
        return
    lines = list(_flat(content))
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        echo(f"{name:<{width}}  {'-' if value is None else value}")


@contextmanager
def stages() -> Iterator["Listener"]:
    """Yield a listener that shows a run's stages: live on a terminal, otherwise as plain lines."""
    if _wants_json() or not sys.stderr.isatty():
        yield _plain()
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        waiting = progress.add_task("starting Prefect", total=1)
        running: dict[str, Any] = {}

        def listen(stage: str, event: str, _counts: "Counts") -> None:
            progress.update(waiting, completed=1)
            if event == "said":
                progress.console.print(visible(stage), markup=False, highlight=False)
            elif event == "started":
                running[stage] = progress.add_task(stage, total=1)
            elif event == "finished":
                progress.update(running[stage], completed=1)
            else:
                progress.update(running[stage], description=f"{stage}: failed")

        yield listen


def _plain() -> "Listener":
    started: dict[str, float] = {}

    def listen(stage: str, event: str, counts: "Counts") -> None:
        if event == "said":
            _tell("info", stage, stage, _run_facts() | {"counts": counts})
        elif event == "started":
            started[stage] = time.monotonic()
        else:
            seconds = round(time.monotonic() - started[stage], 1)
            message = f"{stage}: {event} after {seconds:.1f} s"
            level = "info" if event == "finished" else "error"
            _tell(level, message, message, _run_facts() | {"stage": stage, "seconds": seconds})

    return listen


def _run_facts() -> dict[str, Any]:
    """Return facts about the current run; only lines of JSON need them."""
    if not _wants_json():
        return {}
    if in_prefect_run():
        from prefect.runtime import flow_run

        return facts_of_run(flow_run.flow_name, flow_run.name, flow_run.id)
    from sfumato.flows.runs.without_prefect import running_here

    record = running_here()
    return {} if record is None else facts_of_run(record.flow, record.run, record.id)


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            numbered = {str(number): item for number, item in enumerate(value, start=1)}
            yield from _flat(numbered, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", ", ".join(map(str, value)) or None
        else:
            yield f"{prefix}{name}", value
