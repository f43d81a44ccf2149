"""Figures of measure: sentences first, and every figure holds as a promise when it is copied."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.sampled_from("abcd")),
    min_size=1,
    max_size=40,
)


def models_of(name, figures):
    """Return a promise for each figure that is a number, exactly as it is printed."""
    models = [
        ({"model": "l-diversity", "variant": "distinct"}, "l", figures["l"]["distinct"]),
        ({"model": "l-diversity", "variant": "entropy"}, "l", figures["l"]["entropy"]),
        ({"model": "delta-disclosure"}, "delta", figures["delta"]),
        ({"model": "alpha-k", "k": 1}, "alpha", figures["alpha"]),
    ]
    models += [
        ({"model": "l-diversity", "variant": "recursive", "l": int(rank)}, "c", c)
        for rank, c in figures["l"]["recursive_c"].items()
    ]
    models += [
        ({"model": "t-closeness", "distance": distance}, "t", t)
        for distance, t in figures["t"].items()
    ]
    if figures["ke"]["e"] is not None:
        models.append(({"model": "ke-anonymity", "k": figures["ke"]["k"]}, "e", figures["ke"]["e"]))
    return [
        {**model, parameter: value, "sensitive": name}
        for model, parameter, value in models
        if value is not None and not (parameter in ("t", "delta") and value == 0)
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[(0, 0, "a")] * 6)  # whose exp(entropy) is 1 less an error of floats
@given(rows=ROWS)
def test_every_figure_is_kept_as_a_promise(tmp_path, call, rows):
    ages, costs, _ = zip(*rows, strict=True)
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"age": list(ages), "cost": list(costs)}), file)
    arguments = ["measure", file, "--qi", "age", "--sensitive", "cost"]
    _, output, _ = call(*arguments, "--format", "json")
    options = [
        part
        for model in models_of("cost", json.loads(output))
        for part in ("--model", yaml.safe_dump(model, default_flow_style=True).strip())
    ]
    code, output, error = call(*arguments, *options, "--format", "json")
    assert code in (0, 3), error
    broken = [p["promise"] for p in json.loads(output)["promises"] if not p["holds"]]
    assert (code, broken) == (0, []), error


@pytest.fixture
def patients(tmp_path):
    file = tmp_path / "patients.csv"
    file.write_text("id,age,sex,cost\n1,30,f,5\n1,30,f,7\n2,30,m,5\n3,31,m,5\n", encoding="utf-8")
    return file


def test_sentences_come_first(call, patients):
    _, output, _ = call("measure", patients, "--qi", "age,sex", "--sensitive", "cost")
    sentences, _, figures = output.partition("\n\n")
    assert sentences.splitlines() == [
        "4 rows have 3 different combinations of age and sex.",
        "2 of 4 rows are unique: no other row has the same age and sex. The smallest group has 1 "
        "row.",
        "Someone who knows age and sex of a person in the table picks the right row with a "
        "probability of 75 % on average, and of 100 % at most.",
        "2 rows are in groups in which all rows have the same cost, so anyone who finds the group "
        "knows it.",
    ]
    assert figures.startswith("rows ")


def test_rows_are_called_people_only_where_a_unit_identifies_them(call, patients):
    _, without, _ = call("measure", patients, "--qi", "sex")
    _, with_unit, _ = call("measure", patients, "--qi", "sex", "--unit", "id")
    assert "people" not in without.partition("\n\n")[0]
    assert "They are about 3 people; the smallest group has 1 person." in with_unit
