"""A release in parts promises, and shows, what its groups do in one table."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.full_domain.problem import LatticeProblem
from sfumato.tasks.partitions.full_domain.search import best_node
from sfumato.tasks.publication import parts_read
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.parts import Totals, with_rest
from sfumato.tasks.query.ask import answer, answer_on
from sfumato.tasks.schema.hierarchy_rules import Intervals
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.opened import open_release
from tests.parts.divided import SPEC, visits
from tests.parts.test_answers import as_one

COLUMNS = SPEC["columns"]
COST = {"role": "sensitive", "type": "decimal", "unprotected": "known anyway"}
WARD = {**COLUMNS, "cost": COST, "ward": {"role": "sensitive"}}
L_DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "ward"}
KINDS = {
    "ke and t by rank": {
        "promises": [
            *SPEC["promises"],
            {"model": "t-closeness", "t": 0.6, "distance": "ordered", "sensitive": "cost"},
        ],
        "parts": {"rows": 300},
    },
    "anatomy and t by value": {
        "columns": WARD,
        "promises": [
            L_DIVERSE,
            {"model": "t-closeness", "t": 0.7, "distance": "equal", "sensitive": "ward"},
        ],
        "partition": {"method": "anatomy"},
        "form": {"method": "split"},
        "parts": {"rows": 300},
    },
    "mondrian, k, l and delta": {
        "columns": WARD,
        "promises": [
            {"model": "k-anonymity", "k": 6},
            {"model": "delta-disclosure", "delta": 2, "sensitive": "ward"},
            {"model": "l-diversity", "variant": "entropy", "l": 1.5, "sensitive": "ward"},
            {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 9, "sensitive": "ward"},
            {"model": "alpha-k", "alpha": 0.9, "k": 2, "sensitive": "ward"},
        ],
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
        "parts": {"rows": 300},
    },
    "full domain": {
        "columns": {
            **WARD,
            "age": {**COLUMNS["age"], "hierarchy": {"intervals": [10, 40]}},
            "year": {**COLUMNS["year"], "hierarchy": {"intervals": [2]}},
        },
        "promises": [{"model": "k-anonymity", "k": 4}, L_DIVERSE],
        "partition": {"method": "full-domain"},
        "form": {"method": "generalized"},
        "parts": {"rows": 200},
    },
    "disjoint cover": {
        "columns": WARD,
        "promises": [
            {"model": "alpha-beta", "alpha": 0.9, "beta": 0.7, "sensitive": "ward"},
        ],
        "partition": {"method": "disjoint-cover"},
        "form": {"method": "ambiguous"},
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_observed_is_what_one_table_shows(divided_line, kind):
    rows = visits(200) if kind == "disjoint cover" else visits()
    release = divided_line.write(rows, **KINDS[kind]).publish("one").directory
    assert len(open_release(release).declared.made_of) > 1
    tables, declared = as_one(release)
    whole = SeenGroups(declared, {n: t for n, t in tables.items() if not n.startswith("help_")})
    for promise, verdict in check(release).verdicts:
        alone = next(p.check(groups) for p, groups in whole.of_promises() if p == promise)
        assert verdict.holds
        assert alone.holds
        if declared.form.shows != "labels":  # labels of two parts may look alike in one table
            assert (verdict.observed, verdict.groups) == (alone.observed, alone.groups)


def test_presence_over_parts_that_meet_is_refused(release):
    """Parts whose groups could cover the same people are not judged by themselves."""
    declared = open_release(release).declared
    joint = AlphaBeta(alpha=1, beta=1, quasi_identifiers=("age", "year", "town"))
    declared = declared.model_copy(update={"promises": (joint,)})
    first = {"age": frozenset({20, 30}), "year": frozenset({2020}), "town": frozenset({"Aa"})}
    other = {"age": frozenset({40}), "year": frozenset({2020}), "town": frozenset({"Aa", None})}
    parts_read._require_apart(declared, [first, other])
    meeting = {**other, "age": frozenset({30, 40})}
    with pytest.raises(PromiseError, match="parts 1 and 2 may admit the same quasi-identifiers"):
        parts_read._require_apart(declared, [first, meeting])


def test_counts_of_an_ambiguous_release_are_those_of_one_table(divided_line):
    release = divided_line.write(visits(200), **KINDS["disjoint cover"]).publish("one").directory
    opened, (tables, declared) = open_release(release), as_one(release)
    for query in (
        "SELECT COUNT(*) FROM microdata WHERE age > 40 AND ward = 'a'",
        "SELECT year, COUNT(*) FROM microdata WHERE town = 'Bee' GROUP BY year",
    ):
        rows = zip(answer(opened, query).rows, answer_on(tables, declared, query).rows, strict=True)
        for row, expected_row in rows:
            bounds, expected = (
                (cells["count(*)"].lower, cells["count(*)"].upper) for cells in (row, expected_row)
            )
            assert (bounds, row.get("year")) == (expected, expected_row.get("year"))


def test_one_node_is_best_for_all_parts(divided_line):
    """The level of each column is that of the whole table, its parts kept apart."""
    release = divided_line.write(visits(), **KINDS["full domain"]).publish("one").directory
    parts = open_release(release).declared.made_of
    tables = [
        pq.read_table(release / "parts" / part.name / "data" / "microdata.parquet")
        for part in parts
    ]
    assert len(parts) == 4
    for name in ("age", "town"):
        labels = {label for table in tables for label in table[name].to_pylist()}
        widths = {len(str(label).split("-")) for label in labels} if name == "age" else {1}
        assert len(widths) == 1, labels
        assert labels == {"*"} or "*" not in labels


@pytest.mark.parametrize("metric", ["height", "ncp", "discernibility", "entropy", "kl"])
def test_a_search_on_counts_finds_the_node_of_the_rows(metric):
    parameters = FullDomainParameters(method="full-domain", metric=metric)
    promises = (KAnonymity(k=7), DistinctLDiversity(l=2, sensitive="ward"))
    rows = visits().select(["age", "town", "year", "ward"])
    rules = {"age": Intervals(intervals=(5, 10, 50)), "year": Intervals(intervals=(2,))}
    counted = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    nodes_found = []
    for table, times in ((rows, None), (counted, counted["count_all"].to_numpy())):
        columns = [
            encode(n, "sensitive" if n == "ward" else "quasi-identifier", table[n])
            for n in rows.column_names
        ]
        microdata = with_hierarchies(Microdata(tuple(columns), table.num_rows), rules)
        problem = LatticeProblem(microdata, ["year"], promises, parameters, times)
        best = best_node(problem)
        nodes_found.append((best.node, best.cost, best.minimal))
    assert nodes_found[0] == nodes_found[1]


VALUES = st.lists(st.integers(0, 6), min_size=4, max_size=40)


@given(VALUES, VALUES, st.data())
def test_what_a_part_keeps_by_itself_the_whole_keeps(here, elsewhere, data):
    """`for_part` is sure of itself: whatever it lets pass is kept among all rows."""
    rank = data.draw(st.sampled_from(["equal", "ordered"]))
    bound = data.draw(st.sampled_from([0.1, 0.25, 0.5, 0.9]))
    for promise in (
        TCloseness(t=bound, distance=rank, sensitive="s"),
        DeltaDisclosure(delta=3 * bound, sensitive="s"),
    ):
        part, totals = _groups(here, np.zeros(len(here))), Totals("s")
        totals.add(part.counts_of("s"))
        totals.add(_groups(elsewhere, np.zeros(len(elsewhere))).counts_of("s"))
        columns = {"s": DeclaredColumn(role="sensitive", type="integer")}
        own = promise.for_part(with_rest(part, totals, columns))
        groups = _groups(here, data.draw(st.permutations(np.arange(len(here)) % 3)))
        if own is not None and own.check(groups).holds:
            failing = promise.failing(with_rest(groups, totals, columns))
            assert not failing[: len(groups)].any()


@given(VALUES, VALUES)
def test_the_rest_is_never_worse_than_the_worst(here, elsewhere):
    both = np.array([0] * len(here) + [1] * len(elsewhere))
    both[len(here) :] += np.arange(len(elsewhere)) % 2
    whole = _groups([*here, *elsewhere], both)
    totals = Totals("s")
    totals.add(whole.counts_of("s"))
    columns = {"s": DeclaredColumn(role="sensitive", type="integer")}
    parts = [
        with_rest(_groups(values, group), totals, columns)
        for values, group in ((here, both[: len(here)]), (elsewhere, both[len(here) :]))
    ]
    for promise in (
        TCloseness(t=0.3, distance="ordered", sensitive="s"),
        TCloseness(t=0.3, distance="equal", sensitive="s"),
    ):
        worst = max(promise.worst(part)[0]["t"] for part in parts)
        assert worst == promise.worst(whole)[0]["t"]


def _groups(values, group):
    columns = (
        encode("s", "sensitive", pa.array(list(values), pa.int64())),
        encode("g", "insensitive", pa.array(np.asarray(group, dtype=np.int64))),
    )
    return groups_of(Microdata(columns, len(values)), ["g"], ["s"])
