"""Mondrian against the paper's table, its definition in plain Python, and what every part keeps."""

from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import count
from sfumato.expectations.measures.emd import hierarchical_distance, ordered_distance
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    Negative,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, key, seeded_keys
from sfumato.tasks.partitions.mondrian import compiled as mondrian_compiled
from sfumato.tasks.partitions.mondrian import mondrian
from sfumato.tasks.partitions.mondrian import shares as mondrian_shares
from sfumato.tasks.partitions.mondrian import spread as mondrian_spread
from sfumato.tasks.partitions.mondrian.cuts import chance_of_leaving, draw_leaving
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.mondrian.shares import is_shared, nearest, share_rule
from sfumato.tasks.partitions.mondrian.spread import spread_rule
from sfumato.tasks.partitions.partition import by_stratum
from sfumato.tasks.partitions.shared.thresholds import usual_rows

STRICT = MondrianParameters(method="mondrian", mode="strict")
RELAXED = MondrianParameters(method="mondrian", mode="relaxed")
LEFT = MondrianParameters(method="mondrian", leave=Decimal("0.2"))
LEFT_RELAXED = MondrianParameters(method="mondrian", mode="relaxed", leave=Decimal("0.2"))

PATIENTS = {
    "age": [25, 25, 26, 27, 27, 28],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
    "zip": [53711, 53712, 53711, 53710, 53712, 53711],
}


def table(qi, sensitive=None, strata=None):
    roles = {"quasi-identifier": qi, "sensitive": sensitive or {}, "insensitive": strata or {}}
    columns = [
        encode(name, role, pa.array(values))
        for role, named in roles.items()
        for name, values in named.items()
    ]
    return Microdata(tuple(columns), columns[0].codes.size)


def with_hierarchy(microdata, name, ancestors):
    """One column with a hierarchy, given the label above each value, level by level."""
    column = microdata[name]
    levels = [np.arange(len(column.values))]
    for above in ancestors:
        labels = [above[value] for value in column.values.to_pylist()]
        numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
        levels.append(np.array([numbers[label] for label in labels]))
    levels.append(np.zeros(len(column.values), dtype=np.int64))
    changed = replace(column, ancestors=np.stack(levels))
    return microdata.keep(changed if c.name == name else c for c in microdata.columns)


def parts(group):
    """The sets of rows that are together."""
    together = defaultdict(set)
    for row, number in enumerate(group.tolist()):
        together[number].add(row)
    assert sorted(together) == list(range(len(together)))
    return {frozenset(rows) for rows in together.values()}


def cut(microdata, promises, parameters=STRICT, strata=(), seed=0):
    return mondrian.partition(microdata, list(strata), promises, parameters, seeded_keys(seed))


def sets(*rows):
    return {frozenset(part) for part in rows}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # All are as wide as the table. The women are rows 1 and 4; then age is wider than zip.
        (("sex", "age", "zip"), sets({0, 2}, {1, 4}, {3, 5})),  # Figure 3(b)
        (("zip", "age", "sex"), sets({0, 2}, {1, 4}, {3, 5})),
        # Up to the median age, 26, and above: three rows each cannot be cut again.
        (("age", "sex", "zip"), sets({0, 1, 2}, {3, 4, 5})),
    ],
)
def test_patients_of_the_paper(order, expected):
    microdata = table({name: PATIENTS[name] for name in order})
    partition = cut(microdata, [KAnonymity(k=2)])
    assert parts(partition.group) == expected
    sizes = sorted(map(len, expected))
    assert partition.facts == {
        "mode": "strict",
        "groups": len(expected),
        "smallest_group": sizes[0],
        "largest_group": sizes[-1],
    }


def test_the_value_before_the_median_is_tried():
    partition = cut(table({"age": [1, 1, 2, 2, 2, 2, 3]}), [KAnonymity(k=2)])
    assert parts(partition.group) == sets({0, 1}, {2, 3, 4, 5, 6})


