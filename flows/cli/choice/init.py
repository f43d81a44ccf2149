"""`sfumato init`: the draft of a release spec for a source that nobody has declared."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document, names, pairs
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.flows.choice.first_spec import WrittenSpec


_QUESTIONS = (
    (
        "hide",
        "Must the row of a person be hidden (rows), or only which sensitive value the person has "
        "(values)? With values, exact ages, towns and the like are published. Answers are then far "
        "more accurate. But anyone who knows these of a person sees that the person is in the "
        "table.",
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
@click.argument("sources", metavar="[FILE [FILE]]", nargs=-1)
@click.option(
    "--from",
    "project",
    metavar="PROJECT",
    type=click.Path(path_type=Path),
    help="take over the set-up of another tool: ARX (.deid, .csv, or a folder of .csv), sdcMicro "
    "(.R, .html, .md) or tau-Argus (.rda)",
)
@click.option("--data", metavar="FILE", help="the table that PROJECT is about; --from needs it")
@click.option("--out", type=click.Path(path_type=Path), help="the draft; the line gets its name")
@click.option("--work", help="the private work directory, in place of SFUMATO_WORK")
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="COLUMN=ROLE",
    help="the role of a column, if you know it already",
)
@click.option("--format", "format_", help="csv, parquet, excel, stata or spss")
@click.option(
    "--sheet",
    "sheets",
    multiple=True,
    help="the sheet of a workbook; for two workbooks write it twice, in the order of the files",
)
@click.option(
    "--query",
    "queries",
    multiple=True,
    help="the query to a database, one SELECT; for two tables write it twice, in their order",
)
@click.option(
    "--key",
    metavar="COLUMN",
    help="of two files, the column by which one names the people of the other; PEOPLE=ROWS if its "
    "names differ, such as id=customer_id",
)
@click.option("--encoding", help="the encoding of a CSV file")
@click.option("--delimiter", help="the delimiter of a CSV file")
@click.option(
    "--header", type=click.Choice(["yes", "no"]), help="whether the first line names the columns"
)
@click.option(
    "--skip", type=click.IntRange(0), help="the number of lines of a CSV file above the header"
)
@click.option(
    "--columns", metavar="A,B,…", help="names of the columns, in place of a CSV file's header"
)
@click.option(
    "--null",
    "nulls",
    multiple=True,
    metavar="WORD",
    help="a word of a CSV file that means a missing value, like an empty field",
)
@click.option(
    "--thousands", type=click.Choice([",", ".", "'", " "]), help="the mark between thousands"
)
@click.option("--decimal", type=click.Choice([".", ","]), help="the mark before decimals")
@click.option("--date-format", "dates", multiple=True, metavar="COLUMN=FORMAT", help="%d/%m/%Y")
@click.option("--timezone", help="the time zone of times without an offset, if others have one")
@click.option(
    "--unit", metavar="COLUMN", help="the column that identifies people, such as a patient number"
)
@click.option(
    "--hide",
    type=click.Choice(["rows", "values"]),
    help="with rows, labels replace exact values; with values, exact values are published, and "
    "only which sensitive value a person has is hidden",
)
@click.option(
    "--about",
    type=click.Choice(["numbers", "categories"]),
    help="what readers ask about: numbers (averages and sums) or categories (counts)",
)
@click.option(
    "--policy",
    metavar="NAME",
    help="a policy that the draft has to keep (sfumato policies list), or the path of its file",
)
@as_document
def init(
    sources: tuple[str, ...],
    project: Path | None,
    data: str | None,
    out: Path | None,
    work: str | None,
    roles: Any,
    dates: Any,
    columns: str | None,
    nulls: tuple[str, ...],
    policy: str | None,
    key: str | None,
    sheets: tuple[str, ...],
    queries: tuple[str, ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Profile FILE privately, and write the draft of a spec that would release it.

    FILE is whatever `source.uri` may be: a file, folder, pattern, store or database. The draft
    proposes roles, with reasons; nothing runs before you confirm them in the draft.

    Two files, such as patients.csv and stays.csv, become two related tables: people, and rows that
    belong to them. The column that both share is found, or named by --key.

    With --from, the draft takes over what another tool was set up to do, and says what it did not
    take over, and why. Data inside a project are never read, and no code in it is run.
    """
    from os import environ

    from sfumato.tasks.profile.dialect import read_options

    is_two = _is_two(sources, project, key)
    if not as_json and project is None and not is_two:
        settings |= _ask(settings, policy)
    settings["format"] = settings.pop("format_")
    settings |= {"columns": names(columns) or None, "nulls": nulls, "of_two": is_two}
    tables = max(len(sources), 1)
    options = [
        read_options(
            roles=pairs("--role", roles),
            date_formats=pairs("--date-format", dates),
            **{**settings, "sheet": sheet, "query": query},
        )
        for sheet, query in zip(
            _for_each("--sheet", sheets, tables), _for_each("--query", queries, tables), strict=True
        )
    ]
    private = {**environ, **({} if work is None else {"SFUMATO_WORK": work})}
    if is_two:
        from sfumato.flows.choice.first_two_tables import write_first_spec_of_two

        written = write_first_spec_of_two(sources, out, options, private, key=key, policy=policy)
    else:
        from sfumato.flows.choice.first_spec import write_first_spec

        address = _address(next(iter(sources), None), project, data)
        written = write_first_spec(
            address, out, options[0], private, policy=policy, project=project
        )
    if as_json:
        echo_json(_document(written))
        return
    for line in _lines(written):
        show.say(line)
    echo(str(written.spec))


