"""Planted weaknesses: each attack finds the release that has one, and nothing in the sound one."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from tests.attacks.test_linkage import register_of
from tests.release.small import SPEC, Small

AGES = {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [10, 20]}}
COLUMNS = {**SPEC["columns"], "age": AGES, "town": {"role": "quasi-identifier"}}
WAGES = {"role": "sensitive", "type": "integer"}
K4 = {"model": "k-anonymity", "k": 4}
SURE = {"belief": 1, "share": 0}


@dataclass
class Planted:
    """Publishes lines in folders of their own, and attacks them."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def attack_release(self, name, rows, register=None, **terms):
        """The scores of a release by measure, and whether it keeps its bars."""
        self.monkeypatch.setenv("SFUMATO_WORK", str(self.folder / f"work-{name}"))
        line = Small(self.folder / name)
        line.write(rows, **{"columns": COLUMNS, "evaluate": {"workloads": []}, **terms})
        directory = line.publish("one").directory
        place = register and register_of(line.folder, register)
        scores_by_column, judged = attack_again(directory, line.spec, Overrides(), place)
        shares = {score.measure: score for scores in scores_by_column.values() for score in scores}
        return shares, [bar.is_kept for bar in judged]


@pytest.fixture
def planted_rows(tmp_path, monkeypatch):
    return Planted(tmp_path, monkeypatch)


def person(number, age, town, wage):
    return {"person": f"IDENT-{number}", "age": age, "town": town, "note": "", "wage": wage}


def distinct(l):
    return {"model": "l-diversity", "variant": "distinct", "l": l}


def test_a_register_finds_rows_that_are_published_as_they_are(planted_rows):
    """Sound: labels that fit four rows each, and twice as many people of the register."""
    rows = [person(n, 20 + n % 40, "AB"[n % 2], 100 + n % 7) for n in range(120)]
    register_rows = [(str(row["age"]), row["town"]) for row in rows]
    sound, _ = planted_rows.attack_release(
        "sound",
        rows,
        register_rows * 2,
        promises=[K4, distinct(2)],
        partition={"method": "mondrian"},
        form={"method": "generalized"},
    )
    alone = [person(n, 20 + 2 * n, "A", 100 + n % 7) for n in range(120)]
    whole = [(str(row["age"]), row["town"]) for row in alone]
    shares, _ = planted_rows.attack_release(
        "planted",
        alone,
        whole,
        promises=[distinct(2)],
        partition={"method": "anatomy"},
        form={"method": "permuted"},
    )
    own = "own row picked among the rows that fit"
    only = "in a row that fits one person of the register alone"
    surely = "surely in the release, of those who are"
    assert sound[own].share <= 1 / 4
    assert sound[only].share == sound[surely].share == 0
    assert shares[own].share == shares[only].share == shares[surely].share == 1


