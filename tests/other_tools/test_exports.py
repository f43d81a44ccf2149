"""Hierarchies for ARX, and figures under pyCANON's names."""

import csv
import json
import os
import subprocess
from math import floor

import numpy as np
import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.other_tools.arx_criteria import promise_of
from sfumato.tasks.other_tools.arx_hierarchies import read_rows, written_for_arx
from sfumato.tasks.other_tools.pycanon import named_figures
from sfumato.tasks.schema.hierarchy import Hierarchy
from tests.other_tools.projects import ARX, csv_of, deid, people
from tests.profile.drafts import confirm

PEER = """
import json, sys
import pandas as pd
from pycanon import anonymity as a
file, qi, s = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
df = pd.read_csv(file, dtype={name: str for name in qi})
alpha, _ = a.alpha_k_anonymity(df, qi, s)
print(json.dumps({
    "k_anonymity": int(a.k_anonymity(df, qi)), "alpha_k_anonymity": float(alpha),
    "l_diversity": int(a.l_diversity(df, qi, s)),
    "entropy_l_diversity": int(a.entropy_l_diversity(df, qi, s)),
    "t_closeness": float(a.t_closeness(df, qi, s)),
    "delta_disclosure": float(a.delta_disclosure(df, qi, s)),
}))
"""


def test_a_hierarchy_comes_back_from_arx_as_it_went():
    rows = (("a;b", 'say "x"', "*"), ("ä", "y", "*"))
    text = written_for_arx(Hierarchy("x", rows)).decode()
    assert read_rows(text, "x.csv", ";") == (rows, [])
    assert list(csv.reader(text.splitlines(), delimiter=";")) == [list(row) for row in rows]


@pytest.mark.parametrize("column", ["town", "age"])
def test_a_hierarchy_is_written_for_arx_as_a_private_file(column, tmp_path, draft, capsys):
    (tmp_path / "people.csv").write_bytes(csv_of(people()))
    written = draft(deid(tmp_path / "people.deid", ARX["l"]), tmp_path / "people.csv")
    confirm(written)
    place = tmp_path / f"{column}.csv"
    arguments = ["hierarchy", str(written.spec), "--column", column, "--arx", str(place)]
    assert run(arguments) == 0
    assert f"{place}: {column}, " in capsys.readouterr().out
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.read_text(encoding="utf-8") == ARX["l"][f"input/hierarchies/{column}.csv"]
    assert run(arguments) == 2
    assert "exists already, and is not overwritten" in capsys.readouterr().err


def figures(tmp_path, sensitive, capsys):
    (tmp_path / "people.csv").write_bytes(csv_of(people()))
    arguments = ["measure", str(tmp_path / "people.csv"), "--qi", "town,sex"]
    assert (
        run([*arguments, "--sensitive", sensitive, "--names", "pycanon", "--format", "json"]) == 0
    )
    document = json.loads(capsys.readouterr().out)
    return document, {f["function"]: f for f in document["pycanon"]}


def test_figures_under_the_names_of_pycanon(tmp_path, capsys):
    document, named = figures(tmp_path, "illness", capsys)
    groups = {}
    for _, town, sex, illness in people():
        groups.setdefault((town, sex), []).append(illness)
    counts = [np.unique(values, return_counts=True)[1] for values in groups.values()]
    shares = [number / number.sum() for number in counts]
    entropy = min(float(np.exp(-(share * np.log(share)).sum())) for share in shares)
    assert named["k_anonymity"]["figure"] == min(number.sum() for number in counts)
    assert named["l_diversity"]["figure"] == min(map(len, counts))
    assert named["alpha_k_anonymity"]["figure"] == pytest.approx(max(s.max() for s in shares))
    assert named["entropy_l_diversity"]["pycanon"] == floor(entropy)
    assert named["t_closeness"]["figure"] == document["t"]["equal"]
    assert "--model" in named["basic_beta_likeness"]["note"]


def test_of_several_columns_the_value_that_all_keep(tmp_path, capsys):
    document, named = figures(tmp_path, "illness,age", capsys)
    values = document["sensitive"]
    assert named["l_diversity"]["figure"] == min(v["l"]["distinct"] for v in values.values())
    assert named["t_closeness"]["figure"] == max(
        values["illness"]["t"]["equal"], values["age"]["t"]["ordered"]
    )


def test_lines_for_people_and_tables_without_sensitive_columns(tmp_path, capsys):
    (tmp_path / "people.csv").write_bytes(csv_of(people()))
    assert run(["measure", str(tmp_path / "people.csv"), "--qi", "town", "--names", "pycanon"]) == 0
    assert "k_anonymity: " in capsys.readouterr().out
    assert [f.function for f in named_figures({"k": None})] == ["k_anonymity"]


@pytest.mark.skipif("PYCANON" not in os.environ, reason="pyCANON has an environment of its own")
@pytest.mark.parametrize("sensitive", ["illness", "age", "illness,age"])
def test_pycanon_returns_the_same_figures(sensitive, tmp_path, capsys):
    _, named = figures(tmp_path, sensitive, capsys)
    arguments = [str(tmp_path / "people.csv"), "town,sex", sensitive]
    command = [os.environ["PYCANON"], "-W", "ignore", "-c", PEER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for function, figure in json.loads(done.stdout).items():
        ours = named[function]
        whole = ours["figure"] is not None and abs(ours["figure"] - round(ours["figure"])) < 1e-6
        if function == "entropy_l_diversity" and whole:  # its float may be just below
            assert ours["pycanon"] - figure in (0, 1)
        elif ours["figure"] is not None:
            assert ours.get("pycanon", ours["figure"]) == pytest.approx(figure, abs=1e-6)


@pytest.mark.parametrize(
    ("criterion", "promise"),
    [
        ("5-anonymity", {"model": "k-anonymity", "k": 5}),
        (
            "shannon-entropy-2.5-diversity for attribute 'it's'",
            {"model": "l-diversity", "variant": "entropy", "l": 2.5, "sensitive": "it's"},
        ),
        (
            "recursive-(4.0,3)-diversity for attribute 'x'",
            {"model": "l-diversity", "variant": "recursive", "l": 3, "c": 4, "sensitive": "x"},
        ),
        (
            "0.2-closeness with ordered distance for attribute 'x'",
            {"model": "t-closeness", "t": 0.2, "distance": "ordered", "sensitive": "x"},
        ),
        (
            "0.001-closeness with hierarchical ground-distance for attribute 'x'",
            {"model": "t-closeness", "t": 0.001, "distance": "hierarchical", "sensitive": "x"},
        ),
        (
            "1.0-disclosure privacy for attribute 'x'",
            {"model": "delta-disclosure", "delta": 0.69314718, "sensitive": "x"},
        ),
        (
            "enhanced-1.5-likeness for attribute 'x'",
            {"model": "beta-likeness", "beta": 1.5, "variant": "enhanced", "sensitive": "x"},
        ),
    ],
)
def test_each_model_of_arx_that_exists_here(criterion, promise):
    from sfumato.flows.inputs.spec import read_promise

    assert promise_of(criterion) == promise
    assert read_promise(json.dumps(promise)).parameters()["model"] == promise["model"]
