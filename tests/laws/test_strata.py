"""Strata and exact quasi-identifiers as groups, and the distributions that these aim at."""

from collections import Counter
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.distribution.parameters import ExactQIParameters, StratumParameters
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.partitions.targets.given import read_given_target

METHODS = {
    "stratum": StratumParameters(method="stratum"),
    "exact-qi": ExactQIParameters(method="exact-qi"),
}
BOTH = pytest.mark.parametrize("method", METHODS)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["n", "s", None]),
        st.integers(0, 1),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
)


def table(rows, type_=None):
    region, year, age, wage = zip(*rows, strict=True)
    columns = (
        encode("region", "insensitive", pa.array(region, pa.string())),
        encode("year", "quasi-identifier", pa.array(year)),
        encode("age", "quasi-identifier", pa.array(age)),
        encode("wage", "sensitive", pa.array(wage, type_)),
    )
    return Microdata(columns, len(rows))


def asks(target, **more):
    return PPrivacy(target=target, sensitive="wage", **more)


def make_partition(method, rows, *promises, strata=("region",), type_=None):
    make = PARTITIONS[METHODS[method].method]
    return make(table(rows, type_), strata, promises, METHODS[method], seeded_keys(1))


def distributions(partition, rows):
    """The distribution that each row's group aims at."""
    aims = partition.target_distributions
    return [aims.distributions[aims.target[group]] for group in partition.group[: len(rows)]]


@BOTH
@given(rows=ROWS, strata=st.sampled_from([(), ("region",), ("region", "year")]))
def test_groups_are_what_they_are_called(method, rows, strata):
    partition = make_partition(method, rows, asks("source"), strata=strata)
    places = {"region": 0, "year": 1, "age": 2}
    key_columns = strata if method == "stratum" else dict.fromkeys([*strata, "year", "age"])
    expected = [tuple(row[places[name]] for name in key_columns) for row in rows]
    pairs = set(zip(expected, partition.group.tolist(), strict=True))
    assert len(pairs) == len(set(expected)) == len(set(partition.group.tolist()))
    assert set(partition.group.tolist()) == set(range(len(pairs)))
    assert partition.facts["groups"] == len(partition.target_distributions.target) == len(pairs)
    assert partition.suppressed == 0


@BOTH
@given(rows=ROWS, per=st.sampled_from(["stratum", "table"]))
def test_a_source_is_that_of_the_stratum_or_of_the_table(method, rows, per):
    partition = make_partition(method, rows, asks("source", per=per))
    values = sorted({row[3] for row in rows})
    for row, target in zip(rows, distributions(partition, rows), strict=True):
        beside = [other[3] for other in rows if per == "table" or other[0] == row[0]]
        counts = Counter(beside)
        assert list(target) == [Fraction(counts[value], len(beside)) for value in values]
    assert len(set(partition.target_distributions.distributions)) == len(
        partition.target_distributions.distributions
    )


@BOTH
def test_what_all_strata_share_stands_once(method):
    rows = [("n", 0, 0, 1), ("n", 0, 1, 3), ("s", 0, 0, 1), ("s", 1, 0, 2), (None, 0, 0, 9)]
    quarters = (Fraction(1, 4),) * 4
    assert make_partition(method, rows, asks("uniform")).target_distributions.distributions == (
        quarters,
    )
    zipf = make_partition(method, rows, asks({"zipf": 1})).target_distributions.distributions
    weights = [Fraction(w, 10**12) for w in (10**12, 5 * 10**11, 333333333333, 25 * 10**10)]
    assert zipf == (tuple(weight / sum(weights) for weight in weights),)
    (normal,) = make_partition(
        method, rows, asks({"normal": {"mean": 2, "variance": 1}})
    ).target_distributions.distributions
    assert normal[0] == normal[2] < normal[1]
    assert 0 < normal[3] < Fraction(1, 10**9)


def test_dates_have_an_order_for_a_normal_distribution_and_texts_have_not():
    days = [("n", 0, 0, date(1970, 1, day)) for day in (1, 2, 3)]
    normal = asks({"normal": {"mean": 1, "variance": 1}})
    (target,) = make_partition("stratum", days, normal).target_distributions.distributions
    assert target[0] == target[2] < target[1]
    with pytest.raises(SpecError, match="has no order, which a normal distribution needs"):
        make_partition("stratum", [("n", 0, 0, "a")], normal)


def given_file(tmp_path, text):
    path = tmp_path / "target.csv"
    path.write_text(text, encoding="utf-8")
    return read_given_target(asks({"file": str(path)}), tmp_path)


APART = "region;probability;value\nn;0.5;1\nn;.5;2\ns;1;2\n;1;1.0\n\nnowhere;0.3;77\n"


