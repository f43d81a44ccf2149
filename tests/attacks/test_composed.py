"""Composed versions under attack: by who finds groups, of all values that stand there."""

import json
from collections import Counter, defaultdict

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.attacks.registry import attacks_on, targets_of
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.stages.attack import attack_candidate
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.lines import prepare
from tests.release.evolving import Evolving, evolve

SURE = {"max-share-above": {"belief": 1, "share": 0}}
BARS = {"homogeneity": SURE, "background": {"known": 2, **SURE, "on-failure": "tell"}}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def test_the_newest_versions_groups_are_attacked(tmp_path):
    line = evolve(tmp_path / "line", "split", versions=2)
    line.move()
    path, place = line.write(attacks=BARS), tmp_path / "run"
    resolved = prepare(path, place, seeded_keys(5))
    seal_candidate(place / "candidate", assess_candidate(place / "candidate"))
    candidate, original = place / "candidate", load(place / "deidentified")
    whose, attacks = identity(place / "deidentified"), resolved.spec.attacks
    outcome = attack_candidate(candidate, original, attacks, whose, resolved.line, lambda _: ())
    assert outcome.missing == []
    verdicts = {verdict.limit.attack: verdict.is_kept for verdict in outcome.judged}
    assert verdicts == {"homogeneity": True, "background": False}
    table = open_release(candidate / "release").table("st")
    groups = defaultdict(Counter)
    for row in table.to_pylist():
        groups[row["group_id"]][row["job"]] += row.get("count", 1)
    people = sum(counts.total() for counts in groups.values())
    assert people > original.rows, "values of people who left stand there, too"
    best = sum(max(counts.values()) for counts in groups.values()) / people
    record = json.loads((place / ATTACKED).read_bytes())["scores"]["job"]
    shares = {score["measure"]: score["share"] for score in record}
    assert shares["own value guessed from the group alone"] == pytest.approx(best)
    assert "own value guessed by deFinetti's attack" not in shares


def test_the_attacks_are_those_of_groups(tmp_path):
    version = evolve(tmp_path / "line", "permuted", versions=2).versions[-1]
    release = open_release(version)
    tables = read_tables(release.declared, version / "data")
    own = load(tmp_path / "line" / "run-1" / "deidentified")
    (target,) = targets_of(release.declared, tables, own)
    expected = {"homogeneity", "background", "small-range", "similarity", "skewness"}
    assert {*attacks_on(target)} == expected | {"known-people"}


def test_other_bars_are_refused_when_the_spec_is_read(tmp_path):
    path = Evolving(tmp_path / "line", "split").write(attacks={"definetti": SURE})
    with pytest.raises(SpecError, match=r"definetti: cannot be judged for composed versions"):
        resolve_run(path)


def test_the_command_attacks_a_version(tmp_path, capsys):
    line = evolve(tmp_path / "line", "split", versions=2)
    command = ["attack", str(line.versions[-1]), "--truth", str(tmp_path / "line" / "spec.yaml")]
    assert run(command) == 0
    assert "own value guessed from the group alone" in capsys.readouterr().out
    assert run([*command, "--register", "everybody.csv"]) == 2
    assert "is composed, and --register does not work for such" in capsys.readouterr().err
    assert run([*command, "--runs", "10"]) == 2
    assert "is composed, and --runs does not work for such versions" in capsys.readouterr().err
