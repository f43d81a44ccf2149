"""Columns of dictionary codes: rows taken from them, with the hierarchy that they have."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.forms import generalized
from sfumato.tasks.forms.form_parameters import GeneralizedParameters
from sfumato.tasks.microdata.hierarchies import with_ancestors
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.hierarchy import Hierarchy

KINDS = Hierarchy(
    "kind",
    (
        ("cat", "pet", "animal", "*"),
        ("dog", "pet", "animal", "*"),
        ("elm", "tree", "plant", "*"),
        ("oak", "tree", "plant", "*"),
        ("wolf", "wild", "animal", "*"),
    ),
)
LEAVES = [row[0] for row in KINDS.rows]


def column(values):
    array = pa.array(values, pa.string())
    return with_ancestors(encode("kind", "quasi-identifier", array), KINDS)


def texts(column):
    """The label above each row at each level."""
    categories, _ = column.category()
    null = int(column.has_null)
    return [
        [None if c < null else labels[nodes[c - null]].as_py() for c in categories]
        for labels, nodes in zip(column.labels, column.ancestors, strict=True)
    ]


@given(
    st.lists(st.sampled_from([*LEAVES, None]), min_size=1, max_size=12),
    st.data(),
)
def test_rows_that_are_taken_keep_their_labels(values, data):
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1))
    taken = column(values).take(np.array(rows))
    assert texts(taken) == [[level[row] for row in rows] for level in texts(column(values))]
    assert all(len(nodes) == len(set(nodes.to_pylist())) for nodes in taken.labels)
    assert [int(nodes.max(initial=-1)) + 1 for nodes in taken.ancestors] == [
        len(nodes) for nodes in taken.labels
    ]


@pytest.mark.parametrize("null", [[], [None]])
def test_taken_rows_can_be_generalized(null):
    whole = column([*LEAVES, *null, "cat"])
    taken = Microdata((whole,), len(whole.codes)).take(np.array([0, len(whole.codes) - 1, 1]))
    partition = Partition(group=np.zeros(3, dtype=np.int64))
    tables = generalized.publish(
        taken, partition, GeneralizedParameters(method="generalized"), seeded_keys(0)
    )
    assert tables["microdata"]["kind"].to_pylist() == ["pet"] * 3
