"""The health of a machine that releases lines: what a steward would look at first in the morning.

Each question is answered in one line; what cannot be asked is not well.
"""

import base64
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.disks import in_units
from sfumato.expectations.machine.fault import explain
from sfumato.expectations.machine.servers import other_server, without_login
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.environment import open_home
from sfumato.flows.life.releases import own_lines
from sfumato.flows.operation.deployments import FLOWS, RELEASE
from sfumato.flows.operation.servers import left_servers
from sfumato.flows.review import list_candidates
from sfumato.flows.runs.records import latest_runs
from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.listing import ListedLine
from sfumato.tasks.private.workdir import is_private, work_directory
from sfumato.tasks.report.line_entries import rfc3339

_ROOM = 1 << 30  # bytes that should be free
_UNWELL = ("withdrawn, in place", "gone", "unfinished", "pending")
_SECONDS = 10


@dataclass(frozen=True)
class Examined:
    """Answer to a question about the machine.

    Attributes:
        about: what was asked.
        well: whether nothing is to be done.
        answer: what was found, in a line.
    """

    about: str
    well: bool
    answer: str

    def document(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        return {"about": self.about, "well": self.well, "said": self.answer}


def examine_machine(environ: Mapping[str, str] = os.environ) -> list[Examined]:
    """Examine private places, lines, and the server if one is named."""
    questions: list[tuple[str, Callable[[], Iterator[Examined]]]] = [
        ("work directory", lambda: _work(work_directory(environ))),
        ("Prefect's home", lambda: _home(environ)),
        ("servers of killed runs", lambda: _left_servers(environ)),
        ("lines", _lines),
        ("runs", lambda: _recorded_runs(environ)),
        ("candidates", _candidates),
    ]
    if environ.get("PREFECT_API_URL"):
        questions.append(("server", lambda: _server(environ)))
    return [examined for about, ask in questions for examined in _answer_or_fault(about, ask)]


def listed_lines() -> list[ListedLine]:
    """Return the lines of the work directory that can be listed; the others are reported apart."""
    try:
        return [line for _, line in own_lines() if isinstance(line, ListedLine)]
    except SfumatoError:
        return []


def write_metrics(file: Path, examined: Sequence[Examined], lines: Sequence[ListedLine]) -> None:
    """Write the answers for Prometheus' node exporter to collect, atomically.

    Raises:
        OSError: where the file cannot be written.
    """
    from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

    registry = CollectorRegistry()
    well = Gauge("sfumato_well", "1 if nothing needs attention", ["about"], registry=registry)
    states = Gauge(
        "sfumato_versions", "versions of a line by state", ["line", "state"], registry=registry
    )
    latest = Gauge(
        "sfumato_last_published_timestamp_seconds",
        "when the current version of a line was published",
        ["line"],
        registry=registry,
    )
    for about in dict.fromkeys(answer.about for answer in examined):
        well.labels(about).set(all(answer.well for answer in examined if answer.about == about))
    for line in lines:
        for version in line.versions:
            states.labels(line.name, version.state).inc()
            if version.state == "current" and version.entry is not None:
                time = datetime.fromisoformat(rfc3339(version.entry.time))
                latest.labels(line.name).set(time.timestamp())
    write_to_textfile(str(file), registry)


def _answer_or_fault(about: str, ask: Callable[[], Iterator[Examined]]) -> Iterator[Examined]:
    try:
        yield from ask()
    except SfumatoError as error:
        yield Examined(about, False, str(error))
    except Exception as error:  # noqa: BLE001 - what cannot be asked is not well
        fault = explain(error)
        answer = f"could not be checked ({type(error).__name__})"
        if fault is not None:
            answer = "; ".join([fault.reason, *fault.remedies[:1]])
        yield Examined(about, False, answer)


def _work(work: Path) -> Iterator[Examined]:
    if not work.is_dir():
        yield Examined(
            "work directory", False, f"{work}: does not exist, so no line has its state here"
        )
        return
    mode = work.stat().st_mode & 0o777
    mine = is_private(work) and os.access(work, os.W_OK)
    complaint = (
        ""
        if mine
        else (f", mode {mode:04o}: must be writable by the owner, and closed to others (chmod 700)")
    )
    yield Examined("work directory", mine, f"{work}{complaint}")
    free = shutil.disk_usage(work).free
    yield Examined("disk", free >= _ROOM, f"{free / _ROOM:.1f} GiB free (at least 1 is needed)")


def _home(environ: Mapping[str, str]) -> Iterator[Examined]:
    warning = open_home(environ)
    yield Examined("Prefect's home", warning is None, warning or "closed to others")


def _left_servers(environ: Mapping[str, str]) -> Iterator[Examined]:
    servers = left_servers(environ)
    memory = in_units(sum(server.bytes_of_memory for server in servers))
    pids = ", ".join(str(server.pid) for server in servers)
    answer = (
        f"{len(servers)} still run, with {memory} of memory (pid {pids}). To stop them, "
        "run sfumato sweep"
    )
    yield Examined("servers of killed runs", not servers, answer if servers else "none")


def _lines() -> Iterator[Examined]:
    for name, line in own_lines():
        if isinstance(line, SfumatoError):
            yield Examined(f"line {name}", False, str(line))
            continue
        bad = [version for version in line.versions if version.state in _UNWELL]
        current = [version.number for version in line.versions if version.state == "current"]
        behind = [
            f"{destination.place} is behind"
            for destination in line.destinations
            if destination.behind is not None
        ]
        left_over = () if line.place is None else find_left_over(line.place)
        complaints = ", ".join(
            [*(f"{version.number} {version.state}" for version in bad), *behind, *left_over]
        )
        well = not (bad or behind or left_over)
        yield Examined(
            f"line {line.name}", well, complaints or f"current {current[0] if current else 'none'}"
        )


def _recorded_runs(environ: Mapping[str, str]) -> Iterator[Examined]:
    """Yield the latest run of each line among those without Prefect."""
    for record in latest_runs(environ).values():
        yield Examined(f"run of {record.line}", not record.needs_attention, record.words())


def _candidates() -> Iterator[Examined]:
    """Yield the waiting candidates: approved ones have to be published, expired ones made again."""
    for candidate in list_candidates(()):
        yield Examined(
            f"candidate of {candidate.held.request.line}",
            candidate.status == "pending",
            candidate.words,
        )


def _server(environ: Mapping[str, str]) -> Iterator[Examined]:
    import httpx

    address = environ["PREFECT_API_URL"]
    base = f"{address.rstrip('/')}/"
    with httpx.Client(base_url=base, headers=_login(environ), timeout=_SECONDS) as client:

        def ask(path: str, body: Mapping[str, Any] | None = None) -> Any:
            answer = client.get(path) if body is None else client.post(path, json=dict(body))
            try:
                return answer.raise_for_status().json()
            except ValueError:
                raise other_server().error() from None

        yield Examined("server", bool(ask("health")), without_login(address))
        yield from _pools(ask)
        late = _runs(ask, {"name": {"any_": ["Late"]}})
        yield Examined("late runs", not late, ", ".join(late) or "none")
        going = _runs(ask, {"type": {"any_": ["RUNNING", "PENDING"]}})
        yield Examined("runs going", True, ", ".join(going) or "none")
        watch = [
            automation
            for automation in ask("automations/filter", {})
            if automation["name"].startswith("sfumato:")
        ]
        enabled = bool(watch) and all(automation["enabled"] for automation in watch)
        yield Examined(
            "watch",
            enabled,
            "enabled" if enabled else "missing. To register it, run sfumato deploy",
        )


def _pools(ask: Callable[[str, Mapping[str, Any]], Any]) -> Iterator[Examined]:
    """Yield the state of each pool; the pool of publications only if it exists."""
    named = {"work_pools": {"name": {"any_": [flow.pool for flow in FLOWS]}}}
    statuses = {pool["name"]: pool["status"] for pool in ask("work_pools/filter", named)}
    for pool, status in ({RELEASE.pool: "missing"} | statuses).items():
        yield Examined("worker", status == "READY", f"pool {pool}: {status.lower()}")


def _login(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers by which Prefect's own client logs in to a server or a proxy."""
    if key := environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    if login := environ.get("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    return {}


def _runs(ask: Callable[[str, Mapping[str, Any]], Any], state: Mapping[str, Any]) -> list[str]:
    body = {
        "flows": {"name": {"any_": [flow.flow for flow in FLOWS]}},
        "flow_runs": {"state": state},
        "limit": 50,
    }
    return [f"{run['name']} since {_moment(run)}" for run in ask("flow_runs/filter", body)]


def _moment(run: Mapping[str, Any]) -> str:
    time = run["start_time"] or run["expected_start_time"]
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
