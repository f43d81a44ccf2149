"""Releases about the same people: the vector of algorithms D6, and every person by hand."""

import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.expectations.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.flows.evaluation import attack_again
from sfumato.flows.overrides import Overrides
from sfumato.tasks.attacks.linking.composition import compose
from tests.attacks.test_attacks import attacked
from tests.attacks.test_minimality import LATTICE, MONDRIAN, diverse, released
from tests.release.small import SPEC, Small


def of_people(release, numbers):
    """The same release, of which it is known whose the rows are."""
    return replace(release, people=replace(release.people, person=np.array(numbers)))


def test_the_vector(tmp_path):
    """{flu, HIV} and then {HIV, cancer}: HIV, though both groups are diverse."""
    here = released(tmp_path / "1", {"a": [1, 1], "s": ["HIV", "flu"]}, [diverse(2)], MONDRIAN)
    there = released(tmp_path / "2", {"a": [5, 5], "s": ["HIV", "cancer"]}, [diverse(2)], MONDRIAN)
    both, guessed, sure, only = compose([of_people(here, [0, 1]), of_people(there, [0, 2])])
    assert both.share == 0.5
    assert [one.share for one in (guessed, sure, only)] == [1, 1, 1]
    assert guessed.references == {"from the first alone": 0.5}
    assert only.references == sure.references == {"from the first alone": 0}


def shares_by_hand(tables, rows, own):
    """Guessed, believed with 80 %, and left alone: from the groups' lists of values."""
    hits = [Fraction(0)] * 3
    for person, value in own.items():
        likely = defaultdict(lambda: Fraction(1))
        for of, at in zip(tables, rows, strict=True):
            (values,) = (values for vectors, values in of if at[person] in vectors)
            shown = Counter(values)
            for other in {*likely} | ({*shown} if not likely else set()):
                likely[other] *= Fraction(shown[other], len(values))
        left = {other: p for other, p in likely.items() if p}
        top = [other for other, p in left.items() if p == max(left.values())]
        hits[0] += Fraction(value in top, len(top))
        hits[1] += left[value] / sum(left.values()) >= Fraction(4, 5)
        hits[2] += len(left) == 1
    return [float(hit / len(own)) for hit in hits]


def groups_of(release, name):
    """The quasi-identifier's values of each group, and its sensitive ones."""
    table = release.tables["microdata"]
    found = defaultdict(lambda: (set(), []))
    columns = (table[of].to_pylist() for of in ("group_id", name, "s"))
    for group, at, value in zip(*columns, strict=True):
        found[group][0].add(at)
        found[group][1].append(value)
    return list(found.values())


def test_the_same_people_drawn_anew_are_found(tmp_path):
    """Groups of four of ten values each: few people have one value left after two draws, most
    after six."""
    rng = np.random.default_rng(4)
    apart = rng.choice(10_000, 600, replace=False)
    nobody_like = {"a": apart, "b": np.zeros(600, int), "c": np.zeros(600, int)}
    people = {**nobody_like, "s": rng.integers(0, 10, 600)}
    draws = [
        of_people(attacked(tmp_path / str(seed), people, "permuted", l=4, seed=seed), range(600))
        for seed in range(6)
    ]
    *_, alone = compose(draws[:2])
    assert alone.measure == "own value the only one that all of them allow"
    assert alone.references == {"from the first alone": 0}
    assert 0.1 < alone.share < 0.45
    *_, alone = compose(draws)
    assert alone.share > 0.9
    *_, alone = compose([draws[0], draws[0]])
    assert alone.share == 0, "one draw, twice"


