"""Releases about the same people: the vector of algorithms D6, and every person by hand."""

import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.linking import same_people
from sfumato.tasks.attacks.linking.composition import compose
from sfumato.tasks.attacks.linking.same_people import shares_of_kinds
from sfumato.tasks.terms.people import WhoseRows
from tests.attacks.test_attacks import make_release
from tests.attacks.test_minimality import LATTICE, MONDRIAN, diverse, release_of
from tests.release.small import SPEC, Small


def of_people(release, numbers):
    """The same release, of which it is known whose the rows are."""
    return replace(release, people=replace(release.people, person=np.array(numbers)))


def test_the_vector(tmp_path):
    """{flu, HIV} and then {HIV, cancer}: HIV, though both groups are diverse."""
    here = release_of(tmp_path / "1", {"a": [1, 1], "s": ["HIV", "flu"]}, [diverse(2)], MONDRIAN)
    there = release_of(
        tmp_path / "2", {"a": [5, 5], "s": ["HIV", "cancer"]}, [diverse(2)], MONDRIAN
    )
    both, guessed, sure, only, *rest = compose([of_people(here, [0, 1]), of_people(there, [0, 2])])
    assert both.share == 0.5
    assert [score.share for score in rest] == [1, 1, 1], "HIV is taken: flu is left"
    assert rest[0].references == {"from the first alone": 0.5}
    assert [score.share for score in (guessed, sure, only)] == [1, 1, 1]
    assert guessed.references == {"from the first alone": 0.5}
    assert only.references == sure.references == {"from the first alone": 0}


def test_private_maps_tell_groups_that_files_do_not(tmp_path):
    """Four who look alike in two pairs, then in two others: no file says who is in which."""
    values = {"a": [1, 1, 1, 1], "s": ["HIV", "flu", "flu", "gout"]}
    release = release_of(tmp_path, values, [diverse(2)], MONDRIAN)
    rows = replace(release.people, person=np.arange(4))
    both = [
        replace(release, whose=WhoseRows(np.array(group), rows))
        for group in ([0, 0, 1, 1], [0, 1, 0, 1])
    ]
    _, guessed, sure, only = compose(both)
    assert (guessed.share, sure.share, only.share) == (1, 1, 1)  # both allow one world alone
    assert guessed.references == {"from the first alone": 0.5}


def worlds_of(tables, values):
    """All ways to give people values that every release allows, each as likely.

    Args:
        tables: of each release its groups: the people, and the values that are shown of them.
        values: that there are.
    """
    people = sorted({person for groups in tables for members, _ in groups for person in members})
    for choice in product(values, repeat=len(people)):
        world = dict(zip(people, choice, strict=True))
        groups = (group for table in tables for group in table)
        if all(sorted(world[p] for p in members) == sorted(own) for members, own in groups):
            yield world


def shares_of_worlds(tables, own):
    """Guessed, believed with 80 %, and left alone: from the worlds, listed one by one."""
    worlds = list(
        worlds_of(tables, sorted({*own.values()} | {v for t in tables for _, s in t for v in s}))
    )
    hits = [Fraction(0)] * 3
    for person, value in own.items():
        times = Counter(world[person] for world in worlds)
        top = [other for other, n in times.items() if n == max(times.values())]
        hits[0] += Fraction(value in top, len(top))
        hits[1] += Fraction(times[value], len(worlds)) >= Fraction(4, 5)
        hits[2] += len(times) == 1
    return [float(hit / len(own)) for hit in hits]


VALUE = st.integers(0, 2)


@given(st.lists(st.tuples(VALUE, *[st.integers(-1, 2)] * 3), min_size=1, max_size=7))
def test_beliefs_are_shares_of_worlds(people):
    """Every person's belief in every value, as fractions, by people in up to three releases."""
    kinds = [frozenset((n, g) for n, g in enumerate(numbers[1:]) if g >= 0) for numbers in people]
    members = defaultdict(list)
    for person, kind in enumerate(kinds):
        for group in kind:
            members[group].append(person)
    values = {group: Counter(people[p][0] for p in own) for group, own in members.items()}
    tables = [[(own, [*values[group].elements()]) for group, own in members.items()]]
    worlds = list(worlds_of(tables, range(3)))
    everybody = Counter(kind for kind in kinds if kind)
    all_kinds = [*everybody]
    counted = shares_of_kinds(everybody, values, all_kinds)
    shares = counted.shares
    assert counted.exact == {*all_kinds}
    assert {*shares} == {*all_kinds}
    for person, kind in enumerate(kinds):
        times = Counter(world.get(person) for world in worlds)
        if kind in shares:
            expected = {value: Fraction(n, len(worlds)) for value, n in times.items()}
            assert {v: share for v, share in shares[kind].items() if share} == expected


