"""Ambiguity: every group keeps α and β, no row is lost uncounted, and the pick is the best."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import exp, log, prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.covering import covering
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ambiguity import ambiguity
from sfumato.tasks.partitions.ambiguity import groups as ambiguity_groups
from sfumato.tasks.partitions.ambiguity import residue as ambiguity_residue
from sfumato.tasks.partitions.ambiguity.calibrated import (
    JoinedPresence,
    _climb,
    _StopSearch,
    combined_presence,
    covers_of,
)
from sfumato.tasks.partitions.ambiguity.groups import _Remaining, _Room, draw_stratum, grow
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.ambiguity.residue import place_among, place_rows
from sfumato.tasks.partitions.ambiguity.rule import strictest_rule

QUASI = ("q0", "q1", "q2")


def table(rows):
    """Rows (stratum, three quasi-identifiers, sensitive)."""
    names = ("part", *QUASI, "s")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return Microdata(
        tuple(
            encode(name, "sensitive" if name == "s" else "quasi-identifier", pa.array(values))
            for name, values in columns
        ),
        len(rows),
    )


def drawn_rows(seed, rows=80, values=6, domain=(7, 3, 5), parts=2):
    rng = np.random.default_rng(seed)
    sizes = (parts, *domain, values)
    return [
        tuple(int(size * x) for size, x in zip(sizes, line, strict=True))
        for line in rng.random((rows, 5)) ** (1, 1.5, 1.5, 1.5, 1.3)
    ]


def promise(alpha, beta, presence="per-group", quasi=QUASI):
    scope = {"quasi_identifiers": quasi, "sensitive": "s", "presence": presence}
    return AlphaBeta(alpha=Decimal(alpha), beta=Decimal(beta), **scope)


def parameters(**fields):
    return AmbiguityParameters(method="ambiguity", **fields)


def make_partition(rows, promises, seed=0, strata=("part",), **fields):
    return ambiguity.partition(
        table(rows), list(strata), promises, parameters(**fields), seeded_keys(seed)
    )


def members(rows, group):
    return [[rows[i] for i in np.flatnonzero(group == number)] for number in range(group.max() + 1)]


def presence(inside):
    """|G| / Π m_i, from the rows."""
    return Fraction(len(inside), prod(len({row[i] for row in inside}) for i in (1, 2, 3)))


def assert_keeps(rows, group, alpha, beta):
    """α and β in every group, none across strata, all groups numbered."""
    for inside in members(rows, group):
        assert inside
        assert presence(inside) <= Fraction(alpha)
        most = max(Counter(row[4] for row in inside).values())
        assert Fraction(most, len(inside)) <= Fraction(beta)
        assert len({row[0] for row in inside}) == 1


ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 6),
        st.sampled_from(["x", "y", None]),
        st.integers(0, 4),
        st.sampled_from(["r", "s", "t", "u", "v", None]),
    ),
    min_size=1,
    max_size=60,
)


@given(
    rows=ROWS,
    alpha=st.sampled_from(["0.15", "0.3", "0.5", "1"]),
    beta=st.sampled_from(["0.2", "0.34", "0.5", "1"]),
    probes=st.sampled_from([1, 4, 64]),
    seed=st.integers(0, 99),
)
def test_every_group_keeps_what_is_promised(rows, alpha, beta, probes, seed):
    try:
        partition = make_partition(rows, [promise(alpha, beta)], seed, probes=probes)
    except PromiseError as error:
        assert f"leaves out {len(rows)} of {len(rows)} rows" in str(error)
        return
    assert_keeps(rows, partition.group, alpha, beta)
    assert partition.suppressed == partition.facts["suppressed"] < len(rows)
    for inside in members(rows, partition.group):
        assert len({row[4] for row in inside}) == len(inside)
    assert partition.suppressed >= partition.facts["beyond_beta"]


def test_most_tables_are_grouped():
    suppressed_counts = [
        make_partition(drawn_rows(seed), [promise("0.3", "0.34")], seed).suppressed
        for seed in range(20)
    ]
    assert np.mean(suppressed_counts) < 8
    assert sorted(suppressed_counts)[5] == 0


@pytest.mark.parametrize("calibrate", [False, True])
def test_plain_and_compiled_are_the_same_and_the_table_stays(monkeypatch, calibrate):
    for seed in range(6):
        rows, groups = drawn_rows(seed, 200, domain=(15, 8, 12)), []
        microdata = table(rows)
        before = [column.codes.copy() for column in microdata.columns]
        for least in (0, 10**9):
            monkeypatch.setattr(ambiguity_groups, "_WORTH_COMPILING", least)
            monkeypatch.setattr(ambiguity_residue, "_WORTH_COMPILING", least)
            arguments = (["part"], [promise("0.4", "0.34")], parameters(calibrate=calibrate))
            groups.append(ambiguity.partition(microdata, *arguments, seeded_keys(seed)).group)
        assert np.array_equal(*groups)
        for column, codes in zip(microdata.columns, before, strict=True):
            assert np.array_equal(column.codes, codes)


def test_the_same_keys_give_the_same_groups_and_others_do_not():
    rows, promises = drawn_rows(3), [promise("0.3", "0.34")]
    first = make_partition(rows, promises, 7).group
    assert np.array_equal(first, make_partition(rows, promises, 7).group)
    assert not np.array_equal(first, make_partition(rows, promises, 8).group)


def best_by_looking(cells, begin, many, covered, group, admitted):
    scores = []
    for place in range(begin, begin + many):
        new = [a for a, cell in enumerate(cells[place]) if covered[cell] != group]
        scores.append(
            prod(
                (Fraction(int(admitted[a]) + 1, max(int(admitted[a]), 1)) for a in new),
                start=Fraction(1),
            )
        )
    return scores


def test_the_pick_multiplies_the_combinations_by_most():
    """With as many probes as a value has rows, no row is better; with fewer, some is at times."""
    worse = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        domain = np.array([5, 3, 4])
        offsets = np.array([0, 5, 8])
        cells = rng.integers(0, domain, (30, 3)) + offsets
        covered = np.where(rng.random(12) < 0.6, 2, -1)
        admitted = np.array(
            [(covered[o : o + d] == 2).sum() for o, d in zip(offsets, domain, strict=True)]
        )
        remaining = _Remaining(
            cells, np.arange(30), np.array([0, 10]), np.array([10, 20]), np.array([1, 0])
        )
        factor = np.ones((3, 2))
        room = _Room(domain, admitted, covered, np.zeros(2), np.zeros(9), factor)
        scores = best_by_looking(cells, 10, 20, covered, 2, admitted)
        for probes in (20, 1000, 3):
            row = ambiguity_groups._best_row(
                remaining, 1, int(rng.integers(2**62)), probes, room, 2
            )
            assert 10 <= row < 30
            if probes >= 20:
                assert scores[row - 10] == max(scores)
            worse += scores[row - 10] < max(scores)
    assert worse > 20


def test_values_with_most_rows_left_come_first_and_a_group_stops_at_once():
    """Every group but for its last row breaks the limits, and has the most frequent values."""
    for seed in range(30):
        rows = drawn_rows(seed, 60, parts=1)
        microdata = table(rows)
        rule = strictest_rule([promise("0.2", "0.34")], microdata)
        stratum = draw_stratum(microdata, np.arange(60), rule, seeded_keys(seed))
        group = grow(stratum, rule.limits(rule.alpha, 60, stratum.domain, False), 8)
        remaining = Counter(row[4] for row in rows)
        for number in range(group.max() + 1):
            inside = [rows[i] for i in stratum.rows[group == number]]
            assert len(inside) >= 3
            assert presence(inside) <= Fraction("0.2")
            most = sorted(remaining.values(), reverse=True)[: len(inside)]
            assert sorted((remaining[row[4]] for row in inside), reverse=True) == most
            if len(inside) > 3:  # without the row taken last, which is of its rarest values
                rarest = min(remaining[row[4]] for row in inside)
                without = [
                    [r for r in inside if r is not row]
                    for row in inside
                    if remaining[row[4]] == rarest
                ]
                assert any(presence(part) > Fraction("0.2") for part in without)
            remaining.subtract(row[4] for row in inside)
        assert group.max() >= 5


def test_what_is_left_over_joins_where_presence_is_smallest():
    """Each row, replayed in order, against all groups; also where α is all but reached."""
    joined = refused = 0
    for seed in range(40):
        rows = drawn_rows(seed, 70, parts=1)
        microdata, alpha = table(rows), Fraction(["0.15", "0.3"][seed % 2])
        rule = strictest_rule([promise(str(float(alpha)), "0.34")], microdata)
        stratum = draw_stratum(microdata, np.arange(70), rule, seeded_keys(seed))
        limits = rule.limits(rule.alpha, 70, stratum.domain, False)
        group = grow(stratum, limits, 8)
        places = place_rows(stratum, group, limits)
        assert np.array_equal(places[group >= 0], group[group >= 0])
        now = group.copy()
        for place in np.flatnonzero(group < 0):
            row = rows[stratum.rows[place]]
            offers = {}
            for number in range(group.max() + 1):
                inside = [rows[i] for i in stratum.rows[now == number]]
                if row[4] not in {member[4] for member in inside}:
                    offers[number] = presence([*inside, row])
            least = min(offers.values(), default=Fraction(2))
            if least > alpha:
                assert places[place] == -1
                refused += 1
            else:
                assert offers[places[place]] == least
                joined += 1
            now[place] = places[place]
    assert joined > 20
    assert refused > 5


@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from([".3", ".15", ".05"]))
def test_comparing_with_all_candidates_at_once_finds_what_one_by_one_does(seed, many, alpha):
    microdata = table(drawn_rows(seed, rows=90, parts=1))
    rule = strictest_rule([promise(alpha, ".4")], microdata)
    stratum = draw_stratum(microdata, np.arange(90), rule, seeded_keys(seed))
    limits = rule.limits(rule.alpha, 90, stratum.domain, repeats=True)
    group = np.where(np.arange(90) < 60, np.arange(90) % 20, -1)
    unplaced = np.flatnonzero(group < 0)
    numbered = ambiguity_residue._number_leftover(stratum, unplaced)
    of_rows = unplaced, numbered.cells[unplaced], numbered.values[unplaced]
    results = []
    for at_once in (False, True):
        _, open_ = ambiguity_residue._open(stratum, group, numbered)
        able, joined = np.arange(len(open_.sizes))[:many], group.copy()
        if at_once:
            place_among(*of_rows, able, open_, limits, joined, fast=seed % 2 == 0)
        else:
            ambiguity_residue._place_of_residue(
                *of_rows, able, open_.floor[able], open_, limits, joined
            )
        results.append([joined, *open_])
    for first, other in zip(*results, strict=True):
        assert first.tolist() == other.tolist()


@pytest.mark.parametrize("calibrate", [False, True])
def test_where_pairs_or_memory_are_bounded_groups_keep_as_much(monkeypatch, calibrate):
    rows, promises = drawn_rows(7, 200, domain=(15, 8, 12)), [promise("0.4", "0.34")]
    free = make_partition(rows, promises, calibrate=calibrate).group
    monkeypatch.setattr(ambiguity_residue, "_CELLS", 1)
    monkeypatch.setattr(ambiguity_residue, "_PAIRS", 300)
    partition = make_partition(rows, promises, calibrate=calibrate).group
    assert_keeps(rows, partition, "0.4", "0.34")
    assert not np.array_equal(partition, free)


def test_a_value_that_is_too_frequent_is_left_out_and_counted():
    rows = [("a", i % 7, i % 3, i % 5, "x" if i % 4 else f"y{i % 8}") for i in range(80)]
    partition = make_partition(rows, [promise("0.5", "0.5")])
    assert partition.facts["beyond_beta"] == 40
    assert partition.facts["strata_beyond_beta"] == 1
    assert partition.suppressed >= 40
    with pytest.raises(PromiseError, match=r"leaves out \d+ of 80 rows"):
        make_partition(rows, [promise("0.5", "0.5")], residue="refuse")


@pytest.mark.parametrize("seed", range(6))
def test_calibrated_groups_keep_alpha_together(seed):
    rows = drawn_rows(seed, 150, domain=(12, 6, 10))
    promise_ = promise("0.4", "0.34", "combined")
    partition = make_partition(rows, [promise_], seed, calibrate=True)
    assert_keeps(rows, partition.group, "0.4", "0.34")
    covers = covering(covers_of(table(rows), partition.group), QUASI)
    reached = joint_presence(covers).largest
    assert reached <= Fraction("0.4")
    assert partition.facts["combined"] == float(reached)
    assert partition.facts["suppressed"] <= 3
    assert _climb(covers) <= float(reached) * (1 + 1e-12)
    assert combined_presence(covers, reached).exact == reached
    assert combined_presence(covers, reached - Fraction(1, 10**6)).exact is None


@given(
    exponent=st.floats(0.3, 3),
    middle=st.floats(-13, -1.5),
    jump=st.floats(0, 2),
    noise=st.floats(0, 0.004),
)
def test_the_search_keeps_what_is_kept_below_what_is_not(exponent, middle, jump, noise):
    alpha, steps = Fraction("0.2"), 0
    search = _StopSearch(log(1e-6), log(alpha))
    while not search.is_done and steps < 40:
        tried, steps = search.next(), steps + 1
        assert search.low < tried < search.high
        over = exponent * (tried - middle) + jump * (tried > middle) + noise * (-1) ** steps
        about = float(alpha) * exp(over)
        largest_kept = Fraction(about) if about <= alpha else None
        search.note(tried, JoinedPresence(about, largest_kept), alpha)
        assert exponent * (search.low - middle) <= noise
    assert steps < 25
    if not jump:
        near = exponent * (min(log(alpha), middle) - search.low)
        assert near <= 0.02 * max(exponent, 1) + 2 * noise


def test_the_search_follows_what_is_proportional_in_few_steps():
    alpha, steps = Fraction("0.1"), 0
    search = _StopSearch(log(1e-6), log(alpha))
    while not search.is_done:
        tried, steps = search.next(), steps + 1
        about = 3000 * exp(tried)
        largest_kept = Fraction(about) if about <= alpha else None
        search.note(tried, JoinedPresence(about, largest_kept), alpha)
    assert steps <= 3


def test_repeats_come_only_where_they_are_calibrated():
    rows = drawn_rows(5, 150, domain=(15, 8, 12))
    partition = make_partition(rows, [promise("0.4", "0.34")], 5, calibrate=True)
    counts = [max(Counter(row[4] for row in g).values()) for g in members(rows, partition.group)]
    assert max(counts) > 1


def test_what_each_group_keeps_all_together_may_not():
    rows = drawn_rows(1, 200)
    assert make_partition(rows, [promise("0.3", "0.34")]).suppressed < 10
    with pytest.raises(PromiseError, match=r"all groups together break α = 0\.3"):
        make_partition(rows, [promise("0.3", "0.34", "combined")])
    with pytest.raises(PromiseError, match="no groups were found"):
        make_partition(rows, [promise("0.0001", "0.34", "combined")], calibrate=True)


def test_other_promises_leave_out_the_groups_that_break_them():
    rows = drawn_rows(2, 120)
    scope = {"quasi_identifiers": QUASI, "sensitive": "s"}
    promises = [promise("0.3", "0.5"), KEAnonymity(k=2, e=Decimal(4), **scope)]
    partition = make_partition(rows, promises)
    assert_keeps(rows, partition.group, "0.3", "0.5")
    wages = [[row[4] for row in inside] for inside in members(rows, partition.group)]
    assert all(max(values) - min(values) >= 4 for values in wages)
    assert 0 < partition.facts["suppressed_for_other_promises"] <= partition.suppressed < 120
    with pytest.raises(PromiseError, match="are in groups that break another promise"):
        make_partition(rows, promises, residue="refuse")
    diverse = [promise("0.3", "0.34"), DistinctLDiversity(l=3, **scope)]
    assert make_partition(rows, diverse).facts["suppressed_for_other_promises"] == 0
    with pytest.raises(PromiseError, match="leaves out 120 of 120 rows"):
        make_partition(rows, [promise("0.3", "0.5"), DistinctLDiversity(l=7, **scope)])


def test_the_strictest_of_several_promises_is_kept():
    rows = drawn_rows(4, 150)
    partition = make_partition(rows, [promise("0.5", "0.34"), promise("0.25", "0.5")])
    assert_keeps(rows, partition.group, "0.25", "0.34")
    narrower = [promise("0.5", "0.5"), promise("0.6", "0.5", quasi=("q0", "q1"))]
    for inside in members(rows, make_partition(rows, narrower).group):
        pairs = len({row[1] for row in inside}) * len({row[2] for row in inside})
        assert Fraction(len(inside), pairs) <= Fraction("0.6")


def test_without_a_promise_there_is_nothing_to_read():
    with pytest.raises(PromiseError, match="needs an"):
        make_partition(drawn_rows(0), [DistinctLDiversity(l=2, sensitive="s")])
    alone = table(drawn_rows(0)).take(np.arange(0))
    partition = ambiguity.partition(
        alone, [], [promise("0.5", "0.5")], parameters(), seeded_keys(0)
    )
    assert (len(partition.group), partition.facts["groups"]) == (0, 0)
    promise_ = AlphaBeta(alpha=Decimal("0.5"), beta=Decimal("0.5"), sensitive="s")
    with pytest.raises(PromiseError, match="role: quasi-identifier"):
        ambiguity.partition(alone.keep([alone["s"]]), [], [promise_], parameters(), seeded_keys(0))


def test_presences_near_the_largest_integers_are_exact():
    """63 columns of two values have 2^63 combinations, more than fit."""
    names = [f"c{i}" for i in range(63)]
    columns = [encode(name, "quasi-identifier", pa.array([0, 1, 1, 0])) for name in names]
    microdata = Microdata((*columns, encode("s", "sensitive", pa.array(list("abab")))), 4)
    promise = AlphaBeta(
        alpha=Decimal("1e-15"), beta=Decimal("0.5"), presence="per-group", sensitive="s"
    )
    partition = ambiguity.partition(microdata, [], [promise], parameters(), seeded_keys(1))
    assert partition.suppressed == 0
    sizes = np.bincount(partition.group)
    assert sizes.tolist() == [2, 2]
    assert all(c.codes[partition.group == g].sum() == 1 for c in columns for g in (0, 1))
