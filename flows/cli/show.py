"""The output of the command line: progress and messages on stderr, answers on stdout."""

import csv
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING, Any

from sfumato.expectations.errors import InputError
from sfumato.flows.cli.terminal import echo, echo_json, one_line, visible
from sfumato.flows.operation.log_lines import as_json, facts_of_run, log_line

if TYPE_CHECKING:
    from sfumato.tasks.private.progress import Counts, Listener
    from sfumato.tasks.query.ask import Answer

_SIX_DIGITS = 100_000
_DECIMALS = 20


def failure(message: str) -> None:
    """One line that says what went wrong."""
    _tell("error", one_line(message), f"sfumato: {one_line(message)}")


def say(message: str) -> None:
    """A line for whoever watches."""
    _tell("info", message, message)


def _tell(level: str, message: str, text: str, facts: Mapping[str, Any] | None = None) -> None:
    """A message as a text, or as a line of JSON with what is known besides."""
    if not _wants_json():
        echo(text, err=True)
        return
    echo_json(log_line(level, message, datetime.now(UTC), facts or {}), err=True)


def _wants_json() -> bool:
    with suppress(InputError):  # which a command says before it does anything
        return as_json(os.environ)
    return False


def document(content: Mapping[str, Any], format_: str) -> None:
    """A document as JSON, or as lines of dotted names."""
    if format_ == "json":
        echo_json(content)
        return
    lines = list(_flat(content))
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        echo(f"{name:<{width}}  {'-' if value is None else value}")


def answer_as(found: "Answer", format_: str) -> None:
    """An answer as a table, as JSON, or as CSV with its bounds in columns of their own."""
    from sfumato.tasks.query.ask import document as as_document

    if format_ == "json":
        document(as_document(found), "json")
    elif format_ == "csv":
        _as_csv(as_document(found))
    else:
        answer(found)


def _as_csv(answer: Mapping[str, Any]) -> None:
    """A header even where there are no rows; sides of bounds are called `x_lower` and so on."""
    rows = [dict(_sides(row)) for row in answer["rows"]]
    header = list(rows[0]) if rows else answer["columns"]
    shown = visible if sys.stdout.isatty() else str  # a file gets the values as they are
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(shown, header))
    for row in rows:
        writer.writerow(["" if row[name] is None else shown(str(row[name])) for name in header])


def _sides(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            for side in ("lower", "upper", "estimate"):
                yield f"{name}_{side}", value[side]
            if "interval_95" in value:
                low, high = value["interval_95"] or (None, None)
                yield from ((f"{name}_likely_lower", low), (f"{name}_likely_upper", high))
        else:
            yield name, value


def answer(found: "Answer") -> None:
    """An answer as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in found.columns:
        table.add_column(Text(one_line(column)))
    for row in found.rows:
        table.add_row(*(Text(visible(cell(value))) for value in row.values()))
    Console().print(table)
    rows = [v for row in found.rows for v in row.values() if hasattr(v, "estimate")]
    if any(bounds.estimate is not None and bounds.lower != bounds.upper for bounds in rows):
        echo("≈ is an estimate, without guarantee")
    _tell_of_likely([bounds.likely for bounds in rows if bounds.likely is not None])
    if found.coded:
        echo(one_line(f"about coded values: {_codings(found.coded)}"))
    left_out = ", ".join(f"{n} ({why})" for why, n in found.not_represented.items() if n)
    echo(f"{assurance(found)}{f'; rows not represented: {left_out}' if left_out else ''}")


def _tell_of_likely(found: Sequence[Any]) -> None:
    if any(likely.interval for likely in found):
        echo("likely: 95 % of queries like this one meet such an interval, without guarantee")
    for reason in dict.fromkeys(likely.reason for likely in found if likely.interval is None):
        echo(f"no likely interval: {reason}")


def _codings(coded: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{name} ({', '.join(keys)})" for name, keys in sorted(coded.items()))


def assurance(found: "Answer") -> str:
    """What the bounds of an answer are worth, in words."""
    if found.guaranteed:
        return "guaranteed bounds over the represented rows"
    if not found.verified:
        return "bounds over the represented rows, without guarantee: the files are not verified"
    return "estimates over the represented rows, without guarantee"


@contextmanager
def stages() -> Iterator["Listener"]:
    """A listener that shows a run's stages: live on a terminal, as plain lines elsewhere."""
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
            _tell("info", stage, stage, _of_run() | {"counts": counts})
        elif event == "started":
            started[stage] = time.monotonic()
        else:
            seconds = round(time.monotonic() - started[stage], 1)
            said = f"{stage}: {event} after {seconds:.1f} s"
            level = "info" if event == "finished" else "error"
            _tell(level, said, said, _of_run() | {"stage": stage, "seconds": seconds})

    return listen


def _of_run() -> dict[str, Any]:
    """The run that this is said in; it matters to lines of JSON alone."""
    if not _wants_json():
        return {}
    from prefect.runtime import flow_run

    return facts_of_run(flow_run.flow_name, flow_run.name, flow_run.id)


def cell(value: Any) -> str:
    """A value or bounds to be read; bounds are rounded outwards."""
    if not hasattr(value, "lower") or isinstance(value, str):
        return "null" if value is None else str(value)
    if value.lower is None:
        return "none selected"
    empty = " or null" if value.may_be_empty else ""
    lower, upper = number(value.lower, floor), number(value.upper, ceil)
    if lower == upper:
        return f"{lower}{empty}"
    if value.estimate is None:
        return f"{lower} … {upper}{empty}"
    return f"{lower} … {upper} (≈ {number(value.estimate, round)}{_likely(value)}){empty}"


def _likely(bounds: Any) -> str:
    if bounds.likely is None or bounds.likely.interval is None:
        return ""
    low, high = bounds.likely.interval
    return f", likely {number(low, floor)} … {number(high, ceil)}"


def number(value: Any, rounded: Callable[[Fraction], int]) -> str:
    """A number to be read: two decimals, or as many as give six digits; `rounded` says which way.

    Bounds are rounded outwards, so that they still contain the truth.

    >>> number(Fraction(1, 3), floor), number(Fraction(20_001, 10), ceil)
    ('0.333333', '2,000.10')
    """
    finite = not isinstance(value, float) or isfinite(value)
    if isinstance(value, int) or not hasattr(value, "__float__") or not finite:
        return str(value)
    exact = Fraction(value)
    digits = 2
    while exact and digits < _DECIMALS and abs(exact) * 10**digits < _SIX_DIGITS:
        digits += 1
    whole, part = divmod(abs(scaled := rounded(exact * 10**digits)), 10**digits)
    decimals = f"{part:0{digits}d}"
    while len(decimals) > 2 and decimals.endswith("0"):
        decimals = decimals[:-1]
    return f"{'-' if scaled < 0 else ''}{whole:,}.{decimals}"


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            numbered = {str(number): one for number, one in enumerate(value, start=1)}
            yield from _flat(numbered, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", ", ".join(map(str, value)) or None
        else:
            yield f"{prefix}{name}", value
