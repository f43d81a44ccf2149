"""The `sfumato` command: its subcommands, and the codes with which it exits.

Each subcommand imports what it needs when it runs: most must start fast.
"""

import atexit
import os
import sys
from contextlib import suppress

import click

from sfumato.expectations.errors import Fault, SfumatoError
from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.check import check
from sfumato.flows.cli.analyst.diff import diff
from sfumato.flows.cli.analyst.experiment import experiment
from sfumato.flows.cli.analyst.load import load
from sfumato.flows.cli.analyst.measure import measure
from sfumato.flows.cli.analyst.query import query
from sfumato.flows.cli.choice.compare import compare
from sfumato.flows.cli.choice.hierarchy import hierarchy
from sfumato.flows.cli.choice.init import init
from sfumato.flows.cli.choice.plan import plan
from sfumato.flows.cli.life.deliver import deliver
from sfumato.flows.cli.life.describe import describe
from sfumato.flows.cli.life.releases import releases
from sfumato.flows.cli.life.withdraw import withdraw
from sfumato.flows.cli.review.review import review
from sfumato.flows.cli.steward.demo import demo
from sfumato.flows.cli.steward.deploy import deploy
from sfumato.flows.cli.steward.evaluate import evaluate
from sfumato.flows.cli.steward.health import health
from sfumato.flows.cli.steward.keys import keys
from sfumato.flows.cli.steward.line import line
from sfumato.flows.cli.steward.pseudonyms import pseudonyms
from sfumato.flows.cli.steward.publish import publish
from sfumato.flows.cli.steward.release import release
from sfumato.flows.cli.steward.schema import schema
from sfumato.flows.cli.steward.sweep import sweep
from sfumato.flows.environment import lean, without_pandas
from sfumato.flows.operation.log_lines import as_json
from sfumato.tasks.private import scratch

_WITH_GREAT_EXPECTATIONS = (demo, release, plan, publish)
_COMMANDS = (
    *_WITH_GREAT_EXPECTATIONS,
    measure,
    check,
    diff,
    query,
    load,
    evaluate,
    init,
    deploy,
    health,
    hierarchy,
    compare,
    experiment,
    pseudonyms,
    schema,
    review,
    releases,
    withdraw,
    describe,
    deliver,
    line,
    sweep,
    keys,
)


def main() -> None:
    """Run the command and exit with its code.

    The interpreter is left without its finalization, in which DuckDB's bindings print pages about
    objects that Prefect's threads still hold; exit handlers (the embedded server's) do run.
    """
    lean()
    if sys.argv[1:2] not in [[command.name] for command in _WITH_GREAT_EXPECTATIONS]:
        without_pandas()
    code = run(sys.argv[1:])
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the command; 0 done, 1 fault, 2 wrong spec, input or query, 3 promise not kept.

    What killed processes left behind is deleted first, as far as it can be.
    """
    with suppress(SfumatoError, OSError):
        scratch.sweep()
    try:
        as_json(os.environ)  # how messages are wanted has to be known
        code = cli.main(args=arguments, prog_name="sfumato", standalone_mode=False)
    except SfumatoError as error:
        show.failure(str(error))
        return error.exit_code
    except click.ClickException as error:
        show.failure(error.format_message())
        return 2
    except (click.Abort, KeyboardInterrupt):
        show.failure("interrupted")
        return 1
    except Exception as error:  # noqa: BLE001 - messages of others may quote the data
        show.failure(f"{type(error).__name__}: a bug, or a fault of the machine")
        return Fault.exit_code
    return code or 0  # of a command that ended itself


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfumato", prog_name="sfumato")
def cli() -> None:
    """Publish microdata with promises that anyone can check, and ask it with guaranteed bounds."""


for _command in _COMMANDS:
    cli.add_command(_command)
