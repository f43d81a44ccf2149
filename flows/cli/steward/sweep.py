"""`sfumato sweep`: delete what killed runs left behind."""

import click

from sfumato.flows.cli import show


@click.command()
def sweep() -> None:
    """Delete what killed runs and commands left in the private work directory.

    Every command does so when it starts; this one does nothing else.
    """
    from sfumato.tasks.private.scratch import sweep as sweep_work

    swept = sweep_work()
    show.say(f"{swept} director{'y' if swept == 1 else 'ies'} deleted")
