"""`sfumato measure`: every privacy model on a table as it is."""

from collections.abc import Iterator, Mapping, Sequence
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
    "--qi",
    required=True,
    metavar="A,B,…",
    help="the quasi-identifiers; a CSV file's are read as texts",
)
@click.option(
    "--sensitive",
    metavar="S,…",
    help="the sensitive columns; a CSV file's get the types that their values suggest",
)
@click.option(
    "--types",
    metavar="A=TYPE,…",
    help="the types of columns: integer, decimal, float, date, timestamp, string or boolean",
)
@click.option("--model", "models", multiple=True, metavar="YAML", help="a promise to check")
@click.option(
    "--population", metavar="FILE", help="a table of all people from whom the rows were drawn"
)
@click.option(
    "--hierarchy",
    "hierarchies",
    multiple=True,
    metavar="S=FILE",
    help="the hierarchy of a sensitive column",
)
@click.option(
    "--household",
    metavar="COLUMN",
    help="the column that identifies households; promises are checked over them also",
)
@click.option(
    "--unit", metavar="COLUMN", help="the column that identifies people who have several rows"
)
@click.option(
    "--columns", metavar="A,B,…", help="names of the columns, for a CSV file without a header"
)
@click.option("--null", "nulls", multiple=True, help="a text that means a missing value")
@click.option(
    "--names",
    "naming",
    type=click.Choice(["pycanon"]),
    help="the figures under the names of pyCANON's functions as well",
)
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
    naming: str | None,
    format_: str,
) -> None:
    """Measure every privacy model on a table (CSV, Parquet, Excel, Stata, SPSS), as it is.

    FILE is a file, a folder of partitions, or a pattern in quotes. A --model is written as in a
    spec: '{model: t-closeness, t: 0.2, distance: equal}'; if one is not kept, the exit code is 3.

    In a CSV file 02139 and 2139 are two quasi-identifiers, unless --types says zip=integer. Each
    column has one type: a quasi-identifier that is sensitive also keeps its inferred type if no two
    of its texts mean the same, and otherwise needs --types. Parquet has types of its own, and
    --types must fit them. A --population in CSV is read by the types of FILE.
    """
    from sfumato.tasks.microdata.inferred_table import Written
    from sfumato.tasks.stages.measure import measure

    promises = _promises(models)
    written = Written(names(columns) or None, nulls, _types(types))
    files = pairs("--hierarchy", hierarchies)
    about = (names(qi), names(sensitive), promises, population, files, written, household, unit)
    document = measure(file, *about)
    if format_ != "json":
        show.echo("\n".join(in_sentences(document, names(qi), names(sensitive))) + "\n")
    if naming is not None:
        document["pycanon"] = _under_other_names(document, format_)
    show.document(document, format_)
    if broken := [p["promise"]["model"] for p in document.get("promises", []) if not p["holds"]]:
        raise PromiseError(f"{file}: {', '.join(broken)} is not kept")


def _under_other_names(document: Mapping[str, Any], format_: str) -> list[dict[str, Any]]:
    """Return the figures by pyCANON's functions; print them as lines unless the format is JSON."""
    from sfumato.tasks.other_tools.pycanon import named_figures

    figures = named_figures(document)
    if format_ != "json":
        for figure in figures:
            number = "none" if figure.figure is None else f"{figure.figure:,}"
            rounded = "" if figure.same is None else f", pyCANON {figure.same:,}"
            note = f" ({figure.note})" if figure.note else ""
            show.echo(f"{figure.function}: {number}{rounded}; here {figure.key}{note}")
        show.echo("")
    return [figure.document() for figure in figures]


def in_sentences(
    document: Mapping[str, Any], quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> Iterator[str]:
    """Yield what the figures mean. Rows are called people only if a unit column identifies them."""
    risk = document["risk"]
    if risk is None:
        yield "The table has no rows."
        return
    columns, rows = _enumerate(quasi_identifiers), document["rows"]
    yield f"{rows:,} rows have {document['groups']:,} different combinations of {columns}."
    if "people" in document:
        yield (
            f"They are about {document['people']:,} people; the smallest group has "
            f"{_number_of(document['k_people'], 'person', 'people')}."
        )
    yield (
        f"{risk['rows_alone']:,} of {rows:,} rows are unique: no other row has the "
        f"same {columns}. The smallest group has "
        f"{_number_of(document['k'], 'row', 'rows')}."
    )
    yield (
        f"Someone who knows {columns} of a person in the table picks the right row with a "
        f"probability of {100 * risk['prosecutor']['average']:.3g} % on average, and of "
        f"{100 * risk['prosecutor']['highest']:.3g} % at most."
    )
    for name in sensitive:
        yield _of_values(name, document.get("sensitive", {}).get(name, document), risk)


def _of_values(name: str, values: Mapping[str, Any], risk: Mapping[str, Any]) -> str:
    """Return what groups disclose of a sensitive column, in a sentence."""
    (alike, *_) = risk["homogeneity"][name].values()
    fewest = _number_of(values["l"]["distinct"], "value", "different values")
    if not alike["rows"]:
        return f"Each group has at least {fewest} of {name}."
    return (
        f"{alike['rows']:,} rows are in groups in which all rows have the same {name}, "
        "so anyone who finds the group knows it."
    )


def _enumerate(words: Sequence[str]) -> str:
    """Return words as `age, sex and town`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _number_of(number: int | None, single: str, several: str) -> str:
    return f"{number or 0:,} {single if number == 1 else several}"


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
        raise SpecError("--types: names a column twice. Name each column once")
    for name, type_ in types.items():
        if type_ not in TYPES:
            raise SpecError(f"--types {name}: no type {type_!r}; choose from {', '.join(TYPES)}")
    return types
