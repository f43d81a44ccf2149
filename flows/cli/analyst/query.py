"""`sfumato query`: answers with bounds, or the SQL that computes them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.machine.fault import require_machine, with_remedies
from sfumato.expectations.shared.errors import (
    Fault,
    InputError,
    QueryError,
    SfumatoError,
    SpecError,
)
from sfumato.flows.cli.analyst.way_in import RELEASE, tell, with_way_in
from sfumato.flows.cli.answers import QueryPlace, answer_as, refusal_as
from sfumato.flows.cli.options import pairs, with_json
from sfumato.flows.cli.show import echo
from sfumato.tasks.schema.files import read_text, regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import Answer
    from sfumato.tasks.terms.opened import Release
    from sfumato.tasks.verification.way_in import WayIn

    QueryInPlace = tuple[str, QueryPlace | None]


def own_tables(texts: tuple[str, ...]) -> "dict[str, pa.Table]":
    """Read tables by their names, from `NAME=FILE` each: CSV with a header, or Parquet.

    Raises:
        InputError: where a file is not there, or is no such table.
    """
    return {name: _read(Path(place)) for name, place in pairs("--table", texts).items()}


def _read(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix.casefold() == ".parquet":
            return pyarrow.parquet.read_table(regular(path))
        return pyarrow.csv.read_csv(regular(path))
    except (OSError, ValueError, pa.ArrowException) as error:
        require_machine(error)
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"--table: {path}: not a readable CSV or Parquet file ({reason})"
        ) from None


class DialectName(click.ParamType):  # type: ignore[type-arg] # generic in some versions alone
    """The name of a dialect; their registry is imported where one is given, or help is shown."""

    name = "dialect"

    def get_metavar(self, *_: Any, **_more: Any) -> str:
        """Return all names, as help shows them."""
        return f"[{'|'.join(_dialects())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name itself, where there is such a dialect."""
        return click.Choice(_dialects()).convert(value, param, ctx)


def _dialects() -> list[str]:
    from sfumato.tasks.sql.dialects.registry import DIALECTS

    return list(DIALECTS)


@click.command()
@RELEASE
@click.argument("sql", required=False)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="a file of queries, each ended by a semicolon; they are answered one after the other",
)
@click.option(
    "--table",
    "own",
    multiple=True,
    metavar="NAME=FILE",
    help=(
        "your own table (CSV or Parquet), which queries may JOIN by columns that are "
        "published unchanged"
    ),
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
    help=(
        "with HAVING, the rows of the printed SQL: those that may qualify (possible) or "
        "certainly do (certain)"
    ),
)
@click.option(
    "--estimator",
    type=click.Choice(["weighted", "uniform"]),
    default="weighted",
    help=(
        "how often each admitted value of a group is assumed to occur: as expected, or "
        "equally often"
    ),
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
    own: tuple[str, ...],
    dialect: Any,
    reading: Any,
    estimator: Any,
    serves: bool,
    format_: str,
    way_in: "WayIn",
) -> None:
    """Ask a release; every number comes with bounds that surely contain the truth.

    This is guaranteed if the files are verified: by a check (--check, or an earlier check on this
    machine) or by an announced --digest. Other files are answered from also, marked unverified.

    RELEASE is the directory or the address of a version, or of a line for its current version.

    Answers every query in a file that it can; lists the others with their number, line and reason.
    The exit code is then 2, or 1 if Sfumato computed impossible bounds (a fault of Sfumato).
    Notes name values in a query that no published row has.

    Columns are named by AS, or else as you typed them. Rows of GROUP BY come in ascending order,
    nulls last, unless the query has ORDER BY.

    A file of queries gives one JSON document on a line for each query, or one CSV table after
    the other, each with the number of its `query`. A query without an answer gives its `error`
    there. With --serve each line of stdin gives one document, with its `id`, until stdin ends; a
    query that fails gives an `error` with the exit code that it would have, and the next line is
    read.
    """
    if serves:
        if sql or file or own or dialect or format_ == "csv":
            raise click.UsageError("--serve takes queries from stdin, and answers in JSON")
        _serve(directory, way_in, estimator)
        return
    queries = _queries(sql, file)
    opened = way_in.open(directory)
    if dialect is None:
        refused = _answer(opened, queries, (estimator, own_tables(own)), format_)
    else:
        refused = _rewrite(opened, queries, dialect, (reading, estimator))
    tell(opened)
    if refused:
        kind = Fault if any(isinstance(error, Fault) for error in refused) else QueryError
        raise kind(f"{len(refused)} of {len(queries)} queries have no answer (reasons above)")


def _answer(
    opened: "Release", queries: "Sequence[QueryInPlace]", how: tuple[Any, Any], format_: str
) -> list[SfumatoError]:
    """Print the answer to each query, or why it has none; return the reasons.

    Raises:
        QueryError, Fault: if a query that was asked alone has no answer.
    """
    from sfumato.tasks.query.ask import answers

    refused: list[SfumatoError] = []
    results = answers(opened, [sql for sql, _ in queries], *how)
    for (_, place), result in zip(queries, results, strict=True):
        error = _print_answer(result, format_, place)
        if error is None:
            continue
        refusal_as(error, format_, place)
        if place is None:
            raise error
        refused.append(error)
    return refused


def _print_answer(
    result: "Answer | QueryError | Fault", format_: str, place: QueryPlace | None
) -> QueryError | Fault | None:
    """Print an answer; return the reason if there is none, or if its columns cannot be printed."""
    if isinstance(result, QueryError | Fault):
        return result
    try:
        answer_as(result, format_, place)
    except QueryError as error:
        return error
    return None


def _rewrite(
    opened: "Release", queries: "Sequence[QueryInPlace]", dialect: Any, how: tuple[Any, Any]
) -> list[SfumatoError]:
    """Print the SQL of each query, or why it has none; return the reasons.

    Raises:
        QueryError: if a query that was asked alone has none.
    """
    from sfumato.tasks.query.rewriting import rewriter

    refused: list[SfumatoError] = []
    with rewriter(opened) as rewriting:
        for sql, place in queries:
            try:
                echo(rewriting.sql(sql, dialect, *how) + ";" * (place is not None))
            except QueryError as error:
                if place is None:
                    raise
                refused.append(error)
                refusal_as(error, "text", place)
    return refused


def _serve(directory: Path, way_in: "WayIn", estimator: Any) -> None:
    """Verify the release once, and answer from it for as long as its files are the same."""
    from sfumato.flows.cli.analyst.serve import Served, serve
    from sfumato.tasks.query.ask import Conversation
    from sfumato.tasks.terms.opened import require_release
    from sfumato.tasks.verification.record import files_as_they_stand

    require_release(directory)
    standing = files_as_they_stand(directory)
    opened = way_in.open(directory)
    tell(opened)
    with Conversation(opened) as conversation:
        serve(Served(directory, standing, conversation, estimator))


def _queries(sql: str | None, file: Path | None) -> "list[QueryInPlace]":
    """Return the query alone, or each query of a file with its place there."""
    from sfumato.tasks.sql.parse import statements

    if (sql is None) == (file is None):
        raise click.UsageError("no query. Write a query, or --file FILE")
    if file is None:
        return [(str(sql), None)]
    try:
        written = statements(read_text(file))
    except OSError as error:
        raise SpecError(with_remedies(f"{file}: cannot be read", error)) from None
    except UnicodeDecodeError:
        raise SpecError(f"{file}: is not UTF-8") from None
    return [(s.text, QueryPlace(n, s.line, s.text)) for n, s in enumerate(written, start=1)]
