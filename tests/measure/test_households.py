"""Risk of households: a table worked out by hand, and brute force."""

import json
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.measures.households import household_risk
from sfumato.flows.cli.main import run

ROWS = """household,age,sex
smith,30,f
smith,30,m
jones,30,f
jones,30,m
green,30,f
"""


def test_three_households(tmp_path, capsys):
    """Three women and two men of 30: a household of both is found with 1 - 2/3 * 1/2 = 2/3."""
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    command = ["measure", str(tmp_path / "t.csv"), "--qi", "age,sex", "--household", "household"]
    assert run([*command, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["household_risk"] == {
        "households": 3,
        "highest": 0.666667,
        "average": float(f"{(2 / 3 + 2 / 3 + 1 / 3) / 3:.6g}"),
        "largest_of_a_member": float(f"{(1 / 2 + 1 / 2 + 1 / 3) / 3:.6g}"),
        "k": 2,
        "k_of_whole_households": 1,
        "households_alone": 1,
    }


WHOLE = "{model: k-anonymity, k: 2, members: linkable}"
K = "{model: k-anonymity, k: 2}"


def test_a_household_that_is_like_no_other(tmp_path, capsys):
    """Each group has two households or more, and green is alone by its one member."""
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    command = ["measure", str(tmp_path / "t.csv"), "--qi", "age,sex", "--household", "household"]
    assert run([*command, "--model", K, "--model", WHOLE, "--format", "json"]) == 3
    plain, whole = json.loads(capsys.readouterr().out)["promises"]
    assert (plain["holds"], plain["households"]) == (True, {"k": 2, "groups": 2, "failing": 0})
    assert (whole["holds"], whole["households"]) == (False, {"k": 1, "groups": 2, "failing": 1})
    assert whole["observed"] == plain["observed"] == {"k": 2, "groups": 2, "failing": 0}
    (tmp_path / "t.csv").write_text(ROWS + "white,30,f\n", encoding="utf-8")
    assert run([*command, "--model", WHOLE]) == 0


@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        (WHOLE, [], "members is about households"),
        (
            "{model: alpha-beta, alpha: 1, beta: 1}",
            ["household"],
            ("or measure rows only (leave --household out)"),
        ),
    ],
)
def test_promises_refused(tmp_path, capsys, model, more, message):
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    command = ["measure", str(tmp_path / "t.csv"), "--qi", "age", "--sensitive", "sex"]
    households = [part for household in more for part in ("--household", household)]
    assert run([*command, *households, "--model", model]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_household_is_refused(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(ROWS + ",30,f\n", encoding="utf-8")
    command = ["measure", str(tmp_path / "t.csv"), "--qi", "age,sex", "--household", "household"]
    assert run(command) == 2
    assert "column 'household': a household is missing" in capsys.readouterr().err


def test_no_rows_have_no_risk():
    none = np.array([], dtype=np.int64)
    assert household_risk(none, none) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=14))
def test_as_each_household_by_itself(rows):
    names = sorted({name for name, _ in rows})
    kinds = sorted({kind for _, kind in rows})
    household = np.array([names.index(name) for name, _ in rows], dtype=np.int64)
    group = np.array([kinds.index(kind) for _, kind in rows], dtype=np.int64)
    risk_found = household_risk(household, group)
    sizes = Counter(kind for _, kind in rows)
    members = {name: sorted(kind for name_, kind in rows if name_ == name) for name in names}
    risks = [1 - prod(1 - Fraction(1, sizes[k]) for k in kinds) for kinds in members.values()]
    assert risk_found.highest == pytest.approx(float(max(risks)))
    assert risk_found.average == pytest.approx(float(sum(risks) / len(risks)))
    most = [max(Fraction(1, sizes[kind]) for kind in kinds) for kinds in members.values()]
    assert risk_found.by_member == sum(most) / len(most)
    assert risk_found.least == min(
        sum(kind in kinds for kinds in members.values()) for kind in kinds
    )
    alike = Counter(map(tuple, members.values()))
    assert (risk_found.least_alike, risk_found.alone) == (
        min(alike.values()),
        sum(n == 1 for n in alike.values()),
    )
    assert risk_found.households == len(names)


def test_one_large_household_takes_no_longer_than_its_members():
    many = 200_000
    household = np.append(np.zeros(many, dtype=np.int64), np.arange(1, many + 1))
    group = np.append(np.arange(many) % 7, np.arange(many) % 5)
    risk_found = household_risk(household, group)
    assert risk_found.alone == 1
    assert risk_found.least_alike == 1
