"""The `sfumato` command: how it starts, and the codes with which it exits.

Each command imports what it needs when it runs: most must start fast.
"""

import atexit
import errno
import os
import re
import sys
from contextlib import suppress
from threading import Thread

import click

from sfumato.expectations.machine.fault import failure_of, with_remedies
from sfumato.expectations.machine.prefect_in_use import named_server
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.cli import show
from sfumato.flows.cli.grouped import GroupedCommands, InterruptedCommand
from sfumato.flows.cli.registry import MENDING, WITH_GREAT_EXPECTATIONS
from sfumato.flows.cli.show import INTERRUPTED, echo
from sfumato.flows.inputs.environment import lean, without_pandas
from sfumato.flows.operation.log_lines import as_json
from sfumato.tasks.private import scratch
from sfumato.tasks.private.workdir import work_directory

_COMPLETION = "_SFUMATO_COMPLETE"  # the variable by which shells ask for completions
_PATIENCE = 15.0  # seconds that Prefect has at the end to send what waits
_UNREADABLE = re.compile(r": \w+ '(.+)' is not readable\.$", re.DOTALL)


def main() -> None:
    """Run the command and exit with its code.

    The interpreter is left without its finalization, in which DuckDB's bindings print pages about
    objects that Prefect's threads still hold; exit handlers (the embedded server's) do run.
    """
    lean()
    show.speak_utf8()
    if sys.argv[1:2] not in [[name] for name in WITH_GREAT_EXPECTATIONS]:
        without_pandas()
    code = run(sys.argv[1:])
    with suppress(KeyboardInterrupt):  # of who does not want to wait for the embedded server
        _run_exit_functions()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # said before, or nobody reads it
            stream.flush()
    os._exit(code)


def _run_exit_functions() -> None:
    """Run exit handlers, which stop the embedded server; wait for a named server only a while.

    Prefect's handlers send what waits to be sent, and a server that is gone takes nothing any more.
    """
    if named_server() is None:
        atexit._run_exitfuncs()
        return
    handlers = Thread(target=atexit._run_exitfuncs, daemon=True)
    handlers.start()
    handlers.join(_PATIENCE)


def run(arguments: list[str]) -> int:
    """Run the command.

    What killed processes left behind is deleted first, as far as it can be.

    Returns:
        0 done, 1 fault, 2 wrong spec, input or query, 3 promise not kept, 130 interrupted, 141 if
        nobody reads the answers any more.
    """
    try:
        return _run(arguments)
    except SfumatoError as error:
        show.failure(str(error))
        return error.exit_code
    except click.ClickException as error:
        show.failure(_usage(error.format_message()))
        return 2
    except show.ClosedPipeError:
        return show.CLOSED_PIPE
    except SystemExit:  # of libraries that write where nobody reads
        if _COMPLETION in os.environ:
            raise
        return show.CLOSED_PIPE
    except (click.Abort, KeyboardInterrupt, InterruptedCommand):
        show.failure("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - messages of others may quote the data
        failure = failure_of(error)
        show.failure(str(failure))
        return failure.exit_code


def _usage(message: str) -> str:
    """Return a message of click's; add the reason where it is about a file closed to this user."""
    if (match := _UNREADABLE.search(message)) is None:
        return message
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), match[1])
    return with_remedies(f"{match[1]}: cannot be read", error)


def _run(arguments: list[str]) -> int:
    with suppress(SfumatoError, OSError):
        scratch.sweep()
    as_json(os.environ)  # how messages are wanted has to be known
    if arguments and arguments[0] in MENDING:
        _mend()
    code: int | None = cli.main(args=arguments, prog_name="sfumato", standalone_mode=False)
    return code or 0  # of a command that ended itself


def _mend() -> None:
    """Mend what stopped commands left in public directories of the work directory's lines."""
    if not any(work_directory(os.environ).glob("*/published-in")):
        return  # nothing was published from here, and nothing has to be imported
    from sfumato.flows.life.mending import mend_lines

    with suppress(SfumatoError, OSError):
        mended, undone = mend_lines()
        if mended:
            show.say(
                f"{mended} line{'' if mended == 1 else 's'} mended, because a command "
                "was stopped there"
            )
        for message in undone:
            show.say(message)


@click.group(
    cls=GroupedCommands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sfumato", prog_name="sfumato")
@click.pass_context
def cli(context: click.Context) -> None:
    """Publish microdata with promises that anyone can check, and ask it with guaranteed bounds."""
    if context.invoked_subcommand is None:
        echo(context.get_help())