def test_a_hierarchy_is_cut_into_the_children_of_the_lowest_common_ancestor():
    towns = ["Bern", "Bonn", "Cork", "Ghent", "Lyon", "Oslo"]
    country = dict(zip(towns, ["ch", "de", "ie", "be", "fr", "no"], strict=True))
    area = dict(zip(towns, ["mid", "mid", "sea", "sea", "mid", "sea"], strict=True))
    rows = ["Bern", "Bern", "Bonn", "Bonn", "Lyon", "Lyon", "Cork", "Oslo", "Oslo", "Ghent"]
    microdata = with_hierarchy(table({"town": rows}), "town", [country, area])
    for parameters in (STRICT, RELAXED):
        partition = cut(microdata, [KAnonymity(k=2)], parameters)
        assert parts(partition.group) == sets({0, 1}, {2, 3}, {4, 5}, {6, 7, 8, 9})
        partition = cut(microdata, [KAnonymity(k=4)], parameters)
        assert parts(partition.group) == sets({0, 1, 2, 3, 4, 5}, {6, 7, 8, 9})
        assert len(parts(cut(microdata, [KAnonymity(k=5)], parameters).group)) == 1


def test_nulls_are_the_lowest_values_and_a_child_of_the_root():
    ages = [None, 3, None, 4, 3, 4]
    partition = cut(table({"age": ages}), [KAnonymity(k=2)])
    assert parts(partition.group) == sets({0, 2}, {1, 4}, {3, 5})
    town = ["a", None, "b", None, "a", "b"]
    microdata = with_hierarchy(table({"town": town}), "town", [{"a": "x", "b": "x"}])
    partition = cut(microdata, [KAnonymity(k=2)])
    assert parts(partition.group) == sets({1, 3}, {0, 4}, {2, 5})
    partition = cut(microdata, [KAnonymity(k=3)])
    assert len(parts(partition.group)) == 1


def test_no_rows_and_no_quasi_identifiers():
    empty = table({"age": pa.array([], pa.int64())}, {"s": pa.array([], pa.string())})
    promises = [KAnonymity(k=2), DistinctLDiversity(l=2, sensitive="s")]
    for parameters in (STRICT, RELAXED):
        assert cut(empty, promises, parameters).group.tolist() == []
        partition = cut(table({}, {"s": ["a", "b"]}), promises, parameters)
        assert partition.group.tolist() == [0, 0]


def test_a_stratum_that_breaks_a_promise():
    microdata = table({"age": [1, 2, 3, 4]}, {"s": ["a", "b", "a", "a"]}, {"town": [0, 0, 1, 1]})
    diverse = DistinctLDiversity(l=2, sensitive="s")
    with pytest.raises(PromiseError, match=r"promises.1: distinct-l-diversity .* 1 of 2 strata"):
        cut(microdata, [KAnonymity(k=2), diverse], strata=["town"])
    assert cut(microdata, [KAnonymity(k=2), diverse]).facts["groups"] == 1


@pytest.mark.parametrize(
    "promise",
    [
        DeltaPresence(min=Decimal(0), max=Decimal(1), reference="p.csv"),
        BayesOptimal(rho1=Decimal("0.2"), rho2=Decimal("0.5"), reference="p.csv", sensitive="s"),
    ],
    ids=lambda promise: promise.name,
)
def test_promises_about_a_population(promise):
    microdata = table({"age": [1, 2]}, {"s": ["a", "b"]})
    with pytest.raises(
        PromiseError, match=f"parts cannot be cut for {promise.name}, because it is about"
    ):
        cut(microdata, [promise])


def test_promises_that_parts_may_break_together():
    class Odd(KAnonymity):
        monotone = False

    with pytest.raises(PromiseError, match="may break it together"):
        cut(table({"age": [1, 2]}), [Odd(k=1)])


# What may be drawn: tables with quasi-identifiers of every kind, and promises about them.

TREE = [
    {value: value[0] + "12"[value[1] > "c"] for value in (a + b for a in "xyz" for b in "abcdef")}
]
TREE.append({value: "few" if value[0] == "z" else "many" for value in TREE[0]})
KINDS = {
    "integer": st.integers(0, 9),
    "decimal": st.integers(0, 9).map(lambda n: Decimal(n * n) / 4),
    "date": st.integers(1, 9).map(lambda n: date(2020, n, n)),
    "text": st.sampled_from("abcdefg"),
    "tree": st.sampled_from(sorted(TREE[0])),
}


