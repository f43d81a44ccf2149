"""Random small lines: the gate says of each what enumeration says."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.state import Refused
from tests.composition.lines import LETTERS, atoms_of, judge
from tests.composition.oracle import candidates, keeps_distinct, posterior, read, worlds
from tests.composition.random_lines import disturb_line, holding, mixing, side_by_side
from tests.composition.vectors import distinct, entropy

CUT, GONE = "two groups of earlier versions", "other sensitive values"


def shares(values):
    return {s: Fraction(n, len(values)) for s, n in Counter(values).items()}


def lines(seed, number, draw=mixing, **options):
    rng = np.random.default_rng(seed)
    return [draw(rng, **options) for _ in range(number)]


def require_atoms(lines):
    """Each line that passes by atoms is told as one release of them."""
    outcomes = Counter()
    for line in lines:
        *_, verdict = judge(line, [distinct(1)])
        outcomes[getattr(verdict, "route", "refused")] += 1
        if isinstance(verdict, Refused):
            assert CUT in verdict.reason
        elif verdict.route == "A":
            expected = {u: shares(v) for us, v in atoms_of(verdict.atoms).items() for u in us}
            assert posterior(line) == expected
    return outcomes


def test_atoms_tell_what_versions_tell_together():
    outcomes = require_atoms(lines(1, 1200))
    assert outcomes["A"] > 700
    assert outcomes["refused"] > 100


def test_a_gate_that_lets_groups_cut_two_atoms_is_found_out(monkeypatch):
    monkeypatch.setattr("sfumato.expectations.composition.gate.MOST_CUTS", 2)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        require_atoms(lines(1, 300))


@pytest.mark.parametrize("l", [2, 3])
def test_atoms_keep_a_promise_where_candidates_do(l):
    counts = Counter()
    for line in lines(2, 300):
        *_, free = judge(line, [distinct(1)])
        if isinstance(free, Passed) and free.route == "A":
            *_, verdict = judge(line, [distinct(l)])
            assert isinstance(verdict, Passed) == keeps_distinct(line, l)
            counts[isinstance(verdict, Passed)] += 1
    assert min(counts.values()) > 3


def test_atoms_are_the_same_in_every_order():
    orders = 0
    for line in lines(3, 150):
        atoms_found = []
        for order in permutations(line):
            *_, verdict = judge(list(order), [distinct(1)])
            if isinstance(verdict, Passed) and verdict.route == "A":
                atoms_found.append({us: sorted(v) for us, v in atoms_of(verdict.atoms).items()})
        assert all(atoms == atoms_found[0] for atoms in atoms_found)
        orders += len(atoms_found) > 1
    assert orders > 50


def test_an_order_may_be_refused_where_another_passes():
    line = read("AB:12 / BC:23 / ABC:123")
    assert CUT in str(judge(line, [distinct(1)])[-1])
    assert judge(line[::-1], [distinct(1)])[-1].route == "A"


@pytest.mark.parametrize("values", ["12", "123"])
def test_sets_of_one_signature_stay_uniform(values):
    routes = Counter()
    for line, _ in lines(4, 250, holding, values=values, people=8):
        *_, verdict = judge(line, [entropy(len(values))])
        routes[verdict.route] += 1
        assert verdict.likeliest == {"s": Fraction(1, len(values))}
        assert all(b == shares(values) for b in posterior(line).values())
    assert routes["S"] > 100


@pytest.mark.parametrize("values", ["112", "1123", "1122"])
def test_slots_leave_every_value_possible(values):
    routes = Counter()
    for line, slots in lines(5, 150, holding, values=values, people=8):
        *_, verdict = judge(line, [distinct(len(set(values)))], slots)
        routes[verdict.route] += 1
        assert all(c == set(values) for c in candidates(line).values())
        assert verdict.fewest == {"s": len(set(values))}
    assert routes["S" if values == "1122" else "C"] > 50


def test_slots_say_nothing_of_how_likely_values_are():
    for line, slots in lines(5, 60, holding, values="112", people=8):
        *_, verdict = judge(line, [entropy("1.5")], slots)
        assert isinstance(verdict, Refused) or verdict.route == "A"


def test_a_value_that_cannot_be_is_refused():
    rng = np.random.default_rng(6)
    refused = 0
    for line in lines(6, 300):
        v = int(rng.integers(len(line)))
        g = int(rng.integers(len(line[v])))
        people, values = line[v][g]
        line[v][g] = people, "".join(sorted(f"{values[1:]}{rng.integers(1, 5)}"))
        *_, verdict = judge(line, [distinct(1)])
        if next(worlds(line), None) is None:
            assert isinstance(verdict, Refused)
            refused += GONE in verdict.reason
        elif isinstance(verdict, Passed) and verdict.route == "A":
            expected = {u: shares(v) for us, v in atoms_of(verdict.atoms).items() for u in us}
            assert posterior(line) == expected
    assert refused > 30


def require_sound(line, verdict):
    """Everybody's posterior is an atom's, or uniform, or has every value of the slots."""
    atoms, beta = verdict.atoms, posterior(line)
    for us, values in atoms_of(atoms).items():
        mixed = atoms.mixed[atoms.atom_of[LETTERS.index(min(us))]]
        for u in us:
            if not mixed:
                assert beta[u] == shares(values)
            elif verdict.route == "S" or len(set(shares(values).values())) == 1:
                assert beta[u] == shares(set(values))
            else:
                assert beta[u].keys() == set(values)


def require_sound_lines(seed, number):
    """Check that what passes is told truly where people are re-mixed, some of them wrongly."""
    rng = np.random.default_rng(seed)
    routes = Counter()
    for _ in range(number):
        values = str(rng.choice(["12", "123", "112", "1122"]))
        line, slots = holding(rng, values, people=7)
        line = disturb_line(rng, line, values, slots)
        *_, verdict = judge(line, [distinct(1)], slots)
        routes[getattr(verdict, "route", None)] += 1
        if isinstance(verdict, Passed):
            require_sound(line, verdict)
    return routes


def test_whatever_passes_is_told_truly():
    routes = require_sound_lines(12, 300)
    assert min(routes[route] for route in ("A", "S", "C", None)) > 10


@pytest.mark.parametrize(
    ("place", "accepts_all"),
    [
        ("slots.evenly", lambda counts: np.ones(len(counts.starts), dtype=bool)),
        ("gate.are_sets", lambda _before, _groups, mixtures: np.ones(len(mixtures), dtype=bool)),
    ],
)
def test_a_gate_that_asks_less_is_found_out(monkeypatch, place, accepts_all):
    monkeypatch.setattr(f"sfumato.expectations.composition.{place}", accepts_all)
    with pytest.raises(AssertionError):
        require_sound_lines(12, 300)


def test_the_same_values_without_slots_may_tell(monkeypatch):
    line = read("ABC:112 / ABD:112 / ACD:112")
    slots = {"A": 0, "B": 1, "C": 2, "D": 2}
    assert candidates(line)["A"] == {"2"}
    assert isinstance(judge(line, [distinct(2)], slots)[-1], Refused)
    place = "sfumato.expectations.composition.gate.have_slots"
    monkeypatch.setattr(place, lambda *arguments: np.ones(len(arguments[3]), dtype=bool))
    assert judge(line, [distinct(2)], slots)[-1].route == "C"


def test_people_who_share_no_group_are_judged_apart():
    rng = np.random.default_rng(13)
    routes = Counter()
    for _ in range(150):
        values = str(rng.choice(["12", "112"]))
        joint_line, slots = holding(rng, values, people=5)
        line = side_by_side(mixing(rng, people=5), joint_line)
        slots = {chr(ord(u) + 13): slot for u, slot in slots.items()}
        *_, verdict = judge(line, [distinct(1)], slots)
        alone = [judge(part, [distinct(1)], slots)[-1] for part in apart(line)]
        expected = [getattr(verdict, "route", "refused") for verdict in alone]
        routes[tuple(expected)] += 1
        assert getattr(verdict, "route", "refused") == max(
            expected, key=["A", "S", "C", "refused"].index
        )
        if isinstance(verdict, Passed):
            require_sound(line, verdict)
    assert len(routes) >= 5


def apart(line):
    """The two lines that stand side by side."""
    part = [[g for g in version if min(g[0].upper()) < "N"] for version in line]
    other = [[g for g in version if min(g[0].upper()) >= "N"] for version in line]
    return part, other
