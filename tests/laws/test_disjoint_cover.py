"""Disjoint covers: no combination in two boxes, α and β in each, nobody left out."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, cover
from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.measures.occurrences import occurrences
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.disjoint_cover import disjoint_cover
from sfumato.tasks.partitions.disjoint_cover import disjoint_cover as cover_residue
from sfumato.tasks.partitions.disjoint_cover import search as cover_search
from sfumato.tasks.partitions.disjoint_cover import table as cover_tally
from sfumato.tasks.partitions.disjoint_cover import tree as cover_allowed
from sfumato.tasks.partitions.disjoint_cover.disjoint_cover import within_beta
from sfumato.tasks.partitions.disjoint_cover.estimates import desk_for, estimate, fit
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.disjoint_cover.promises import strictest_cover
from sfumato.tasks.partitions.disjoint_cover.queries import queries
from sfumato.tasks.partitions.disjoint_cover.search import Effort, Search
from sfumato.tasks.partitions.disjoint_cover.table import (
    CoverRule,
    CutPreference,
    distinct,
    room_for,
)
from sfumato.tasks.partitions.disjoint_cover.tree import grow, may_cut

PATIENTS = {  # Figure 1
    "age": [45, 20, 50, 60, 20, 50, 60, 60],
    "sex": ["M", "M", "M", "M", "F", "F", "F", "F"],
    "zip": [11000, 12000, 23000, 12000, 54000, 23000, 23000, 21000],
}
ILLS = ["diabetes", "flu", "diarrhea", "stroke", "leukemia", "diabetes", "leukemia", "dyspepsia"]

PLAIN = DisjointCoverParameters(method="disjoint-cover")


def table(named, ills, **others):
    roles = {"quasi-identifier": named, "sensitive": {"illness": ills, **others}}
    columns = [
        encode(name, role, pa.array(values))
        for role, of_role in roles.items()
        for name, values in of_role.items()
    ]
    return Microdata(tuple(columns), len(ills))


def random_table(rows, seed, sizes=(6, 4, 3), ills=6, **others):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    named = {f"q{i}": ((rng.integers(0, n, rows) + kind) % n).tolist() for i, n in enumerate(sizes)}
    columns_drawn = {name: rng.integers(0, n, rows).tolist() for name, n in others.items()}
    return table(named, ((rng.integers(0, ills, rows) + kind) % ills).tolist(), **columns_drawn)


def promise(alpha, beta, **more):
    return AlphaBeta(alpha=Decimal(alpha), beta=Decimal(beta), sensitive="illness", **more)


def make_partition(microdata, promises, seed=0, strata=()):
    return disjoint_cover.partition(microdata, list(strata), promises, PLAIN, seeded_keys(seed))


def groups_of_people(microdata, group):
    names = [column.name for column in microdata.with_roles("quasi-identifier")]
    counted = count(group, int(group.max()) + 1, {"illness": microdata["illness"].counted_codes()})
    covers = {name: cover(group, *microdata[name].category()) for name in names}
    return Groups(counted.sizes, counted.sensitive, covers)


def boxes(microdata, group):
    """The sizes of the groups, and their sets of values by quasi-identifier."""
    named = microdata.with_roles("quasi-identifier")
    return [
        (
            int((group == j).sum()),
            [set(column.codes[group == j].tolist()) for column in named],
            np.bincount(microdata["illness"].codes[group == j]),
        )
        for j in range(int(group.max()) + 1)
    ]


def keeps(box, alpha, beta):
    rows, values, ills = box
    present = min(Fraction(1), Fraction(rows, prod(map(len, values))))
    return present <= Fraction(alpha) and Fraction(int(ills.max()), rows) <= Fraction(beta)


def assert_is_disjoint_cover(microdata, group, alpha, beta):
    groups_found = boxes(microdata, group)
    assert len(group) == microdata.rows
    assert all(rows > 0 for rows, _, _ in groups_found)
    assert all(keeps(box, alpha, beta) for box in groups_found)
    for (_, first, _), (_, other, _) in combinations(groups_found, 2):
        assert any(a.isdisjoint(b) for a, b in zip(first, other, strict=True))
    covers = covering(groups_of_people(microdata, group), None)
    assert joint_presence(covers).largest == single(covers).largest


def test_the_patients_of_the_paper():
    """Figure 2: the men are present with 4/12, the women with 4/9."""
    microdata = table(PATIENTS, ILLS)
    partings = set()
    for seed in range(12):
        group = make_partition(microdata, [promise(".45", ".5")], seed).group
        assert_is_disjoint_cover(microdata, group, ".45", ".5")
        partings.add(frozenset(frozenset(np.flatnonzero(group == j).tolist()) for j in set(group)))
    assert frozenset({frozenset(range(4)), frozenset(range(4, 8))}) in partings
    whole = make_partition(microdata, [promise(".2", ".25")])  # 8 of 40; no side has less
    assert whole.group.tolist() == [0] * 8
    assert whole.facts["largest_presence"] == "0.2"
    with pytest.raises(PromiseError, match="1 of 1 strata"):
        make_partition(microdata, [promise(".19", ".25")])
    with pytest.raises(PromiseError, match="1 of 1 strata"):
        make_partition(microdata, [promise(".2", ".24")])


@pytest.mark.parametrize("enough", [128, 2])
@pytest.mark.parametrize(("alpha", "beta"), [(".3", ".7"), (".2", ".6"), ("1", ".5")])
def test_the_cuts_that_may_be_made_are_those_by_definition(monkeypatch, alpha, beta, enough):
    """Every parting of every attribute's values, as a first cut of small tables."""
    monkeypatch.setattr(cover_allowed, "_ENOUGH", enough)
    monkeypatch.setattr(cover_allowed, "_MORE", 2)
    may = may_not = 0
    for seed in range(8):
        microdata = random_table(12 + seed % 7, seed, sizes=(6, 5, 4), ills=4)
        vectors, _ = distinct(microdata.columns, np.zeros(microdata.rows, dtype=np.int64))
        rule = strictest_cover(microdata, [], [promise(alpha, beta)]).rule(microdata.rows)
        room = room_for(vectors, np.zeros(1))
        for a, column in enumerate(microdata.columns[:-1]):
            for sides in product((0, 1), repeat=len(column.values)):
                if len(set(sides)) == 1:
                    continue
                room.side[vectors.begins[a] : vectors.begins[a + 1]] = sides
                group = np.array(sides)[column.codes]
                expected = all(keeps(box, alpha, beta) for box in boxes(microdata, group))
                scope = np.arange(len(vectors.rows))
                assert bool(may_cut(vectors, rule, scope, a, room)) == expected
                may, may_not = may + expected, may_not + (not expected)
    assert may > 10
    assert may_not > 10


