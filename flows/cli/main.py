"""The `sfumato` command. Each subcommand imports what it needs: most must start fast."""

import atexit
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sfumato.expectations.errors import Fault, PromiseError, SfumatoError, SpecError
from sfumato.flows.cli import show

_FORMAT = click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")


def main() -> None:
    """Run the command and exit with its code.

    The interpreter is left without its finalization, in which DuckDB's bindings print pages about
    objects that Prefect's threads still hold; exit handlers (the embedded server's) do run.
    """
    code = run(sys.argv[1:])
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the command; 0 done, 1 fault, 2 wrong spec, input or query, 3 promise not kept."""
    try:
        cli.main(args=arguments, prog_name="sfumato", standalone_mode=False)
    except SfumatoError as error:
        show.failure(str(error))
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        show.failure(error.format_message())
        return 2
    except (click.Abort, KeyboardInterrupt):
        show.failure("interrupted")
        return 1
    except Exception as error:  # noqa: BLE001 - messages of others may quote the data
        show.failure(f"{type(error).__name__}: a bug, or a fault of the machine")
        return Fault.exit_code
    return 0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfumato", prog_name="sfumato")
def cli() -> None:
    """Publish microdata with promises that anyone can check, and ask it with guaranteed bounds."""


@cli.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="override one key")
def release(spec: Path, settings: tuple[str, ...]) -> None:
    """Publish the next version of a release line; the last line of output is its directory."""
    click.echo(_release(spec, settings))


@cli.command()
@click.option("--rows", type=click.IntRange(min=1000), default=40_000, hidden=True)
def demo(rows: int) -> None:
    """Release UCI Adult's capital losses here, and ask the release two queries."""
    from sfumato.flows.demo import find_source, questions
    from sfumato.tasks.declaration.opened import open_release
    from sfumato.tasks.query.ask import answer

    os.environ.setdefault("SFUMATO_WORK", str(Path(".sfumato").absolute()))
    found = find_source(os.environ, Path.cwd(), rows)
    show.say(found.described)
    published = _release(
        found.spec, (*found.settings, f"publish.uri={Path('releases').absolute()}")
    )
    opened = open_release(Path(published))
    for question in questions():
        click.echo(f"\n{question}\n")
        show.answered(answer(opened, question))
    show.say(f"open {Path(published) / 'index.html'} to read the release's page")
    click.echo(published)


