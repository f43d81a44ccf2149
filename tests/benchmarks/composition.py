"""The gate of versions together, and attacks on them, against np.sort of the people's keys."""

from dataclasses import replace

import numpy as np

from sfumato.expectations.composition.exposure import exposure
from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.state import Atoms, Shown
from sfumato.expectations.groups.counting import Coded, count
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from tests.benchmarks.ke import cpu

VALUES, SIZE, CHANGE = 50, 4, 20
PROMISES = (DistinctLDiversity(l=2, sensitive="s"),)


def main() -> None:
    """Print ratios at a million and at four million people."""
    for people in (10**6, 4 * 10**6):
        rng = np.random.default_rng(7)
        first = line_of(rng, people)
        keys = rng.integers(0, 2**63, people)
        sort = cpu(lambda k=keys: np.sort(k))
        atoms = state(None, first)
        then, batches, again = continue_groups(rng, first), regroup(rng, first), redrawn(rng, first)
        for what, before, version in (
            ("first", None, first),
            ("5 % leave, 5 % join", atoms, then),
            ("half the groups joined in pairs", atoms, batches),
            ("sets mixed anew", atoms, again),
        ):
            taken = cpu(lambda b=before, v=version: state(b, v), times=3)
            print(f"composition, {people:,} people, {what}: {taken:.2f} s, {taken / sort:.1f} x")
        for what, version in (("continued", then), ("mixed anew", again)):
            taken = cpu(lambda line=(first, version): exposure(line, "s", 4), times=1)
            print(f"exposure, {people:,} people, {what}: {taken:.2f} s, {taken / sort:.1f} x")


def state(before: Atoms | None, version: Shown) -> Atoms:
    """Return what is told after a version that passes."""
    verdict = gate(before, version, PROMISES)
    assert isinstance(verdict, Passed), verdict
    return verdict.atoms


def line_of(rng: np.random.Generator, people: int) -> Shown:
    """Groups of four people with four different values, one of each residue."""
    order = rng.permutation(people)
    group = np.repeat(np.arange(people // SIZE), SIZE)
    codes = (np.arange(people) % SIZE) + SIZE * np.repeat(
        rng.integers(0, VALUES // SIZE, people // SIZE), SIZE
    )
    return show_groups(order, group, codes, np.ones(people, dtype=bool))


def show_groups(
    person: np.ndarray, group: np.ndarray, codes: np.ndarray, live: np.ndarray
) -> Shown:
    """People with groups and values."""
    groups = count(group, int(group.max()) + 1, {"s": Coded(codes, VALUES)})
    return Shown(person, group, groups, live)


def codes_of(version: Shown) -> np.ndarray:
    """The value of each member, whose groups have their values in order."""
    counts = version.groups.counts_of("s")
    return np.repeat(counts.value, counts.count)


def continue_groups(rng: np.random.Generator, first: Shown) -> Shown:
    """All groups are continued, a twentieth of their members are ghosts, and as many join."""
    new = len(first.person) // CHANGE // SIZE * SIZE
    joined = line_of(rng, new)
    return show_groups(
        np.append(first.person, joined.person + len(first.person)),
        np.append(first.group, joined.group + len(first.groups)),
        np.append(codes_of(first), codes_of(joined)),
        np.append(rng.random(len(first.person)) > 1 / CHANGE, joined.live),
    )


def regroup(rng: np.random.Generator, first: Shown) -> Shown:
    """Half the groups are joined in pairs."""
    into = np.arange(len(first.groups))
    half = len(into) // 4
    into[:half] = into[half : 2 * half]
    group = np.unique(into, return_inverse=True)[1][first.group]
    order = np.argsort(rng.random(len(group)))
    return show_groups(first.person[order], group[order], codes_of(first)[order], first.live)


def redrawn(rng: np.random.Generator, first: Shown) -> Shown:
    """People with the same values are mixed anew among the groups that have them."""
    codes = codes_of(first)
    by_value, shuffled = (
        np.argsort(codes, kind="stable"),
        np.lexsort((rng.random(len(codes)), codes)),
    )
    person = first.person.copy()
    person[by_value] = first.person[shuffled]
    return replace(first, person=person)


if __name__ == "__main__":
    main()