@st.composite
def tables(draw, kinds=tuple(KINDS), most=40):
    """A table and its strata."""
    rows = draw(st.integers(1, most))
    qi, trees = {}, []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        values = KINDS[kind]
        if draw(st.booleans()):
            values = st.none() | values
        column = draw(st.lists(values, min_size=rows, max_size=rows))
        if all(value is None for value in column):
            column[0] = draw(KINDS[kind])
        qi[f"{kind} {number}"] = column
        trees += [f"{kind} {number}"] * (kind == "tree")
    few = st.lists(st.integers(0, 3), min_size=rows, max_size=rows)
    microdata = table(qi, {"s": draw(few), "other": draw(few)}, {"half": draw(few)})
    for name in trees:
        microdata = with_hierarchy(microdata, name, TREE)
    return microdata, draw(st.sampled_from([[], [], ["half"]]))


COUNTED = st.one_of(
    st.integers(1, 5).map(lambda k: KAnonymity(k=k)),
    st.integers(1, 3).map(lambda l: DistinctLDiversity(l=l, sensitive="s")),
    st.tuples(st.integers(1, 4), st.sampled_from(["0.4", "0.5", "0.8"])).map(
        lambda partition_input: AlphaK(
            k=partition_input[0], alpha=Decimal(partition_input[1]), sensitive="s"
        )
    ),
    st.tuples(st.integers(1, 4), st.sampled_from(["0.5", "1", "2.5"])).map(
        lambda partition_input: RecursiveLDiversity(
            l=partition_input[0], c=Decimal(partition_input[1]), sensitive="s"
        )
    ),
    st.tuples(st.sampled_from(["0.1", "0.25", "0.5"]), st.sampled_from(["equal", "ordered"])).map(
        lambda partition_input: TCloseness(
            t=Decimal(partition_input[0]), distance=partition_input[1], sensitive="s"
        )
    ),
    st.sampled_from(["1", "1.4", "2", "3"]).map(
        lambda l: EntropyLDiversity(l=Decimal(l), sensitive="s")
    ),
    st.tuples(st.integers(1, 3), st.integers(0, 3)).map(
        lambda partition_input: KEAnonymity(
            k=partition_input[0], e=partition_input[1], sensitive="s"
        )
    ),
    st.sampled_from(["0.3", "0.8", "2"]).map(
        lambda delta: DeltaDisclosure(delta=Decimal(delta), sensitive="s")
    ),
    st.tuples(st.sampled_from(["0.5", "1", "3"]), st.sampled_from(["enhanced", "basic"])).map(
        lambda partition_input: BetaLikeness(
            beta=Decimal(partition_input[0]), variant=partition_input[1], sensitive="s"
        )
    ),
)
OTHERS = (
    AlphaK(k=2, alpha=Decimal("0.5"), values=("0", "1"), sensitive="s"),
    DistinctLDiversity(l=2, sensitive="s", known=("other",)),
    DistinctLDiversity(l=2, sensitive="other"),
    EntropyLDiversity(l=Decimal("1.8"), sensitive="s"),
    EntropyLDiversity(l=Decimal("1.5"), sensitive="s", dont_care=("0",)),
    RecursiveLDiversity(l=2, c=Decimal(2), sensitive="s"),
    RecursiveLDiversity(l=2, c=Decimal(2), sensitive="s", dont_care=("1",)),
    RecursiveLDiversity(
        l=1, c=Decimal(2), sensitive="s", negative=Negative(values=("1",), percent=Decimal(10))
    ),
    KEAnonymity(k=2, e=Decimal(2), sensitive="s"),
    TCloseness(t=Decimal("0.3"), distance="equal", sensitive="s"),
    TCloseness(t=Decimal("0.2"), distance="ordered", sensitive="s"),
    DeltaDisclosure(delta=Decimal("1.2"), sensitive="s"),
)
PROMISES = st.lists(COUNTED | st.sampled_from(OTHERS), min_size=1, max_size=2)


def name_attributes(promises, microdata):
    """The promises with the quasi-identifiers that they are about, as a spec fills them in."""
    qi = tuple(column.name for column in microdata.with_roles("quasi-identifier"))
    return [
        promise if promise.quasi_identifiers else replace(promise, quasi_identifiers=qi)
        for promise in promises
    ]


