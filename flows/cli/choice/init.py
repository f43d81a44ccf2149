"""`sfumato init`: the draft of a release spec for a source that nobody has declared."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document, names, pairs
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.flows.choice.first_spec import WrittenSpec


_QUESTIONS = (
    (
        "hide",
        "Must the row of a person be hidden (rows), or only which sensitive value the person has "
        "(values)? With values, exact ages, towns and the like are published: answers are far more "
        "accurate, and anyone who knows these of a person sees that the person is in the table.",
        ("rows", "values"),
    ),
    (
        "about",
        "Do readers ask about numbers (averages and sums of the sensitive column) or about "
        "categories (counts of its values)?",
        ("numbers", "categories"),
    ),
)


@click.command()
@click.argument("source", metavar="FILE")
@click.option("--out", type=click.Path(path_type=Path), help="the draft; its name is the line's")
@click.option("--work", help="the private work directory, in place of SFUMATO_WORK")
@click.option("--role", "roles", multiple=True, metavar="COLUMN=ROLE", help="known already")
@click.option("--format", "format_", help="csv, parquet, excel, stata or spss")
@click.option("--sheet", help="of a workbook")
@click.option("--query", help="of a database: one SELECT")
@click.option("--encoding", help="of a CSV file")
@click.option("--delimiter", help="of a CSV file")
@click.option(
    "--header", type=click.Choice(["yes", "no"]), help="does the first line name columns?"
)
@click.option("--skip", type=click.IntRange(0), help="lines of a CSV file above the header")
@click.option("--columns", metavar="A,B,…", help="names, in place of a CSV file's header")
@click.option("--thousands", type=click.Choice([",", ".", "'", " "]), help="between thousands")
@click.option("--decimal", type=click.Choice([".", ","]), help="what stands before decimals")
@click.option("--date-format", "dates", multiple=True, metavar="COLUMN=FORMAT", help="%d/%m/%Y")
@click.option("--timezone", help="whose local time times are, beside others with an offset")
@click.option("--unit", metavar="COLUMN", help="whom a row is about, such as a number of patients")
@click.option(
    "--hide",
    type=click.Choice(["rows", "values"]),
    help="rows: labels in place of exact values; values: only which sensitive value is whose, "
    "so that exact values show who is in the table",
)
@click.option(
    "--about",
    type=click.Choice(["numbers", "categories"]),
    help="what readers ask about: averages and sums, or counts",
)
@as_document
def init(
    source: str,
    out: Path | None,
    work: str | None,
    roles: Any,
    dates: Any,
    columns: str | None,
    as_json: bool,
    **known: Any,
) -> None:
    """Profile FILE privately, and write the draft of a spec that would release it.

    FILE is whatever `source.uri` may be: a file, folder, pattern, store or database. The draft
    proposes roles, with reasons; nothing runs before you have confirmed them in it.
    """
    from os import environ

    from sfumato.flows.choice.first_spec import write_first_spec
    from sfumato.tasks.profile.dialect import read_options

    if not as_json:
        known |= _ask(known)
    options = read_options(
        roles=pairs("--role", roles),
        date_formats=pairs("--date-format", dates),
        format=known.pop("format_"),
        columns=names(columns) or None,
        **known,
    )
    private = {**environ, **({} if work is None else {"SFUMATO_WORK": work})}
    written = write_first_spec(source, out, options, private)
    if as_json:
        echo_json(_document(written))
        return
    show.say(f"private profile, for your eyes alone: {written.profile}")
    for path in written.hierarchies:
        show.say(f"hierarchy, to be improved: {path}")
    for note in written.notes:
        show.say(f"the source: {note}")
    if written.guess is not None:
        accents = "look at letters with accents in the profile, or say --encoding"
        show.say(f"encoding: {written.guess}, which is only likely: {accents}")
    if written.unnumbered is not None:
        show.say(written.unnumbered)
    if written.undecided is not None:
        show.say(f"to be decided: {written.undecided}")
    show.say(f"next: read the roles in {written.spec}, write roles: confirmed, and release it")
    echo(str(written.spec))


def _ask(known: Mapping[str, Any]) -> dict[str, str]:
    """Ask at a terminal for what no option gives; return the answers by the option's name."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return {}
    answers: dict[str, str] = {}
    for name, question, choices in _QUESTIONS:
        if known.get(name) is None:
            show.say(question)
            answers[name] = click.prompt(
                f"--{name}", type=click.Choice(choices), default=choices[0], err=True
            )
    return answers


def _document(written: "WrittenSpec") -> dict[str, Any]:
    return {
        "spec": str(written.spec),
        "hierarchies": [str(path) for path in written.hierarchies],
        "profile": str(written.profile),
        "notes": list(written.notes),
        "undecided": written.undecided,
        "encoding_guess": written.guess,
        "unnumbered": written.unnumbered,
    }