@pytest.mark.parametrize("form", ["generalized", "permuted", "split"])
def test_a_register_finds_what_the_rows_that_fit_have_in_common(planted_rows, form):
    """Four people who are like each other have one wage; sound: four wages."""
    alike = [person(n, 20 + 2 * (n // 4), "A", 100 + n // 4 % 5) for n in range(120)]
    apart = [person(n, 20 + 2 * (n // 4), "A", 100 + n % 4) for n in range(120)]
    terms = {"partition": {"method": "mondrian"}, "form": {"method": form}}
    wage = {**WAGES, "unprotected": "to be found"}
    register_rows = [(str(row["age"]), "A") for row in alike] * 2
    promises = [K4] if form == "generalized" else [distinct(1)]
    weak = {**terms, "promises": promises, "columns": {**COLUMNS, "wage": wage}}
    shares, _ = planted_rows.attack_release("planted", alike, register_rows, **weak)
    sound, _ = planted_rows.attack_release(
        "sound", apart, register_rows, **terms, promises=[distinct(4)]
    )
    guessed = "own 'wage' guessed from the rows that fit"
    believed = "own 'wage' believed with 80% or more, from the rows that fit"
    assert shares[guessed].share == shares[believed].share == 1
    assert (sound[guessed].share, sound[believed].share) == (1 / 4, 0)


def test_joining_back_finds_columns_that_go_together(planted_rows):
    """One release: everybody of a register whose ages tell towns is there; of a full one, nobody.

    Combinations that nobody has make α small, and hide nobody from who knows that.
    """
    rows = [person(n, 20 + 2 * n, f"T{n}", f"W{n % 4}") for n in range(24)]
    ages = {"role": "quasi-identifier", "type": "integer"}
    columns = {**COLUMNS, "age": ages, "wage": {"role": "sensitive"}}
    terms = {
        "columns": columns,
        "promises": [{"model": "alpha-beta", "alpha": "0.5", "beta": "0.5"}],
        "partition": {"method": "disjoint-cover"},
        "form": {"method": "ambiguous"},
    }
    those = [(str(row["age"]), row["town"]) for row in rows]
    others = [(str(200 + n), "elsewhere") for n in range(24)]
    full = [(age, town) for age, _ in those for _, town in those]
    surely = "surely in the release, of those who are"
    sound, _ = planted_rows.attack_release("sound", rows, full, **terms)
    shares, _ = planted_rows.attack_release("planted", rows, those + others, **terms)
    assert sound[surely].share == 0
    assert shares[surely].share == 1
    assert shares[surely].references["taking combinations to be as likely"] == 0


def test_one_known_person_finds_groups_of_two(planted_rows):
    """Sound: four values in each group, of which one known person leaves three."""
    rows = [person(n, 20 + 2 * n, "A", f"W{n % 4}") for n in range(120)]
    columns = {**COLUMNS, "wage": {"role": "sensitive"}}
    bars = {"known-people": {"known": 1, "max-share-above": SURE}}
    outcomes = {
        name: planted_rows.attack_release(
            name,
            rows,
            columns=columns,
            promises=[distinct(l)],
            partition={"method": "anatomy"},
            form={"method": "permuted"},
            attacks=bars,
        )
        for name, l in (("sound", 4), ("planted", 2))
    }
    measure = "own value certain once 1 other of the group is known"
    assert {name: shares[measure].share for name, (shares, _) in outcomes.items()} == {
        "sound": 0,
        "planted": 1,
    }
    assert {name: is_kept for name, (_, is_kept) in outcomes.items()} == {
        "sound": [True],
        "planted": [False],
    }


@pytest.mark.parametrize("attack", ["small-range", "similarity"])
def test_wages_that_differ_and_mean_the_same_are_found(planted_rows, attack):
    """Groups of three different wages each: near each other, or far apart (sound)."""
    near = [person(n, 20 + 2 * (n // 3), "A", 1000 * (n // 3 % 10) + n % 3) for n in range(120)]
    far = [person(n, 20 + 2 * (n // 3), "A", 1000 * (n % 3) + n // 3) for n in range(120)]
    wage = {**WAGES, "hierarchy": {"intervals": [1000, 10000]}}
    bar = {"small-range": {"width": 10}, "similarity": {"level": 1}}[attack]
    outcomes = {
        name: planted_rows.attack_release(
            name,
            rows,
            columns={**COLUMNS, "wage": wage},
            promises=[distinct(3)],
            partition={"method": "mondrian"},
            form={"method": "permuted"},
            attacks={attack: {**bar, "max-share-above": SURE}},
        )
        for name, rows in (("sound", far), ("planted", near))
    }
    words = {
        "small-range": "in a group whose range is below ",
        "similarity": "in a group in which all values are of one kind (level 1)",
    }[attack]
    shares = {
        name: next(score.share for measure, score in shares.items() if measure.startswith(words))
        for name, (shares, _) in outcomes.items()
    }
    assert shares == {"sound": 0, "planted": 1}
    assert {name: is_kept for name, (_, is_kept) in outcomes.items()} == {
        "sound": [True],
        "planted": [False],
    }
