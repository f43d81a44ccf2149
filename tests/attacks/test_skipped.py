"""Attacks over their budget: each is listed, with its reason, wherever what is guessed is told."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.flows.cli.main import run
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.group import subdomains
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.linking import linkage
from sfumato.tasks.attacks.records import matches, nearest, records, singling_out
from sfumato.tasks.attacks.registry import attack_release
from sfumato.tasks.attacks.shared.attack import skipped_attack
from sfumato.tasks.report.steward import comparison, draft
from sfumato.tasks.report.steward.tables import table_of
from sfumato.tasks.report.watched import guess_rows
from tests.attacks.test_attacks import draw_correlated, make_release
from tests.attacks.test_linkage import publish_as, register_of
from tests.attacks.test_linkage import rows as rows_of
from tests.attacks.test_minimality import MONDRIAN, diverse, release_of
from tests.attacks.test_subdomains import redistributed_line  # noqa: F401 - a fixture


def names_skipped(scores):
    return {score.measure: score.skipped for score in scores if score.skipped}


def test_learning_from_too_many_pairs(tmp_path, monkeypatch):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(7), 60, 0.5))
    assert not names_skipped(definetti.attack(release))
    release.learned.clear()
    monkeypatch.setattr(definetti, "_MOST", 10)
    assert names_skipped(definetti.attack(release)) == {"definetti": definetti._TOO_MANY}


@pytest.mark.parametrize(
    ("attack", "name"),
    [
        (matches.attack, "matches"),
        (singling_out.attack, "singling-out"),
        (nearest.link_halves, "linkability"),
        (nearest.infer, "inference"),
    ],
)
def test_records_of_too_many_labels(attack, name, tmp_path, monkeypatch):
    arrays = {"a": [n % 9 for n in range(40)], "s": [n % 5 for n in range(40)]}
    release = release_of(tmp_path, arrays, [diverse(2)], MONDRIAN, "generalized")
    monkeypatch.setattr(records, "_MOST", 10)
    assert names_skipped(attack(release)) == {name: records._TOO_MANY}
    release = make_release(
        tmp_path / "2", draw_correlated(np.random.default_rng(7), 60, 0.5), "split"
    )
    assert attack(release) == (), "no records are shown: there is nothing to skip"


def test_subdomains_of_too_many_pairs(redistributed_line, monkeypatch):  # noqa: F811
    directory = redistributed_line.publish("one").directory
    monkeypatch.setattr(subdomains, "_MOST", 1)
    scores, _ = attack_again(directory, redistributed_line.spec, Overrides())
    (skipped,) = map(names_skipped, scores.values())
    assert skipped["subdomains"] == subdomains._TOO_MANY


def test_what_is_skipped_is_told_by_the_command(small, tmp_path, capsys, monkeypatch):
    directory = publish_as(small, "generalized")
    monkeypatch.setattr(linkage, "_MOST", 1)
    monkeypatch.setattr(records, "_MOST", 1)
    register_file = register_of(tmp_path, [(row["age"], row["town"]) for row in rows_of()])
    command = [
        "attack",
        str(directory),
        "--truth",
        str(small.spec),
        "--register",
        str(register_file),
    ]
    assert run(command) == 0
    output = capsys.readouterr().out
    assert f"  skipped  matches: {records._TOO_MANY}\n" in output
    assert f"  skipped  linkage of 'wage': {linkage._TOO_MANY}\n" in output
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    skipped = {
        score["measure"]
        for scores in document["scores"].values()
        for score in scores
        if "skipped" in score
    }
    assert {"matches", "linkage of 'wage'"} <= skipped
    assert "NaN" not in json.dumps(document)


def test_tables_show_what_was_skipped():
    scores = skipped_attack("definetti", "too many")
    (row,) = guess_rows({"wage": scores})
    assert (row["share"], row["beside"]) == ("skipped", "too many")
    lines_of_table = table_of("Shares", [score.document() for score in scores])
    assert lines_of_table["rows"] == [["definetti", "too many"]]


@pytest.mark.parametrize("form", ["permuted", "split"])
def test_every_attack_is_scored_or_says_why_not(form, tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(7), 300, 0.5), form)
    scores = attack_release([release])["s"]
    assert names_skipped(scores).keys() <= {"minimality"}
    assert all(score.skipped or 0 <= score.share <= 1 for score in scores)


def test_drafts_and_comparisons_show_what_was_skipped():
    scores = [score.document() for score in skipped_attack("definetti", "too many")]
    (drafted,) = draft._attacks({"wage": scores})
    assert drafted["rows"] == [["definetti", "skipped", "skipped: too many"]]
    outcome = SimpleNamespace(outcome=SimpleNamespace(attacks={"wage": scores}))
    (compared,) = comparison._attacks(SimpleNamespace(ranked=[outcome]))
    assert compared["rows"] == [["definetti", "skipped"]]
