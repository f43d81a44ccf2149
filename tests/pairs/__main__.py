"""Ask random queries of random releases by pairs of constructs, and print figures and faults."""

import argparse
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.pairs.run import PAIRS, Figures, Finding, Run
from tests.pairs.semantics import aggregates, formulas, queries, rows, truths


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.pairs", description=__doc__)
    parser.add_argument("--queries", type=int, default=500, help="how many are to be answered")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=Path, help="a file for queries with faults, to ask again")
    parser.add_argument("--again", type=Path, help="ask only the queries that such a file has")
    parser.add_argument("--shown", type=int, default=3, help="faults that are shown of each kind")
    parser.add_argument("--refusals", action="store_true", help="tell why pairs are refused")
    given = parser.parse_args()
    start = time.process_time()
    run = Run(given.seed, given.queries)
    figures = run.run() if given.again is None else _ask_again(run, given.again)
    if given.keep is not None:
        kept = dict.fromkeys(f"{one.seed}\t{one.query!r}\n" for one in figures.findings)
        given.keep.write_text("".join(kept), encoding="utf-8")
    _print_figures(figures, time.process_time() - start)
    _print_faults(figures.findings, given.shown)
    if given.refusals:
        _print_refusals(figures)


def _ask_again(run: Run, file: Path) -> Figures:
    """Ask queries as `--keep` writes them, each of the release that it had a fault in."""
    names = {
        name: of
        for part in (rows, truths, aggregates, formulas, queries)
        for name, of in vars(part).items()
    }
    for line in file.read_text(encoding="utf-8").splitlines():
        seed, written = line.split("\t")
        run.again(seed, [eval(written, names)])
    return run.figures


def _print_figures(figures: Figures, seconds: float) -> None:
    print(
        f"{figures.queries:,} queries, {figures.total:,} answered, {figures.cells:,} cells, "
        f"{figures.ends:,} of which with ends that are said to be attained and all worlds listed; "
        f"{figures.worlds:,} worlds"
    )
    parts = ", ".join(f"{name} {spent:.0f} s" for name, spent in figures.seconds.items())
    print(
        f"{seconds:.0f} s of CPU, {1000 * seconds / max(figures.total, 1):.0f} s for 1,000: {parts}"
    )
    print(f"rows in no world {figures.loose_rows}, certain but not said so {figures.loose_certain}")
    print("\nform | queries | answered | faults | pairs answered | refused only | never asked")
    for name in sorted(figures.asked):
        answered, tried = figures.answered[name], figures.tried[name]
        faults = sum(one.shape == name for one in figures.findings)
        refused = sum(not answered[pair] and tried[pair] > 0 for pair in PAIRS)
        met = sum(answered[pair] > 0 for pair in PAIRS)
        print(
            f"{name} | {figures.asked[name]} | {figures.by_shape[name]} | {faults} | {met} | "
            f"{refused} | {len(PAIRS) - met - refused}"
        )
    met = sum(any(of[pair] for of in figures.answered.values()) for pair in PAIRS)
    print(f"in some form: {met} of {len(PAIRS)} pairs")


def _print_faults(findings: Iterable[Finding], shown: int) -> None:
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        kinds.setdefault(one.fault.kind, []).append(one)
    for kind, found in kinds.items():
        queries = {(one.seed, one.sql) for one in found}
        print(f"\n{kind}: {len(found)} in {len(queries)} queries")
        counted = Counter(tag for one in found for tag in one.query.tags)
        print("  with " + ", ".join(f"{tag} {times}" for tag, times in counted.most_common(8)))
        for one in sorted(found, key=lambda one: len(one.sql))[:shown]:
            print(f"  {one.sql}\n    {one.shape}, release {one.seed}, row {one.fault.key}")
            print(
                f"    {one.fault.asked}: {one.fault.truth[:120]} in worlds, "
                f"{one.fault.answer[:200]}"
            )


def _print_refusals(figures: Figures) -> None:
    print("\npairs that were refused alone, by the first words of a refusal")
    for name in sorted(figures.asked):
        answered = figures.answered[name]
        why: dict[str, list[str]] = {}
        for pair, words in figures.refusals[name].items():
            if not answered[pair]:
                why.setdefault(words, []).append(" + ".join(pair))
        for words, pairs in sorted(why.items(), key=lambda item: -len(item[1])):
            print(f"  {name}: {len(pairs)}: {words!r}: {'; '.join(pairs[:4])}")
    for pair in PAIRS:
        if not any(of[pair] for of in figures.answered.values()):
            print(f"  in no form: {' + '.join(pair)}")


if __name__ == "__main__":
    main()