@BOTH
def test_a_file_gives_all_strata_one_target_or_each_its_own(method, tmp_path):
    rows = [("n", 0, 0, 1), ("s", 0, 1, 2), ("s", 0, 0, 1), (None, 1, 0, 3)]
    common = make_partition(
        method, rows, given_file(tmp_path, "value,probability\n1,0.25\n3,0.75\n")
    )
    assert common.target_distributions.distributions == ((Fraction(1, 4), 0, Fraction(3, 4)),)
    own = make_partition(method, rows, given_file(tmp_path, APART))
    half = Fraction(1, 2)
    expected = [(half, half, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0)]
    assert distributions(own, rows) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,1\n", "row 1: the header"),
        ("", "row 1: the header"),
        ("value,value,probability\n1,1,1\n", "row 1: the header"),
        ("value,probability,age\n1,1,0\n", "row 1: a column is neither"),
        ("value,probability\n1,1,1\n", "row 2: 3 fields, 2 in the header"),
        ('value,probability\n\n"1,1\n', "row 3: cannot be parsed"),
        ("value,probability\n\n5,1\n", "row 3: the column does not have this value"),
        ("value,probability\n1,.5\n1,.5\n", "row 3: an earlier line has the same value"),
        ("value,probability\n1,much\n", "row 2: not a probability"),
        ("value,probability\n1,0.9\n", "do not add up to 1"),
        ("value,probability\n", "a stratum of the table has no probabilities"),
        ("region,value,probability\nn,1,1\n", "a stratum of the table has no probabilities"),
    ],
)
def test_a_file_that_gives_no_distribution_is_refused(text, reason, tmp_path):
    rows = [("n", 0, 0, 1), ("s", 0, 0, 2)]
    with pytest.raises(InputError, match=reason):
        make_partition("stratum", rows, given_file(tmp_path, text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_given_target(asks({"file": "none.csv"}), tmp_path)
    (tmp_path / "latin.csv").write_bytes(b"value,probability\n\xe9,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_given_target(asks({"file": "latin.csv"}), tmp_path)


@BOTH
def test_what_cannot_be_aimed_at_is_refused(method):
    rows = [("n", 0, 0, 1), ("s", 0, 0, 2)]
    close = TCloseness(t=Decimal(1), distance="equal", sensitive="wage")
    assert make_partition(method, rows, close).target_distributions is None
    with pytest.raises(PromiseError, match="cannot be kept where groups publish"):
        make_partition(method, rows, asks("source"), KAnonymity(k=2, quasi_identifiers=("age",)))
    with pytest.raises(PromiseError, match="several targets"):
        make_partition(method, rows, asks("source"), asks("uniform"))
    with pytest.raises(PromiseError, match="has missing values"):
        make_partition(method, [("n", 0, 0, None), ("n", 0, 0, 1)], asks("source"))
    assert make_partition(method, rows, asks("source"), asks("source", tolerance="0.1"), close)


@BOTH
@given(rows=ROWS, t=st.sampled_from(["0", "0.2", "0.5"]))
def test_distributions_that_are_too_far_apart_are_refused(method, rows, t):
    """Sources of strata are as far from their mixture as their rows are from all rows."""
    close = TCloseness(t=Decimal(t), distance="equal", sensitive="wage")
    farthest = Fraction(0)
    for region in {row[0] for row in rows}:
        here = [row[3] for row in rows if row[0] == region]
        differ = (
            Fraction(here.count(v), len(here)) - Fraction([r[3] for r in rows].count(v), len(rows))
            for v in range(4)
        )
        farthest = max(farthest, sum(map(abs, differ)) / 2)
    make_partition(method, rows, asks("source", per="table"), close)
    if farthest <= Fraction(t):
        assert make_partition(method, rows, asks("source"), close)
    else:
        with pytest.raises(
            PromiseError, match=r"targets of p-privacy break it in \d+ of \d+ groups \(t = "
        ):
            make_partition(method, rows, asks("source"), close)


def test_other_distances_have_the_order_and_the_hierarchy_of_the_column():
    rows = [("n", 0, 0, 1), ("s", 0, 0, 2), ("s", 0, 0, 3)]
    ordered = TCloseness(t=Decimal("0.7"), distance="ordered", sensitive="wage")
    assert make_partition("stratum", rows, asks("source"), ordered)
    texts = [(*row[:3], str(row[3])) for row in rows]
    with pytest.raises(
        PromiseError, match=r"targets of p-privacy break it in \d+ of \d+ groups \(t = "
    ):
        make_partition("stratum", texts, asks("source"), ordered)


def test_whose_source_is_written_as_it_is_read_and_only_of_a_source():
    assert asks("source", per="table").parameters()["per"] == "table"
    assert asks("source").per == "stratum"
    with pytest.raises(ValueError, match="per: only goes with `target: source`"):
        asks("uniform", per="table")


def test_groups_of_rows_in_any_order():
    rng = np.random.default_rng(3)
    rows = [tuple(int(n) for n in rng.integers(0, 3, 4)) for _ in range(30)]
    rows = [("ns"[row[0] % 2], *row[1:]) for row in rows]
    first = make_partition("exact-qi", rows, asks("source"))
    order = rng.permutation(len(rows))
    again = make_partition("exact-qi", [rows[position] for position in order], asks("source"))
    assert again.group.tolist() == first.group[order].tolist()
    shuffled = [rows[position] for position in order]
    assert distributions(again, shuffled) == [
        distributions(first, rows)[position] for position in order
    ]