def broken_groups(promise, microdata, group):
    """For each row whether its group, known values told apart, breaks a promise."""
    known_columns = [microdata[name] for name in getattr(promise, "known", None) or ()]
    apart = group * 100 + key(known_columns, microdata.rows)[0]
    numbers, place = np.unique(apart, return_inverse=True)
    sensitive = [promise.sensitive] if promise.sensitive else []
    seen = count(place, len(numbers), {name: microdata[name].counted_codes() for name in sensitive})
    if not sensitive:
        seen = replace(seen, sizes=np.bincount(place))
    return promise.failing(seen)[place]


class Oracle:
    """The definition of strict Mondrian, one part after the other, in plain Python."""

    def __init__(self, microdata, promises):
        self.microdata, self.promises = microdata, promises
        self.qi = [column.name for column in microdata.with_roles("quasi-identifier")]
        self.values = {name: microdata[name].array().to_pylist() for name in self.qi}

    def final(self, rows):
        for name in sorted(self.qi, key=lambda name: -self.width(name, rows)):
            for children in self.cuts(name, rows):
                if len(children) > 1 and all(map(self.keeps_promises, children)):
                    return {part for child in children for part in self.final(child)}
        return {frozenset(rows)}

    def keeps_promises(self, rows):
        group = np.isin(np.arange(self.microdata.rows), sorted(rows)).astype(np.int64)
        return not any(
            broken_groups(promise, self.microdata, group)[group > 0].any()
            for promise in self.promises
        )

    def width(self, name, rows):
        everywhere = self.values[name]
        if name.startswith("tree"):
            top, distinct = self.top(name, rows), set(everywhere)
            below = [v for v in distinct if path(v)[top] == path(everywhere[min(rows)])[top]]
            return Fraction(len(below), len(distinct))
        lies = self.lies(name)
        length = max(lies.values()) - min(lies.values())
        here = [lies[everywhere[row]] for row in rows]
        return Fraction(max(here) - min(here)) / Fraction(length or 1)

    def lies(self, name):
        values = sorted({v for v in self.values[name] if v is not None})
        if name.startswith("text"):
            ranked = [*([None] if None in self.values[name] else []), *values]
            return {value: rank for rank, value in enumerate(ranked)}
        number = (lambda v: v.toordinal()) if name.startswith("date") else Fraction
        return {value: number(value) for value in values} | {None: number(values[0])}

    def top(self, name, rows):
        paths = [path(self.values[name][row]) for row in rows]
        return min(level for level in range(4) if len({label[level] for label in paths}) == 1)

    def cuts(self, name, rows):
        values = self.values[name]
        if name.startswith("tree"):
            top, children = self.top(name, rows), defaultdict(set)
            for row in rows:
                children[path(values[row])[max(top - 1, 0)]].add(row)
            return [list(children.values())]
        ordered = sorted(order(values[row]) for row in rows)
        median = ordered[(len(ordered) - 1) // 2]
        candidates = [median, *[value for value in ordered if value < median][-1:]]
        sides = [
            [{r for r in rows if (order(values[r]) <= v) == low} for low in (1, 0)]
            for v in candidates
        ]
        return [children for children in sides if all(children)]


def path(value):
    """The nodes above a value, from itself to the root; a null has its own."""
    return (value, *(level.get(value) for level in TREE), "root")


def order(value):
    return (value is not None, value)


def test_strict_is_what_the_definition_says():
    seen = Counter()

    @given(tables(), PROMISES)
    def law(table_and_strata, promises):
        microdata, strata = table_and_strata
        promises = name_attributes(promises, microdata)
        oracle = Oracle(microdata, promises)
        begin = [set(rows.tolist()) for rows in by_stratum(microdata, strata)]
        if not all(map(oracle.keeps_promises, begin)):
            seen["refused"] += 1
            with pytest.raises(PromiseError, match="cannot be kept"):
                cut(microdata, promises, strata=strata)
            return
        expected = {part for rows in begin for part in oracle.final(rows)}
        seen["cut"] += len(expected) > len(begin)
        assert parts(cut(microdata, promises, strata=strata).group) == expected

    law()
    assert seen["cut"] > 3, seen


@pytest.mark.parametrize("promise", OTHERS, ids=lambda promise: str(promise.parameters()))
def test_strict_keeps_each_promise_as_the_definition_says(promise):
    rng = np.random.default_rng(2)
    qi = {
        "integer": rng.geometric(0.2, 120),
        "tree": rng.choice(sorted(TREE[0]), 120),
        "text": rng.choice(list("abcdefg"), 120),
    }
    few = {"s": rng.integers(0, 4, 120), "other": rng.integers(0, 2, 120)}
    microdata = with_hierarchy(table(qi, few), "tree", TREE)
    promises = name_attributes([promise], microdata)
    group = cut(microdata, promises).group
    assert 5 < len(parts(group)) < 120
    assert parts(group) == Oracle(microdata, promises).final(set(range(120)))
    assert not broken_groups(promises[0], microdata, group).any()


@given(tables(), PROMISES, st.sampled_from([STRICT, RELAXED, LEFT]), st.integers(0, 99))
def test_every_group_keeps_every_promise_within_its_stratum(
    plots_drawn, promises, parameters, seed
):
    microdata, strata = plots_drawn
    promises = name_attributes(promises, microdata)
    try:
        partition = cut(microdata, promises, parameters, strata, seed)
    except PromiseError:
        whole = key([microdata[name] for name in strata], microdata.rows)[0]
        assert any(broken_groups(promise, microdata, whole).any() for promise in promises)
        return
    assert not any(broken_groups(promise, microdata, partition.group).any() for promise in promises)
    within = [set(rows.tolist()) for rows in by_stratum(microdata, strata)]
    assert all(sum(part <= rows for rows in within) == 1 for part in parts(partition.group))
    assert partition.facts["groups"] == len(parts(partition.group))


@given(tables(), st.integers(1, 5))
def test_strict_boxes_are_disjoint(plots_drawn, k):
    microdata, _ = plots_drawn
    members = parts(cut(microdata, [KAnonymity(k=min(k, microdata.rows))]).group)
    oracle = Oracle(microdata, [])

    def box(name, rows):
        values = oracle.values[name]
        if name.startswith("tree"):
            top = oracle.top(name, rows)
            return {v for v in values if path(v)[top] == path(values[min(rows)])[top]}
        values_shown = [order(values[row]) for row in rows]
        return {v for v in values if min(values_shown) <= order(v) <= max(values_shown)}

    boxes = [{name: box(name, rows) for name in oracle.qi} for rows in members]
    for number, box_ in enumerate(boxes):
        for other in boxes[:number]:
            assert any(not box_[name] & other[name] for name in oracle.qi)


@given(tables(), PROMISES, st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference_to_strict(plots_drawn, promises, random):
    microdata, strata = plots_drawn
    shuffled = list(range(microdata.rows))
    random.shuffle(shuffled)
    other = microdata.take(np.array(shuffled))
    try:
        groups_of_rows = parts(
            cut(microdata, name_attributes(promises, microdata), strata=strata).group
        )
    except PromiseError:
        with pytest.raises(PromiseError):
            cut(other, name_attributes(promises, other), strata=strata)
        return
    again = parts(cut(other, name_attributes(promises, other), strata=strata).group)
    assert {frozenset(shuffled[row] for row in part) for part in again} == groups_of_rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 6), st.integers(0, 99))
