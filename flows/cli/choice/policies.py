"""`sfumato policies`: policies by name, one of them, and what a spec keeps of it."""

from pathlib import Path

import click

from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json


@click.group()
def policies() -> None:
    """List policies by name, show one, and explain what a spec keeps of it.

    A policy is a set of rules that a machine decides, and of questions that a person answers. A
    spec names it under `policy`. A policy gives no legal advice.
    """


@policies.command("list")
@as_document
def list_policies(as_json: bool) -> None:
    """List the policies that come with Sfumato, and how much of each source was read."""
    from sfumato.flows.choice.policies import policy_rows
    from sfumato.tasks.policies.rule import NO_ADVICE

    rows = policy_rows()
    if as_json:
        echo_json({"policies": rows, "note": NO_ADVICE})
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        decided = f"{_number(len(row['rules']), 'rule')}, {_number(row['states'], 'statement')}"
        echo(f"{row['name']:<{width}}  {row['title']}")
        about = "known, and refused" if row["refused"] else decided
        echo(f"{'':<{width}}  {about}; source {row['source']}; {row['date']}")
    echo(NO_ADVICE)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


@policies.command()
@click.argument("name", metavar="NAME")
@as_document
def show(name: str, as_json: bool) -> None:
    """Show a policy, by its name or the path of a file: source, rules, and questions for people."""
    from sfumato.flows.choice.policies import policy_document, policy_text

    if as_json:
        echo_json(policy_document(name))
        return
    for line in policy_text(name):
        echo(line)


@policies.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--policy", "name", metavar="NAME", help="a policy in place of the spec's own")
@as_document
def explain(spec: Path, name: str | None, as_json: bool) -> None:
    """Explain what SPEC keeps and breaks of its policy, and what a person has to state.

    Nothing of the data is read. Rules about published texts are decided again on every candidate.
    """
    from sfumato.flows.choice.policies import explained_lines, explanation

    document = explanation(spec, name)
    if as_json:
        echo_json(document)
        return
    for line in explained_lines(document):
        echo(line)


@policies.command()
@click.option(
    "--json", is_flag=True, expose_value=False, help="accepted; the output is always JSON"
)
def schema() -> None:
    """Print the JSON Schema of a policy's file, for people who write their own."""
    from sfumato.flows.inputs.policies import policy_schema

    echo_json(policy_schema(), indent=2)
