"""The command line, from click's own help: a section for each command."""

from collections.abc import Iterator

import click

from sfumato.flows.cli.main import cli


def write_commands() -> str:
    """Markdown of every command and subcommand, as `--help` prints it."""
    return "\n".join(_section(path, command) for path, command in commands(cli, "sfumato"))


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group with what is typed to call it, in alphabetical order."""
    context = click.Context(group, info_name=path)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(f"{path} {name} is listed and not there")
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def _section(path: str, command: click.Command) -> str:
    context = click.Context(command, info_name=path, terminal_width=90, max_content_width=90)
    text = command.get_help(context).rstrip()
    return f"#{'#' * path.count(' ')} `{path}`\n\n```text\n{text}\n```\n"
