"""Promises over people who have several rows, decided on a table as it is."""

import json

import pytest

from sfumato.flows.cli.main import run

ROWS = """patient,age,ill
1,30,flu
1,30,flu
1,30,gout
2,30,asthma
3,40,flu
4,40,gout
"""
K = "{model: k-anonymity, k: 2}"
L = "{model: l-diversity, variant: distinct, l: 2}"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    return str(tmp_path / "t.csv")


def command(table, *models, unit="patient"):
    model_options = [part for model in models for part in ("--model", model)]
    return ["measure", table, "--qi", "age", "--sensitive", "ill", "--unit", unit, *model_options]


def test_three_of_four_rows_are_one_patients(table, capsys):
    """Patient 1 has three of four rows, two are flu: one of the three surely is."""
    assert run([*command(table, K, L), "--format", "json"]) == 3
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert (document["rows"], document["people"], document["k"], document["k_people"]) == (
        6,
        4,
        2,
        2,
    )
    k, l = document["promises"]
    assert (k["holds"], k["people"]) == (True, {"k": 2, "groups": 2, "failing": 0})
    assert l["observed"] == {"l": 2, "groups": 2, "failing": 0}
    assert (l["holds"], l["people"]) == (False, {"l": 1, "groups": 2, "failing": 1})
    assert "distinct" in output.err or "l-diversity is not kept" in output.err


@pytest.mark.parametrize(
    ("rows", "model", "message"),
    [
        (ROWS + ",30,flu\n", K, "column 'patient': a unit is missing"),
        (
            ROWS,
            "{model: alpha-beta, alpha: 0.5, beta: 0.5}",
            "alpha-beta is not defined over people or households, because it bounds the "
            "probability that one row is in a group",
        ),
    ],
)
def test_refused(tmp_path, capsys, rows, model, message):
    (tmp_path / "t.csv").write_text(rows, encoding="utf-8")
    assert run(command(str(tmp_path / "t.csv"), model)) == 2
    assert message in capsys.readouterr().err


def test_what_is_not_defined_over_people_can_be_measured_over_rows(table, capsys):
    """The refusal says so: without --unit, after it the other promise that it names."""
    alone = "{model: alpha-beta, alpha: 1, beta: 1}"
    assert run(command(table, alone)) == 2
    error = capsys.readouterr().err
    assert "promise k-anonymity and alpha-k, or measure rows only (leave --unit out)" in error
    assert run([*command(table, alone)[:-4], "--model", alone]) == 0
    assert run(command(table, K, "{model: alpha-k, alpha: 1, k: 2}")) == 0


def test_without_rows(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("patient,age,ill\n", encoding="utf-8")
    assert run([*command(str(tmp_path / "t.csv")), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["people"], document["k_people"]) == (0, None)
