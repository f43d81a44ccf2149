"""`sfumato schema`: the JSON Schema of the release spec."""

import click

from sfumato.flows.cli.show import echo_json


@click.command()
@click.option(
    "--json", is_flag=True, expose_value=False, help="accepted; the output is always JSON"
)
def schema() -> None:
    """Print the JSON Schema of the release spec."""
    from sfumato.flows.inputs.spec import json_schema

    echo_json(json_schema(), indent=2)
