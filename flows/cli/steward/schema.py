"""`sfumato schema`: the JSON Schema of the release spec."""

import json

import click


@click.command()
def schema() -> None:
    """Print the JSON Schema of the release spec."""
    from sfumato.flows.spec import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