def test_relaxed_parts_of_one_ordered_attribute_have_k_to_2k_rows(values, k, seed):
    if len(values) < k:
        values = values * k
    partition = cut(table({"age": values}), [KAnonymity(k=k)], RELAXED, seed=seed)
    runs = sorted(sorted(values[row] for row in part) for part in parts(partition.group))
    assert all(k <= len(run) < 2 * k for run in runs)
    assert [value for run in runs for value in run] == sorted(values)


def test_chance_parts_equal_rows():
    microdata = table({"age": [7] * 64})
    partitions = [cut(microdata, [KAnonymity(k=2)], RELAXED, seed=seed) for seed in range(20)]
    with_first = [np.flatnonzero(partition.group == partition.group[0]) for partition in partitions]
    assert all(len(pair) == 2 for pair in with_first)
    assert len({int(pair[1]) for pair in with_first}) > 8
    assert cut(microdata, [KAnonymity(k=2)], STRICT).facts["groups"] == 1


@given(tables(most=60), st.integers(1, 4))
def test_a_promise_about_some_attributes_holds_for_what_they_show(plots_drawn, k):
    microdata, _ = plots_drawn
    name = microdata.columns[0].name
    k = min(k, microdata.rows)
    group = cut(microdata, [KAnonymity(k=k, quasi_identifiers=(name,))], RELAXED).group
    codes, _ = microdata[name].category()
    ends = [(codes[group == group_].min(), codes[group == group_].max()) for group_ in group]
    assert min(ends.count(end) for end in ends) >= k


