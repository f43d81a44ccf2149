"""A thousand random lines of each kind, made by the pipeline, against all worlds, exactly.

    python -m tests.benchmarks.worlds
    python -m tests.benchmarks.worlds --lines 100

Each line has three versions of at most twelve people who join, leave and return. Every version has
to pass the gate, nobody may have fewer candidates than values of the group in which the person was
first shown, and where the theorem tells how likely these are, they are so.
"""

import argparse
import time
from collections import Counter
from fractions import Fraction

from tests.composition.oracle import Line, posterior
from tests.release.growing import deal_rows, sets
from tests.release.test_refilled_lines import told_truly

REPEATED, SETS = (deal_rows, "1123"), (sets(2), "123")
KINDS = {
    "keep, values that repeat": (*REPEATED, {"vacancies": "keep"}, True),
    "keep, sets": (*SETS, {"vacancies": "keep"}, True),
    "refill, values that repeat": (*REPEATED, {"vacancies": "refill"}, False),
    "refill, sets": (*SETS, {"vacancies": "refill"}, True),
    "paired, sets": (*SETS, {"vacancies": "paired"}, True),
    "refill and consolidate, sets": (*SETS, {"vacancies": "refill", "consolidate": True}, True),
}
"""Who is grouped with whom, values, what the line says, and whether likelihoods are told."""


def main(lines: int = 1000) -> None:
    """Print a line for each kind: lines, routes, people, and CPU seconds."""
    for name, (grouping, values, wish, by_likelihood) in KINDS.items():
        begin, routes, people = time.process_time(), Counter[str](), 0
        for written, line in told_truly(grouping, values, lines, wish, seed=77):
            routes[line.verdicts[-1].route] += 1
            shares = _first_shares(written)
            people += len(shares)
            if by_likelihood and posterior(written) != shares:
                raise AssertionError(f"{name}: not as likely as in the group: {written}")
        taken = time.process_time() - begin
        print(f"{name}: {lines} lines, {people} people, routes {dict(routes)}, {taken:.0f} s")


def _first_shares(line: Line) -> dict[str, dict[str, Fraction]]:
    """The shares of values in the group in which each person is first."""
    share_by_value: dict[str, dict[str, Fraction]] = {}
    for people, values in (group for version in line for group in version):
        shares = {s: Fraction(n, len(values)) for s, n in Counter(values).items()}
        for person in people.upper():
            share_by_value.setdefault(person, shares)
    return share_by_value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    main(**vars(parser.parse_args()))
