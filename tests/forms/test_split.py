"""Two tables joined by group: what each group shows is right, and the order tells nothing."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.rules.structure import TotalCount
from sfumato.tasks.forms import split
from sfumato.tasks.forms.form_parameters import SplitParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import DeclaredColumn

APART = SplitParameters(method="split")
TOGETHER = SplitParameters(method="split", sensitive="together")
PATIENTS = [
    ("23", "M", "pneumonia", 0),
    ("27", "M", "dyspepsia", 0),
    ("35", "M", "dyspepsia", 0),
    ("59", "M", "pneumonia", 0),
    ("61", "F", "flu", 1),
    ("65", "F", "gastritis", 1),
    ("65", "F", "flu", 1),
    ("70", "F", "bronchitis", 1),
]


def schema(*sensitive):
    quasi = DeclaredColumn(role="quasi-identifier", type="string")
    hidden = DeclaredColumn(role="sensitive", type="string")
    return {"age": quasi, "sex": quasi} | dict.fromkeys(sensitive, hidden)


def microdata(rows, names):
    columns = zip(*rows, strict=True)
    roles = ["quasi-identifier"] * 2 + ["sensitive"] * (len(names) - 2)
    return Microdata(
        tuple(
            encode(name, role, pa.array(values, pa.string()))
            for name, role, values in zip(names, roles, columns, strict=True)
        ),
        len(rows),
    )


def publish_rows(rows, names=("age", "sex", "disease"), parameters=APART):
    *_, group = zip(*rows, strict=True)
    table = microdata([row[:-1] for row in rows], names)
    partition = Partition(np.array(group, dtype=np.int64))
    return split.publish(table, partition, parameters, seeded_keys(1))


def test_the_patients_of_the_paper():
    tables = publish_rows(PATIENTS)
    assert tables["qit"].to_pylist() == [
        {"age": age, "sex": sex, "group_id": group} for age, sex, _, group in PATIENTS
    ]
    assert tables["st"].to_pylist() == [
        {"group_id": 0, "disease": "dyspepsia", "count": 2},
        {"group_id": 0, "disease": "pneumonia", "count": 2},
        {"group_id": 1, "disease": "bronchitis", "count": 1},
        {"group_id": 1, "disease": "flu", "count": 2},
        {"group_id": 1, "disease": "gastritis", "count": 1},
    ]
    groups = split.groups(tables, schema("disease"), ["age", "sex"], ["disease"])
    assert groups.sizes.tolist() == [4, 4]
    assert groups.counts_of("disease").count.tolist() == [2, 2, 1, 2, 1]


def test_several_attributes_apart_and_together():
    names = ("age", "sex", "disease", "charge")
    rows = [("1", "M", "a", "x", 0), ("2", "M", "b", "y", 0), ("3", "M", "a", "x", 0)]
    apart, together = (publish_rows(rows, names, parameters) for parameters in (APART, TOGETHER))
    assert set(apart) == {"qit", "st_disease", "st_charge"}
    assert together["st"].to_pylist() == [
        {"group_id": 0, "disease": "a", "charge": "x", "count": 2},
        {"group_id": 0, "disease": "b", "charge": "y", "count": 1},
    ]
    declared = schema("disease", "charge")
    seen = split.groups(together, declared, ["age", "sex", "charge"], ["disease"])
    assert seen.sizes.tolist() == [2, 1]
    assert seen.counts_of("disease").distinct.tolist() == [1, 1]
    assert split.groups(apart, declared, ["age"], ["charge"]).sizes.tolist() == [3]
    for tables, parameters in ((apart, APART), (together, TOGETHER)):
        for name, arrow in split.schemas(declared, parameters).items():
            assert tables[name].cast(arrow).num_rows == tables[name].num_rows


ROWS = st.lists(st.tuples(*[st.sampled_from("ab")] * 3, st.integers(0, 3)), min_size=1, max_size=20)


@given(ROWS, st.randoms(use_true_random=False))
def test_blind_to_the_order_of_rows_and_names_of_groups(rows, rng):
    first = publish_rows(rows)
    names = list(range(10, 14))
    rng.shuffle(names)
    renamed = [(*row[:-1], names[row[-1]]) for row in rows]
    rng.shuffle(renamed)
    again = publish_rows(renamed)
    assert {name: table.to_pylist() for name, table in first.items()} == {
        name: table.to_pylist() for name, table in again.items()
    }
    for name, rules in split.rules(schema("disease"), APART, len(rows), []).items():
        assert all(rule.holds(first[name]) for rule in rules)


@given(ROWS)
def test_every_group_shows_its_own_rows(rows):
    tables = publish_rows(rows)
    values_by_group = {}
    for row in tables["st"].to_pylist():
        values_by_group.setdefault(row["group_id"], []).extend([row["disease"]] * row["count"])
    quasi = {}
    for row in tables["qit"].to_pylist():
        quasi.setdefault(row["group_id"], []).append((row["age"], row["sex"]))
    groups_found = sorted((sorted(quasi[group]), sorted(values_by_group[group])) for group in quasi)
    groups = {row[-1] for row in rows}
    members = [[row for row in rows if row[-1] == group] for group in groups]
    assert groups_found == sorted(
        (sorted(row[:2] for row in group_rows), sorted(row[2] for row in group_rows))
        for group_rows in members
    )


def test_counts_that_do_not_add_up():
    table = pa.table({"count": [2, 1]})
    assert TotalCount("count", 3).holds(table)
    assert not TotalCount("count", 4).holds(table)
    assert not TotalCount("count", 3).holds(pa.table({"count": [4, -1]}))
    assert not TotalCount("count", 3).holds(pa.table({"count": [3, 0]}))
    assert TotalCount("count", 0).holds(pa.table({"count": pa.array([], pa.int64())}))