@cli.command()
@click.argument("file")
@click.option(
    "--qi", required=True, metavar="A,B,…", help="the quasi-identifiers; in a CSV file, texts"
)
@click.option(
    "--sensitive",
    metavar="S,…",
    help="the sensitive attributes; in a CSV file, of the types that their values suggest",
)
@click.option(
    "--types",
    metavar="A=TYPE,…",
    help="what columns hold: integer, decimal, float, date, timestamp, string or boolean",
)
@click.option("--model", "models", multiple=True, metavar="YAML", help="a promise to decide")
@click.option("--population", metavar="FILE", help="whom the rows are drawn from")
@click.option(
    "--hierarchy", "hierarchies", multiple=True, metavar="S=FILE", help="of a sensitive attribute"
)
@click.option("--columns", metavar="A,B,…", help="names, for a CSV file without a header")
@click.option("--null", "nulls", multiple=True, help="a text that means a missing value")
@_FORMAT
def measure(
    file: str,
    qi: str,
    sensitive: str | None,
    types: str | None,
    models: tuple[str, ...],
    population: str | None,
    hierarchies: tuple[str, ...],
    columns: str | None,
    nulls: tuple[str, ...],
    format_: str,
) -> None:
    """Measure every privacy model on a CSV or Parquet table, as it is.

    FILE is a file, a folder of partitions, or a pattern in quotes. A --model is written as in a
    spec: '{model: t-closeness, t: 0.2, distance: equal}'; if one does not hold, the exit code is 3.

    In a CSV file 02139 and 2139 are two quasi-identifiers, unless --types says zip=integer. Each
    column has one type: one that is sensitive as well keeps its inferred type where no two of its
    texts mean the same, and else needs --types. Parquet has types of its own, which --types must
    fit. A --population in CSV is read by the types of FILE.
    """
    from sfumato.flows.spec import read_promise
    from sfumato.tasks.microdata.inferred_table import Written
    from sfumato.tasks.stages.measure import measured

    promises = [read_promise(model) for model in models]
    written = Written(_names(columns) or None, nulls, _types(types))
    files = _pairs("--hierarchy", hierarchies)
    document = measured(file, _names(qi), _names(sensitive), promises, population, files, written)
    show.document(document, format_)
    if broken := [p["promise"]["model"] for p in document.get("promises", []) if not p["holds"]]:
        raise PromiseError(f"{file}: {', '.join(broken)} does not hold")


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--digest", help="the digest that the publisher announced")
def check(directory: Path, digest: str | None) -> None:
    """Verify a published release from its files alone."""
    from sfumato.tasks.declaration.assessment import numbers
    from sfumato.tasks.publication.check import check as check_release

    for promise, verdict in check_release(directory, digest):
        together = " together" if promise.across else ""
        click.echo(
            f"{promise.name} holds in all {verdict.groups} groups{together}: "
            f"required {numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    click.echo(f"{directory}: every file is what the published tables give")


@cli.command()
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
    type=click.Choice(["duckdb", "postgres", "sqlite", "mariadb"]),
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
@click.option("--format", "format_", type=click.Choice(["text", "json", "csv"]), default="text")
def query(
    directory: Path,
    sql: str | None,
    file: Path | None,
    dialect: Any,
    reading: Any,
    estimator: Any,
    format_: str,
) -> None:
    """Ask a release; every number comes with bounds that surely contain the truth.

    With --format json a file of queries gives one document for each, a line each.
    """
    from sfumato.tasks.declaration.opened import open_release
    from sfumato.tasks.query.ask import answers
    from sfumato.tasks.query.sql.rewrite import rewrite

    opened = open_release(directory)
    asked = _queries(sql, file)
    if dialect is not None:
        for one in asked:
            rewritten = rewrite(one, opened.declared, reading, estimator)
            click.echo(rewritten.sql(dialect) + ";" * (file is not None))
        return
    for found in answers(opened, asked, estimator):
        show.answered_as(found, format_)


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


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url")
@click.option("--replace", is_flag=True, help="do away with tables of the same names")
def load(directory: Path, url: str, replace: bool) -> None:
    """Fill a database with the tables that rewritten queries read.

    URL is duckdb:///FILE, sqlite:///FILE, postgresql://… or mariadb://…; ${NAME} in it comes from
    the environment.
    """
    from sfumato.tasks.declaration.opened import open_release
    from sfumato.tasks.query.load import load as load_into

    for name in load_into(open_release(directory), url, replace):
        click.echo(name)


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--spec", required=True, type=click.Path(path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="override one key")
@_FORMAT
def evaluate(directory: Path, spec: Path, settings: tuple[str, ...], format_: str) -> None:
    """Measure a release's accuracy on the spec's workloads, against the original."""
    from sfumato.flows.evaluation import evaluate_again

    show.document({"widths": evaluate_again(directory, spec, _overrides(settings))}, format_)


@cli.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="a column with a hierarchy")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="override one key")
@_FORMAT
def hierarchy(spec: Path, column: str, settings: tuple[str, ...], format_: str) -> None:
    """Show the labels that a column's hierarchy gives to the source's values."""
    from sfumato.flows.preview import preview

    found = preview(spec, column, _overrides(settings))
    if format_ == "json":
        show.document(found, "json")
        return
    click.echo(f"{column}: {found['values']} values")
    for level in found["levels"]:
        labels = ", ".join(f"{label} ({n})" for label, n in level["labels"].items())
        click.echo(f"level {level['level']}: {labels}")


@cli.command()
def schema() -> None:
    """Print the JSON Schema of the release spec."""
    from sfumato.flows.spec import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _types(text: str | None) -> dict[str, Any]:
    """The types of columns; a column has one."""
    from sfumato.tasks.schema.columns import TYPES

    pairs = _names(text)
    types = _pairs("--types", pairs)
    if len(types) < len(pairs):
        raise SpecError("--types: a column is named twice")
    for name, type_ in types.items():
        if type_ not in TYPES:
            raise SpecError(f"--types {name}: {type_!r} is none of {', '.join(TYPES)}")
    return types


def _release(spec: Path, settings: tuple[str, ...]) -> str:
    """Run the flow in this process and return the published directory."""
    from sfumato.flows.environment import quiet
    from sfumato.flows.plan import plan_run

    overrides = _overrides(settings)
    plan_run(spec, overrides)  # a wrong spec is told before a server is started
    quiet()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    with show.stages() as listener:
        from sfumato.flows.release import release as flow
        from sfumato.tasks.private.progress import listening

        with listening(listener), _unheard():
            return flow(str(spec), overrides)


def _overrides(settings: tuple[str, ...]) -> Any:
    from sfumato.flows.spec import read_overrides

    return read_overrides(_pairs("--set", settings))


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not equals:
            raise SpecError(f"{option} {name}: not of the form key=value")
    return {name: value for name, _, value in pairs}


@contextmanager
def _unheard() -> Iterator[None]:
    """Prefect logs a failed flow with its traceback; the command says it in one line instead."""
    import logging

    names = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine", "prefect")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
