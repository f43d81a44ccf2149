"""The files of a run: the ledger, a page for each paper, tables and plots of experiments."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.tasks.experiments.shared.described import DATA, PAPERS
from sfumato.tasks.experiments.shared.experiment import Experiment, Results
from sfumato.tasks.experiments.shared.kept import RunFacts
from sfumato.tasks.experiments.shared.ledger import (
    ALPHA,
    OUTCOMES,
    Entry,
    keep_ledger,
    ledger_csv,
)
from sfumato.tasks.experiments.shared.plots import LinesPlot, plots_of
from sfumato.tasks.report.rendering import environment, stylesheet

LEDGER = "index.html"
_STYLE = "experiments/experiments.css"


def write_files(
    directory: Path,
    chosen: Sequence[Experiment],
    measured: Mapping[str, Results],
    facts: RunFacts,
) -> list[Entry]:
    """Write everything into a directory, over what an earlier run has left there.

    Returns:
        The ledger.
    """
    directory.mkdir(parents=True, exist_ok=True)
    entries = keep_ledger(measured, chosen)
    shared: dict[str, Any] = {**facts._asdict(), "alpha": ALPHA, "outcomes": OUTCOMES}
    shared["failed"] = {
        name: results.failed for name, results in measured.items() if results.failed
    }
    shared |= {"papers": PAPERS, "described": DATA}
    _write(directory / "ledger.csv", ledger_csv(entries))
    _write(directory / "run.json", json.dumps(facts._asdict(), indent=2) + "\n")
    _write(directory / LEDGER, _page("ledger", {"entries": entries, "chosen": chosen, **shared}))
    for paper in dict.fromkeys(experiment.paper for experiment in chosen):
        of_paper = [experiment for experiment in chosen if experiment.paper == paper]
        sections = [
            _section(experiment, measured[experiment.name], entries) for experiment in of_paper
        ]
        view = {"paper": PAPERS[paper], "sections": sections, **shared}
        _write(directory / f"{paper}.html", _page("paper", view))
        for section in sections:
            _write_section(directory, section, measured)
    return entries


def _section(experiment: Experiment, results: Results, entries: Sequence[Entry]) -> dict[str, Any]:
    plots = [plot for figure in experiment.figures for plot in plots_of(figure, results)]
    return {
        "experiment": experiment,
        "data": [DATA[key] for key in experiment.data],
        "plots": [
            (f"{experiment.name}-{number}", plot) for number, plot in enumerate(plots, start=1)
        ],
        "claims": [entry for entry in entries if entry.experiment is experiment],
        "failed": results.failed,
    }


def _write_section(
    directory: Path, section: Mapping[str, Any], measured: Mapping[str, Results]
) -> None:
    name = section["experiment"].name
    _write(directory / f"{name}.csv", measured[name].csv(name))
    for called, plot in section["plots"]:
        _write(directory / f"{called}.svg", _svg(plot))


def _svg(plot: LinesPlot) -> str:
    """Return a plot as a file of its own, which is light or dark as its reader wishes."""
    return environment().get_template("experiments/plot.svg.j2").render(plot=plot)


def _page(template: str, view: Mapping[str, Any]) -> str:
    style = stylesheet(_STYLE)
    page = environment().get_template(f"experiments/{template}.html.j2")
    return page.render(css=style.css, css_hash=style.sha256, **view)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
