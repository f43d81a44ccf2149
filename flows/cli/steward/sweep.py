"""`sfumato sweep`: delete what killed runs left behind, and what Prefect keeps of old ones."""

import os
from datetime import UTC, datetime, timedelta

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.runs import faults_in_words
from sfumato.flows.cli.show import echo_json


@click.command()
@click.option(
    "--runs-older-than",
    "days",
    type=click.IntRange(min=1),
    metavar="DAYS",
    help="delete older runs of lines from Prefect's database, with their logs",
)
@click.option("--dry", is_flag=True, help="print only how many runs these are")
@as_document
def sweep(days: int | None, dry: bool, as_json: bool) -> None:
    """Delete what killed runs left in the private work directory, and stop their own servers.

    Every command does this when it starts. Old runs are deleted only with --runs-older-than. The
    database is that of PREFECT_API_URL, or that of commands without a server.
    """
    from sfumato.flows.operation.servers import end_left_servers
    from sfumato.tasks.private.scratch import sweep as sweep_work

    if dry and days is None:
        raise click.UsageError("--dry needs --runs-older-than")
    document: dict[str, object] = {"dry": dry}
    if not dry:
        swept = document["directories"] = sweep_work()
        show.say(f"{swept} director{'y' if swept == 1 else 'ies'} deleted")
        ended = document["servers"] = end_left_servers(os.environ)
        if ended:
            show.say(f"{ended} server{'' if ended == 1 else 's'} of killed runs stopped")
    if days is not None:
        document["runs"] = _sweep_runs(days, dry)
    if as_json:
        echo_json(document)


def _sweep_runs(days: int, dry: bool) -> int:
    from sfumato.flows.inputs.environment import quiet

    quiet()
    with faults_in_words():
        from sfumato.flows.operation.retention import delete_runs
        from sfumato.flows.operation.servers import require_server

        require_server()
        number = delete_runs(datetime.now(UTC) - timedelta(days=days), dry=dry)
    runs = f"{number:,} run{'' if number == 1 else 's'} of lines ended more than {days} days ago"
    show.say(f"{runs}{'' if dry else ': deleted'}")
    return number
