"""`sfumato deploy`: register release lines with a Prefect server."""

import os
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import click

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.runs import faults_in_words
from sfumato.flows.cli.show import echo_json

if TYPE_CHECKING:
    from sfumato.flows.operation.deployments import DeployedLine


@click.command()
@click.argument("specs", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default="here",
    help="the directory in which workers run; specs must be below it",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="write a prefect.yaml instead, and register nothing",
)
@as_document
def deploy(specs: tuple[Path, ...], root: Path, file: Path | None, as_json: bool) -> None:
    """Register a deployment for each spec: schedule, one run at a time, automations.

    SPECS are specs, or directories of them. The server is that of PREFECT_API_URL. Later commands
    of this work directory show their runs to it, too.
    """
    from sfumato.flows.inputs.environment import quiet
    from sfumato.flows.inputs.server_in_use import note_server
    from sfumato.flows.operation.deployments import prefect_yaml, read_lines
    from sfumato.tasks.private.durable import write_atomically

    lines = read_lines(specs, root)
    if file is not None:
        try:
            write_atomically(file, prefect_yaml(lines).encode(), mode=0o644)
        except OSError as error:
            raise InputError(with_remedies(f"{file}: cannot be written", error)) from None
        if as_json:
            echo_json({"file": str(file), "deployments": _documents(lines)})
        return
    if not os.environ.get("PREFECT_API_URL"):
        raise InputError(
            "PREFECT_API_URL: is not set. Set it to the address of the Prefect server "
            "(make server starts one)"
        )
    quiet()
    _register(lines, root)
    note_server(os.environ["PREFECT_API_URL"], os.environ)
    if as_json:
        echo_json({"deployments": _documents(lines)})


def _documents(lines: list["DeployedLine"]) -> list[dict[str, object]]:
    """Return each deployment with its name, and its schedule or the pool of runs by hand."""
    documents: list[dict[str, object]] = []
    for line in lines:
        name, times = line.spec.name, line.spec.schedule
        schedule = times and {"cron": times.cron, "timezone": times.timezone}
        documents.append({"deployment": f"release/{name}", "schedule": schedule})
        documents += [
            {"deployment": f"{deployed.flow}/{name}", "schedule": None, "pool": deployed.pool}
            for deployed in line.flows[1:]
        ]
    return documents


_SERVER_ERROR = 500  # statuses from here on are faults of the server, which may pass
_PAUSES = (1.0, 4.0)  # seconds before a busy server is asked again


def _register(lines: list["DeployedLine"], root: Path) -> None:
    with faults_in_words():
        _register_patiently(lines, root)
    for line in lines:
        times = line.spec.schedule
        when = f"{times.cron} {times.timezone}" if times else "by hand"
        show.say(f"release/{line.spec.name}: {when}")
        for flow in line.flows[1:]:
            show.say(f"{flow.flow}/{line.spec.name}: by hand, in pool {flow.pool}")


def _register_patiently(lines: list["DeployedLine"], root: Path) -> None:
    """Register lines; ask a server that fails again after a while."""
    import httpx

    from sfumato.flows.operation.register import register
    from sfumato.flows.operation.servers import require_server
    from sfumato.tasks.private.workdir import work_directory

    require_server()
    environment = {"SFUMATO_WORK": str(work_directory(os.environ))}
    for pause in (*_PAUSES, None):  # registering again replaces what was registered
        try:
            register(lines, root.resolve(), environment)
            return
        except httpx.HTTPStatusError as error:
            if pause is None or error.response.status_code < _SERVER_ERROR:
                raise
            sleep(pause)
