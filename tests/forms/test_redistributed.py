"""Subdomains in the place of values: balanced as declared, true of the values, and ordered."""

import io
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.tasks.forms import redistributed
from sfumato.tasks.forms.parameters import FormChoice
from sfumato.tasks.forms.redistributed_parameters import RedistributedParameters
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.distribution import exact_qi, stratum
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.schema.hierarchy_rules import Intervals
from sfumato.tasks.schema.published import DeclaredColumn

PEOPLE = [
    (91110, "F", 30),
    (91110, "M", 40),
    (91110, "M", 50),
    (91130, "F", 60),
    (91210, "F", 40),
    (91220, "F", 30),
    (91240, "F", 50),
    (91310, "M", 40),
    (91320, "M", 60),
    (91330, "M", 60),
    (91340, "F", 60),
]
ZIP = DeclaredColumn(role="quasi-identifier", type="integer")
SEX = DeclaredColumn(role="quasi-identifier", type="string", nulls=True)
KINDS = (("b", "x", "*"), ("c", "x", "*"), ("a", "y", "*"), ("d", "y", "*"))
ORDERS = {
    "integer": [30, 40, 50, 60],
    "decimal": [Decimal("-0.50"), Decimal("0.00"), Decimal("0.25"), Decimal("7.10")],
    "float": [-1.5, 0.1, 0.30000000000000004, 1e9],
    "date": [date(1987, 3, day) for day in (1, 2, 9, 30)],
    "string": ["", "a", "b", "é"],
    "hierarchy": ["b", "c", "a", "d"],
    "boolean": [False, True],
}


def schema(kind="integer"):
    declared = {"type": kind, "scale": 2 if kind == "decimal" else None}
    if kind == "hierarchy":
        declared = {"type": "string", "hierarchy": KINDS}
    pay = DeclaredColumn(role="sensitive", **declared)
    return {"zip": ZIP, "sex": SEX, "pay": pay}


