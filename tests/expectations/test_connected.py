"""Connected components by NumPy alone, against SciPy's and against walks along the edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csgraph

from sfumato.expectations.groups.connected import connected_components, connected_sides


def by_scipy(tails, heads, nodes):
    edges = coo_array((np.ones(len(tails), dtype=bool), (tails, heads)), shape=(nodes, nodes))
    return csgraph.connected_components(edges, directed=False)[1]


def by_walking(tails, heads, nodes):
    """Number the components as one walks from each node along all edges."""
    neighbours = [set() for _ in range(nodes)]
    for a, b in zip(tails, heads, strict=True):
        neighbours[a].add(b)
        neighbours[b].add(a)
    number, components = [-1] * nodes, 0
    for start in range(nodes):
        if number[start] >= 0:
            continue
        ahead = [start]
        while ahead:
            node = ahead.pop()
            if number[node] < 0:
                number[node] = components
                ahead.extend(neighbours[node])
        components += 1
    return number


@given(st.data())
def test_components_are_what_one_can_walk_to(data):
    nodes = data.draw(st.integers(1, 40))
    ends = st.lists(st.integers(0, nodes - 1), min_size=2, max_size=2)
    edges = np.array(data.draw(st.lists(ends, max_size=60)), dtype=np.int64).reshape(-1, 2)
    tails, heads = edges.T
    component = connected_components(tails, heads, nodes)
    assert component.tolist() == by_walking(tails, heads, nodes)
    assert component.tolist() == by_scipy(tails, heads, nodes).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_long_paths_and_stars_whose_nodes_are_numbered_at_random(seed):
    rng = np.random.default_rng(seed)
    nodes = 20_000
    name = rng.permutation(nodes)
    path = name[np.arange(9_999)], name[np.arange(1, 10_000)]
    star = name[np.full(9_000, 10_000)], name[np.arange(10_001, 19_001)]
    tails, heads = (np.concatenate(ends) for ends in zip(path, star, strict=True))
    component = connected_components(tails, heads, nodes)
    assert component.tolist() == by_scipy(tails, heads, nodes).tolist()


def test_a_path_named_to_take_the_most_rounds_ends_after_few(monkeypatch):
    """Labels that rise and fall: without the lowest root of all neighbours rounds would add up."""
    rounds = 0
    shorten = connected_components.__globals__["_shorten"]

    def shorten_and_count(root):
        nonlocal rounds
        rounds += 1
        shorten(root)

    monkeypatch.setitem(connected_components.__globals__, "_shorten", shorten_and_count)
    nodes = 1 << 14
    by_bits_reversed = np.array([int(f"{i:014b}"[::-1], 2) for i in range(nodes)])
    component = connected_components(by_bits_reversed[:-1], by_bits_reversed[1:], nodes)
    assert not component.any()
    assert rounds <= 2 * 14 + 1


def test_nodes_without_edges_are_components_of_their_own():
    nothing = np.empty(0, dtype=np.int64)
    assert connected_components(nothing, nothing, 3).tolist() == [0, 1, 2]
    assert connected_components(nothing, nothing, 0).tolist() == []
    firsts, seconds = connected_sides(nothing, nothing, 1, 2)
    assert (firsts.tolist(), seconds.tolist()) == ([0], [1, 2])