def _is_two(sources: tuple[str, ...], project: Path | None, key: str | None) -> bool:
    """Return whether two tables are drafted.

    Raises:
        SpecError: if there are more, or options do not go with them.
    """
    if len(sources) > 2:
        raise SpecError(
            f"{len(sources)} files: a spec has one table, or two of which one has the rows of the "
            f"other's people. Type: sfumato init {sources[0]} {sources[1]}"
        )
    is_two = len(sources) > 1
    if is_two and project is not None:
        raise SpecError("--from: takes over the set-up of one table. Name one table by --data")
    if key is not None and not is_two:
        raise SpecError("--key: is for two files. Type: sfumato init FILE FILE --key COLUMN")
    return is_two


def _for_each(option: str, values: tuple[str, ...], tables: int) -> list[str | None]:
    """Return the value of an option for each table: one value is for all.

    Raises:
        SpecError: if there are more values than tables.
    """
    if len(values) > tables:
        raise SpecError(
            f"{option}: is written {len(values)} times for {tables} files. Leave one out"
        )
    if len(values) == tables:
        return list(values)
    return [values[0] if values else None] * tables


def _lines(written: "WrittenSpec") -> Iterator[str]:
    """Yield what a steward should know of a draft, a line each."""
    yield from (f"taken over: {words}" for words in written.changes)
    yield from (f"not taken over: {words}" for words in written.omissions)
    if written.profile is not None:
        yield f"private profile, only for you: {written.profile}"
    for path in written.hierarchies:
        yield f"draft of a hierarchy, for you to improve: {path}"
    for note in written.notes:
        yield f"the source: {note}"
    if written.guess is not None:
        accents = "check letters with accents in the profile, or write --encoding NAME"
        yield f"encoding: probably {written.guess}; {accents}"
    if written.unnumbered is not None:
        yield written.unnumbered
    if written.undecided is not None:
        yield f"to be decided: {written.undecided}"
    yield f"next: read the roles in {written.spec}, write `roles: confirmed`, and release it"
    if written.question is not None:
        yield f"then ask: {written.question}"


def _address(source: str | None, project: Path | None, data: str | None) -> str | None:
    """Return the address of the data; None for a draft that comes from a project alone.

    Raises:
        SpecError: if options and argument do not go together.
    """
    if project is None:
        if data is not None:
            raise SpecError(
                f"--data needs --from PROJECT. Without a project, type: sfumato init {data}"
            )
        if source is None:
            raise SpecError("there is no table. Type: sfumato init FILE, or --from PROJECT")
        return source
    if source is not None:
        raise SpecError(
            f"{source}: with --from, the table is named by --data. Type: sfumato init "
            f"--from {project} --data {source}"
        )
    return data


def _ask(settings: Mapping[str, Any], policy: str | None = None) -> dict[str, str]:
    """Ask at a terminal for what no option gives; return the answers by the option's name.

    A policy answers what has to be hidden.
    """
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return {}
    answers: dict[str, str] = {}
    for name, question, choices in _QUESTIONS:
        if settings.get(name) is None and not (name == "hide" and policy):
            show.say(question)
            answers[name] = click.prompt(
                f"--{name}", type=click.Choice(choices), default=choices[0], err=True
            )
    return answers


def _document(written: "WrittenSpec") -> dict[str, Any]:
    return {
        "spec": str(written.spec),
        "hierarchies": [str(path) for path in written.hierarchies],
        "profile": None if written.profile is None else str(written.profile),
        "notes": list(written.notes),
        "undecided": written.undecided,
        "encoding_guess": written.guess,
        "unnumbered": written.unnumbered,
        "changes": list(written.changes),
        "omissions": list(written.omissions),
        "question": written.question,
    }