def table(rows, kind="integer"):
    """The rows, and the first three digits of their zip codes, by which the owner parts them."""
    zips, sexes, pays = zip(*rows, strict=True)
    pay = schema(kind)["pay"]
    column = encode("pay", "sensitive", pa.array(pays, pay.arrow_type))
    if pay.hierarchy is not None:
        column = with_ancestors(column, hierarchy_of(column, pay.hierarchy))
    columns = (
        encode("zip", "quasi-identifier", pa.array(zips)),
        encode("sex", "quasi-identifier", pa.array(sexes, pa.string())),
        encode("area", "drop", pa.array([n // 100 for n in zips])),
        column,
    )
    return Microdata(columns, len(rows))


def form(**more):
    return RedistributedParameters(method="redistributed", **more)


def asks(target="uniform", **more):
    return PPrivacy(target=target, sensitive="pay", **more)


def partition_rows(rows, promise=None, partitioner=stratum, kind="integer"):
    return partitioner.partition(
        table(rows, kind), ["area"], [promise or asks()], None, seeded_keys(1)
    )


def publish_partition(rows, partition, parameters, kind="integer"):
    tables = redistributed.publish(table(rows, kind), partition, parameters, seeded_keys(1))
    arrow = redistributed.schemas(schema(kind), parameters)
    return {name: tables[name].cast(types) for name, types in arrow.items()}


def publish_rows(rows, promise=None, partitioner=stratum, kind="integer", **more):
    return publish_partition(
        rows, partition_rows(rows, promise, partitioner, kind), form(**more), kind
    )


def groups_seen(tables, kind="integer"):
    return redistributed.groups(tables, schema(kind), ["zip", "sex"], ["pay"])


def subdomains(tables):
    """The subdomains of each group, every copy."""
    bounds_of_groups = {}
    for row in tables["st"].to_pylist():
        bounds = [(row["lower"], row["upper"])] * row["count"]
        bounds_of_groups.setdefault(row["group_id"], []).extend(bounds)
    return bounds_of_groups


def test_the_owner_groups_of_the_paper():
    tables = publish_rows(PEOPLE)
    assert tables["qit"].to_pylist() == [
        {"zip": zip_, "sex": sex, "group_id": zip_ // 100 - 911} for zip_, sex, _ in PEOPLE
    ]
    assert subdomains(tables) == {
        0: [(30, 30), (40, 40), (50, 50), (60, 60)],
        1: [(30, 40), (30, 60), (50, 60)],
        2: [(30, 40), (30, 60), (30, 60), (50, 60)],
    }
    assert tables["aims"].to_pylist() == [{"group_id": n, "target": 0} for n in range(3)]
    assert [tuple(row.values()) for row in tables["targets"].to_pylist()] == [
        (0, 30, 60, 1),
        (0, 30, 40, 1),
        (0, 30, 30, 1),
        (0, 40, 40, 1),
        (0, 50, 60, 1),
        (0, 50, 50, 1),
        (0, 60, 60, 1),
    ]
    facts = redistributed.facts(tables, schema())
    assert facts == {"sum_of_ranges": 130, "share_at_the_root": "3/11", "fakes": 0}


@pytest.mark.parametrize(("fakes", "cost"), list(enumerate([80, 50, 40, 40, 20, 20, 20, 20, 0])))
def test_fakes_of_the_paper(fakes, cost):
    """40, 60, 60 and 60 beside a group that needs none; at most so many, and as few as it takes."""
    tables = publish_rows([*PEOPLE[:4], *PEOPLE[7:]], fakes=fakes)
    facts = redistributed.facts(tables, schema())
    needed = {80: 0, 50: 1, 40: 2, 20: 4, 0: 8}[cost]
    assert (facts["sum_of_ranges"], facts["fakes"]) == (cost, needed)
    assert groups_seen(tables).sizes.tolist() == [4, 4]


def test_equal_quasi_identifiers_by_themselves():
    tables = publish_rows(PEOPLE, partitioner=exact_qi)
    groups = groups_seen(tables)
    assert sorted(groups.sizes.tolist()) == [1] * 9 + [2]
    pair = subdomains(tables)[int(np.argmax(groups.sizes))]
    assert pair == [(30, 40), (50, 60)]
    assert redistributed.facts(tables, schema())["sum_of_ranges"] == 9 * 30 + 20


KIND = st.sampled_from(sorted(ORDERS))
FORMS = st.builds(
    form,
    tree=st.sampled_from(["balanced", "median"]),
    arity=st.integers(2, 4),
    denominator=st.sampled_from([None, 4, 16]),
    fakes=st.sampled_from([0, 1, 3, "0.5"]),
)
TARGETS = st.one_of(
    st.builds(asks, st.just("source"), per=st.sampled_from(["stratum", "table"])),
    st.builds(asks, st.sampled_from(["uniform", {"zipf": 1}])),
)
ROWS = st.lists(
    st.tuples(st.integers(100, 350), st.sampled_from("fm"), st.integers(0, 3)),
    min_size=1,
    max_size=14,
)
BY = st.sampled_from([stratum, exact_qi])


def of_kind(rows, kind):
    """Rows whose last field is a place in the order of a kind's values, with these values."""
    order = ORDERS[kind]
    return [(zip_, sex, order[place % len(order)]) for zip_, sex, place in rows]


@given(ROWS, KIND, TARGETS, BY, FORMS)
def test_balanced_and_true_of_the_values_and_so_many_fakes(
    rows, kind, promise, partitioner, parameters
):
    rows = of_kind(rows, kind)
    partition = partition_rows(rows, promise, partitioner, kind)
    tables = publish_partition(rows, partition, parameters, kind)
    groups = groups_seen(tables, kind)
    assert promise.check(groups).observed == {"tolerance": 0}
    assert int(groups.sizes.sum()) == len(rows)
    order = [value for value in ORDERS[kind] if value in {row[2] for row in rows}]
    values_by_label = values_of(rows, partition, tables)
    for group, runs in subdomains(tables).items():
        admitted = [set(order[order.index(low) : order.index(high) + 1]) for low, high in runs]
        fakes = len(runs) - len(values_by_label[group])
        assert 0 <= fakes <= parameters.most(len(values_by_label[group]))
        assert is_matched(values_by_label[group], admitted)


def values_of(rows, partition, tables):
    """The values of each published group, told by its quasi-identifiers and area."""
    place = {}
    for row in tables["qit"].to_pylist():
        place.setdefault((row["zip"], row["sex"]), set()).add(row["group_id"])
    values_by_label = {}
    for (zip_, sex, pay), group in zip(rows, partition.group.tolist(), strict=True):
        (shown_as,) = place[zip_, sex]
        values_by_label.setdefault(shown_as, []).append(pay)
        assert place.setdefault(("group", group), shown_as) == shown_as
    return values_by_label


def is_matched(values, admitted):
    """Tell if each value has a subdomain of its own that admits it."""
    taken = {}

    def place_value(value, tried):
        for place, run in enumerate(admitted):
            if values[value] in run and place not in tried:
                tried.add(place)
                if place not in taken or place_value(taken[place], tried):
                    taken[place] = value
                    return True
        return False

    return all(place_value(value, set()) for value in range(len(values)))


@given(ROWS, KIND, TARGETS, BY, FORMS)
def test_what_is_published_reads_back_the_same(rows, kind, promise, partitioner, parameters):
    rows = of_kind(rows, kind)
    tables = publish_rows(
        rows, promise, partitioner, kind, **parameters.model_dump(exclude={"method"})
    )
    assert redistributed.canonical(tables) == tables
    for name, rules in redistributed.rules(schema(kind), parameters, len(rows), ["no"]).items():
        assert all(rule.holds(tables[name]) for rule in rules), name
    again = {name: write_and_read(table) for name, table in tables.items()}
    first, second = groups_seen(tables, kind), groups_seen(again, kind)
    assert first.sizes.tolist() == second.sizes.tolist()
    counts, retold = first.subdomains["pay"], second.subdomains["pay"]
    for part in ("group", "node", "count", "target"):
        assert getattr(counts, part).tolist() == getattr(retold, part).tolist()
    assert redistributed.facts(tables, schema(kind))["fakes"] == counts.count.sum() - len(rows)


def write_and_read(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return pq.read_table(io.BytesIO(file.getvalue()), use_threads=False)


@given(ROWS, TARGETS, BY, FORMS, st.randoms(use_true_random=False))
def test_the_order_is_a_function_of_what_is_shown(rows, promise, partitioner, parameters, random):
    rows = of_kind(rows, "integer")
    partition = partition_rows(rows, promise, partitioner)
    first = publish_partition(rows, partition, parameters)
    aims, order = partition.target_distributions, list(range(len(rows)))
    groups, targets = list(range(len(aims.target))), list(range(len(aims.distributions)))
    for names in (order, groups, targets):
        random.shuffle(names)
    target = np.empty(len(groups), dtype=np.int64)
    target[groups] = np.array(targets)[aims.target]
    renamed = [aims.distributions[targets.index(n)] for n in range(len(targets))]
    group = np.array(groups)[partition.group][order]
    again = Partition(
        group, target_distributions=TargetDistributions("pay", target, tuple(renamed))
    )
    assert publish_partition([rows[place] for place in order], again, parameters) == first


def test_each_stratum_has_its_own_target_and_equal_ones_are_one():
    rows = [(91100, "F", 30), (91200, "F", 40), (91200, "M", 30), (91300, "M", 30)]
    tables = publish_rows(rows, asks("source"))
    assert tables["aims"]["target"].to_pylist() == [0, 1, 0]
    weights = [tuple(row.values()) for row in tables["targets"].to_pylist()]
    assert weights == [
        (0, 30, 40, 1),
        (0, 30, 30, 1),
        (0, 40, 40, 0),
        (1, 30, 40, 1),
        (1, 30, 30, 1),
        (1, 40, 40, 1),
    ]
    assert subdomains(tables) == {0: [(30, 30)], 1: [(30, 30), (40, 40)], 2: [(30, 30)]}
    for t, holds in (("0.25", True), ("0.24", False)):
        promise = TCloseness(t=Decimal(t), distance="ordered", sensitive="pay")
        verdict = promise.check(groups_seen(tables))
        assert (verdict.holds, verdict.observed) == (holds, {"t": Fraction(1, 4)})


def test_a_source_that_is_shown_exactly_is_permuted():
    rows = [(91100, "F", 10 * n) for n in (3, 4, 4, 4, 6, 6, 5)]
    tables = publish_rows(rows, asks("source"), denominator=None)
    assert sorted(subdomains(tables)[0]) == sorted((pay, pay) for *_, pay in rows)


def test_rounding_tells_how_far_declared_targets_are_from_those_asked_for():
    rows = [(91100, "F", 30)] * 30 + [(91100, "F", 40)]
    partition = partition_rows(rows, asks("source"))
    near = redistributed.rounding_distances(table(rows), partition, form())
    assert near == [Fraction(1, 16) - Fraction(1, 31)]
    assert redistributed.rounding_distances(table(rows), partition, form(denominator=None)) == [0]


def test_a_tree_is_the_hierarchy_of_the_column():
    rows = [(91100, "F", kind) for kind in "abcd"]
    tables = publish_rows(rows, kind="hierarchy", tree="hierarchy")
    assert [tuple(row.values()) for row in tables["targets"].to_pylist()] == [
        (0, "a", "d", 1),
        (0, "a", "a", 1),
        (0, "b", "d", 1),
        (0, "b", "c", 1),
        (0, "b", "b", 1),
        (0, "c", "c", 1),
        (0, "d", "d", 1),
    ]
    groups = groups_seen(tables, "hierarchy")
    assert asks().check(groups).holds
    close = TCloseness(t=Decimal(0), distance="hierarchical", sensitive="pay")
    assert close.check(groups).holds
    two = publish_rows([*rows[:2], (91200, "M", "c")], asks("source"), kind="hierarchy")
    verdict = close.check(groups_seen(two, "hierarchy"))
    assert verdict.observed == {"t": Fraction(1, 2)}


def test_hierarchies_of_numbers_are_runs():
    rows = [(91100, "F", pay) for pay in (20, 29, 30, 100, 101)]
    column = table(rows)["pay"]
    by_tens = hierarchy_of(column, Intervals(intervals=(10,)))
    with_tens = table(rows).keep(
        with_ancestors(c, by_tens) if c.name == "pay" else c for c in table(rows).columns
    )
    tables = redistributed.publish(
        with_tens, partition_rows(rows), form(tree="hierarchy"), seeded_keys(1)
    )
    nodes = {(row["lower"], row["upper"]) for row in tables["targets"].to_pylist()}
    assert nodes == {(20, 101), (20, 29), (100, 101), *((pay, pay) for *_, pay in rows)}
    parity = tuple((str(pay), "even" if pay % 2 == 0 else "odd", "*") for *_, pay in rows)
    mixed = table(rows).keep(
        with_ancestors(c, hierarchy_of(column, parity)) if c.name == "pay" else c
        for c in table(rows).columns
    )
    with pytest.raises(SpecError, match="not neighbours"):
        redistributed.publish(mixed, partition_rows(rows), form(tree="hierarchy"), seeded_keys(1))
    with pytest.raises(SpecError, match="has no hierarchy"):
        publish_rows(rows, tree="hierarchy")


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(PromiseError, match="needs a partition that gives targets"):
        publish_partition(PEOPLE, Partition(np.zeros(len(PEOPLE), dtype=np.int64)), form())
    rows = [(91100, "F", pay) for pay in range(40)]
    aims = TargetDistributions(
        "pay", np.array([0]), ((Fraction(1, 2**70),) * 39 + (1 - Fraction(39, 2**70),),)
    )
    partition = Partition(np.zeros(40, dtype=np.int64), target_distributions=aims)
    with pytest.raises(SpecError, match="use a number"):
        publish_partition(rows, partition, form(denominator=None))
    assert asks().check(groups_seen(publish_partition(rows, partition, form()))).holds
    with pytest.raises(SpecError, match="larger denominator"):
        publish_rows(rows, arity=4, denominator=3)


CONTRADICTIONS = [
    ("targets", {"lower": 30, "upper": 60, "weight": 1}, {"lower": 40}, "overlap|every value"),
    ("targets", {"lower": 30, "upper": 40}, {"upper": 50}, "overlap"),
    ("targets", {"lower": 30, "upper": 40}, {"lower": 40, "upper": 30}, "overlap"),
    ("targets", {"lower": 30, "upper": 40}, {"lower": 50, "upper": 60}, "overlap"),
    ("targets", {"lower": 40, "upper": 40}, {"lower": 30, "upper": 30}, "overlap"),
    ("targets", {"lower": 40, "upper": 40}, {"lower": 50}, "every value|overlap"),
    ("targets", {"lower": 40, "upper": 40}, {"target": 1}, "every value"),
    ("targets", {"lower": 40, "upper": 40}, {"target": -1}, "every value"),
    ("targets", {"lower": 30, "upper": 60}, {"weight": 2}, "root's is not 1"),
    ("targets", {"lower": 30, "upper": 30}, {"weight": -1}, "negative"),
    ("targets", {"lower": 30, "upper": 60}, None, "overlap, or have no parent"),
    ("targets", {"lower": 30, "upper": 30}, None, "every value"),
    ("targets", {}, None, "has no rows of"),
    ("aims", {"group_id": 1}, None, "not every group"),
    ("aims", {"group_id": 1}, {"group_id": 2}, "not every group"),
    ("aims", {"group_id": 1}, {"target": 1}, "not those of targets"),
    ("st", {"group_id": 0, "lower": 30}, {"upper": 50}, "a subdomain that its target lacks"),
    (
        "st",
        {"group_id": 0, "lower": 30},
        {"lower": 35, "upper": 35},
        "is not a value of its target",
    ),
    ("st", {"group_id": 0, "lower": 30}, {"count": 0}, "count nothing"),
    ("st", {"group_id": 0, "lower": 30}, {"count": -4}, "count nothing"),
    ("st", {"group_id": 0, "lower": 30}, {"count": 2**62}, "count nothing"),
    ("st", {"group_id": 0, "lower": 30}, {"group_id": 3}, "count nothing"),
    ("st", {"group_id": 0, "lower": 30}, {"group_id": 1}, "fewer subdomains than rows"),
    ("st", {"group_id": 0, "lower": 30}, None, "fewer subdomains than rows"),
    ("st", {}, None, "count nothing"),
    ("qit", {"zip": 91110}, {"group_id": 7}, "are not those of qit|fewer"),
]


@pytest.mark.parametrize(("name", "where", "forged", "reason"), CONTRADICTIONS)
def test_tables_that_contradict_each_other_are_refused(name, where, forged, reason):
    tables = publish_rows(PEOPLE)
    rows, changed = [], 0
    for row in tables[name].to_pylist():
        if where.items() <= row.items():
            changed += 1
            rows += [] if forged is None else [row | forged]
        else:
            rows.append(row)
    assert changed
    tables[name] = pa.Table.from_pylist(rows, tables[name].schema)
    with pytest.raises(PromiseError, match=reason):
        groups_seen(tables)


def test_nulls_and_values_without_a_leaf_are_refused():
    tables = publish_rows([(91100, "F", kind) for kind in "ab"], kind="hierarchy")
    for value in (None, "z"):
        ends = pa.array([value if text == "b" else text for text in "abab"][:3], pa.string())
        targets = tables["targets"].set_column(2, "upper", ends)
        targets = targets.set_column(1, "lower", ends)
        with pytest.raises(PromiseError, match=r"are null|is not a leaf"):
            groups_seen(tables | {"targets": targets}, "hierarchy")


@pytest.mark.parametrize("name", ["st", "aims", "targets"])
def test_what_stands_twice_breaks_a_rule(name):
    tables = publish_rows(PEOPLE)
    twice = pa.concat_tables([tables[name].slice(0, 1), tables[name]])
    rules = redistributed.rules(schema(), form(fakes=1), len(PEOPLE), [])[name]
    assert all(rule.holds(tables[name]) for rule in rules)
    assert [rule.type for rule in rules if not rule.holds(twice)] == ["expect_canonical_order"]


def test_equal_targets_under_two_numbers_break_a_rule():
    tables = publish_rows(PEOPLE)
    renamed = tables["targets"].set_column(0, "target", pa.array([1] * 7))
    again = renamed.cast(tables["targets"].schema)
    both = pa.concat_tables([tables["targets"], again])
    (order,) = [
        rule
        for rule in redistributed.rules(schema(), form(), len(PEOPLE), [])["targets"]
        if rule.type == "expect_canonical_order"
    ]
    assert order.holds(tables["targets"])
    assert not order.holds(both)
    assert redistributed.canonical(tables | {"targets": both})["targets"] == tables["targets"]
    with pytest.raises(PromiseError, match="targets lacks"):
        redistributed.canonical(tables | {"targets": again})


def test_where_none_may_be_fakes_are_counted():
    tables = publish_rows(PEOPLE, fakes=8)
    for most, holds in ((0, False), (8, True)):
        rules = redistributed.rules(schema(), form(fakes=most), len(PEOPLE), [])["st"]
        assert all(rule.holds(tables["st"]) for rule in rules) == holds


def test_fakes_are_a_number_or_a_share():
    assert [form(fakes="0.05").most(rows) for rows in (19, 20, 40)] == [0, 1, 2]
    assert form(fakes=3).most(1) == 3
    assert form().most(100) == 0
    adapter = TypeAdapter(FormChoice)
    for written in ({"denominator": None}, {"denominator": "exact"}, {"fakes": "0.5"}):
        parameters = form(**written)
        dumped = parameters.model_dump(mode="json", by_alias=True, exclude_none=True)
        assert adapter.validate_python(dumped) == parameters
    assert form(denominator=None).largest is None
    assert form().largest == 16


@pytest.mark.parametrize(
    "written",
    [
        {"fakes": "1.5"},
        {"fakes": -1},
        {"arity": 1},
        {"denominator": 0},
        {"denominator": "all"},
        {"tree": "oak"},
    ],
)
def test_parameters_that_mean_nothing_are_refused(written):
    with pytest.raises(ValidationError):
        form(**written)
