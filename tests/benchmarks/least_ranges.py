"""Targets with the least sum of ranges: their cost in seconds, and what they change for whom.

`python -m tests.benchmarks.least_ranges` prints how long the program over the tree takes for a
group, as a ratio to the nearest target and, where all targets can be tried, to trying them. With
`--shipped` it prints what two shipped specs publish before and after: sums of ranges, the widths of
their own workloads, and in how many groups the promise fails for who knows the rule.
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from math import comb
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import yaml

from sfumato.expectations.models.l_diversity import EntropyLDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.attacks.minimal import minimality
from sfumato.tasks.attacks.registry import targets_of
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.partitions.distribution.choices import LeastChoice, NearestChoice, Solve
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.tables import read_tables
from tests.laws.test_least_targets import able, range_tree
from tests.lines import prepare, publish_prepared

EXAMPLES = Path(__file__).parents[2] / "deployments" / "examples"
PROMISES = (EntropyLDiversity(l=Decimal(3)), TCloseness(t=Decimal("0.25"), distance="equal"))
SIZES = ((4, 4, 8), (4, 4, 16), (20, 5, 12), (20, 8, 16), (20, 14, 24))
"""Rows of a group, values of the column, largest denominator."""
GROUPS = 12
FEW = 20_000  # targets of all denominators, to be tried one by one
OWN = {"nearest": {"nearest": "own"}, "ranges": {"nearest": "own", "objective": "ranges"}}


def main() -> None:
    """Print the ratios, or two tables in Markdown."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--shipped", action="store_true", help="release and attack two specs")
    if arguments.parse_args().shipped:
        print_shipped()
    else:
        time_all()


def time_all() -> None:
    """Print the ratios for groups of several sizes."""
    rng = np.random.default_rng(7)
    for rows, values, denominator in SIZES:
        for promise in PROMISES:
            time_choices(rng, promise, rows, values, denominator)


def time_choices(
    rng: np.random.Generator, promise: Any, rows: int, values: int, denominator: int
) -> None:
    """Print what the program takes for groups that break a promise, and what else would."""
    tree, totals = range_tree(np.arange(values)), np.full(values, rows)
    groups = [draw_skewed(rng, rows, values) for _ in range(GROUPS)]

    def seconds(choose: Callable[[], Solve]) -> float:
        solve = choose()
        return median(cpu(lambda own=own: solve(own)) for own in groups)

    def solver(choice: LeastChoice | NearestChoice) -> Solve:
        if isinstance(promise, TCloseness):
            return choice.beside_all(promise, totals)
        return choice.by_ranks([promise], totals)

    least = seconds(lambda: solver(LeastChoice(denominator, tree)))
    nearest = seconds(lambda: solver(NearestChoice(denominator)))
    words = f"{least / nearest:,.0f} x the nearest target"
    if sum(comb(d + values - 1, d) for d in range(1, denominator + 1)) <= FEW:
        own = groups[0]
        table = own.tolist(), totals.tolist(), tree
        tried = cpu(lambda: narrowest(tree, own, able(table, [promise], denominator)))
        words += f", {least / tried:.3f} x trying all targets"
    print(
        f"{promise.name}, {rows} rows, {values} values, denominators up to {denominator}: "
        f"{least:.3f} s; {words}"
    )


def draw_skewed(rng: np.random.Generator, rows: int, values: int) -> np.ndarray:
    """The counts of a group most of whose rows have two values."""
    weights = np.append([8.0, 4.0], np.ones(values - 2))
    return rng.permutation(rng.multinomial(rows, weights / weights.sum())).astype(np.int64)


def narrowest(tree: Any, own: np.ndarray, weights: Iterable[Sequence[int]]) -> int:
    """The least sum of ranges of some targets."""
    return min((tree.sum_of_ranges(own, np.array(each)) for each in weights), default=0)