@given(
    rows=st.integers(1, 40),
    seed=st.integers(0, 999),
    alpha=st.sampled_from([".1", ".3", ".6", "1"]),
    beta=st.sampled_from([".3", ".5", "1"]),
)
def test_whatever_can_be_kept_is_kept(rows, seed, alpha, beta):
    microdata = random_table(rows, seed)
    [root] = boxes(microdata, np.zeros(rows, dtype=np.int64))
    if keeps(root, alpha, beta):
        partition = make_partition(microdata, [promise(alpha, beta)], seed)
        assert partition.suppressed == 0
        assert_is_disjoint_cover(microdata, partition.group, alpha, beta)
    else:
        with pytest.raises(PromiseError, match="1 of 1 strata break α"):
            make_partition(microdata, [promise(alpha, beta)], seed)


def test_tables_of_the_law_are_both_grouped_and_refused():
    verdicts = [
        keeps(boxes(random_table(30, seed), np.zeros(30, dtype=np.int64))[0], ".6", ".3")
        for seed in range(60)
    ]
    assert 10 < sum(verdicts) < 60
    groups = [
        make_partition(random_table(30, seed), [promise(".6", ".5")], seed).facts["groups"]
        for seed in range(20)
    ]
    assert max(groups) >= 3


@pytest.mark.parametrize("sample", [8, 512])
def test_compiled_or_not_the_groups_are_the_same(monkeypatch, sample):
    monkeypatch.setattr(cover_search, "_SAMPLE", sample)
    monkeypatch.setattr(cover_search, "_TRIED_EACH", 60)
    monkeypatch.setattr(cover_search, "_TREES", 3)
    microdata, promises = random_table(110, 3, sizes=(9, 5, 4, 3)), [promise(".5", ".5")]
    partitions = []
    for worth_compiling in (0, 10**9, 0):
        monkeypatch.setattr(disjoint_cover, "_WORTH_COMPILING", worth_compiling)
        partitions.append(make_partition(microdata, promises, 4))
    assert partitions[0].facts["groups"] > 3
    assert partitions[0].facts == partitions[1].facts == partitions[2].facts
    assert (
        partitions[0].group.tolist() == partitions[1].group.tolist() == partitions[2].group.tolist()
    )
    assert_is_disjoint_cover(microdata, partitions[0].group, ".5", ".5")


