"""Full-domain generalization against all nodes, each evaluated in plain Python."""

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.hierarchies import with_ancestors
from sfumato.tasks.microdata.table import Column, Microdata, encode, seeded_keys
from sfumato.tasks.partitions.full_domain import lattice
from sfumato.tasks.partitions.full_domain import rows as lattice_rows
from sfumato.tasks.partitions.full_domain.full_domain import partition
from sfumato.tasks.partitions.full_domain.metrics import METRICS
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.full_domain.problem import Scope
from sfumato.tasks.schema.hierarchy import Hierarchy, from_intervals
from tests.benchmarks.lattice import FIVE, adult

A = {v: [v, "low" if v in "wx" else "high", "*"] for v in "wxyz"}
C = {v: [v, v // 2, "*"] for v in range(4)}
TREES = {"a": A, "b": {v: [v, "*"] for v in [None, *range(10)]}, "c": C}
TOPS = {"a": 2, "b": 1, "c": 2}
NUMERIC = {"b", "c"}
QIS = ["a", "b", "c"]


def some_rows(seed):
    """Up to 24 rows; in most tables the first values are more frequent than the others."""
    rng = np.random.default_rng(seed)
    skew = int(rng.choice([1, 2, 5]))

    def draw(values):
        return values[int(len(values) * rng.random() ** skew)]

    values_of_columns = {
        "a": "wxyz",
        "b": [None, 1, 5, 9],
        "c": range(4),
        "town": "PQ",
        "s": range(4),
        "t": "mn",
    }
    return [
        {name: draw(values) for name, values in values_of_columns.items()}
        for _ in range(rng.integers(4, 25))
    ]


FEW = settings(max_examples=max(settings().max_examples // 3, 16))
ROWS = st.integers(0, 2**32).map(some_rows)
PROMISES = [
    [KAnonymity(k=2)],
    [KAnonymity(k=4)],
    [KAnonymity(k=3, quasi_identifiers=("a", "c"))],
    [KAnonymity(k=2), KAnonymity(k=5, quasi_identifiers=("b",))],
    [DistinctLDiversity(l=2, sensitive="s")],
    [DistinctLDiversity(l=2, sensitive="s", quasi_identifiers=("c",), known=("t",))],
    [EntropyLDiversity(l=Decimal("1.7"), sensitive="s")],
    [RecursiveLDiversity(l=2, c=2, sensitive="s")],
    [AlphaK(alpha=Decimal("0.5"), k=2, sensitive="s")],
    [KEAnonymity(k=2, e=2, sensitive="s")],
    [TCloseness(t=Decimal("0.4"), distance="equal", sensitive="s")],
    [TCloseness(t=Decimal("0.3"), distance="ordered", sensitive="s")],
    [KAnonymity(k=2), TCloseness(t=Decimal("0.4"), distance="equal", sensitive="t")],
    [KAnonymity(k=2), RecursiveLDiversity(l=2, c=1, sensitive="s")],
    [DeltaDisclosure(delta=Decimal("0.7"), sensitive="s")],
    [DeltaDisclosure(delta=Decimal("0.7"), sensitive="t", quasi_identifiers=("a", "c"))],
    [
        TCloseness(t=Decimal("0.35"), distance="equal", sensitive="s"),
        DistinctLDiversity(l=2, sensitive="t", quasi_identifiers=("a", "b")),
    ],
]
KEPT = [  # each promise is kept, at best by a node that is neither the lowest nor the highest
    {
        "a": "wxyz"[i // 3 % 4],
        "b": [None, 1, 5, 9][i // 4 % 4],
        "c": i // 2 % 4,
        "town": "PQ"[i // 3 % 2],
        "s": i // 6 % 4,
        "t": "mn"[i // 8 % 2],
    }
    for i in range(24)
]
BROKEN = [  # none is kept where each town is a stratum
    {"a": "w", "b": 1, "c": 0, "town": "P", "s": 0, "t": "m"},
    {"a": "w", "b": 1, "c": 0, "town": "Q", "s": 3, "t": "n"},
]
named = {"ids": lambda promises: "+".join(promise.name for promise in promises)}


def microdata(rows, stratum_role="insensitive"):
    def role(name):
        return {"s": "sensitive", "t": "sensitive", "town": stratum_role}.get(
            name, "quasi-identifier"
        )

    types = {"b": pa.int64(), "c": pa.int64(), "s": pa.int64()}
    columns = {
        name: encode(name, role(name), pa.array([r[name] for r in rows], types.get(name)))
        for name in ["a", "b", "c", "town", "s", "t"]
    }
    hierarchy = Hierarchy("a", tuple(tuple(labels) for labels in A.values()))
    columns["a"] = with_ancestors(columns["a"], hierarchy)
    columns["c"] = with_ancestors(columns["c"], from_intervals("c", [2], range(4)))
    return Microdata(tuple(columns.values()), len(rows))


def search(rows, promises, strata=(), stratum_role="insensitive", **parameters):
    """Return what the partition finds, or None if it refuses."""
    try:
        return partition(
            microdata(rows, stratum_role),
            list(strata),
            promises,
            FullDomainParameters(method="full-domain", **parameters),
            seeded_keys(0),
        )
    except PromiseError as error:
        assert "cannot be kept by full-domain" in str(error)
        return None


def broken(promise, group, everybody):  # noqa: C901 - a definition each
    """Tell if a group of rows breaks a promise, from its definition."""
    if isinstance(promise, KAnonymity):
        return len(group) < promise.k
    values = [row[promise.sensitive] for row in group]
    counts = sorted(Counter(values).values(), reverse=True)
    match promise:
        case DistinctLDiversity():
            return len(counts) < promise.l
        case EntropyLDiversity():
            entropy = -sum(n / len(group) * math.log(n / len(group)) for n in counts)
            return entropy < math.log(promise.l) - 1e-9
        case RecursiveLDiversity():
            return not counts[0] < promise.c * sum(counts[promise.l - 1 :])
        case AlphaK():
            return len(group) < promise.k or counts[0] > promise.alpha * len(group)
        case KEAnonymity():
            return len(counts) < promise.k or max(values) - min(values) < promise.e
        case TCloseness():
            return distance(promise, values, everybody) > promise.t
        case DeltaDisclosure():
            return logarithm(promise, values, everybody) >= promise.delta


def distance(promise, values, everybody):
    every = [row[promise.sensitive] for row in everybody]
    ordered_values = sorted(set(every))
    gaps = [
        Fraction(values.count(v), len(values)) - Fraction(every.count(v), len(every))
        for v in ordered_values
    ]
    if promise.distance == "equal":
        return sum(map(abs, gaps)) / 2
    return sum(map(abs, itertools.accumulate(gaps))) / max(len(ordered_values) - 1, 1)


def logarithm(promise, values, everybody):
    every = [row[promise.sensitive] for row in everybody]
    if set(values) != set(every):
        return math.inf
    expected = {v: every.count(v) / len(every) for v in values}
    return max(abs(math.log(values.count(v) / len(values) / expected[v])) for v in values)


def labels_of_row(row, node, starred):
    return {
        name: TREES[name][row[name]][TOPS[name] if starred and name in TOPS else level]
        for name, level in node.items()
    }


def suppressed(rows, node, promises, strata, mode):
    """The positions to suppress at a node, and whether the promises are kept then."""
    gone = set()
    while True:
        seen = [i for i in range(len(rows)) if mode == "star" or i not in gone]
        failing = set()
        for promise in promises:
            key_columns = promise.adversary_columns if promise.quasi_identifiers else QIS
            known_columns = [n for n in promise.adversary_columns if n not in TREES]
            groups = defaultdict(list)
            for i in seen:
                labels = labels_of_row(rows[i], node, i in gone)
                own = [
                    str(labels[n]) + type(labels[n]).__name__ for n in key_columns if n in labels
                ]
                beside = [rows[i][n] for n in (*known_columns, *strata)]
                groups[(*own, *beside)].append(i)
            for group in groups.values():
                if broken(promise, [rows[i] for i in group], [rows[i] for i in seen]):
                    failing |= set(group)
        if failing <= gone:
            return gone, not failing
        gone |= failing


def cost(metric, rows, node, gone, strata, promises):
    """A metric from its definition, row by row."""
    k = max((p.k for p in promises if isinstance(p, KAnonymity | AlphaK)), default=1)
    return COSTS[metric](rows, node, gone, strata, k)


def height(rows, node, gone, strata, k):
    return sum(node.values())


def precision(rows, node, gone, strata, k):
    steps = sum(Fraction(node[q], TOPS[q]) for q in node if q not in strata) / len(node)
    return (steps * (len(rows) - len(gone)) + len(gone)) / len(rows)


def blocks(rows, node, gone, strata):
    rows_kept = [row for i, row in enumerate(rows) if i not in gone]
    return Counter(
        (*labels_of_row(row, node, False).values(), *(row[name] for name in strata))
        for row in rows_kept
    )


def discernibility(rows, node, gone, strata, k):
    sizes = blocks(rows, node, gone, strata).values()
    return sum(size**2 for size in sizes) + len(rows) * len(gone)


def average_class_size(rows, node, gone, strata, k):
    return Fraction(len(rows) - len(gone), len(blocks(rows, node, gone, strata)) * k)


def values_below(rows, row, node, name):
    """The values that occur below the node of a row."""
    label = TREES[name][row[name]][node[name]]
    return {other[name] for other in rows if TREES[name][other[name]][node[name]] == label}


def ncp(rows, node, gone, strata, k):
    cells = sum(
        penalty(values_below(rows, row, node, name), {other[name] for other in rows}, name)
        for i, row in enumerate(rows)
        for name in node
        if i not in gone
    )
    return Fraction(cells + len(gone) * len(node)) / (len(rows) * len(node))


def penalty(values, whole, name):
    numbers = [v for v in values if v is not None]
    every = [v for v in whole if v is not None]
    if name in NUMERIC and every and max(every) > min(every):
        return Fraction(max(numbers) - min(numbers) if numbers else 0, max(every) - min(every))
    return Fraction(len(values), len(whole)) if len(values) > 1 else Fraction(0)


def entropy(rows, node, gone, strata, k):
    total = 0.0
    for i, row in enumerate(rows):
        for name in node:
            values = values_below(rows, row, node, name)
            like = len(rows) if i in gone else sum(other[name] in values for other in rows)
            total += math.log(like / sum(other[name] == row[name] for other in rows))
    return total / len(rows)


def kl(rows, node, gone, strata, k):
    beside = [*(name for name in strata if name not in node), "s", "t"]
    every = Counter(tuple(row[name] for name in (*node, *beside)) for row in rows)
    domains = {name: {row[name] for row in rows} for name in node}
    counts = Counter()
    for i, other in enumerate(rows):
        cells = domains if i in gone else {q: values_below(rows, other, node, q) for q in node}
        for vector in every:
            values = dict(zip((*node, *beside), vector, strict=True))
            same = all(values[name] == other[name] for name in beside)
            if same and all(values[name] in cells[name] for name in node):
                counts[vector] += 1 / math.prod(map(len, cells.values()))
    return sum(n * math.log(n / counts[vector]) for vector, n in every.items()) / len(rows)


COSTS = {
    "height": height,
    "precision": precision,
    "discernibility": discernibility,
    "average-class-size": average_class_size,
    "entropy": entropy,
    "ncp": ncp,
    "kl": kl,
}


def nodes(fixed=()):
    for levels in itertools.product(*(range(1 if q in fixed else TOPS[q] + 1) for q in QIS)):
        yield dict(zip(QIS, levels, strict=True))


def all_costs(rows, promises, metric, budget=0, mode="drop", strata=()):
    """By node that keeps the promises: its cost and what it suppresses."""
    costs = {}
    for node in nodes(strata):
        gone, groups_kept = suppressed(rows, node, promises, strata, mode)
        if groups_kept and len(gone) <= budget:
            price = cost(metric, rows, node, gone, strata, promises)
            costs[tuple(node.values())] = (price, gone)
    return costs


def require_best(best, every):
    """The cheapest node, ties to the lowest and then the first."""
    if best is None:
        assert not every
        return
    node = tuple(best.facts["levels"].values())
    least = min(price for price, _ in every.values())
    tied = [n for n, (price, _) in every.items() if price <= least + 1e-9]
    assert node == min(tied, key=lambda n: (sum(n), n))
    assert best.facts["cost"] == pytest.approx(float(least), abs=1e-9)


def require_groups(best, rows, gone, strata, mode):
    """Groups are the rows that show the same; what is suppressed is as it should be."""
    node = best.facts["levels"]
    assert best.facts["rows_suppressed"] == len(gone)
    label = [
        None
        if mode == "drop" and i in gone
        else (
            *map(repr, labels_of_row(row, node, i in gone).values()),
            *(row[name] for name in strata),
        )
        for i, row in enumerate(rows)
    ]
    group_of_text = {}
    for text, group in zip(label, best.group.tolist(), strict=True):
        assert (group < 0) == (text is None)
        assert group_of_text.setdefault(text, group) == group
    numbers = {group for text, group in group_of_text.items() if text is not None}
    assert numbers == set(range(len(group_of_text) - (None in group_of_text)))
    for i, group in enumerate(best.group.tolist()):
        for name in QIS if group >= 0 else []:
            top = TOPS[name] if i in gone and name not in strata else node[name]
            assert best.recoding[name][group] == top


@pytest.mark.parametrize("promises", PROMISES, **named)
def test_the_best_node_without_suppression(promises):
    """All tables that are drawn may be too skewed for a promise: so one of each kind is given."""
    tried = Counter()

    @FEW
    @example(KEPT, "ncp", ())
    @example(BROKEN, "ncp", ("town",))
    @given(ROWS, st.sampled_from(list(METRICS)), st.sampled_from([(), ("town",), ("a",)]))
    def law(rows, metric, strata):
        best = search(rows, promises, strata, metric=metric)
        every = all_costs(rows, promises, metric, strata=strata)
        require_best(best, every)
        tried[best is not None] += 1
        if best is not None:
            require_groups(best, rows, set(), strata, "drop")
            minimal_levels = {tuple(node["levels"]) for node in best.facts["minimal_nodes"]}
            assert minimal_levels == minimal(every)

    law()
    assert min(tried[True], tried[False]) >= 1


@pytest.mark.parametrize("promises", PROMISES, **named)
def test_the_tables_that_are_given(promises):
    best = search(KEPT, promises, metric="ncp")
    assert tuple(best.facts["levels"].values()) not in {(0, 0, 0), tuple(TOPS.values())}
    assert search(BROKEN, promises, ["town"], metric="ncp") is None


def minimal(nodes):
    def lower(n, other):
        return n != other and all(x <= y for x, y in zip(n, other, strict=True))

    return {node for node in nodes if not any(lower(other, node) for other in nodes)}


def test_the_best_node_with_a_budget():
    tried = Counter()
    for number, promises in enumerate(PROMISES):
        before = tried.total()
        best_with_a_budget(promises, tried)
        assert tried.total() > before, number
    assert all(tried[mode, some] >= 5 for mode in ("drop", "star") for some in (False, True))


def best_with_a_budget(promises, tried):
    @FEW
    @example(KEPT, "height", "0.1", "drop", ())
    @example(KEPT, "height", "0.4", "drop", ())
    @example(KEPT, "height", "0.1", "star", ())
    @example(KEPT, "height", "0.4", "star", ())
    @given(
        ROWS,
        st.sampled_from(list(METRICS)),
        st.sampled_from(["0.1", "0.2", "0.4"]),
        st.sampled_from(["drop", "star"]),
        st.sampled_from([(), ("town",), ("c",)]),
    )
    def law(rows, metric, share, mode, strata):
        best = search(
            rows, promises, strata, metric=metric, suppression=Decimal(share), suppressed=mode
        )
        budget = math.floor(Fraction(share) * len(rows))
        every = all_costs(rows, promises, metric, budget, mode, strata)
        require_best(best, every)
        if best is not None:
            _, gone = every[tuple(best.facts["levels"].values())]
            require_groups(best, rows, gone, strata, mode)
            tried[mode, bool(gone)] += 1

    law()


def test_a_histogram_that_would_be_too_large_is_thinned(monkeypatch):
    monkeypatch.setattr(lattice, "_ENTRIES", 12)
    tried = Counter()

    @given(ROWS, st.sampled_from(PROMISES), st.sampled_from([(), ("a",)]))
    def law(rows, promises, strata):
        best = search(rows, promises, strata)
        require_best(best, all_costs(rows, promises, "ncp", strata=strata))
        tried[best is not None] += 1

    law()
    assert tried[True] >= 5


def test_large_keys_are_counted_by_sorting(monkeypatch):
    monkeypatch.setattr(lattice_rows, "_DIRECT", 0)
    tried = Counter()

    @given(ROWS, st.sampled_from(PROMISES), st.sampled_from(["0", "0.2"]))
    def law(rows, promises, share):
        best = search(rows, promises, suppression=Decimal(share))
        budget = math.floor(Fraction(share) * len(rows))
        require_best(best, all_costs(rows, promises, "ncp", budget))
        tried[best is not None] += 1

    law()
    assert tried[True] >= 5


def test_groups_keep_the_promises_and_never_cross_strata():
    tried = Counter()

    @given(
        ROWS,
        st.sampled_from(PROMISES),
        st.sampled_from(["0", "0.3"]),
        st.sampled_from(["insensitive", "quasi-identifier"]),
    )
    def law(rows, promises, share, role):
        best = search(rows, promises, ["town"], role, suppression=Decimal(share))
        tried[best is not None] += 1
        if best is None:
            return
        table = microdata(rows)
        rows_kept = np.flatnonzero(best.group >= 0)
        town = np.array([row["town"] for row in rows])
        group = encode("group", "quasi-identifier", pa.array(best.group[rows_kept]))
        taken = table.take(rows_kept)
        together = Microdata((*taken.columns, group), len(rows_kept))
        for g in range(int(best.group.max()) + 1):
            assert len(set(town[best.group == g])) == 1
        for promise in promises:
            if promise.quasi_identifiers is None:  # else groups of the partition are only parts
                sensitive = [promise.sensitive] if promise.sensitive else []
                seen = groups_of(together, ["group"], sensitive)
                assert promise.check(seen).holds
                tried["judged"] += 1

    law()
    assert tried[True] >= 5
    assert tried["judged"] >= 5


def test_suppressed_rows_keep_their_stratum():
    beside = {"b": 1, "town": "P", "s": 0, "t": "m"}
    rows = [{"a": a, "c": c, **beside} for c in (0, 1) for a in "wwwwxy"]
    best = search(
        rows,
        [KAnonymity(k=2)],
        ["c"],
        metric="height",
        suppression=Decimal("0.4"),
        suppressed="star",
    )
    assert best.facts["levels"] == {"a": 0, "b": 0, "c": 0}
    groups_kept, starred = best.group[[0, 6]], best.group[[4, 10]]
    assert best.group.tolist() == [
        *[groups_kept[0]] * 4,
        *[starred[0]] * 2,
        *[groups_kept[1]] * 4,
        *[starred[1]] * 2,
    ]
    assert sorted([*groups_kept, *starred]) == [0, 1, 2, 3]
    assert {name: levels[starred].tolist() for name, levels in best.recoding.items()} == {
        "a": [2, 2],
        "b": [1, 1],
        "c": [0, 0],
    }
    assert not any(levels[groups_kept].any() for levels in best.recoding.values())
    assert (
        search(
            rows,
            [KAnonymity(k=3)],
            ["c"],
            metric="height",
            suppression=Decimal("0.4"),
            suppressed="star",
        ).facts["levels"]["a"]
        == 2
    )


def test_counterexamples_rule_out_exactly_where_their_group_fails():
    tried = Counter()

    @FEW
    @given(ROWS, st.sampled_from([1, 2]))
    def law(rows, l):
        codes = [
            np.array([values.index(row[name]) for row in rows])
            for name, values in {"a": "wxyz", "c": range(4), "town": "PQ", "s": range(4)}.items()
        ]
        levels = [
            np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0] * 4]),
            np.array([[0, 1, 2, 3], [0] * 4]),
        ]
        scope = Scope(DistinctLDiversity(l=2 + l), (0, 1), (2,), 3, Coded(codes[3], 4))
        table = lattice_rows.LatticeRows(
            tuple(codes), (4, 4, 2, 4), np.ones(len(rows), dtype=np.int64)
        )
        judge = lattice.NodeJudge(scope, table, levels)
        row = judge.counterexample((0, 0))
        if row is None:
            return
        a, c, town, _ = (int(column[row]) for column in judge.rows.codes)
        ruled = judge.rule_out(row, (0, 0))
        for node in itertools.product(range(3), range(2)):
            raised = levels[0][node[0]], levels[1][node[1]]
            values_shown = {
                s
                for x, y, z, s in zip(*(column.tolist() for column in codes), strict=True)
                if raised[0][x] == raised[0][a] and raised[1][y] == raised[1][c] and z == town
            }
            assert ruled[node] == (len(values_shown) < 2 + l)
            tried[bool(ruled[node])] += 1

    law()
    assert min(tried[True], tried[False]) >= 5


def test_a_null_is_a_category_of_its_own_below_the_root():
    rows = [{"a": "w", "b": b, "c": 0, "town": "P", "s": 0, "t": "m"} for b in (1, 1, None, None)]
    best = search(rows, [KAnonymity(k=2)])
    assert best.facts["levels"] == {"a": 0, "b": 0, "c": 0}
    assert best.group[0] == best.group[1] != best.group[2] == best.group[3]
    assert search(rows, [KAnonymity(k=3)]).facts["levels"] == {"a": 0, "b": 1, "c": 0}


@pytest.mark.parametrize(
    "promise",
    [
        DeltaPresence(min=0, max=1, reference="p.csv"),
        BayesOptimal(rho1=Decimal("0.1"), rho2=Decimal("0.5"), reference="p.csv", sensitive="s"),
    ],
    ids=lambda promise: promise.name,
)
def test_promises_about_a_population_are_refused(promise):
    rows = [{"a": "w", "b": 1, "c": 0, "town": "P", "s": 0, "t": "m"}]
    with pytest.raises(PromiseError, match="depends on more than the table's groups"):
        partition(
            microdata(rows),
            [],
            [promise],
            FullDomainParameters(method="full-domain"),
            seeded_keys(0),
        )


def test_tables_without_rows_or_quasi_identifiers_are_refused():
    parameters = FullDomainParameters(method="full-domain")
    rows = [{"a": "w", "b": 1, "c": 0, "town": "P", "s": 0, "t": "m"}]
    with pytest.raises(PromiseError, match="no rows"):
        partition(microdata(rows[:0]), [], [KAnonymity(k=2)], parameters, seeded_keys(0))
    alone = Microdata(microdata(rows).with_roles("sensitive"), 1)
    with pytest.raises(PromiseError, match="no quasi-identifiers"):
        partition(alone, [], [KAnonymity(k=2)], parameters, seeded_keys(0))


def test_a_lattice_that_is_too_large_is_refused():
    values, codes = pa.array(["x"]), np.zeros(2, dtype=np.int32)
    columns = tuple(Column(f"q{i}", "quasi-identifier", values, codes) for i in range(22))
    parameters = FullDomainParameters(method="full-domain")
    with pytest.raises(PromiseError, match="4194304 combinations of levels"):
        partition(Microdata(columns, 2), [], [KAnonymity(k=2)], parameters, seeded_keys(0))
    best = partition(Microdata(columns[:12], 2), [], [KAnonymity(k=2)], parameters, seeded_keys(0))
    assert best.facts["nodes_judged"] == 1


@pytest.fixture(scope="module")
def five():
    """Adult with five quasi-identifiers, and the rows of each node counted in plain Python."""
    table = adult(FIVE)
    levels = [table[name].levels().tolist() for name in FIVE]
    codes = [table[name].codes.tolist() for name in (*FIVE, "salary-class")]
    return table, dict(rolled_up(Counter(zip(*codes, strict=True)), levels, ()))


def rolled_up(counts, levels, node):
    """By node and vector of its nodes how often each sensitive value occurs."""
    axis = len(node)
    if axis == len(levels):
        groups = defaultdict(list)
        for key, times in counts.items():
            groups[key[:-1]].append(times)
        yield node, groups
        return
    for level, nodes in enumerate(levels[axis]):
        raised = Counter()
        for key, times in counts.items():
            raised[(*key[:axis], nodes[key[axis]], *key[axis + 1 :])] += times
        yield from rolled_up(raised, levels, (*node, level))


def discernible(groups_kept, gone, node, table):
    return sum(size**2 for size in groups_kept.values()) + table.rows * gone


def class_size(groups_kept, gone, node, table):
    return Fraction(sum(groups_kept.values()), len(groups_kept) * 5)


def certainty(groups_kept, gone, node, table):
    cells = gone * len(FIVE) * Fraction(1)
    for axis, name in enumerate(FIVE):
        values = table[name].values.to_pylist()
        below = defaultdict(list)
        for value, above in zip(values, table[name].levels()[node[axis]].tolist(), strict=True):
            below[above].append(value)
        sizes = Counter()
        for key, size in groups_kept.items():
            sizes[key[axis]] += size
        for above, size in sizes.items():
            if name == "age":
                lost = Fraction(max(below[above]) - min(below[above]), max(values) - min(values))
            else:
                lost = Fraction(len(below[above]), len(values)) * (len(below[above]) > 1)
            cells += size * lost
    return cells / (table.rows * len(FIVE))


@pytest.mark.parametrize(
    ("promise", "keeps", "metric", "price", "share"),
    [
        (KAnonymity(k=5), lambda n: sum(n) >= 5, "discernibility", discernible, "0.01"),
        (KAnonymity(k=5), lambda n: sum(n) >= 5, "ncp", certainty, "0"),
        (
            AlphaK(alpha=Decimal("0.97"), k=5, sensitive="salary-class"),
            lambda n: sum(n) >= 5 and max(n) * 100 <= 97 * sum(n),
            "average-class-size",
            class_size,
            "0.05",
        ),
        (
            DistinctLDiversity(l=2, sensitive="salary-class"),
            lambda n: len(n) >= 2,
            "discernibility",
            discernible,
            "0",
        ),
    ],
)
def test_all_nodes_of_adult(five, promise, keeps, metric, price, share):
    table, every = five
    budget = math.floor(Fraction(share) * table.rows)
    costs = {}
    for node, groups in every.items():
        groups_kept = {key: sum(counts) for key, counts in groups.items() if keeps(counts)}
        gone = table.rows - sum(groups_kept.values())
        if gone <= budget:
            costs[node] = (price(groups_kept, gone, node, table), sum(node), node, gone)
    parameters = FullDomainParameters(
        method="full-domain", metric=metric, suppression=Decimal(share)
    )
    best = partition(table, [], [promise], parameters, seeded_keys(0))
    least, _, node, gone = min(costs.values())
    assert len(costs) > 1
    assert tuple(best.facts["levels"].values()) == node
    assert best.facts["cost"] == float(least)
    assert best.facts["rows_suppressed"] == best.suppressed == gone
    if not budget:
        minimal_levels = {tuple(node["levels"]) for node in best.facts["minimal_nodes"]}
        assert minimal_levels == minimal(costs)


def test_few_nodes_are_judged_beside_a_promise_that_further_rows_may_break(five):
    table, _ = five
    parameters = FullDomainParameters(method="full-domain", suppression=Decimal("0.01"))
    may_break = TCloseness(t=Decimal(1), distance="equal", sensitive="salary-class")  # never does
    alone = partition(table, [], [KAnonymity(k=5)], parameters, seeded_keys(0)).facts
    both = partition(table, [], [KAnonymity(k=5), may_break], parameters, seeded_keys(0)).facts
    assert both["nodes_judged"] == alone["nodes_judged"] < alone["nodes"] / 10


@pytest.mark.parametrize("bound", [4, 2**20, 2**40])  # in a table, sorted, and beyond 64 bits
def test_collapsed_rows_are_the_different_ones_with_their_counts(bound):
    rng = np.random.default_rng(bound)
    codes = tuple(rng.integers(0, 3, 400) * (bound // 4) for _ in range(3))
    counts = rng.integers(1, 9, 400)
    collapsed = lattice_rows.LatticeRows(codes, (bound,) * 3, counts).collapse()
    expected = Counter()
    for *row, times in zip(*codes, counts, strict=True):
        expected[tuple(int(code) for code in row)] += int(times)
    rows = list(zip(*(column.tolist() for column in collapsed.codes), strict=True))
    assert rows == sorted(expected)
    assert collapsed.counts.tolist() == [expected[row] for row in rows]


def keeps_over_people(rows, person, node, alpha, k):
    """Tell if groups have k people, and no value more than a share α of their rows and people."""
    members = defaultdict(list)
    for row, who in zip(rows, person, strict=True):
        members[tuple(labels_of_row(row, node, False).values())].append((row["s"], who))
    for group in members.values():
        by_value = defaultdict(set)
        for value, who in group:
            by_value[value].add(who)
        people = {who for _, who in group}
        if len(people) < k or max(map(len, by_value.values())) > alpha * len(people):
            return False
        if max(Counter(value for value, _ in group).values()) > alpha * len(group):
            return False
    return True


@given(ROWS, st.integers(0, 2**32), st.sampled_from(["0.4", "0.5", "0.75"]), st.integers(1, 3))
@example(some_rows(14), 14, "0.5", 2)
@example(some_rows(30), 30, "0.5", 2)
@settings(FEW)
def test_promises_over_people_may_hold_below_a_node_that_breaks_them(rows, seed, alpha, k):
    """Merged groups may break a promise over people that both keep, so no node is skipped."""
    owner = np.random.default_rng(seed).integers(0, max(len(rows) // 2, 1), len(rows))
    person = np.unique(owner, return_inverse=True)[1]
    promise = AlphaK(alpha=Decimal(alpha), k=k, sensitive="s", quasi_identifiers=tuple(QIS))
    able = [n for n in nodes() if keeps_over_people(rows, person, n, Fraction(alpha), k)]
    table = replace(microdata(rows), person=person)
    height = FullDomainParameters(method="full-domain", metric="height")
    if not able:
        with pytest.raises(PromiseError):
            partition(table, [], [promise], height, seeded_keys(1))
        return
    levels = partition(table, [], [promise], height, seeded_keys(1)).facts["levels"]
    best = min((tuple(node.values()) for node in able), key=lambda node: (sum(node), node))
    assert tuple(levels[name] for name in QIS) == best