# Parts that are left by chance.


class OneTry(Oracle):
    """The same where one cut alone is tried: the widest that leaves so many rows on each side."""

    def __init__(self, microdata, promises, least):
        super().__init__(microdata, promises)
        self.least = least

    def final(self, rows):
        for name in sorted(self.qi, key=lambda name: -self.width(name, rows)):
            for children in self.cuts(name, rows):
                if len(children) > 1 and min(map(len, children)) >= self.least:
                    if all(map(self.keeps_promises, children)):
                        return {part for child in children for part in self.final(child)}
                    return {frozenset(rows)}
        return {frozenset(rows)}


def test_where_chance_never_leaves_one_cut_alone_is_tried():
    seen = Counter()
    hardly = MondrianParameters(method="mondrian", leave=Decimal("1e-9"))

    @given(tables(), st.lists(COUNTED, min_size=1, max_size=2))
    def law(table_and_strata, promises):
        microdata, strata = table_and_strata
        promises = name_attributes(promises, microdata)
        oracle = OneTry(microdata, promises, usual_rows(promises))
        begin = [set(rows.tolist()) for rows in by_stratum(microdata, strata)]
        if all(map(oracle.keeps_promises, begin)):
            expected = {part for rows in begin for part in oracle.final(rows)}
            seen["cut"] += len(expected) > len(begin)
            assert parts(cut(microdata, promises, hardly, strata).group) == expected

    law()
    assert seen["cut"] > settings().max_examples // 20, seen