@pytest.mark.parametrize("sample", [512, 7])
def test_values_listed_as_they_are_met_or_looked_for_make_the_same_groups(monkeypatch, sample):
    monkeypatch.setattr(cover_search, "_SAMPLE", sample)
    monkeypatch.setattr(cover_search, "_TRIED_EACH", 60)
    monkeypatch.setattr(disjoint_cover, "_WORTH_COMPILING", 10**9)
    microdata, promises = random_table(110, 3, sizes=(40, 5, 4)), [promise(".5", ".5")]
    partitions = []
    for few in (0, 10**9):
        monkeypatch.setattr(cover_tally, "_FEW", few)
        partitions.append(make_partition(microdata, promises, 4))
    assert partitions[0].facts["groups"] > 3
    assert partitions[0].facts == partitions[1].facts
    assert partitions[0].group.tolist() == partitions[1].group.tolist()


def test_cuts_found_in_a_sample_keep_the_promise(monkeypatch):
    monkeypatch.setattr(cover_search, "_SAMPLE", 16)
    monkeypatch.setattr(cover_search, "_TRIED_EACH", 60)
    for seed in range(2):
        microdata = random_table(1500, seed, sizes=(30, 20, 9), ills=9)
        partition = make_partition(microdata, [promise(".7", ".3")], seed)
        assert partition.facts["groups"] > 3
        assert_is_disjoint_cover(microdata, partition.group, ".7", ".3")


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_never_across_strata(seed):
    microdata = random_table(60, seed, sizes=(6, 4, 2))
    promises = [promise("1", ".6")]
    group = make_partition(microdata, promises, seed, ["q2"]).group
    assert (
        len({(g, q) for g, q in zip(group, microdata["q2"].codes, strict=True)}) == group.max() + 1
    )
    assert_is_disjoint_cover(microdata, group, "1", ".6")


def test_strata_that_break_a_promise_are_counted():
    microdata = table({"age": [1, 2, 3, 4], "sex": ["a", "a", "b", "b"]}, ["x", "y", "x", "x"])
    with pytest.raises(PromiseError, match=r"1 of 2 strata break α = 1 or β = 0\.5"):
        make_partition(microdata, [promise("1", ".5")], strata=["sex"])
    assert make_partition(microdata, [promise("1", ".8")]).suppressed == 0


def test_strata_must_be_apart_for_whoever_joins():
    microdata = random_table(40, 1)
    about = {"quasi_identifiers": ("q0", "q1")}
    with pytest.raises(PromiseError, match=r"all strata among them \(\['q2'\] are not"):
        make_partition(microdata, [promise("1", ".8", **about)], strata=["q2"])
    alone = promise("1", ".9", presence="per-group", **about)
    group = make_partition(microdata, [alone], strata=["q2"]).group
    assert alone.check(groups_of_people(microdata, group)).holds


def test_only_what_all_promises_name_is_cut():
    microdata = random_table(60, 2, sizes=(16, 9, 3))
    promises = [promise("1", ".6", quasi_identifiers=("q0", "q1")), promise(".9", ".7")]
    group = make_partition(microdata, promises).group
    assert all(promise.check(groups_of_people(microdata, group)).holds for promise in promises)
    assert group.max() > 0


def test_the_strictest_of_several_promises_is_kept():
    microdata = random_table(60, 5, sizes=(9, 6, 5), status=3)
    status = AlphaBeta(alpha=Decimal(1), beta=Decimal(".55"), sensitive="status")
    promises = [promise("1", ".5"), promise(".7", ".8"), status]
    group = make_partition(microdata, promises).group
    assert group.max() > 0
    assert_is_disjoint_cover(microdata, group, ".7", ".5")
    for j in range(int(group.max()) + 1):
        shares = np.bincount(microdata["status"].codes[group == j]) / (group == j).sum()
        assert shares.max() <= 0.55


