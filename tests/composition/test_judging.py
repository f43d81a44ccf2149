"""Promises over versions: batches, references that move, presence, changed values, many columns."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.state import Refused, renumber
from sfumato.expectations.groups.counting import Coded, count, cover
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from tests.composition.lines import LETTERS, atoms_of, judge, show_version
from tests.composition.oracle import read
from tests.composition.random_lines import mixing
from tests.composition.vectors import (
    SLOTS,
    T1,
    T2,
    T3,
    T5,
    T6,
    T7,
    T8,
    T9,
    T10,
    T14,
    T15A,
    T16,
    distinct,
    entropy,
    ke,
)

TOGETHER = "of people who came or left together"
REASONS = [
    (T1, distinct(2), "1 group cuts two groups of earlier versions"),
    (T10, distinct(2), "2 groups cut two groups of earlier versions"),
    (T6, distinct(2), f"1 group {TOGETHER} breaks distinct l-diversity (l = 2)"),
    (T7, ke(2, 1), f"1 group {TOGETHER} breaks (k,e)-anonymity (k = 2, e = 1)"),
    (
        f"{T16} GHI:111 JKL:222",
        distinct(2),
        f"2 groups {TOGETHER} break distinct l-diversity (l = 2)",
    ),
    (
        "ABC:123 DEF:123 / ABc:124 DEF:123",
        distinct(1),
        "1 group with other sensitive values than in earlier versions",
    ),
    (
        "ABC:123 DEF:123 / ABCDEF:112344",
        distinct(1),
        "1 group with other sensitive values than in earlier versions",
    ),
    (
        "ABCDEF:123123 / ABC:444 DEF:123",
        distinct(1),
        "2 groups with other sensitive values than in earlier versions",
    ),
]


@pytest.mark.parametrize(("line", "promise", "reason"), REASONS)
def test_a_refusal_counts_and_names_nobody(line, promise, reason):
    assert str(judge(line, [promise])[-1]) == reason


def test_what_was_published_and_is_now_too_little_is_refused():
    first = gate(None, show_version(read(T16)[0]), [distinct(1)])
    assert isinstance(first, Passed)
    again = gate(first.atoms, show_version(read(T16)[0]), [distinct(4)])
    assert str(again) == "2 groups break distinct l-diversity (l = 4)"


@pytest.mark.parametrize(
    ("line", "atoms"),
    [
        (T5, {"ABCD": "1123", "EFG": "125"}),
        (T8, {"ABC": "123", "DEF": "345"}),
        (T9, {"ABC": "123", "DEF": "345"}),
        (T16, {"ABC": "123", "DEF": "124"}),
    ],
)
def test_atoms(line, atoms):
    verdict = judge(line, [distinct(1)])[-1]
    assert atoms_of(verdict.atoms) == {frozenset(us): values for us, values in atoms.items()}


def test_a_refused_version_leaves_the_state_as_it_was():
    first = judge(T14, [distinct(1)])[0]
    before = atoms_of(first.atoms)
    assert isinstance(gate(first.atoms, show_version(read(T14)[1]), [distinct(2)]), Refused)
    assert atoms_of(first.atoms) == before


def test_k_is_asked_of_each_version_and_not_of_what_they_tell():
    promises = [KAnonymity(k=5), AlphaK(alpha=Decimal("0.5"), k=5)]
    assert judge(T8, promises)[-1].route == "A"
    assert judge(T14, [AlphaK(alpha=Decimal("0.5"), k=1)])[-1].groups == 1


def kept_in_each_version(line, atoms, promise):
    """Every atom keeps a promise among all atoms of each version that shows its people."""
    for version in line:
        here = {u.upper() for people, _ in version for u in people}
        inside = [("".join(us), values) for us, values in atoms.items() if us <= here]
        assert sum(len(us) for us, _ in inside) == len(here)
        if promise.failing(show_version(inside).groups).any():
            return False
    return True


@pytest.mark.parametrize("t", ["0.3", "0.45"])
def test_atoms_are_close_to_what_each_version_shows(t):
    promise = TCloseness(t=Decimal(t), distance="ordered")
    rng, counts = np.random.default_rng(21), Counter()
    for _ in range(250):
        line = mixing(rng)
        *_, free = judge(line, [distinct(1)])
        if isinstance(free, Passed) and free.route == "A":
            *_, verdict = judge(line, [promise])
            is_kept = kept_in_each_version(line, atoms_of(free.atoms), promise)
            assert isinstance(verdict, Passed) == is_kept
            counts[is_kept] += 1
    assert min(counts.values()) > 10


def test_who_comes_back_is_judged_among_all_whom_earlier_versions_showed():
    line = "ABCD:1122 EFGH:1122 / EFGH:1122 / AB:11 EFGH:1122"
    *_, before, last = judge(line, [TCloseness(t=Decimal("0.4"), distance="equal")])
    assert isinstance(before, Passed)
    assert str(last) == f"2 groups {TOGETHER} break t-closeness (t = 0.4)"


def test_people_units_and_values_are_names():
    rng = np.random.default_rng(22)
    for _ in range(100):
        line, other = mixing(rng), rng.permutation(12)
        first = [show_version(version) for version in line]
        anew = [
            replace(v, person=other[v.person][order], group=v.group[order], live=v.live[order])
            for v in first
            for order in [rng.permutation(len(v.person))]
        ]
        assert outcomes(first) == outcomes(anew)


def outcomes(versions, promise=None, atoms=None):
    verdicts = []
    for version in versions:
        verdict = gate(atoms, version, [promise or distinct(2)])
        if isinstance(verdict, Refused):
            return [*verdicts, verdict]
        atoms = verdict.atoms
        verdicts.append((verdict.route, verdict.fewest, verdict.likeliest, len(atoms)))
    return verdicts


def two_columns(version, other):
    """A version with a second column, shuffled independently."""
    groups, more = show_version(version), show_version(other)
    columns = {"s": groups.groups.counts_of("s"), "t": more.groups.counts_of("s")}
    return replace(groups, groups=Groups(groups.groups.sizes, columns))


def test_each_of_several_columns_keeps_its_promise():
    promises = [DistinctLDiversity(l=3, sensitive="s"), DistinctLDiversity(l=2, sensitive="t")]
    first, then = (
        two_columns(*both) for both in zip(read(T8), read("ABC:112 / ABCDEF:112334"), strict=True)
    )
    verdict = gate(gate(None, first, promises).atoms, then, promises)
    assert (verdict.route, verdict.fewest) == ("A", {"s": 3, "t": 2})
    stricter = [promises[0], DistinctLDiversity(l=3, sensitive="t")]
    assert isinstance(gate(None, first, stricter), Refused)


def test_a_column_that_is_no_set_needs_slots():
    first, then = (two_columns(*both) for both in zip(read(T3), read(T2), strict=True))
    promises = [DistinctLDiversity(l=2, sensitive=name) for name in "st"]
    assert isinstance(gate(gate(None, first, promises).atoms, then, promises), Refused)
    with_slots = [
        replace(v, slot=np.array([SLOTS[LETTERS[p]] for p in v.person])) for v in (first, then)
    ]
    assert outcomes(with_slots, promises[0])[-1][0] == "C"


def test_mixed_people_stay_mixed():
    line = f"{T3} / ABD:123 / ABC:123 DEF:123 / ABCDEF:112233 GHI:456"
    assert [v.route for v in judge(line, [entropy(3)])] == ["A", "S", "S", "S", "S"]
    assert isinstance(judge(f"{T3} / ABDG:1234", [distinct(1)])[-1], Refused)
    assert isinstance(judge(f"{T3} / AB:12", [distinct(1)])[-1], Refused)


@pytest.mark.parametrize("wrong", [{"C": 1}, {"D": 3}, {"A": -1}])
def test_slots_that_do_not_explain_the_groups_are_refused(wrong):
    assert isinstance(judge(T2, [distinct(2)], SLOTS | wrong)[-1], Refused)


def test_who_had_two_slots_has_none():
    first, then = (show_version(version, SLOTS) for version in read(T2))
    swapped = np.where(then.slot == 0, 1, np.where(then.slot == 1, 0, then.slot))
    verdict = gate(None, first, [distinct(2)])
    assert isinstance(gate(verdict.atoms, replace(then, slot=swapped), [distinct(2)]), Refused)


def test_changed_values_are_counted_by_unit():
    verdict = judge(T15A, [distinct(3)], units={"V": "U"})[-1]
    assert str(verdict) == "1 unit may have kept a value that changed"
    assert judge(T15A, [distinct(3)])[-1].route == "A"


def with_covers(line, boxes):
    """Versions whose groups admit some values of two quasi-identifiers."""
    versions = []
    for version, shown_boxes in zip(read(line), boxes, strict=True):
        microdata = show_version(version)
        group = np.repeat(np.arange(len(shown_boxes)), 2)
        covers = {q: cover(group, np.concatenate(shown_boxes), 9) for q in ("p", "q")}
        versions.append(replace(microdata, groups=replace(microdata.groups, covers=covers)))
    return versions


HALF = AlphaBeta(alpha=Decimal("0.5"), beta=Decimal("0.5"))


def test_t12_a_cover_drawn_anew_is_refused():
    line = with_covers("AB:12 CD:12 / AC:12 BD:12", [[(1, 2), (3, 4)], [(1, 3), (2, 4)]])
    assert outcomes(line, distinct(2))[-1][0] == "S"
    assert isinstance(outcomes(line, HALF)[-1], Refused)
    same_people = with_covers("AB:12 CD:12 / AB:12 CD:12", [[(1, 2), (3, 4)], [(1, 3), (2, 4)]])
    assert (
        str(outcomes(same_people, HALF)[-1])
        == "2 groups with other quasi-identifiers than in earlier versions"
    )


def test_presences_of_cohorts_add_up():
    apart = with_covers("AB:12 / AB:12 CD:12", [[(1, 2)], [(1, 2), (3, 4)]])
    assert outcomes(apart, HALF)[-1][0] == "A"
    over = with_covers("AB:12 / AB:12 CD:12", [[(1, 2)], [(1, 2), (2, 3)]])
    assert "together break (α,β)-privacy" in str(outcomes(over, HALF)[-1])
    retired = with_covers("AB:12 / CD:12", [[(1, 2)], [(2, 3)]])
    assert "together break" in str(outcomes(retired, HALF)[-1])


TARGET = Target(np.array([-1, 0, 0]), np.array([1, 1, 1]))


def with_subdomains(line):
    """Versions that show nodes of a hierarchy, the root and two leaves, in the place of values."""
    for version in read(line):
        microdata = show_version(version)
        c, target = microdata.groups.counts_of("s"), np.zeros(len(version), dtype=np.int64)
        part = Subdomains(c.group, c.value, c.count, target, (TARGET,))
        live = np.bincount(microdata.group, microdata.live, len(version)).astype(np.int64)
        yield replace(microdata, groups=Groups(live, {}, subdomains={"s": part}))


def test_subdomains_are_continued_or_refused():
    promise = PPrivacy(target="uniform", sensitive="s")
    assert outcomes(with_subdomains("ABc:012 / Abc:012 DE:12"), promise)[-1][0] == "A"
    assert "other sensitive values" in str(outcomes(with_subdomains("AB:12 / AB:00"), promise)[-1])
    cut = outcomes(with_subdomains("ABCD:1122 / AB:12 CD:12"), promise)
    assert "ranges" in str(cut[-1])
    assert "breaks P-privacy" in str(outcomes(with_subdomains("AB:12 CD:11"), promise)[-1])


def test_what_cannot_be_said_of_versions_is_refused():
    first = show_version(read(T8)[0])
    promise = DistinctLDiversity(l=2, sensitive="s", known=("t",))
    rho = BayesOptimal(rho1=Decimal("0.2"), rho2=Decimal("0.5"), reference="p", sensitive="s")
    assert all(isinstance(gate(None, first, [p]), Refused) for p in (promise, rho))


@pytest.mark.parametrize(
    "change",
    [
        {"person": np.array([0, 0, 2])},
        {"person": np.array([0, 1])},
        {"group": np.array([0, 0, 1])},
        {"group": np.array([0, 0, -1])},
        {"live": np.array([True])},
        {"slot": np.array([0])},
    ],
)
def test_members_that_cannot_be_read_are_refused(change):
    assert isinstance(gate(None, replace(show_version(read("ABC:123")[0]), **change), []), Refused)


def test_more_values_than_people_are_refused():
    version = replace(
        show_version(read("ABC:123")[0]),
        person=np.arange(2),
        group=np.zeros(2, int),
        live=np.ones(2, bool),
    )
    assert str(gate(None, version, [])) == "1 group with more or fewer values than people"


def test_a_value_that_nobody_has_is_no_candidate():
    version = show_version(read("ABC:112")[0])
    counts = version.groups.counts_of("s")
    none = replace(counts, group=np.zeros(3, int), value=np.arange(1, 4), count=np.array([2, 1, 0]))
    padded = replace(version, groups=replace(version.groups, sensitive={"s": none}))
    assert isinstance(gate(None, padded, [distinct(3)]), Refused)


def test_a_state_of_other_columns_is_not_known():
    before = gate(None, show_version(read("ABC:123")[0]), []).atoms
    other = count(np.zeros(3, int), 1, {"t": Coded(np.arange(3), 3)})
    version = replace(show_version(read("ABC:123")[0]), groups=other)
    assert "other sensitive columns" in str(gate(before, version, []))


def test_a_dictionary_may_grow():
    before = gate(None, show_version(read("ABC:123")[0]), []).atoms
    coded = {"s": Coded(np.array([2, 4, 6]), 8)}
    version = replace(show_version(read("ABC:123")[0]), groups=count(np.zeros(3, int), 1, coded))
    assert "other sensitive values" in str(gate(before, version, []))
    anew = renumber(before, "s", np.arange(0, 20, 2), version.groups.counts_of("s"))
    assert gate(anew, version, [distinct(3)]).route == "A"
