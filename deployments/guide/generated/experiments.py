"""Chapters on the papers' experiments: figures with their experiments, and the ledger of claims.

The ledger is kept beside this module. `python -m deployments.guide.generated.experiments DIRECTORY`
takes it and the guide's pictures from a directory that `sfumato experiment all` has written.
"""

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.described import DATA, PAPERS
from sfumato.tasks.experiments.shared.ledger import OUTCOMES

LEDGER = Path(__file__).with_name("ledger.json")
_PICTURES = Path(__file__).parents[1] / "pages" / "pictures"
DRAWN = ("arbitrary-averages", "range-averages", "association")
"""The experiments whose first plot is a picture of the guide."""


def write_experiments() -> str:
    """Markdown of what came out, and of every experiment and claim below its paper."""
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    chapters = [*_summary(ledger)]
    for paper in PAPERS:
        chapters += [*_figures(paper), *_claims(paper, ledger["claims"])]
    return "\n".join(chapters)


def _summary(ledger: Mapping[str, Any]) -> Iterator[str]:
    facts, claims = ledger["run"], ledger["claims"]
    outcomes = Counter(claim["outcome"].removesuffix(" on generated data") for claim in claims)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in OUTCOMES)
    yield "## What came out\n"
    yield (
        f"{len(claims)} claims were decided with {facts['seeds']} seeds: {counts}. The run took "
        f"{facts['seconds'] // 60} minutes of processor time. The code that measured is that of "
        f"{' and '.join(f'`{commit}`' for commit in facts['commits'])}."
    )
    if facts["missing"]:
        yield f"\n**{facts['missing']} seeds are missing**: claims are decided without them."
    by_paper = [claim for claim in claims if claim["by"] == "paper"]
    against = [claim for claim in by_paper if claim["outcome"].startswith(("disagree", "no"))]
    yield (
        f"\nOf the {len(by_paper)} claims of the papers, {len(against)} disagree or have no effect "
        "of the least size.\n"
    )


def _figures(paper: str) -> Iterator[str]:
    described = PAPERS[paper]
    yield f"## {described.title}\n\n{described.authors}. {described.apart}\n"
    yield "| what the paper shows | experiment | data | chosen here |"
    yield "| --- | --- | --- | --- |"
    for name, experiment in EXPERIMENTS.items():
        if experiment.paper == paper:
            data = "; ".join(DATA[key].title for key in experiment.data)
            yield f"| {experiment.shows} | `{name}` | {data} | {experiment.ours} |"
    for shows, reason in described.without:
        yield f"| {shows} | none. {reason} | | |"
    yield ""


def _claims(paper: str, claims: list[dict[str, str]]) -> Iterator[str]:
    yield "| claim | data | outcome | effect |"
    yield "| --- | --- | --- | --- |"
    for claim in claims:
        if claim["paper"] != paper:
            continue
        by = "" if claim["by"] == "paper" else " (this project)"
        outcome = claim["outcome"].removesuffix(" on generated data")
        data = DATA[claim["data"]].title
        yield f"| {claim['claim']}{by} | {data} | {outcome} | {effect_in_words(claim)} |"
    yield ""


def effect_in_words(claim: Mapping[str, str]) -> str:
    """Return an effect with its interval, in words."""
    if claim["effect"] == "nan":
        return claim["remark"]
    numbers = [f"{float(claim[name]):.3g}" for name in ("effect", "low", "high")]
    words = f"{claim['quantity']} {numbers[0]} ({numbers[1]} to {numbers[2]})"
    return f"{words}; {claim['remark']}" if claim["remark"] else words


def keep(directory: Path) -> None:
    """Take the ledger and the pictures of a run into the guide."""
    run = json.loads((directory / "run.json").read_text(encoding="utf-8"))
    with (directory / "ledger.csv").open(encoding="utf-8", newline="") as lines:
        claims = list(csv.DictReader(lines))
    text = json.dumps({"run": run, "claims": claims}, ensure_ascii=False, indent=1)
    LEDGER.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    for picture in (directory / f"{name}-1.svg" for name in DRAWN):
        if picture.exists():  # a run that is not finished has not drawn all
            place = _PICTURES / f"{picture.stem.removesuffix('-1')}.svg"
            place.write_text(picture.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