@pytest.mark.parametrize(
    "other", [KAnonymity(k=9), DistinctLDiversity(l=3, sensitive="status"), KAnonymity(k=3)]
)
def test_other_promises_are_kept(other):
    groups = 0
    for seed in range(4):
        microdata = random_table(60, seed, sizes=(9, 6, 3), status=4)
        group = make_partition(microdata, [promise("1", ".7"), other], seed).group
        assert_is_disjoint_cover(microdata, group, "1", ".7")
        codes, values = microdata["status"].category()
        groups_shown = count(group, int(group.max()) + 1, {"status": Coded(codes, values)})
        assert not other.failing(groups_shown).any()
        groups += len(groups_shown)
    assert groups > 4


def test_promises_that_cannot_be_kept_are_refused():
    microdata = random_table(30, 1)
    with pytest.raises(PromiseError, match="needs an alpha-beta promise"):
        make_partition(microdata, [KAnonymity(k=2)])
    presence = DeltaPresence(min=Decimal(0), max=Decimal(1), reference="p.csv")
    with pytest.raises(PromiseError, match="delta-presence cannot be kept by cutting groups"):
        make_partition(microdata, [promise("1", "1"), presence])
    with pytest.raises(PromiseError, match="k-anonymity cannot be kept: 1 of 1 strata"):
        make_partition(microdata, [promise("1", "1"), KAnonymity(k=31)])


@given(seed=st.integers(0, 999))
def test_uniting_boxes_apart_never_raises_the_largest_presence(seed):
    """A cut that breaks a promise is useless, however its sides are cut on."""
    rng = np.random.default_rng(seed)
    microdata = random_table(25, seed, sizes=(5, 4, 3))
    column = microdata.columns[int(rng.integers(0, 3))]
    sides = rng.integers(0, 3, len(column.values))
    group = np.unique(sides[column.codes], return_inverse=True)[1]
    parts = boxes(microdata, group)
    [whole] = boxes(microdata, np.zeros(25, dtype=np.int64))
    presences = [Fraction(rows, prod(map(len, values))) for rows, values, _ in parts]
    assert Fraction(whole[0], prod(map(len, whole[1]))) <= max(presences)
    shares = [Fraction(int(ills.max()), rows) for rows, _, ills in parts]
    assert Fraction(int(whole[2].max()), whole[0]) <= max(shares)


def test_numbers_beyond_64_bits_are_compared_soundly():
    rows = 200
    named = {f"q{i}": list(range(rows)) for i in range(12)}  # boxes of up to 200 ** 12
    microdata = table(named, list(range(rows)))
    tiny = Decimal(rows) / Decimal(100) ** 9
    group = make_partition(microdata, [promise(tiny, ".02")]).group
    assert group.max() >= 1
    assert_is_disjoint_cover_in_size(microdata, group, tiny)
    exact = strictest_cover(microdata, [], [promise("0.1234567890123456789012345678", "1")])
    rule = exact.rule(10**7)
    rounded = Fraction(rule.alpha, rule.per_alpha)
    assert 0 <= Fraction(exact.promise.alpha) - rounded <= Fraction(10**7, 2**62)
    assert rule.per_alpha * 10**7 <= 2**62


def assert_is_disjoint_cover_in_size(microdata, group, alpha):
    for rows, values, _ in boxes(microdata, group):
        assert Fraction(rows, prod(map(len, values))) <= Fraction(alpha)


