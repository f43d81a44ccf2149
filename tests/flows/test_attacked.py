"""Bars on attacks in whole runs: what watchers see, what is kept in private, and a refusal."""

import json

import pytest

from tests.flows.test_release_flow import artifacts, run_apart, stored  # noqa: F401 - a fixture
from tests.release.small import people

pytestmark = pytest.mark.filterwarnings("default")
SURE = {"max-share-above": {"belief": 1, "share": 0}}
SPEC = {
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
    "partition": {"method": "anatomy"},
}


def test_candidates_are_attacked_before_they_are_published(small, run_apart, prefect_api):  # noqa: F811
    broken = {"background": {"known": 2, **SURE}}
    spec = str(small.write(people(rows=300), **SPEC, attacks=broken).spec)
    for _ in range(2):
        code, _, said = run_apart("release", spec)
        assert code == 3, said
        assert "attacks.background.max-share-above: 0 of 'wage': is not kept" in said
        assert not list((small.folder / "public" / "wages").glob("0*"))
    kept = {"background": {"known": 1, **SURE}, "definetti": {"max-lift": 1}}
    small.write(people(rows=300), **SPEC, attacks=kept)
    code, _, said = run_apart("release", spec)
    assert code == 0, said
    assert "attack: 2 of 2 bars are kept" in said
    (version,) = (small.folder / "public" / "wages").glob("0*")
    private = small.folder.parent / "work" / "wages"
    found = json.loads((private / "reports" / version.name / "attacks.json").read_bytes())
    assert [bar["kept"] for bar in found["bars"]] == [True, True]
    suites = private / "reports" / version.name / "great-expectations" / "attacks"
    assert (suites / "wages.attacks.json").exists()
    shown = artifacts(prefect_api)["wages-attacks"]["data"]
    assert "'wage'" in shown
    assert str(found["bars"][1]["observed"]) not in shown
    public = "".join(
        path.read_bytes().decode("latin-1") for path in version.parent.rglob("*") if path.is_file()
    )
    for bar in found["bars"]:
        assert f'"observed":{bar["observed"]}' not in public
    assert "definetti" in public, "the bar, and that it is kept"
    assert "trained on the truth" not in public
