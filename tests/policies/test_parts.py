"""A release in parts under a policy: every part has its rules, and so has the whole."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.policies.specs import KINDS, base, patients, with_column, write


@pytest.fixture
def release(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    policy = {"name": "./house.yaml", "columns": {**KINDS, "patient": "H"}}
    (tmp_path / "house.yaml").write_text(HOUSE, encoding="utf-8")
    spec = base(policy=policy, parts=PARTS, remember="units")
    spec = with_column(spec, "born", role="drop", bottom=None)
    spec["source"] = {"uri": "patients.parquet", "format": "parquet"}
    people = patients(rows=150)
    pq.write_table(pa.Table.from_pylist(people), tmp_path / "patients.parquet")
    place = write(tmp_path, spec, people)
    assert run(["release", str(place)]) == 0, capsys.readouterr().err
    return tmp_path / "public" / "stays" / "0001"


PARTS = {"rows": 100, "by": "age", "at": ["50"]}
HOUSE = """
policy: house-rules
title: Rules of a hospital
date: 2026-10-01
source: {title: Rules of the board, issued-by: The board, edition: "2026", read: whole}
reading: All of it.
rules:
  - {rule: highest-risk, at-most: "0.09"}
  - rule: columns
    kinds:
      H: {shown: withheld, meaning: numbers}
      C-age: {shown: ages, at-most: 89, meaning: ages}
      B-zip3: {shown: areas, digits: 3, meaning: ZIP codes}
      C: {shown: years, meaning: dates}
      C-birth: {shown: withheld, meaning: births}
      other: {shown: any, meaning: all others}
"""


def test_each_part_and_the_whole_are_decided(release):
    checked = check(release)
    assert [finding.passed for finding in checked.rule_findings] == [True, True]
    whole = open_release(release)
    assert len(whole.declared.made_of) > 1
    entries = json.loads((release / "validation.json").read_bytes())
    decided = [entry["observed"] for entry in entries if entry["table"] == "policy"]
    assert decided[1] is None
    for part in whole.declared.made_of:
        place = release / "parts" / part.name
        assert open_release(place).declared.policy == whole.declared.policy
        entries = json.loads((place / "validation.json").read_bytes())
        assert [e["observed"] for e in entries if e["table"] == "policy"][1] == 0


@pytest.mark.node
def test_the_second_verifier_agrees(release):
    from tests.policies.test_releases import verdict_of_the_second_verifier

    assert verdict_of_the_second_verifier(release)["verdict"] == "valid"
