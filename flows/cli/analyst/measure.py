"""`sfumato measure`: every privacy model on a table as it is."""

from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.cli import show
from sfumato.flows.cli.options import names, pairs, with_format

if TYPE_CHECKING:
    from sfumato.expectations.models.model import PrivacyModel


@click.command()
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
@click.option(
    "--household",
    metavar="COLUMN",
    help="whose household a row is of: promises over households, too",
)
@click.option("--unit", metavar="COLUMN", help="whose a row is, where people have several")
@click.option("--columns", metavar="A,B,…", help="names, for a CSV file without a header")
@click.option("--null", "nulls", multiple=True, help="a text that means a missing value")
@with_format
def measure(
    file: str,
    qi: str,
    sensitive: str | None,
    types: str | None,
    models: tuple[str, ...],
    population: str | None,
    hierarchies: tuple[str, ...],
    household: str | None,
    unit: str | None,
    columns: str | None,
    nulls: tuple[str, ...],
    format_: str,
) -> None:
    """Measure every privacy model on a table (CSV, Parquet, Excel, Stata, SPSS), as it is.

    FILE is a file, a folder of partitions, or a pattern in quotes. A --model is written as in a
    spec: '{model: t-closeness, t: 0.2, distance: equal}'; if one does not hold, the exit code is 3.

    In a CSV file 02139 and 2139 are two quasi-identifiers, unless --types says zip=integer. Each
    column has one type: one that is sensitive as well keeps its inferred type where no two of its
    texts mean the same, and else needs --types. Parquet has types of its own, which --types must
    fit. A --population in CSV is read by the types of FILE.
    """
    from sfumato.tasks.microdata.inferred_table import Written
    from sfumato.tasks.stages.measure import measure

    promises = _promises(models)
    written = Written(names(columns) or None, nulls, _types(types))
    files = pairs("--hierarchy", hierarchies)
    about = (names(qi), names(sensitive), promises, population, files, written, household, unit)
    document = measure(file, *about)
    show.document(document, format_)
    if broken := [p["promise"]["model"] for p in document.get("promises", []) if not p["holds"]]:
        raise PromiseError(f"{file}: {', '.join(broken)} does not hold")


def _promises(models: tuple[str, ...]) -> list["PrivacyModel"]:
    """Return the promises to decide; without any, no part of the spec is imported."""
    if not models:
        return []
    from sfumato.flows.inputs.spec import read_promise

    return [read_promise(model) for model in models]


def _types(text: str | None) -> dict[str, Any]:
    """Return the types of columns; each column has one type."""
    from sfumato.tasks.schema.columns import TYPES

    texts = names(text)
    types = pairs("--types", texts)
    if len(types) < len(texts):
        raise SpecError("--types: a column is named twice")
    for name, type_ in types.items():
        if type_ not in TYPES:
            raise SpecError(f"--types {name}: {type_!r} is not one of {', '.join(TYPES)}")
    return types