def test_estimates_are_those_of_readers():
    microdata = random_table(400, 8, sizes=(12, 7, 5, 4))
    vectors, vector = distinct(microdata.columns, np.zeros(400, dtype=np.int64))
    taste = CutPreference(np.ones(vectors.begins[-1]), 1.0, 0.5, 0.5, 0.3, 64)
    room = room_for(vectors, np.random.default_rng(1).random(97))
    tree = grow(
        vectors,
        CoverRule(1, 0, 1, 2, np.zeros(4, dtype=np.int64)),
        taste,
        np.arange(len(vectors.rows)),
        room,
    )
    group = tree.part()[vector]
    assert group.max() > 5
    sizes = np.bincount(group)
    questions = queries(vectors, seeded_keys(2), True, 60)
    desk = desk_for(vectors)
    estimates = estimate(
        vectors,
        questions,
        tree.order,
        tree.leaves,
        fit(vectors, tree.order, tree.leaves, desk),
        desk,
    )
    shares = []
    for column in microdata.columns[:-1]:
        cover_ = cover(group, *column.category())
        matrix = np.zeros((len(sizes), len(column.values)))
        matrix[cover_.group, cover_.value] = occurrences(sizes, cover_) / sizes[cover_.group]
        shares.append(matrix)
    assert len(questions.truth) == 60
    codes = np.stack([column.codes for column in microdata.columns], axis=1)
    for query in range(60):
        ill = int(np.searchsorted(questions.starts, query, "right")) - 1
        expected = np.bincount(group, codes[:, -1] == ill)
        inside = codes[:, -1] == ill
        bounds = (questions.attributes[query], questions.low[query], questions.high[query])
        for a, low, high in zip(*bounds, strict=True):
            low, high = low - vectors.begins[a], high - vectors.begins[a]
            expected = expected * shares[a][:, low:high].sum(axis=1)
            inside = inside & (codes[:, a] >= low) & (codes[:, a] < high)
        assert questions.truth[query] == inside.sum() > 0
        assert estimates[query] == pytest.approx(expected.sum(), rel=1e-9)


def test_the_search_lowers_the_error():
    microdata = random_table(900, 6, sizes=(12, 7, 5, 4), ills=8)
    vectors, _ = distinct(microdata.columns, np.zeros(900, dtype=np.int64))
    rule = strictest_cover(microdata, [], [promise(".9", ".4")]).rule(900)
    errors = []
    for tried in (Effort(1, 0), Effort(1, 300_000)):
        search = Search.from_table(vectors, rule, lambda tree: tree, seeded_keys(1), True)
        search_result = search.run([np.arange(len(vectors.rows))], tried)
        errors.append(search_result.median + search_result.mean)
    assert errors[1] < 0.9 * errors[0]


@pytest.mark.parametrize(
    ("values", "beta", "rows_left"),
    [
        ("aaab", Fraction(1, 2), 2),
        ("aaaabbcc", Fraction(1, 2), 8),
        ("aaaaaabbcc", Fraction(1, 2), 8),
        ("aab", Fraction(1, 3), 0),
        ("aaabbc", Fraction(1, 3), 3),
    ],
)
def test_as_few_rows_are_left_out_for_beta_as_can_be(monkeypatch, values, beta, rows_left):
    monkeypatch.setattr(cover_residue, "_SLACK", Fraction(1))
    codes = np.array([ord(v) - ord("a") for v in values])
    rows = within_beta(codes, [np.arange(len(codes))], beta, seeded_keys(1))
    counts = np.bincount(codes[rows], minlength=3)
    assert len(rows) == rows_left
    assert all(Fraction(int(n)) <= beta * len(rows) for n in counts)
    chosen = product(*(range(values.count(value) + 1) for value in "abc"))
    assert len(rows) == max(
        sum(counts) for counts in chosen if all(n <= beta * sum(counts) for n in counts)
    )


def test_rows_too_many_for_beta_are_left_out_in_their_stratum():
    """Each stratum by itself; the rest is cut as if they had never been there."""
    values, strata = list("aaab" + "abcd"), [0] * 4 + [1] * 4
    columns = {"q": list(range(8)), "part": strata, "s": values}
    roles = {"q": "quasi-identifier", "part": "quasi-identifier", "s": "sensitive"}
    microdata = Microdata(
        tuple(encode(name, roles[name], pa.array(values)) for name, values in columns.items()), 8
    )
    promise = AlphaBeta(
        alpha=1, beta=Decimal("0.5"), quasi_identifiers=("q", "part"), sensitive="s"
    )
    refusing, suppressing = (
        DisjointCoverParameters(method="disjoint-cover", residue=residue)
        for residue in ("refuse", "suppress")
    )
    with pytest.raises(PromiseError, match="1 of 2 strata"):
        disjoint_cover.partition(microdata, ["part"], [promise], refusing, seeded_keys(1))
    partition = disjoint_cover.partition(
        microdata, ["part"], [promise], suppressing, seeded_keys(1)
    )
    assert partition.suppressed == partition.facts["suppressed"]
    assert 2 <= partition.suppressed < 4
    assert (partition.group[3:] >= 0).all()
