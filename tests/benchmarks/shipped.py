"""Widths of the shipped specs before and now: `python -m tests.benchmarks.shipped [--seeds N]`.

Every spec of which version 2 makes something else is released as version 1 had it and as it is
shipped, under seeds, and asked its own workloads. Prints, for each level of queries, the median
over seeds of the median width relative to the middle of the bounds, with the least and the most.
"""

import argparse
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.terms.opened import open_release
from tests.corpus.archives import unpack_archives
from tests.lines import prepare, publish_prepared

ROOT = Path(__file__).parents[2]
SHIPPED, FIRST = ROOT / "deployments", unpack_archives() / "version-1"
PAIRS = (
    ("adult-capital-loss", FIRST / "releases", SHIPPED / "releases"),
    ("adult-capital-loss-bands", FIRST / "examples", SHIPPED / "examples"),
    ("adult-capital-loss-aimed", None, SHIPPED / "examples"),
)


def widths(spec, seed):
    """The median relative width of the spec's queries, by kind and level."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["SFUMATO_WORK"] = str(Path(place) / "work")
        changes = {
            "publish": {"uri": str(Path(place) / "public")},
            "source": {"uri": str(SHIPPED / "data" / "adult.parquet")},
        }
        run = Path(place) / "run"
        resolved = prepare(spec, run, seeded_keys(seed), Overrides.model_validate(changes))
        release = open_release(publish_prepared(resolved, run).directory)
        workloads = resolved.spec.evaluate.workloads
        original = load(run / "deidentified")
        measured = evaluate(release, original, workloads, seeded_keys(seed), lambda *_: None)
    widths_by_level = defaultdict(list)
    for outcome in measured:
        if (
            outcome.lower is not None
            and outcome.upper is not None
            and outcome.lower + outcome.upper > 0
        ):
            relative = (outcome.upper - outcome.lower) / (outcome.upper + outcome.lower) * 2
            widths_by_level[outcome.kind, outcome.level].append(float(relative))
    return {level: median(widths) for level, widths in widths_by_level.items()}


def with_hierarchies(folder):
    """A folder of old specs beside which their hierarchies and data lie."""
    place = Path(tempfile.mkdtemp()) / folder.name
    place.mkdir()
    for spec in folder.glob("*.yaml"):
        (place / spec.name).write_bytes(spec.read_bytes())
    for name, target in {"data": "data", "releases": "releases"}.items():
        if not (place.parent / name).exists():
            (place.parent / name).symlink_to(SHIPPED / target)
    if not (place / "hierarchies").exists():
        (place / "hierarchies").symlink_to(SHIPPED / "releases" / "hierarchies")
    return place


def main(seeds):
    """Print a table of all specs."""
    for name, before, now in PAIRS:
        for words, folder in (("version 1", before and with_hierarchies(before)), ("now", now)):
            if folder is None:
                continue
            measurements = [widths(folder / f"{name}.yaml", seed) for seed in range(seeds)]
            for kind in ("range", "arbitrary"):
                levels = [level for level in measurements[0] if level[0] == kind]
                cells = [
                    f"{median(widths):.3f} [{min(widths):.3f}, {max(widths):.3f}]"
                    for widths in (
                        [measurement[level] for measurement in measurements] for level in levels
                    )
                ]
                print(f"| {name} | {words} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    main(parser.parse_args().seeds)