def test_who_left_is_known_by_what_the_others_took_along(tmp_path):
    """{flu, HIV}, then {flu, gout} about one of the two: flu went along, and HIV is left."""
    here = release_of(tmp_path / "1", {"a": [1, 1], "s": ["flu", "HIV"]}, [diverse(2)], MONDRIAN)
    there = release_of(tmp_path / "2", {"a": [1, 1], "s": ["flu", "gout"]}, [diverse(2)], MONDRIAN)
    scores = compose([of_people(here, [7, 8]), of_people(there, [7, 9])])
    assert [(score.share, score.references) for score in scores[4:5]] == [
        (1, {"from the first alone": 0.5})
    ]
    assert {score.exact for score in scores[1:]} == {1}


def test_what_is_shown_twice_is_known_no_better():
    """Two releases with the same group tell what one tells: shares are not simply multiplied."""
    both = frozenset({(0, 0), (1, 0)})
    group_values = {group: Counter("AAB") for group in both}
    assert shares_of_kinds({both: 3}, group_values, [both]).shares == {
        both: {"A": Fraction(2, 3), "B": Fraction(1, 3)}
    }


def test_groups_that_are_too_many_to_count_are_taken_by_themselves():
    """A chain of groups: by the own groups alone, and by no worlds where these are too many."""
    kinds = [frozenset({(0, n), (1, n + d)}) for n in range(3) for d in (0, 1)]
    group_values = {group: Counter([0, 1]) for kind in kinds for group in kind}
    group_values |= {(1, 0): Counter([0]), (1, 3): Counter([1])}
    everybody = Counter(kinds)
    whole = shares_of_kinds(everybody, group_values, kinds)
    assert whole.shares[kinds[2]] == {0: 1, 1: 0}
    assert whole.exact == {*kinds}
    with patch.object(same_people, "EACH", 5):
        shares = shares_of_kinds(everybody, group_values, kinds)
    assert shares.shares[kinds[2]] == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert not shares.exact, "other groups narrow them further"
    with patch.object(same_people, "EACH", 0):
        assert shares_of_kinds(everybody, group_values, kinds).shares == {}


def groups_of(release, name):
    """The quasi-identifier's values of each group, and its sensitive ones."""
    table = release.tables["microdata"]
    members_of = defaultdict(lambda: (set(), []))
    columns = (table[column].to_pylist() for column in ("group_id", name, "s"))
    for group, person, value in zip(*columns, strict=True):
        members_of[group][0].add(person)
        members_of[group][1].append(value)
    return list(members_of.values())


