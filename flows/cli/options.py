"""Options that several commands have, and how their texts are read."""

from typing import TYPE_CHECKING

import click

from sfumato.expectations.errors import SpecError

if TYPE_CHECKING:
    from sfumato.flows.overrides import Overrides

with_format = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text"
)
with_settings = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="override one key"
)


def overrides(settings: tuple[str, ...]) -> "Overrides":
    """The changes to a run's spec that its `--set` options ask for."""
    from sfumato.flows.overrides import read_overrides

    return read_overrides(pairs("--set", settings))


def pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """The texts `key=value` of an option as a mapping.

    Raises:
        SpecError: for a text without an equals sign.
    """
    parts = [text.partition("=") for text in given]
    for name, equals, _ in parts:
        if not equals:
            raise SpecError(f"{option} {name}: not of the form key=value")
    return {name: value for name, _, value in parts}


def names(text: str | None) -> tuple[str, ...]:
    """The names in a text that separates them by commas."""
    return tuple(name.strip() for name in text.split(",")) if text else ()
