"""Floors of costs in a lattice, against costs by their definitions, whatever is suppressed."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.tasks.partitions.full_domain.metrics import METRICS
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.full_domain.problem import LatticeProblem
from sfumato.tasks.partitions.full_domain.search import discernibility_floor, floors, too_dear
from tests.laws.test_lattice import ROWS, cost, microdata, nodes, search

ADDING_UP = ["height", "precision", "entropy", "ncp"]


def floors_of(rows, metric):
    parameters = FullDomainParameters(method="full-domain", metric=metric)
    problem = LatticeProblem(microdata(rows), [], [KAnonymity(k=1)], parameters)
    return floors(problem.original, metric)


@pytest.mark.parametrize("metric", ADDING_UP)
def test_no_suppression_costs_less_than_the_floor_which_none_reaches(metric):
    @given(ROWS, st.data())
    def law(rows, data):
        floors = floors_of(rows, metric)
        gone = data.draw(st.sets(st.sampled_from(range(len(rows)))))
        for node in nodes():
            floor = floors[tuple(node.values())]
            without = cost(metric, rows, node, set(), (), [KAnonymity(k=1)])
            assert floor == pytest.approx(float(without), abs=1e-9)
            assert not too_dear(floor, without)
            assert not too_dear(floor, cost(metric, rows, node, gone, (), [KAnonymity(k=1)]))

    law()


def is_above(node, lower):
    return all(node[name] >= level for name, level in lower.items())


@given(ROWS, st.data(), st.sampled_from([(), ("town",)]))
def test_discernibility_is_at_least_the_floor_of_a_node_there_and_above_it(rows, data, strata):
    parameters = FullDomainParameters(method="full-domain", metric="discernibility")
    problem = LatticeProblem(microdata(rows), strata, [KAnonymity(k=1)], parameters)
    lower = data.draw(st.sampled_from(list(nodes())))
    gone = data.draw(st.sets(st.sampled_from(range(len(rows)))))
    at_node = problem.rows.generalize_to(problem.levels, tuple(lower.values())).collapse()
    floor = discernibility_floor(problem, at_node)
    for node in nodes():
        if is_above(node, lower):
            assert floor <= cost("discernibility", rows, node, gone, strata, [KAnonymity(k=1)])


def test_part_of_a_large_group_may_cost_less_than_the_whole():
    rows = [{"a": "w", "b": 1, "c": 0, "town": "P", "s": 0, "t": "m"}] * 4
    parameters = FullDomainParameters(method="full-domain", metric="discernibility")
    problem = LatticeProblem(microdata(rows), [], [KAnonymity(k=1)], parameters)
    [lowest, *_] = nodes()
    costs = [
        cost("discernibility", rows, lowest, set(range(gone)), (), [KAnonymity(k=1)])
        for gone in range(5)
    ]
    assert costs == [16, 13, 12, 13, 16]
    assert discernibility_floor(problem, problem.rows) == 12


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric not in ADDING_UP])
def test_where_groups_decide_there_is_no_floor(metric):
    rows = [{"a": "w", "b": 1, "c": 0, "town": "P", "s": 0, "t": "m"}]
    assert floors_of(rows, metric) is None


def test_nodes_that_cost_more_than_another_are_not_judged():
    rows = [
        {"a": a, "b": b, "c": 0, "town": "P", "s": 0, "t": "m"} for a in "wxyz" for b in (1, 1, 5)
    ]
    judged = {
        metric: search(rows, [KAnonymity(k=2)], metric=metric, suppression=Decimal("0.4")).facts[
            "nodes_judged"
        ]
        for metric in ("height", "average-class-size")
    }
    assert judged["height"] < judged["average-class-size"]
