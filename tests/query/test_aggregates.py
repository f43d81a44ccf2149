"""Laws of every aggregate: what it answers in any world is within its bounds."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from statistics import median

import numpy as np
import pytest
from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.spread import Choices, root_above, root_below, variance
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import HELP_TABLES
from sfumato.tasks.query.question.aggregates.kind import AggregateKind, HelpBounds
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.query.sql.rewrite import rewrite
from sfumato.tasks.report.snippets.registry import SNIPPETS
from sfumato.tasks.sql.dialects.registry import DIALECTS
from tests.query.test_matched import declare, in_form, random_rows, worlds
from tests.query.test_recoded import PETS, TIGHT, random_table
from tests.query.test_subdomains import SMALL, outcomes, small
from tests.query.worlds import aggregate


def _squared_deviation(values):
    """The sample variance, None of fewer than two values."""
    if len(values) < 2:
        return None
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _of(function):
    return lambda values: aggregate(function, values)


ORACLES = {name: _of(name) for name in ("count", "sum", "avg", "min", "max")}
ORACLES["stddev"] = _squared_deviation
"""What an aggregate is of some values; of STDDEV its square, which is rational."""


def within(name, bounds, truths):
    """Hold bounds against the answers of all worlds; the ends of those that are not null."""
    known = [truth for truth in truths if truth is not None]
    assert bounds.may_be_empty or None not in truths or bounds.lower is None
    if not known:
        return None
    squared = name == "stddev"
    low, high = (end**2 if squared else end for end in (bounds.lower, bounds.upper))
    assert low <= min(known), (name, bounds, min(known))
    assert max(known) <= high, (name, bounds, max(known))
    return min(known), low


def test_every_aggregate_has_an_oracle():
    assert set(AGGREGATES) <= set(ORACLES)


CONDITIONS = [
    ("TRUE", lambda r: True),
    ("age < 2", lambda r: r["age"] < 2),
    ("loss > 0", lambda r: r["loss"] > 0),
    ("loss <> 0 AND age < 2", lambda r: r["loss"] != 0 and r["age"] < 2),
    ("gain > 0", lambda r: r["gain"] > 0),
]


@pytest.mark.parametrize("where", CONDITIONS, ids=lambda where: where[0])
@pytest.mark.parametrize("form", ["permuted", "split"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_the_truth_of_every_world_is_within_the_bounds(name, form, where):
    condition, holds = where
    declared, generator = declare(form), np.random.default_rng(5)
    for _ in range(6):
        table = random_rows(generator, generator.integers(1, 4, 2))
        query = f"SELECT {name}(loss) AS x FROM microdata WHERE {condition}"
        (row,) = answer_on(in_form(table, declared), declared, query).rows
        chosen = [
            [row["loss"] for row in world if holds(row)] for world in worlds(table, together=False)
        ]
        within(name, row["x"], [ORACLES[name](values) for values in chosen])


@pytest.mark.parametrize("seed", range(40))
def test_the_variance_of_any_choice_is_within_its_bounds(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 4, int(generator.integers(1, 3)))
    group = np.repeat(np.arange(len(sizes)), sizes)
    low = generator.integers(-4, 6, len(group))
    high = low + generator.integers(0, 3, len(group)) * int(seed % 2)
    most = generator.integers(0, sizes + 1)
    least = generator.integers(0, most + 1) if seed % 4 > 1 else most
    found = variance(Choices(group, low, high, least, most, 0))
    seen = [_squared_deviation(v) for v in _choices(group, low, high, least, most)]
    known = [spread for spread in seen if spread is not None]
    if found is None:
        assert not known
        return
    assert found[0] <= min(known)
    assert max(known) <= found[1]
    if seed % 2 == 0 and seed % 4 < 2:
        assert found[0] == min(known)  # known numbers, and how many count: attained
    assert found[1] <= 9 * max(max(known), 1)


def _choices(group, low, high, least, most):
    parts = []
    for number in range(len(least)):
        members = np.flatnonzero(group == number)
        parts.append(
            [
                values
                for size in range(least[number], most[number] + 1)
                for chosen in itertools.combinations(members, size)
                for values in itertools.product(*(range(low[i], high[i] + 1) for i in chosen))
            ]
        )
    for chosen in itertools.product(*parts):
        yield [int(value) for values in chosen for value in values]


def test_all_rows_have_one_standard_deviation():
    declared = declare("permuted")
    table = random_rows(np.random.default_rng(1), [3, 4])
    (row,) = answer_on(
        in_form(table, declared), declared, "SELECT STDDEV(loss) AS x FROM microdata"
    ).rows
    losses = table["loss"].to_pylist()
    assert root_below(_squared_deviation(losses)) == row["x"].lower
    assert root_above(_squared_deviation(losses)) == row["x"].upper
    assert float(row["x"].lower) == pytest.approx(float(np.std(losses, ddof=1)))


def test_roots_are_rounded_outward():
    for number in (Fraction(2), Fraction(1, 3), Fraction(10**40 + 1), Fraction(3, 10**40)):
        assert root_below(number) ** 2 < number < root_above(number) ** 2
        assert float(root_below(number)) == pytest.approx(sqrt(number))
    assert root_below(Fraction(9, 4)) == root_above(Fraction(9, 4)) == Fraction(3, 2)


@pytest.mark.parametrize(
    "declared", [declare("permuted"), declare("split"), SMALL], ids=lambda d: d.form.method
)
@pytest.mark.parametrize("where", ["", " WHERE loss > 0"])
def test_the_standard_deviation_is_not_rewritten(declared, where):
    with pytest.raises(QueryError, match=r"STDDEV .*not written in SQL"):
        rewrite(f"SELECT STDDEV(loss) FROM microdata{where}", declared)


@pytest.mark.parametrize("where", ["", " WHERE loss > 0", " WHERE age < 2 AND loss <> 1"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_the_truth_is_within_the_bounds_where_subdomains_stand_for_values(name, where):
    checked = 0
    for seed in range(25):
        tables, _, copies = small(seed)
        rows = tables["qit"].to_pylist()
        chosen = [row for row in rows if "age" not in where or row["age"] < 2]
        hits = Counter(row["group_id"] for row in chosen)
        wanted = {"": lambda _: True, " WHERE loss > 0": lambda v: v > 0}.get(
            where, lambda v: v != 1
        )
        query = f"SELECT {name}(loss) AS x FROM microdata{where}"
        (row,) = answer_on(tables, SMALL, query).rows
        truths = [ORACLES[name](values) for values in outcomes(copies, hits, wanted)]
        checked += within(name, row["x"], truths) is not None
    assert checked > 5


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_truth_is_within_the_bounds_where_labels_stand_for_values(name):
    generator, checked = np.random.default_rng(3), 0
    for where, holds in TIGHT:
        table, hidden = random_table(generator, 5)
        query = f"SELECT {name}(loss) AS x FROM microdata WHERE {where}"
        (row,) = answer_on({"microdata": table}, PETS, query).rows
        statuses = [sorted({bool(holds(row)) for row in rows}) for rows in hidden]
        losses = [rows[0][4] for rows in hidden]
        chosen = [
            [loss for loss, meant in zip(losses, world, strict=True) if meant]
            for world in itertools.product(*statuses)
        ]
        checked += within(name, row["x"], [ORACLES[name](values) for values in chosen]) is not None
    assert checked > 5


def test_every_way_of_showing_is_in_every_registry():
    shown = {kind.shows for kind in FORM_PARAMETERS.values()}
    for registry in (WAYS, ENGINES, HELP_TABLES, SQL_WAYS, SNIPPETS):
        assert set(registry) == shown


def _middle(values):
    return median(values) if values else None


def test_a_new_aggregate_is_one_entry_of_the_registry(monkeypatch):
    low, high = AGGREGATES["min"], AGGREGATES["max"]
    toy = AggregateKind(
        name="median",
        parsed=(exp.Median,),
        takes=low.takes,
        returns=low.returns,
        of_cells=lambda cells: [
            Bounds(a.lower, b.upper) for a, b in zip(cells.least(), cells.greatest(), strict=True)
        ],
        of_values=lambda counted: Bounds(
            low.of_values(counted).lower, high.of_values(counted).upper
        ),
        help=HelpBounds(low.help.lower, high.help.upper),
        over_counts=(low.over_counts[0], high.over_counts[1]),
        over_ranges=(low.over_ranges[0], high.over_ranges[1]),
    )
    monkeypatch.setitem(AGGREGATES, "median", toy)
    monkeypatch.setitem(ORACLES, "median", _middle)
    for condition, holds in CONDITIONS:
        for form in ("permuted", "split"):
            test_the_truth_of_every_world_is_within_the_bounds("median", form, (condition, holds))
        query = f"SELECT MEDIAN(loss) FROM microdata WHERE {condition}"
        for dialect in DIALECTS:
            assert "median(loss)_upper" in rewrite(query, declare("split")).sql(dialect)
    for where in ("", " WHERE loss > 0"):
        test_the_truth_is_within_the_bounds_where_subdomains_stand_for_values("median", where)
    test_the_truth_is_within_the_bounds_where_labels_stand_for_values("median")


def test_a_new_dialect_is_one_entry_of_the_registry(monkeypatch):
    toy = replace(DIALECTS["postgres"], name="toy", title="Toy", sqlglot="redshift")
    monkeypatch.setitem(DIALECTS, "toy", toy)
    query = "SELECT AVG(loss) FROM microdata WHERE loss > 0 AND sex LIKE 'f%'"
    written = rewrite(query, declare("split"))
    assert 'l0 AS "avg(loss)_lower"' in written.sql("toy")
    with pytest.raises(QueryError, match="cannot be written for Toy"):
        rewrite("SELECT COUNT(*) FROM microdata WHERE age % 1e0 = 0", declare("split")).sql("toy")
