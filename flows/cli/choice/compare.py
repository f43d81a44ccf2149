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

_SHOWN = 10


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--grid",
    metavar="YAML|FILE",
    help="what is tried: lists under partition, form, strata and promises; without it, every "
    "partition and auto in every form, strata, and forms that need other promises",
)
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="a file of SQL that is asked, too: statements end with ;",
)
@click.option("--processes", type=click.IntRange(min=1), help="tried at once; all processors")
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
    from sfumato.tasks.report.steward.comparison import name_of

    own = () if queries is None else statements(read_text(queries))
    asked = AskedComparison(dict(read_grid(grid)), own, processes or os.cpu_count() or 1)
    found = compare_alternatives(spec, overrides(settings), asked, tell)
    if as_json:
        echo_json(found.document())
        return
    for number, one in enumerate(found.ranked[:_SHOWN], start=1):
        echo(
            f"{number:>3}  width {one.width:.1%}  guessed {one.guessed:.1%}  {name_of(one.outcome)}"
        )
    tell_apart(found)
    if found.chosen is not None:
        echo(f"recommended: {found.chosen.outcome.name}: {found.spec}")
    echo(str(found.page))


def tell_apart(found: "Compared") -> None:
    """Say which alternatives are never recommended, and why others were not tried."""
    from sfumato.tasks.report.steward.comparison import names_by_reason

    if found.others:
        show.say(f"{len(found.others)} promise something else than the spec: never recommended")
    reasons = names_by_reason(found.refused)
    for why, names in list(reasons.items())[:_SHOWN]:
        show.say(f"left out, {len(names)}: {why}")
    if len(reasons) > _SHOWN:
        show.say(f"left out for {len(reasons) - _SHOWN} more reasons: the page has them")


def statements(text: str) -> tuple[str, ...]:
    r"""The statements of a text of SQL, without its lines of comments.

    >>> statements("-- all\nSELECT 1;\nSELECT 2;")
    ('SELECT 1', 'SELECT 2')
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return tuple(one.strip() for one in "\n".join(lines).split(";") if one.strip())


def tell(outcome: "TriedOutcome", done: int, of: int) -> None:
    """Say what became of an alternative."""
    said = f"cannot: {outcome.refused}" if outcome.refused else f"{outcome.groups:,} groups"
    show.say(f"{done}/{of} {outcome.name}: {said}, {outcome.seconds:.1f} s")
