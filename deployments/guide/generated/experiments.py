"""The experiments that measure what each paper shows: a table for each paper."""

from collections.abc import Iterator

from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.described import DATA, PAPERS


def write_experiments() -> str:
    """Markdown of every experiment, below its paper and what is different here."""
    return "\n".join(line for paper in PAPERS for line in _section(paper))


def _section(paper: str) -> Iterator[str]:
    described = PAPERS[paper]
    yield f"## {described.title}\n\n{described.authors}. {described.apart}\n"
    yield "| what the paper shows | experiment | data |"
    yield "| --- | --- | --- |"
    for name, experiment in EXPERIMENTS.items():
        if experiment.paper == paper:
            data = "; ".join(DATA[key].title for key in experiment.data)
            yield f"| {experiment.shows} | `{name}` | {data} |"
    yield ""
