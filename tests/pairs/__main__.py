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
    options = parser.parse_args()
    start = time.process_time()
    run = Run(options.seed, options.queries)
    figures = run.run() if options.again is None else _ask_again(run, options.again)
    if options.keep is not None:
        seeds_and_queries = dict.fromkeys(
            f"{finding.seed}\t{finding.query!r}\n" for finding in figures.findings
        )
        options.keep.write_text("".join(seeds_and_queries), encoding="utf-8")
    _print_figures(figures, time.process_time() - start)
    _print_faults(figures.findings, options.shown)
    if options.refusals:
        _print_refusals(figures)


def _ask_again(run: Run, file: Path) -> Figures:
    """Ask queries as `--keep` writes them, each of the release that it had a fault in."""
    names = {
        name: names_of_parts
        for part in (rows, truths, aggregates, formulas, queries)
        for name, names_of_parts in vars(part).items()
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
        faults = sum(finding.shape == name for finding in figures.findings)
        refused = sum(not answered[pair] and tried[pair] > 0 for pair in PAIRS)
        met = sum(answered[pair] > 0 for pair in PAIRS)
        print(
            f"{name} | {figures.asked[name]} | {figures.by_shape[name]} | {faults} | {met} | "
            f"{refused} | {len(PAIRS) - met - refused}"
        )
    met = sum(any(counts[pair] for counts in figures.answered.values()) for pair in PAIRS)
    print(f"in some form: {met} of {len(PAIRS)} pairs")


def _print_faults(findings: Iterable[Finding], number: int) -> None:
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.fault.kind, []).append(finding)
    for kind, findings_of_kind in kinds.items():
        queries = {(finding.seed, finding.sql) for finding in findings_of_kind}
        print(f"\n{kind}: {len(findings_of_kind)} in {len(queries)} queries")
        counted = Counter(tag for finding in findings_of_kind for tag in finding.query.tags)
        print("  with " + ", ".join(f"{tag} {times}" for tag, times in counted.most_common(8)))
        for finding in sorted(findings_of_kind, key=lambda finding: len(finding.sql))[:number]:
            print(
                f"  {finding.sql}\n    {finding.shape}, release {finding.seed}, "
                f"row {finding.fault.key}"
            )
            print(
                f"    {finding.fault.asked}: {finding.fault.truth[:120]} in worlds, "
                f"{finding.fault.answer[:200]}"
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
        if not any(counts[pair] for counts in figures.answered.values()):
            print(f"  in no form: {' + '.join(pair)}")


if __name__ == "__main__":
    main()
