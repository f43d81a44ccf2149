"""`sfumato health`: whether something is to be done on a machine that releases lines."""

from pathlib import Path

import click

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.show import echo, echo_json, one_line


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    help="write a text file for Prometheus' node exporter also",
)
def health(as_json: bool, metrics: Path | None) -> None:
    """Check the work directory, disk, lines, server and worker.

    The server is that of PREFECT_API_URL, if it is set. Exits 1 if something needs your attention.
    """
    from sfumato.flows.operation.health import examine_machine, listed_lines, write_metrics

    checks = examine_machine()
    if metrics is not None:
        try:
            write_metrics(metrics, checks, listed_lines())
        except OSError as error:
            raise InputError(with_remedies(f"{metrics}: cannot be written", error)) from None
    if as_json:
        echo_json({"checks": [check.document() for check in checks]})
    else:
        for check in checks:
            echo(f"{'ok  ' if check.well else 'NOT '} {check.about}: {one_line(check.answer)}")
    if not all(check.well for check in checks):
        raise click.exceptions.Exit(1)