@pytest.mark.parametrize("rows", [2, 8, 9, 40, 100_001])
def test_parts_are_left_as_often_as_is_said(rows):
    many, share, least = 200_000, Decimal("0.3"), 2
    chance = draw_leaving(share, least, many, seeded_keys(rows))
    is_left = chance.leaves(np.arange(many), np.full(many, rows))
    expected = float(chance_of_leaving(share, least, rows))
    assert expected == pytest.approx(0.3 * min(1, 8 / rows))
    assert is_left.mean() == pytest.approx(expected, abs=5 * np.sqrt(expected / many))
    smaller = chance.leaves(np.arange(many), np.full(many, rows // 2))
    together = expected * float(chance_of_leaving(share, least, rows // 2))
    both = (is_left & smaller).mean()
    assert both == pytest.approx(together, abs=5 * np.sqrt(together / many) + 1e-9)


def test_chance_draws_anew():
    microdata = table({"age": list(range(64))})
    partitions = {
        frozenset(parts(cut(microdata, [KAnonymity(k=2)], LEFT, seed=n).group)) for n in (1, 2)
    }
    assert len(partitions) == 2


# The compiled path, which large tables take.


@contextmanager
def worth_compiling(rows):
    usual, mondrian._WORTH_COMPILING = mondrian._WORTH_COMPILING, rows
    try:
        yield
    finally:
        mondrian._WORTH_COMPILING = usual


def both_ways(microdata, promises, parameters, strata, seed):
    partitions = []
    for rows in (0, 10**9):
        with worth_compiling(rows):
            try:
                partitions.append(cut(microdata, promises, parameters, strata, seed))
            except PromiseError as error:
                partitions.append(str(error))
    return partitions


def test_the_compiled_partition_is_the_same():
    seen = Counter()

    @given(
        tables(most=80),
        st.lists(COUNTED, min_size=1, max_size=3),
        st.integers(0, 99),
    )
    def law(table_and_strata, promises, seed):
        microdata, strata = table_and_strata
        promises = name_attributes(promises, microdata)
        for parameters in (STRICT, RELAXED, LEFT, LEFT_RELAXED):
            compiled, plain = both_ways(microdata, promises, parameters, strata, seed)
            if isinstance(plain, str):
                seen["refused"] += 1
                assert compiled == plain
                continue
            seen[parameters.mode + " left" * bool(parameters.leave)] += len(parts(plain.group)) > 4
            assert parts(compiled.group) == parts(plain.group)
            assert compiled.facts == plain.facts

    law()
    enough = settings().max_examples // 20
    assert min(seen["strict"], seen["relaxed"], seen["strict left"]) > enough, seen


@pytest.mark.parametrize("parameters", [STRICT, RELAXED, LEFT, LEFT_RELAXED], ids=str)
def test_the_compiled_partition_of_a_larger_table_is_the_same(parameters):
    rng = np.random.default_rng(9)
    rows = 6000
    qi = {
        "integer": rng.geometric(0.1, rows),
        "wide": rng.integers(0, 10**9, rows),
        "tree": rng.choice(sorted(TREE[0]), rows),
        "text": rng.choice(list("abcd"), rows, p=[0.7, 0.1, 0.1, 0.1]),
    }
    microdata = table(qi, {"s": rng.geometric(0.3, rows)}, {"half": rng.integers(0, 3, rows)})
    microdata = with_hierarchy(microdata, "tree", TREE)
    for promises in (
        [KAnonymity(k=4)],
        [KAnonymity(k=3), DistinctLDiversity(l=3, sensitive="s")],
        [AlphaK(k=2, alpha=Decimal("0.5"), sensitive="s")],
        [RecursiveLDiversity(l=2, c=Decimal("1.5"), sensitive="s")],
        [KEAnonymity(k=2, e=2, sensitive="s")],
        [KAnonymity(k=2), TCloseness(t=Decimal("0.5"), distance="equal", sensitive="s")],
        [KAnonymity(k=2), TCloseness(t=Decimal("0.1"), distance="ordered", sensitive="s")],
        [KAnonymity(k=2), EntropyLDiversity(l=Decimal("2.5"), sensitive="s")],
    ):
        promises = name_attributes(promises, microdata)
        compiled, plain = both_ways(microdata, promises, parameters, ["half"], 4)
        assert compiled.facts["groups"] > (100 if parameters.leave else 400)
        assert parts(compiled.group) == parts(plain.group)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(TREE[0])), st.booleans()), min_size=2, max_size=40)
)
def test_moves_by_levels_are_those_of_the_hierarchical_distance(rows):
    part = np.array([within for _, within in rows])
    if part.all() or not part.any():
        return
    microdata = with_hierarchy(
        table({"a": [0] * len(rows)}, {"s": [v for v, _ in rows]}), "s", TREE
    )
    coded = microdata["s"].counted_codes()
    groups = count(part.astype(np.int64), 2, {"s": coded})
    expected = hierarchical_distance(groups.sensitive["s"], groups.sizes)
    spread = spread_rule([TCloseness(t=1, distance="hierarchical", sensitive="s")], coded)
    tally = np.bincount(coded.codes[part], minlength=coded.values)
    moves = np.flatnonzero(tally)
    for _ in range(2):  # the room is as it was
        assert (
            mondrian_spread._by_levels(moves, part.sum(), spread, tally) == expected.numerators[1]
        )


@pytest.mark.parametrize("parameters", [STRICT, LEFT_RELAXED], ids=str)
def test_distances_along_a_hierarchy_are_kept_compiled(parameters, monkeypatch):
    rng = np.random.default_rng(7)
    rows = 5000
    qi = {"integer": rng.geometric(0.1, rows), "wide": rng.integers(0, 10**9, rows)}
    microdata = table(qi, {"s": rng.choice(sorted(TREE[0]), rows)})
    microdata = with_hierarchy(microdata, "s", TREE)
    close = TCloseness(t=Decimal("0.3"), distance="hierarchical", sensitive="s")
    promises = name_attributes([KAnonymity(k=2), close], microdata)
    compiled, plain = both_ways(microdata, promises, parameters, [], 4)
    assert parts(compiled.group) == parts(plain.group)
    assert len(parts(plain.group)) > 80
    monkeypatch.setattr(mondrian_compiled, "cut_by_part", lambda *_: np.zeros(rows, np.int64))
    with worth_compiling(0):
        assert len(parts(cut(microdata, promises).group)) == 1  # there is no other way


