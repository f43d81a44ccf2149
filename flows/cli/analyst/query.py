"""`sfumato query`: answers with bounds, or the SQL that computes them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.errors import SpecError
from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.way_in import tell, with_way_in
from sfumato.flows.cli.options import with_json
from sfumato.flows.cli.terminal import echo

if TYPE_CHECKING:
    from sfumato.tasks.verification.way_in import WayIn


class DialectName(click.ParamType):  # type: ignore[type-arg] # generic in some versions alone
    """The name of a dialect; their registry is imported where one is given, or help is shown."""

    name = "dialect"

    def get_metavar(self, *_: Any, **_more: Any) -> str:
        """All names, as help shows them."""
        return f"[{'|'.join(_dialects())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name itself, where there is such a dialect."""
        return click.Choice(_dialects()).convert(value, param, ctx)


def _dialects() -> list[str]:
    from sfumato.tasks.sql.dialects.registry import DIALECTS

    return list(DIALECTS)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("sql", required=False)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="a file of queries, each ended by a semicolon, to be answered in turn",
)
@click.option(
    "--rewrite",
    "dialect",
    type=DialectName(),
    help="print the SQL for a database instead",
)
@click.option(
    "--having",
    "reading",
    type=click.Choice(["possible", "certain"]),
    default="possible",
    help="which rows a HAVING clause keeps in the printed SQL",
)
@click.option(
    "--estimator",
    type=click.Choice(["weighted", "uniform"]),
    default="weighted",
    help="how often values are taken to occur that a group admits: as expected, or all alike",
)
@click.option(
    "--serve",
    "serves",
    is_flag=True,
    help='answer lines of JSON on stdin, {"query": "SELECT …", "id": 1}, with lines on stdout',
)
@click.option("--format", "format_", type=click.Choice(["text", "json", "csv"]), default="text")
@with_json
@with_way_in
def query(
    directory: Path,
    sql: str | None,
    file: Path | None,
    dialect: Any,
    reading: Any,
    estimator: Any,
    serves: bool,
    format_: str,
    way_in: "WayIn",
) -> None:
    """Ask a release; every number comes with bounds that surely contain the truth.

    That is so of files that are verified: by a check (--check, or one that they passed here
    before) or an announced --digest. Others are answered from, too, and said to be unverified.

    With --format json a file of queries gives one document for each, a line each. So does --serve
    for each line of stdin, with its `id`, until stdin ends; what is wrong is an `error` with the
    exit code that it would have, and the next line is read.
    """
    if serves:
        if sql or file or dialect or format_ == "csv":
            raise click.UsageError("--serve takes queries from stdin, and answers in JSON")
        _serve(directory, way_in, estimator)
        return
    from sfumato.tasks.query.ask import answers

    asked = _queries(sql, file)
    opened = way_in.open(directory)
    if dialect is None:
        for found in answers(opened, asked, estimator):
            show.answer_as(found, format_)
    else:
        from sfumato.tasks.query.sql.rewrite import rewrite

        for one in asked:
            rewritten = rewrite(one, opened.declared, reading, estimator)
            echo(rewritten.sql(dialect) + ";" * (file is not None))
    tell(opened)


def _serve(directory: Path, way_in: "WayIn", estimator: Any) -> None:
    """Verify the release once, and answer from it for as long as its files are the same."""
    from sfumato.flows.cli.analyst.serve import Served, serve
    from sfumato.tasks.declaration.opened import require_release
    from sfumato.tasks.query.conversation import Conversation
    from sfumato.tasks.verification.record import files_as_they_stand

    require_release(directory)
    standing = files_as_they_stand(directory)
    opened = way_in.open(directory)
    tell(opened)
    with Conversation(opened) as conversation:
        serve(Served(directory, standing, conversation, estimator))


def _queries(sql: str | None, file: Path | None) -> list[str]:
    """The one query, or those of a file."""
    from sfumato.tasks.sql.parse import statements

    if (sql is None) == (file is None):
        raise click.UsageError("give a query, or a --file of queries")
    if file is None:
        return [str(sql)]
    try:
        return statements(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{file}: cannot be read ({type(error).__name__})") from None