@pytest.mark.parametrize("seed", range(5))
def test_as_person_by_person(seed, tmp_path):
    draw = random.Random(seed)
    s = {person: draw.randint(0, 4) for person in range(40)}
    people = {name: draw.sample(range(40), 30) for name in ("a", "b", "c")}
    at = {name: {p: draw.randint(0, 9) for p in of} for name, of in people.items()}
    partitions = {"a": MONDRIAN, "b": MONDRIAN, "c": LATTICE}
    releases = {}
    for name, of in people.items():
        arrays = {name: [at[name][p] for p in of], "s": [s[p] for p in of]}
        made = released(tmp_path / name, arrays, [diverse(2)], partitions[name])
        releases[name] = of_people(made, of)
    known = sorted(set.intersection(*map(set, people.values())))
    own = {person: s[person] for person in known}
    there, *scores = compose([*releases.values()])
    tables = [groups_of(release, name) for name, release in releases.items()]
    assert there.share == len(known) / 30
    expected = shares_by_hand(tables, [*at.values()], own)
    assert [one.share for one in scores] == pytest.approx(expected)
    alone = shares_by_hand(tables[:1], [at["a"]], own)
    assert [one.references["from the first alone"] for one in scores] == pytest.approx(alone)


def test_people_of_none_are_followed_nowhere(tmp_path):
    arrays = {"a": [1, 1, 2, 2], "s": [1, 2, 1, 2]}
    release = released(tmp_path, arrays, [diverse(2)], MONDRIAN)
    with pytest.raises(InputError, match="several rows"):
        compose([of_people(release, [0, 0, 1, 2]), of_people(release, [0, 1, 2, 3])])
    (there,) = compose([of_people(release, [0, 1, 2, 3]), of_people(release, [4, 5, 6, 7])])
    assert there.share == 0


JOBS = ["baker", "clerk", "driver", "nurse"]
COLUMNS = {
    **SPEC["columns"],
    "town": {"role": "drop"},
    "wage": {"role": "drop"},
    "job": {"role": "sensitive"},
}
TERMS = {
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
    "partition": {"method": "mondrian"},
    "columns": COLUMNS,
    "evaluate": {"workloads": []},
    "people": "townspeople",
}

OTHER = {
    **TERMS,
    "name": "towns",
    "source": {"uri": "people.csv"},
    "across-lines": "accepted-risk",
}


@pytest.fixture
def lines(small, tmp_path):
    """A line of ages, and another one of towns, of the same people."""
    draw = random.Random(3)
    rows = [
        {"person": f"IDENT-{n}", "age": draw.randint(19, 60), "town": draw.choice("ABCDEFGH")}
        | {"note": "", "wage": "1.5", "job": draw.choice(JOBS)}
        for n in range(60)
    ]
    of_towns = {**COLUMNS, "age": {"role": "drop"}, "town": {"role": "quasi-identifier"}}
    small.write(rows, **TERMS)
    other = Small(tmp_path / "towns")
    other.write(rows, **{**OTHER, "columns": of_towns})
    return small, other


def test_two_lines_of_a_source_together(lines, capsys):
    ages, towns = lines
    first, second = ages.publish("one").directory, towns.publish("two").directory
    others = [(second, towns.spec)]
    scores, _ = attack_again(first, ages.spec, Overrides(), None, others)
    there, guessed, _, only = scores["job (all versions together)"]
    assert there.share == 1
    assert guessed.share > guessed.references["from the first alone"]
    assert only.share > only.references["from the first alone"] == 0
    asked = ["attack", str(first), "--truth", str(ages.spec)]
    assert run([*asked, "--also", str(second), str(towns.spec)]) == 0
    assert "own value the only one that all of them allow" in capsys.readouterr().out


def test_without_a_unit_nobody_is_followed(lines, capsys):
    ages, towns = lines
    columns = {**COLUMNS, "person": {"role": "drop"}}
    first = ages.publish("one").directory
    rows = [{"person": "x", "age": 20 + n, "town": "A", "note": "", "wage": "1"} for n in range(9)]
    rows = [{**row, "job": JOBS[n % 4]} for n, row in enumerate(rows)]
    towns.write(rows, **{**OTHER, "columns": columns, "unit": "row"})
    second = towns.publish("two").directory
    asked = ["attack", str(first), "--truth", str(ages.spec)]
    assert run([*asked, "--also", str(second), str(towns.spec)]) == 2
    assert "needs a unit, by which people are followed" in capsys.readouterr().err
