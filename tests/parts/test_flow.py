"""A release in parts by the command and the flow that everybody runs, and who may not watch it."""

import json

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.parts.divided import SPEC, visits

pytestmark = pytest.mark.filterwarnings("default")
T_CLOSE = {"model": "t-closeness", "t": 0.6, "distance": "ordered", "sensitive": "cost"}


def told_of(address):
    """The tables that the server has, and everything that it has, as text."""
    import httpx

    query = {"limit": 200, "sort": "CREATED_DESC"}
    answer = httpx.post(f"{address}/artifacts/filter", json=query, timeout=120)
    return {artifact["key"]: artifact for artifact in reversed(answer.json())}, answer.text


def test_the_command_publishes_parts_judged_one_by_one(divided_line, start, prefect_api):
    person = {"person": {"role": "identifier", "unit": True}}
    divided_line.write(
        visits(),
        columns={**person, **SPEC["columns"]},
        unit="person",
        remember="units",
        promises=[*SPEC["promises"], T_CLOSE],
        parts={"rows": 300},
    )
    process = start("release", str(divided_line.spec))
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    version = divided_line.folder / "public" / "visits" / "0001"
    assert out.splitlines()[-1] == str(version)
    assert len(open_release(version).declared.made_of) == 3
    assert len(check(version).verdicts) == 2
    tables, text = told_of(prefect_api)
    promises = json.loads(tables["visits-promises"]["data"])
    assert {row["expectation"] for row in promises} == {
        "expect_ke_anonymity",
        "expect_t_closeness",
    }
    assert all(row["holds"] for row in promises)
    for stage in ("anonymize", "validate", "attack"):
        assert tables[f"visits-{stage}"]["data"] == 100.0
        assert f"{stage}: 1 of 3 parts\n{stage}: 2 of 3 parts\n{stage}: 3 of 3 parts" in error
    assert "own value guessed from the group alone" in tables["visits-guesses"]["data"]
    reports = divided_line.folder.parent / "work" / "visits" / "reports" / "0001"
    assert json.loads((reports / "attacks.json").read_bytes())["scores"]["cost"]
    source = json.loads(tables["visits-source"]["data"])
    assert source
    assert all(row["holds"] for row in source)
    assert "IDENT" not in out + error + text
    work = divided_line.folder.parent / "work" / "visits"
    assert [path for path in (work / "runs").iterdir() if path.is_dir()] == []
    assert not list(work.rglob("*.parquet"))
    process = start("release", str(divided_line.spec))
    out, error = process.communicate(timeout=120)
    assert out.splitlines()[-1] == str(version)
    assert "version 0001 was already made from this source and spec" in error
