"""The gain and the cost of partitions and promises that resist attacks, beside the plain ones.

Each is a shipped spec with another partition or other promises, published once from a seeded draw,
attacked, and asked counts of three quasi-identifiers with one sensitive value.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import CountsWorkload
from sfumato.tasks.terms.opened import Release
from tests.benchmarks.attacked_draws import guess_values, publish_spec
from tests.benchmarks.attacked_specs import SPECS

_COUNTS = CountsWorkload(kind="counts", selectivity=(10,), queries=400)
_SHOWN = {
    "the group alone": "own value guessed from the group alone",
    "what was tried": "own value guessed by who knows what else was tried",
    "deFinetti": "own value guessed by deFinetti's attack",
    "twice as likely": "own value 2 times as likely as without the release, or more",
    "believed with 80 %": "own value believed with 80% or more",
    "so by what was tried": (
        "own value believed with 80% or more by who knows what else was tried"
    ),
}


def _boxes(**partition: Any) -> dict[str, Any]:
    return {"partition": {"method": "mondrian", "mode": "strict", **partition}}


def _promising(**promise: Any) -> dict[str, Any]:
    return {"promises": [{"model": "k-anonymity", "k": 5}, promise]}


def _alike(epsilon: float) -> dict[str, Any]:
    return {"partition": {"method": "anatomy", "alike": {"epsilon": epsilon}}}


TRIED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "boxes, recursive (3, 3)-diversity": ("adult-occupation-mondrian", {}),
    "`leave: 0.05`": ("adult-occupation-mondrian", _boxes(leave=0.05)),
    "`leave: 0.25`": ("adult-occupation-mondrian", _boxes(leave=0.25)),
    "β-likeness, β = 2": (
        "adult-occupation-mondrian",
        _promising(model="beta-likeness", beta=2),
    ),
    "δ-disclosure, δ = 1.5": (
        "adult-occupation-mondrian",
        _promising(model="delta-disclosure", delta=1.5),
    ),
    "t-closeness, t = 0.3": (
        "adult-occupation-mondrian",
        _promising(model="t-closeness", t=0.3, distance="equal"),
    ),
    "anatomy, l = 4": ("adult-occupation-anatomy", {}),
    "`alike: {epsilon: 0.1}`": ("adult-occupation-anatomy", _alike(0.1)),
    "`alike: {epsilon: 1}`": ("adult-occupation-anatomy", _alike(1)),
}


def main() -> None:
    """Print a table in Markdown."""
    head = ("partition and promises", "groups", "median width", *_SHOWN)
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|", flush=True)
    for words, (name, changes) in TRIED.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SFUMATO_WORK"] = f"{folder}/work"
            line = [*_measure_spec(_change_spec(name, changes, Path(folder)), Path(folder))]
        print("|", " | ".join((words, *line)), "|", flush=True)


def _change_spec(name: str, changes: Mapping[str, Any], folder: Path) -> Path:
    """A spec like a shipped one, of which a part is another; its files are where they were."""
    shipped = next(spec for spec in SPECS if spec.stem == name)
    spec = yaml.safe_load(shipped.read_text("utf-8")) | changes
    spec["source"]["uri"] = str(shipped.parent / spec["source"]["uri"])
    for column in spec["columns"].values():
        if "hierarchy" in column:
            column["hierarchy"] = str(shipped.parent / column["hierarchy"])
    place = folder / shipped.name
    place.write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    return place


def _measure_spec(spec: Path, folder: Path) -> Iterator[str]:
    release, people = publish_spec(spec, folder)
    (scores,) = guess_values(release, people).values()
    by_measure = {score.measure: score.share for score in scores}
    yield f"{release.manifest['sfumato']['observed'][0]['groups']:,}"
    yield f"{100 * _median_width(release, people):.1f}"
    for measure in _SHOWN.values():
        yield f"{100 * by_measure[measure]:.1f}" if measure in by_measure else ""


def _median_width(release: Release, people: Microdata) -> float:
    """Return the widest bounds of half of the counts, by what is known without a release."""
    evaluation = evaluate(release, people, (_COUNTS,), seeded_keys(2), lambda _done, _total: None)
    assert all(query.inside for query in evaluation)
    return float(np.median([q.share_of_known for q in evaluation if q.share_of_known is not None]))


if __name__ == "__main__":
    sys.exit(main())