def cpu(work: Callable[[], object]) -> float:
    """The CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def print_shipped() -> None:
    """Print what two shipped specs publish before and after."""
    promise = yaml.safe_load((EXAMPLES / "adult-occupation-close.yaml").read_text())["promises"]
    close = {
        f"close, objective {name}": (
            "adult-occupation-close",
            {"promises": [{**promise[0], "target": target}, *promise[1:]]},
        )
        for name, target in OWN.items()
    }
    aimed = {
        "aimed, partition ke": (
            "adult-capital-loss-aimed",
            {"partition": {"method": "ke", "objective": "sum"}},
        ),
        "aimed, as shipped": ("adult-capital-loss-aimed", {}),
    }
    for words, (name, changes) in {**close, **aimed}.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n## {words}\n")
            for line in figures(EXAMPLES / f"{name}.yaml", changes, Path(folder)):
                print(f"- {line}")


def figures(spec: Path, changes: Mapping[str, Any], folder: Path) -> Iterable[str]:
    """Yield what a spec with changes publishes: ranges, widths, and what attackers learn."""
    os.environ["SFUMATO_WORK"] = str(folder / "work")
    document = yaml.safe_load(spec.read_text())
    source = {**document["source"], "uri": str((spec.parent / document["source"]["uri"]).resolve())}
    written = {**document, "source": source, "publish": {"uri": str(folder / "public")}, **changes}
    (folder / spec.name).write_text(yaml.safe_dump(written))
    start = time.process_time()
    resolved = prepare(folder / spec.name, folder / "run", seeded_keys(1))
    facts = read_note(folder / "run" / "candidate", "facts")
    release = open_release(publish_prepared(resolved, folder / "run").directory)
    yield f"{time.process_time() - start:.0f} s of the processor to release"
    original = load(folder / "run" / "deidentified")
    yield from (ranges_of_targets if release.declared.form.declares else ranges)(release, facts)
    outcomes = evaluate(
        release, original, resolved.spec.evaluate.workloads, seeded_keys(1), lambda *_: None
    )
    yield from widths(outcomes)
    (target,) = targets_of(
        release.declared,
        read_tables(release.declared, release.directory / "data"),
        original,
        digest=release.manifest["sfumato"]["digest"],
    )
    yield from (score.text.strip() for score in minimality.attack(target))


def ranges_of_targets(release: Release, facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield the sum of ranges, how many are one value or all, and what targets move."""
    table = release.table("st").to_pylist()
    lower, upper = (sorted({row[name] for row in table}) for name in ("lower", "upper"))
    single = sum(row["count"] for row in table if row["lower"] == row["upper"])
    whole = sum(r["count"] for r in table if (r["lower"], r["upper"]) == (lower[0], upper[-1]))
    yield f"{single:,} ranges of one value, {whole:,} of the whole domain"
    yield from (
        f"{name}: {value:,.0f}"
        for name, value in facts.items()
        if "sum of ranges" in name or name.startswith(("rows that", "groups"))
    )


def ranges(release: Release, _facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield the sum of the ranges of all groups, in the column's unit."""
    (name,) = release.declared.names_with_roles("sensitive")
    by_group = defaultdict(list)
    for row in release.table("microdata").select([name, "group_id"]).to_pylist():
        by_group[row["group_id"]].append(row[name])
    total = sum(max(values) - min(values) for values in by_group.values())
    yield f"{len(by_group):,} groups, sum of their ranges {total:,}"


def widths(outcomes: Iterable[Any]) -> Iterable[str]:
    """Yield the median width of bounds, and half of it relative to their middle, of each level."""
    by_level = defaultdict(list)
    for outcome in outcomes:
        if outcome.lower is not None and outcome.upper is not None and outcome.upper > 0:
            by_level[outcome.kind, outcome.level].append((outcome.lower, outcome.upper))
    for (kind, level), bounds in sorted(by_level.items()):
        width = median(float(upper - lower) for lower, upper in bounds)
        half = median(float((upper - lower) / (upper + lower)) for lower, upper in bounds)
        words = f"width {width:,.1f}, ±{half:.1%} (medians of {len(bounds)} questions)"
        yield f"{kind}, {level}: {words}"


if __name__ == "__main__":
    main()