def test_the_same_people_drawn_anew_are_found(tmp_path):
    """Groups of four of ten values each: few people have one value left after two draws, most
    after six."""
    rng = np.random.default_rng(4)
    apart = rng.choice(10_000, 600, replace=False)
    nobody_like = {"a": apart, "b": np.zeros(600, int), "c": np.zeros(600, int)}
    people = {**nobody_like, "s": rng.integers(0, 10, 600)}
    draws = [
        of_people(
            make_release(tmp_path / str(seed), people, "permuted", l=4, seed=seed), range(600)
        )
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


@pytest.mark.parametrize("versions", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_as_world_by_world(seed, versions, tmp_path):
    draw = random.Random(seed)
    s = {person: person % 3 for person in range(9)}
    people = {name: draw.sample(range(9), 7) for name in "abc"[:versions]}
    places = {name: {p: draw.randint(0, 9) for p in members} for name, members in people.items()}
    partitions = {"a": MONDRIAN, "b": MONDRIAN, "c": LATTICE}
    releases = {}
    for name, some_people in people.items():
        arrays = {name: [places[name][p] for p in some_people], "s": [s[p] for p in some_people]}
        made = release_of(tmp_path / name, arrays, [diverse(2)], partitions[name])
        releases[name] = of_people(made, some_people)
    in_both = sorted(set.intersection(*map(set, people.values())))
    own = {person: s[person] for person in in_both}
    there, *scores = compose([*releases.values()])
    first = people["a"]
    gone = {person: s[person] for person in first if person not in in_both}
    tables = [
        [
            ([p for p in people[name] if places[name][p] in members], values)
            for members, values in groups_of(made, name)
        ]
        for name, made in releases.items()
    ]
    assert there.share == len(in_both) / 7
    assert len(scores) == 3 * ((len(own) > 0) + (len(gone) > 0))
    for some_people, some_scores in ((own, scores[:3]), (gone, scores[3:])):
        assert [score.share for score in some_scores] == pytest.approx(
            shares_of_worlds(tables, some_people)
        )
        alone = shares_of_worlds(tables[:1], some_people)
        assert [score.references["from the first alone"] for score in some_scores] == pytest.approx(
            alone
        )


def test_beyond_what_is_counted_shares_of_groups_are_multiplied(tmp_path):
    here = release_of(tmp_path / "1", {"a": [1, 1, 1], "s": [0, 0, 1]}, [diverse(2)], MONDRIAN)
    there = release_of(tmp_path / "2", {"b": [5, 5, 5], "s": [0, 0, 1]}, [diverse(2)], MONDRIAN)
    both = [of_people(here, [0, 1, 2]), of_people(there, [0, 1, 2])]
    sure = compose(both)[2]
    assert (sure.share, sure.exact) == (0, 1)
    with patch.object(same_people, "EACH", 0):
        sure = compose(both)[2]
    assert sure.share == 2 / 3, "4/5 are believed of who has 0"
    assert (sure.exact, sure.document()["exact"]) == (0, 0)
    assert "counted exactly: 0.0%" in sure.context


def test_people_of_none_are_followed_nowhere(tmp_path):
    arrays = {"a": [1, 1, 2, 2], "s": [1, 2, 1, 2]}
    release = release_of(tmp_path, arrays, [diverse(2)], MONDRIAN)
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
    command = ["attack", str(first), "--truth", str(ages.spec)]
    assert run([*command, "--also", str(second), str(towns.spec)]) == 0
    assert "own value the only one that all of them allow" in capsys.readouterr().out


def test_what_is_no_version_of_the_line_is_said(lines, capsys, tmp_path, monkeypatch):
    ages, _ = lines
    first = ages.publish("one").directory
    command = ["attack", str(first), "--truth", str(ages.spec)]

    def refusal_of(*arguments):
        assert run([*arguments]) == 2
        (error,) = capsys.readouterr().err.splitlines()
        return error

    assert "names a version twice" in refusal_of(*command, "--also", str(first), str(ages.spec))
    nowhere = tmp_path / "nowhere"
    assert "the directory does not exist" in refusal_of(
        "attack", str(nowhere), "--truth", str(ages.spec)
    )
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "another"))
    assert "does not know this version" in refusal_of(*command)
    assert not [*tmp_path.glob("another/**/key")], "who reads makes no key"


def test_a_version_that_was_changed_is_not_attacked(lines, capsys):
    ages, _ = lines
    first = ages.publish("one").directory
    table = first / "data" / "microdata.csv"
    table.chmod(0o644)
    table.write_bytes(table.read_bytes() + b"\n")
    assert run(["attack", str(first), "--truth", str(ages.spec)]) == 3
    assert "data/microdata.csv: its SHA-256 is not the one" in capsys.readouterr().err


def test_without_a_unit_nobody_is_followed(lines, capsys):
    ages, towns = lines
    columns = {**COLUMNS, "person": {"role": "drop"}}
    first = ages.publish("one").directory
    rows = [{"person": "x", "age": 20 + n, "town": "A", "note": "", "wage": "1"} for n in range(9)]
    rows = [{**row, "job": JOBS[n % 4]} for n, row in enumerate(rows)]
    towns.write(rows, **{**OTHER, "columns": columns, "unit": "row"})
    second = towns.publish("two").directory
    command = ["attack", str(first), "--truth", str(ages.spec)]
    assert run([*command, "--also", str(second), str(towns.spec)]) == 2
    assert "--also: needs a unit that identifies people in all" in capsys.readouterr().err
