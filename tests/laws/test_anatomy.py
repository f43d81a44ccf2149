"""Anatomy: different values in every group, no fewer rows than promised, everybody in one group."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import count
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.anatomy import anatomy
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters


def table(rows):
    values, strata = zip(*rows, strict=True)
    columns = (
        encode("region", "quasi-identifier", pa.array(strata)),
        encode("illness", "sensitive", pa.array(values)),
    )
    return Microdata(columns, len(rows))


PARAMETERS = AnatomyParameters(method="anatomy")


def make_partition(rows, promises, seed=0, strata=("region",)):
    return anatomy.partition(table(rows), list(strata), promises, PARAMETERS, seeded_keys(seed))


def diversity(l):
    return DistinctLDiversity(l=l, sensitive="illness")


def assert_is_anatomy(codes, group, l):
    """All rows are in groups of l rows or more, whose values are all different."""
    assert sorted(set(group.tolist())) == list(range(int(group.max()) + 1))
    sizes = np.bincount(group)
    assert sizes.min() >= l
    pairs = set(zip(group.tolist(), codes.tolist(), strict=True))
    assert len(pairs) == len(codes)
    assert len(sizes) == len(codes) // l


def test_the_hospital_of_the_paper():
    """Pneumonia, dyspepsia, flu, gastritis, bronchitis: two groups of four, or four of two."""
    ills = ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia", "flu", "gastritis", "flu"]
    rows = [(ill, "a") for ill in [*ills, "bronchitis"]]
    for l, groups in ((2, 4), (4, 2)):
        partition = make_partition(rows, [diversity(l)])
        assert partition.facts == {"l": l, "groups": groups, "merged_for_other_promises": 0}
        assert_is_anatomy(table(rows)["illness"].codes, partition.group, l)
    with pytest.raises(PromiseError, match="1 of 1 strata have a more frequent value"):
        make_partition(rows, [diversity(5)])


@pytest.mark.parametrize("worth_compiling", [0, 10**9])
@given(
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=12),
    l=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_whatever_is_eligible_is_grouped(worth_compiling, counts, l, seed):
    rows = sum(counts)
    assume(rows)
    counts = [min(count, rows // l) for count in counts]  # often at the limit
    assume(sum(counts) and max(counts) * l <= sum(counts))
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    before = anatomy._WORTH_COMPILING
    try:
        anatomy._WORTH_COMPILING = worth_compiling
        group = anatomy.draw_groups(codes, l, seeded_keys(seed))
    finally:
        anatomy._WORTH_COMPILING = before
    assert_is_anatomy(codes, group, l)


def compositions(total, parts):
    if parts == 1:
        yield [total]
        return
    for first in range(total + 1):
        yield from ([first, *rest] for rest in compositions(total - first, parts - 1))


def test_eligible_is_all_it_takes():
    """Every histogram of up to 12 rows of 4 values is grouped exactly if it is eligible."""
    grouped = refused = 0
    for rows in range(1, 13):
        for counts in compositions(rows, 4):
            if counts != sorted(counts):
                continue
            data = [(f"v{code}", "a") for code, n in enumerate(counts) for _ in range(n)]
            for l in (2, 3, 4):
                if max(counts) * l <= rows:
                    partition = make_partition(data, [diversity(l)])
                    assert_is_anatomy(table(data)["illness"].codes, partition.group, l)
                    grouped += 1
                else:
                    with pytest.raises(PromiseError, match=f"at most 1/{l} of the rows"):
                        make_partition(data, [diversity(l)])
                    refused += 1
    assert grouped > 80
    assert refused > 80


@pytest.mark.parametrize("worth_compiling", [0, 10**9])
def test_each_group_takes_from_the_values_with_the_most_rows_left(monkeypatch, worth_compiling):
    monkeypatch.setattr(anatomy, "_WORTH_COMPILING", worth_compiling)
    rng = np.random.default_rng(1)
    for _ in range(100):
        l = int(rng.integers(2, 5))
        counts = rng.integers(0, 20, int(rng.integers(l, 12)))
        if counts.max() * l > counts.sum() or not counts.sum():
            continue
        codes = np.repeat(np.arange(len(counts)), counts)
        remaining, value = np.sort(counts)[::-1].copy(), np.argsort(-counts)
        taken = np.full(len(codes), -1)
        scan = anatomy._compiled_loop() if worth_compiling == 0 else anatomy._take
        keys = rng.integers(0, 2**63, len(codes))
        groups = scan(remaining, value, l, keys, taken)
        now = Counter(codes.tolist())
        for chosen in taken[: groups * l].reshape(groups, l).tolist():
            assert len(set(chosen)) == l
            most = sorted(now.values(), reverse=True)[:l]
            assert sorted((now[code] for code in chosen), reverse=True) == most
            now.subtract(chosen)
        assert sum(n > 0 for n in now.values()) < l
        assert max(now.values()) <= 1
        assert {value[i]: remaining[i] for i in range(len(remaining))} == {c: now[c] for c in value}


def test_who_is_with_whom_is_drawn_evenly():
    """Of three equally frequent values, each pair of values and of rows meets equally often."""
    codes = np.repeat(np.arange(3), 2)
    meetings, alone = Counter(), Counter()
    for seed in range(3000):
        group = anatomy.draw_groups(codes, 2, seeded_keys(seed))
        alone.update([tuple(np.bincount(group))])
        for first in range(6):
            for other in range(first + 1, 6):
                meetings[first, other] += group[first] == group[other]
    assert alone == {(2, 2, 2): 3000}
    met = {pair: times for pair, times in meetings.items() if times}
    assert len(met) == 12  # all pairs of rows with different values
    assert all(abs(times - 750) < 120 for times in met.values())


def test_a_row_that_is_left_joins_any_group_without_its_value():
    """Two groups of (a, b), and c: it joins either."""
    codes = np.array([0, 0, 1, 1, 2])
    joined = Counter()
    for seed in range(600):
        group = anatomy.draw_groups(codes, 2, seeded_keys(seed))
        assert_is_anatomy(codes, group, 2)
        largest = group == np.bincount(group).argmax()
        joined[tuple(np.flatnonzero(largest).tolist())] += 1
    assert len(joined) == 4
    assert min(joined.values()) > 90


VARIANTS = [
    ([diversity(3)], 3, False),
    ([diversity(2), diversity(4)], 4, False),
    ([EntropyLDiversity(l=Decimal("2.5"), sensitive="illness")], 3, False),
    ([RecursiveLDiversity(l=3, c=Decimal(2), sensitive="illness")], 3, False),
    ([RecursiveLDiversity(l=2, c=Decimal("0.5"), sensitive="illness")], 2, True),
    ([diversity(2), KAnonymity(k=5)], 2, True),
]


@pytest.mark.parametrize(("promises", "l", "merges"), VARIANTS)
def test_l_is_read_from_the_promises_and_all_of_them_are_kept(promises, l, merges):
    successes = refused = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = [
            (f"v{v}", "ab"[s])
            for v, s in zip(rng.integers(0, 8, 60).tolist(), rng.integers(0, 2, 60), strict=True)
        ]
        microdata = table(rows)
        try:
            partition = make_partition(rows, promises, seed)
        except PromiseError:
            refused += 1
            continue
        successes += 1
        groups = count(partition.group, 60, {"illness": microdata["illness"].counted_codes()})
        assert groups.rows == 60
        assert all(promise.check(groups).holds for promise in promises)
        assert len({(g, s) for g, (_, s) in zip(partition.group, rows, strict=True)}) == len(groups)
        assert partition.facts["l"] == l
        assert (partition.facts["merged_for_other_promises"] > 0) == merges
        if not merges:
            assert (groups.counts_of("illness").count == 1).all()
    assert successes > 15, refused


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["w", "x", "y", None]), st.sampled_from("ab")), min_size=2
    ),
    seed=st.integers(0, 99),
)
def test_strata_and_missing_values(rows, seed):
    parts = {name: Counter(v for v, s in rows if s == name) for name in {s for _, s in rows}}
    if any(max(part.values()) * 2 > part.total() for part in parts.values()):
        with pytest.raises(PromiseError, match="strata have a more frequent value"):
            make_partition(rows, [diversity(2)], seed)
        return
    group = make_partition(rows, [diversity(2)], seed).group
    assert len({(g, s) for g, (_, s) in zip(group, rows, strict=True)}) == group.max() + 1
    assert len({(g, v) for g, (v, _) in zip(group, rows, strict=True)}) == len(rows)


def test_what_it_cannot_read_or_keep_it_refuses():
    rows = [("v", "a"), ("w", "a")]
    with pytest.raises(PromiseError, match="needs an l-diversity promise"):
        make_partition(rows, [KAnonymity(k=2)])
    with pytest.raises(PromiseError, match="k-anonymity cannot be kept"):
        make_partition(rows, [diversity(2), KAnonymity(k=3)])


def test_the_same_keys_give_the_same_groups():
    codes = np.random.default_rng(2).integers(0, 9, 500)
    assert np.array_equal(
        anatomy.draw_groups(codes, 4, seeded_keys(7)), anatomy.draw_groups(codes, 4, seeded_keys(7))
    )
    assert not np.array_equal(
        anatomy.draw_groups(codes, 4, seeded_keys(7)), anatomy.draw_groups(codes, 4, seeded_keys(8))
    )
