"""`sfumato experiment`: the papers' experiments, and what becomes of their claims."""

from pathlib import Path

import click

from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.runs import run_here
from sfumato.flows.cli.show import echo, echo_json

_ALL = "all"
_LEDGER = "index.html"


@click.command()
@click.argument("names", nargs=-1, metavar="NAME... | all")
@click.option("--quick", is_flag=True, help="a smoke test: so little data that it decides nothing")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("experiments"),
    show_default=True,
    help="the directory for pages, tables and plots",
)
@click.option(
    "--seeds", type=click.IntRange(1, 1000), help="how many seeds (13, or 2 with --quick)"
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="how many processes measure",
)
@click.option(
    "--only-kept",
    is_flag=True,
    help="measure nothing: write pages from finished seeds, whichever code measured them",
)
@as_document
def experiment(
    names: tuple[str, ...],
    quick: bool,
    out: Path,
    seeds: int | None,
    processes: int,
    only_kept: bool,
    as_json: bool,
) -> None:
    """Repeat the experiments of the papers; the last line of output is the ledger of their claims.

    Finished seeds are kept in the directory: type the same command again, and a run that was ended
    goes on. Without a name it lists the experiments.
    """
    from sfumato.tasks.experiments.registry import EXPERIMENTS, experiment_named

    if not names:
        _list({name: entry.title for name, entry in EXPERIMENTS.items()}, as_json)
        return
    chosen = tuple(EXPERIMENTS) if _ALL in names else tuple(dict.fromkeys(names))
    for name in chosen:
        experiment_named(name)  # a wrong name is told before a server is started
    parameters = {
        "names": chosen,
        "out": str(out),
        "quick": quick,
        "seeds": seeds,
        "processes": processes,
        "only_kept": only_kept,
    }
    ledger = Path(run_here("experiments", parameters, lambda: ["experiments"])) / _LEDGER
    if as_json:
        echo_json({"ledger": str(ledger)})
    else:
        echo(ledger)


def _list(titles: dict[str, str], as_json: bool) -> None:
    if as_json:
        echo_json({"experiments": titles})
        return
    for name, title in titles.items():
        echo(f"{name:<26} {title}")
