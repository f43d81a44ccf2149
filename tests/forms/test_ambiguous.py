"""One table for each quasi-identifier: what each group admits and counts, and nothing else."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.forms.form_parameters import AmbiguousParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import DeclaredColumn

FORM = AmbiguousParameters(method="ambiguous")
QUASI = ("age", "sex", "zip")
PEOPLE = [
    (45, "M", 11000, "diabetes", 0),
    (20, "M", 12000, "flu", 0),
    (50, "M", 23000, "diarrhea", 0),
    (60, "M", 12000, "stroke", 0),
    (20, "F", 54000, "leukemia", 1),
    (50, "F", 23000, "diabetes", 1),
    (60, "F", 23000, "leukemia", 1),
    (60, "F", 21000, "dyspepsia", 1),
]
SCHEMA = {
    "age": DeclaredColumn(role="quasi-identifier", type="integer"),
    "sex": DeclaredColumn(role="quasi-identifier", type="string", nulls=True),
    "zip": DeclaredColumn(role="quasi-identifier", type="integer"),
    "disease": DeclaredColumn(role="sensitive", type="string"),
}


def publish_rows(rows):
    *columns, group = zip(*rows, strict=True)
    encoded = tuple(
        encode(name, declaration.role, pa.array(values, declaration.arrow_type))
        for (name, declaration), values in zip(SCHEMA.items(), columns, strict=True)
    )
    partition = Partition(np.array(group, dtype=np.int64))
    tables = ambiguous.publish(Microdata(encoded, len(rows)), partition, FORM, seeded_keys(1))
    arrow = ambiguous.schemas(SCHEMA, FORM)
    return {name: tables[name].cast(schema) for name, schema in arrow.items()}


def rows_of_groups(tables):
    """Return what is told of each group: the values it admits of each column, and its counts."""
    by_group = {}
    for name, table in tables.items():
        for row in table.to_pylist():
            rest = tuple(value for column, value in row.items() if column != "group_id")
            by_group.setdefault(row["group_id"], {}).setdefault(name, []).append(rest)
    return by_group


def test_the_tables_of_the_paper():
    tables = publish_rows(PEOPLE)
    assert rows_of_groups(tables)[0] == {
        "at_age": [(20,), (45,), (50,), (60,)],
        "at_sex": [("M",)],
        "at_zip": [(11000,), (12000,), (23000,)],
        "st": [("diabetes", 1), ("diarrhea", 1), ("flu", 1), ("stroke", 1)],
    }
    groups = ambiguous.groups(tables, SCHEMA, QUASI, ["disease"])
    promise = AlphaBeta(
        alpha="0.45", beta="0.5", quasi_identifiers=QUASI, sensitive="disease", presence="per-group"
    )
    scores = promise.measure(groups)
    assert scores["alpha"].tolist() == [4 / 12, 4 / 9]
    assert scores["beta"].tolist() == [1 / 4, 2 / 4]
    assert promise.check(groups).holds


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["f", "m", None]),
        st.integers(0, 2),
        st.sampled_from("abc"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=16,
)


@given(ROWS)
def test_a_group_shows_its_values_and_counts_and_nothing_else(rows):
    expected = []
    for group in sorted({row[-1] for row in rows}):
        members = [row[:-1] for row in rows if row[-1] == group]
        age, sex, zip_, disease = zip(*members, strict=True)
        counts = sorted((value, disease.count(value)) for value in set(disease))
        expected.append(
            (
                *(sorted({*map(repr, values_of_column)}) for values_of_column in (age, sex, zip_)),
                counts,
            )
        )
    groups_found = [
        (
            *(sorted(repr(v) for (v,) in group_tables[f"at_{name}"]) for name in QUASI),
            sorted(group_tables["st"]),
        )
        for group_tables in rows_of_groups(publish_rows(rows)).values()
    ]
    assert sorted(groups_found) == sorted(expected)


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_is_a_function_of_what_is_shown(rows, random):
    """Nothing links the tables but the numbers of groups, and these are named by contents."""
    first = publish_rows(rows)
    names = list(range(10, 14))
    random.shuffle(names)
    again = [(*row[:-1], names[row[-1]]) for row in rows]
    columns = [[row[i] for row in again] for i in range(3)]
    for group, column in product(names, columns):  # who has which of a group's values is not told
        places = [place for place, row in enumerate(again) if row[-1] == group]
        values = [column[place] for place in places]
        random.shuffle(values)
        for place, value in zip(places, values, strict=True):
            column[place] = value
    mixed = [(*vector, *row[3:]) for *vector, row in zip(*columns, again, strict=True)]
    random.shuffle(mixed)
    tables = publish_rows(mixed)
    assert tables == first
    assert ambiguous.canonical(tables) == tables
    for name, rules in ambiguous.rules(SCHEMA, FORM, len(rows), ["secret"]).items():
        assert all(rule.holds(first[name]) for rule in rules), name


def test_other_promises_are_of_groups():
    groups = ambiguous.groups(publish_rows(PEOPLE), SCHEMA, QUASI, ["disease"])
    scope = {"quasi_identifiers": QUASI, "sensitive": "disease"}
    assert DistinctLDiversity(l=3, **scope).check(groups).holds
    assert not DistinctLDiversity(l=4, **scope).check(groups).holds


@pytest.mark.parametrize(
    ("table", "rows", "reason"),
    [
        ("at_zip", {"zip": [1, 2, 3, 4, 5, 1], "group_id": [0] * 5 + [1]}, "admits no value"),
        ("at_sex", {"sex": ["M"], "group_id": [0]}, "not every table"),
        ("at_sex", {"sex": ["M", "M"], "group_id": [0, 0]}, "admits no value"),
        ("st", {"group_id": [0, 1], "disease": ["a", "b"], "count": [4, -4]}, "counts"),
        ("st", {"group_id": [0, 0], "disease": ["a", "b"], "count": [4, 4]}, "counts"),
        ("st", {"group_id": [0, 9], "disease": ["a", "b"], "count": [4, 4]}, "not every table"),
    ],
)
def test_tables_that_contradict_each_other_are_refused(table, rows, reason):
    tables = dict(publish_rows(PEOPLE))
    arrow = ambiguous.schemas(SCHEMA, FORM)[table]
    tables[table] = pa.table(rows).cast(arrow)
    with pytest.raises(PromiseError, match=reason):
        ambiguous.groups(tables, SCHEMA, QUASI, ["disease"])


def test_what_stands_twice_breaks_a_rule():
    tables = publish_rows(PEOPLE)
    for name in ("at_age", "st"):
        twice = pa.concat_tables([tables[name].slice(0, 1), tables[name]])
        rules = ambiguous.rules(SCHEMA, FORM, len(PEOPLE) + 1, [])[name]
        assert [r.type for r in rules if not r.holds(twice)] == ["expect_canonical_order"]
