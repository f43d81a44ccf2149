"""Options that several commands have, and how their texts are read."""

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.flows.inputs.overrides import Overrides

as_document = click.option("--json", "as_json", is_flag=True, help="print JSON")
Command = Callable[..., Any]
Printout = tuple[Mapping[str, Any], str | None]
"""A document, and a line with the same content for people."""
with_settings = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="override one key of the spec"
)

with_prefect = click.option(
    "--prefect",
    is_flag=True,
    help="show the run to Prefect also where no server of it is configured: one is started for it",
)


def with_json(command: Command) -> Command:
    """Let a command that has formats also take --json."""

    @click.option("--json", "as_json", is_flag=True, help="the same as --format json")
    @wraps(command)
    def run_in_format(*, as_json: bool, format_: str, **others: Any) -> None:
        command(format_="json" if as_json else format_, **others)

    return run_in_format


def with_format(command: Command) -> Command:
    """Give a command two formats, text and JSON."""
    formats = click.Choice(["text", "json"])
    return click.option("--format", "format_", type=formats, default="text")(with_json(command))


def with_document(command: Command) -> Command:
    """Let a command that returns a document and a line, or None for no line, print either."""

    @as_document
    @wraps(command)
    def print_result(*, as_json: bool, **others: Any) -> None:
        document, line = command(**others)
        if as_json:
            echo_json(document)
        elif line is not None:
            echo(line)

    return print_result


def with_documents(key: str) -> Callable[[Command], Command]:
    """Let a command that yields documents and lines print lines at once, or one list of documents.

    Args:
        key: of the list. If a later step fails, the list has the steps before it.
    """

    def listing(command: Command) -> Command:
        @as_document
        @wraps(command)
        def print_results(*, as_json: bool, **others: Any) -> None:
            done: list[Mapping[str, Any]] = []
            try:
                for document, line in command(**others):
                    done.append(document)
                    if not as_json:
                        echo(line)
            finally:
                if as_json and (done or sys.exc_info()[0] is None):
                    echo_json({key: done})

        return print_results

    return listing


def overrides(settings: tuple[str, ...]) -> "Overrides":
    """Return the changes to a run's spec that its `--set` options ask for."""
    from sfumato.flows.inputs.overrides import read_overrides

    return read_overrides(pairs("--set", settings))


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Return the texts `key=value` of an option as a mapping.

    Raises:
        SpecError: for a text without an equals sign.
    """
    parts = [text.partition("=") for text in texts]
    for name, equals, _ in parts:
        if not equals:
            raise SpecError(f"{option} {name}: not written as key=value")
    return {name: value for name, _, value in parts}


def names(text: str | None) -> tuple[str, ...]:
    """Return the names in a text that separates them by commas."""
    return tuple(name.strip() for name in text.split(",")) if text else ()
