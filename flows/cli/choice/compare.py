"""`sfumato compare`: alternatives to a spec side by side, and the one that is recommended."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document, overrides, with_settings
from sfumato.flows.cli.show import echo, echo_json
from sfumato.tasks.schema.files import read_text

if TYPE_CHECKING:
    from sfumato.flows.choice.compare import Compared
    from sfumato.tasks.choose.alternative import TriedOutcome
    from sfumato.tasks.choose.recommend import Ranked

_SHOWN = 10


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--grid",
    metavar="YAML|FILE",
    help=(
        "what is tried, as lists under partition, form, strata, promises and (of two tables) "
        "related. Without it, compare tries every partition and auto in every form, strata, and "
        "forms that need other promises. Of two tables it tries other promises, limits and one "
        "joined table"
    ),
)
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="a file of SQL queries that are asked also; each ends with ;",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="how many alternatives are tried at once; by default one for each processor",
)
@with_settings
@as_document
def compare(
    spec: Path,
    grid: str | None,
    queries: Path | None,
    processes: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare partitions, forms and parameters on the source of SPEC; nothing is published.

    The last line of output is the private page; the recommended spec is written beside SPEC.
    """
    from sfumato.flows.choice.alternatives import read_grid
    from sfumato.flows.choice.compare import AskedComparison, compare_alternatives

    own = () if queries is None else statements(read_text(queries))
    request = AskedComparison(dict(read_grid(grid)), own, processes or os.cpu_count() or 1)
    comparison = compare_alternatives(spec, overrides(settings), request, tell)
    if as_json:
        echo_json(comparison.document())
        return
    for number, alternative in enumerate(comparison.ranked[:_SHOWN], start=1):
        echo(f"{number:>3}  {line_of(alternative)}")
    tell_apart(comparison)
    if comparison.chosen is not None:
        echo(f"recommended: {comparison.chosen.outcome.name}: {comparison.spec}")
    elif comparison.ranked:
        echo(
            "recommended: nothing, because each alternative hides a column or has other promises "
            "than the spec. If a column may go, write `role: drop` for it and compare again"
        )
    echo(str(comparison.page))


def line_of(alternative: "Ranked") -> str:
    """Return an alternative in a line: accuracy, width beside the others, guesses, name."""
    from sfumato.tasks.report.numbers import half_width, percent
    from sfumato.tasks.report.steward.comparison import emptied_in_words, name_of

    emptied, guessed = emptied_in_words(alternative.outcome), alternative.guessed
    return "  ".join(
        [
            f"{half_width(alternative.outcome.typical):>8}",
            f"width {percent(alternative.width)}",
            "not attacked" if guessed is None else f"guessed {percent(guessed)}",
            name_of(alternative.outcome) + (f" ({emptied})" if emptied else ""),
        ]
    )


def tell_apart(comparison: "Compared") -> None:
    """Print which alternatives are never recommended, and why others were not tried."""
    from sfumato.tasks.report.steward.comparison import names_by_reason

    if comparison.others:
        more = ", people or tables" if comparison.of_two else ""
        show.say(
            f"never recommended, because of other promises{more} than the spec's: "
            f"{len(comparison.others)} of the alternatives"
        )
    reasons = names_by_reason(comparison.refused)
    for why, names in list(reasons.items())[:_SHOWN]:
        show.say(f"left out, {len(names)}: {why}")
    if len(reasons) > _SHOWN:
        show.say(f"left out for {len(reasons) - _SHOWN} more reasons (see the page)")


def statements(text: str) -> tuple[str, ...]:
    r"""Return the statements of a text of SQL, without its lines of comments.

    >>> statements("-- all\nSELECT 1;\nSELECT 2;")
    ('SELECT 1', 'SELECT 2')
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return tuple(
        statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()
    )


def tell(outcome: "TriedOutcome", done: int, total: int) -> None:
    """Print the result of an alternative, and how many of all are done."""
    from sfumato.tasks.report.numbers import half_width

    result = (
        f"cannot: {outcome.refused}"
        if outcome.refused
        else f"{half_width(outcome.typical)}, {outcome.groups:,} groups"
    )
    show.say(f"{done}/{total} {outcome.name}: {result}, {outcome.seconds:.1f} s")