BESIDE_ALL = (
    DeltaDisclosure(delta=Decimal("1.5"), sensitive="s"),
    BetaLikeness(beta=Decimal("1.5"), variant="basic", sensitive="s"),
    BetaLikeness(beta=Decimal(2), sensitive="s"),
)


@pytest.mark.parametrize("promise", BESIDE_ALL, ids=lambda promise: str(promise.parameters()))
def test_shares_of_a_larger_table_are_kept_compiled(promise, monkeypatch):
    rng = np.random.default_rng(7)
    rows = 5000
    qi = {"integer": rng.geometric(0.1, rows), "wide": rng.integers(0, 10**9, rows)}
    microdata = table(qi, {"s": rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])})
    promises = name_attributes([KAnonymity(k=2), promise], microdata)
    compiled, plain = both_ways(microdata, promises, STRICT, [], 4)
    assert parts(compiled.group) == parts(plain.group)
    assert len(parts(plain.group)) > 80
    monkeypatch.setattr(mondrian_compiled, "cut_by_part", lambda *_: np.zeros(rows, np.int64))
    with worth_compiling(0):
        assert len(parts(cut(microdata, promises).group)) == 1  # there is no other way


@pytest.mark.parametrize("promise", BESIDE_ALL, ids=lambda promise: str(promise.parameters()))
@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 30))
def test_shares_are_decided_in_whole_numbers_as_the_promise_decides(promise, few, some, many):
    s = encode("s", "sensitive", pa.array([0] * few + [1] * some + [2] * many))
    rule, rows = share_rule([promise], s.counted_codes()), few + some + many
    common = [Fraction(number, rows) for number in (few, some, many) if number]
    for value, of_all in enumerate(common):
        for size in range(1, rows + 1):
            for times in range(size + 1):
                tally = np.zeros(len(common), dtype=np.int32)
                tally[value] = times
                allowed = promise.allows(Fraction(times, size), of_all)
                alone = rule._replace(values=0)
                assert is_shared(np.array([value]), size, alone, tally) == allowed
    assert rule.values == (len(common) if isinstance(promise, DeltaDisclosure) else 0)


def test_too_many_different_numbers_of_rows_are_not_looked_for(monkeypatch):
    monkeypatch.setattr(mondrian_shares, "_MOST", 1)
    s = encode("s", "sensitive", pa.array([0, 1, 1]))
    assert share_rule(BESIDE_ALL[:1], s.counted_codes()) is None


@given(st.fractions(0, 1, max_denominator=60), st.booleans(), st.integers(1, 40))
def test_the_nearest_fraction_is_the_largest_within_a_bound(bound, itself, most):
    def is_within_bound(share):
        return share == 0 or (share <= bound if itself else share < bound)

    all_ = {
        Fraction(n, denominator)
        for denominator in range(1, most + 1)
        for n in range(denominator + 1)
    }
    assert nearest(is_within_bound, most) == max(filter(is_within_bound, all_))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=40))
def test_moves_by_ranks_are_those_of_the_ordered_distance(rows):
    values, codes = np.unique([value for value, _ in rows], return_inverse=True)
    part = np.array([within for _, within in rows])
    if part.all() or not part.any():
        return
    s = encode("s", "sensitive", pa.array(values[codes]))
    groups = count(part.astype(np.int64), 2, {"s": s.counted_codes()})
    expected = ordered_distance(groups.sensitive["s"], groups.sizes)
    spread = spread_rule([TCloseness(t=1, distance="ordered", sensitive="s")], s.counted_codes())
    tally = np.bincount(codes[part], minlength=len(values))
    moved = mondrian_spread._by_ranks(np.flatnonzero(tally)[::-1].copy(), part.sum(), spread, tally)
    assert moved * (len(values) > 1) == expected.numerators[1]


def test_what_compiled_code_finds_is_judged(monkeypatch):
    monkeypatch.setattr(mondrian_compiled, "cut_by_part", lambda *_: np.array([0, 0, 0, 1]))
    with worth_compiling(0), pytest.raises(Fault):
        cut(table({"age": [1, 2, 3, 4]}), [KAnonymity(k=2)])
