"""Bars on attacks in whole runs: what watchers see, what is kept in private, and a refusal."""

import json

import pytest

from tests.flows.test_release_flow import artifacts, run_apart, stored_texts  # noqa: F401 - a fixture
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
        code, _, error = run_apart("release", spec)
        assert code == 3, error
        assert "attacks.background.max-share-above: 0 of 'wage': this limit is not kept" in error
        assert not list((small.folder / "public" / "wages").glob("0*"))
    bars = {"background": {"known": 1, **SURE}, "definetti": {"max-lift": 1}}
    small.write(people(rows=300), **SPEC, attacks=bars)
    code, _, error = run_apart("release", spec)
    assert code == 0, error
    assert "attack: 2 of 2 limits are kept" in error
    (version,) = (small.folder / "public" / "wages").glob("0*")
    private = small.folder.parent / "work" / "wages"
    scores = json.loads((private / "reports" / version.name / "attacks.json").read_bytes())
    assert [bar["kept"] for bar in scores["bars"]] == [True, True]
    suites = private / "reports" / version.name / "great-expectations" / "attacks"
    assert (suites / "wages.attacks.json").exists()
    artifact = artifacts(prefect_api)["wages-attacks"]["data"]
    assert "'wage'" in artifact
    assert str(scores["bars"][1]["observed"]) not in artifact
    public = "".join(
        path.read_bytes().decode("latin-1") for path in version.parent.rglob("*") if path.is_file()
    )
    for bar in scores["bars"]:
        assert f'"observed":{bar["observed"]}' not in public
    assert "definetti" in public, "the bar, and that it is kept"
    assert "trained on the truth" not in public


def test_without_bars_owners_are_told_and_nobody_else(small, run_apart, prefect_api):  # noqa: F811
    dossier = {"context": "agreement"}
    quiet = {**SPEC, "name": "quiet", "dossier": dossier}
    small.write(people(rows=300), **quiet, artifacts="published-only")
    code, _, error = run_apart("release", str(small.spec))
    assert code == 0, error
    assert "scores, only for private reports" in error
    assert "quiet-guesses" not in artifacts(prefect_api)
    (version,) = (small.folder / "public" / "quiet").glob("0*")
    reports = small.folder.parent / "work" / "quiet" / "reports" / version.name
    scores = json.loads((reports / "attacks.json").read_bytes())
    assert scores["missing"] == []
    attacks = json.loads((reports / "dossier.json").read_bytes())["attacks"]
    assert attacks["scores"] == scores["scores"]
    assert "No attack was tried on this version" not in (reports / "dossier.html").read_text(
        encoding="utf-8"
    )
    measures = [score["measure"] for score in scores["scores"]["wage"]]
    assert "own value guessed by deFinetti's attack" in measures
    public = "".join(
        path.read_bytes().decode("latin-1") for path in version.parent.rglob("*") if path.is_file()
    )
    assert "trained on the truth" not in public
    assert "as they expect" in public, "which the files alone tell"
    small.write(people(rows=301), **quiet, versions="accepted-risk")
    assert run_apart("release", str(small.spec))[0] == 0
    artifact = artifacts(prefect_api)["quiet-guesses"]["data"]
    assert "own value guessed by deFinetti's attack" in artifact
    assert "from the group alone" in artifact
