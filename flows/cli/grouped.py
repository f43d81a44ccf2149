"""A group of commands that are imported when they are used, listed by who uses them."""

from importlib import import_module
from typing import Any

import click

from sfumato.flows.cli.registry import MODULES, SECTIONS


class InterruptedCommand(BaseException):
    """A command was interrupted; click would write an empty line, and say that it was aborted."""


class GroupedCommands(click.Group):
    """The commands of the registry, in its order."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for.

        Raises:
            InterruptedCommand: where it was interrupted.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedCommand from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(MODULES)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Return the command of a name, or None."""
        if cmd_name not in MODULES:
            return None
        command: click.Command = getattr(import_module(MODULES[cmd_name]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands section by section, each with the first line of its help."""
        width = formatter.width - 6 - max(map(len, MODULES))
        for title, names in SECTIONS.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [
                (name, command.get_short_help_str(width)) for name, command in commands if command
            ]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=max(map(len, MODULES)))
