"""Minimality: the vectors of algorithms D4, and worlds that are made anew by the very partition."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.attacks.bars import judge_bars
from sfumato.tasks.attacks.declared import JUDGED, AttackBars
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.minimal import known, minimality
from sfumato.tasks.attacks.minimal.known import KnownTries, known_tries
from sfumato.tasks.attacks.minimal.minimality import weigh
from sfumato.tasks.attacks.minimal.worlds import MOST, arrangements, tally, worlds_of
from sfumato.tasks.attacks.shared.attack import SURE, AttackedRelease
from sfumato.tasks.choose.trial import run_trial
from sfumato.tasks.forms.form_parameters import (
    AmbiguousParameters,
    GeneralizedParameters,
    PermutedParameters,
    SuppressedParameters,
)
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.full_domain import full_domain
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.mondrian import mondrian
from sfumato.tasks.partitions.mondrian.cuts import LeavingChance
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms

MONDRIAN = MondrianParameters(method="mondrian")
LATTICE = FullDomainParameters(method="full-domain")
ROOMS = {"mondrian": mondrian, "full-domain": full_domain}
FORMS = {
    "permuted": PermutedParameters(method="permuted"),
    "generalized": GeneralizedParameters(method="generalized"),
}
APART = AmbiguousParameters(method="ambiguous")
STARRED = SuppressedParameters(method="suppressed")


TWO_GROUPS = {
    "a": [1, 1, 2, 2, 1, 1, 2, 2],
    "b": [5, 5, 5, 5, 6, 6, 6, 6],
    "s": [7, 7, 8, 8, 7, 8, 7, 9],
}


def table(arrays):
    columns = [
        encode(name, "sensitive" if name == "s" else "quasi-identifier", pa.array(values))
        for name, values in arrays.items()
    ]
    return Microdata(tuple(columns), len(arrays["s"]))


def diverse(l=2, **more):
    return DistinctLDiversity(variant="distinct", l=l, sensitive="s", **more)


def close(t, distance="equal"):
    return TCloseness(t=t, distance=distance, sensitive="s")


def released(folder, arrays, promises, partition, form="permuted", seed=1):
    people = table(arrays)
    of = {
        name: DeclaredColumn(
            role="sensitive" if name == "s" else "quasi-identifier",
            type="string" if isinstance(values[0], str) else "integer",
        )
        for name, values in arrays.items()
    }
    names = tuple(name for name in arrays if name != "s")
    terms = Terms(
        name="attacked",
        title="Attacked",
        unit="row",
        versions="disjoint",
        columns=of,
        strata=(),
        promises=tuple(replace(p, quasi_identifiers=names) for p in promises),
        partition=partition,
        form={**FORMS, "ambiguous": APART, "suppressed": STARRED}[form],
        formats=("parquet",),
    )
    trial = run_trial(people, terms, folder, seeded_keys(seed)).require_kept()
    declared, tables = trial.assessment.declared, trial.assessment.tables
    return AttackedRelease(declared, tables, trial.represented, "s")


def every(known: KnownTries):
    """The rows of all groups."""
    return known.rows(range(len(known.sizes)))


def believed(known: KnownTries):
    """What is believed of each row: the share of its weight that each value has."""
    kinds = [known.kinds(rows) for rows in every(known)]
    draw = np.random.default_rng(0)
    worlds = [worlds_of(k, known.codes[r], draw) for k, r in zip(kinds, every(known), strict=True)]
    kept = known.promises_kept(every(known), worlds)
    weights = weigh([of.weight for of in worlds], kept, known.left.tolist(), known.together)
    found = {}
    for rows, kind, world, weight in zip(every(known), kinds, worlds, weights, strict=True):
        mass = tally(world.values, kind, weight)
        mass /= mass.sum(axis=1, keepdims=True)
        values = np.unique(world.values)
        for row, of in zip(rows, kind, strict=True):
            found[int(row)] = {int(v): float(m) for v, m in zip(values, mass[of], strict=True) if m}
    return [found[row] for row in range(len(known.codes))]


@pytest.mark.parametrize(
    ("sizes", "cases", "beliefs"),
    [((2, 5), 2, (Fraction(1), Fraction(0))), ((4, 4), 3, (Fraction(3, 8), Fraction(3, 8)))],
)
def test_the_vectors_of_the_lattice(sizes, cases, beliefs, tmp_path):
    """Two raw values merged by (1/2, 1)-anonymity of one disease: n = (2, 5), c = 2: 1 and 0."""
    raw = ["p"] * sizes[0] + ["q"] * sizes[1]
    where = [0, 1] if sizes == (2, 5) else [0, 1, 2]
    illness = ["ill" if at in where else f"well {at}" for at in range(sum(sizes))]
    promise = AlphaK(alpha="0.5", k=1, sensitive="s", values=("ill",))
    release = released(tmp_path, {"a": raw, "s": illness}, [promise], LATTICE)
    known = known_tries(release)
    assert len(every(known)) == 1
    found = believed(known)
    ill = int(known.codes[0])
    assert illness.count("ill") == cases
    for row, value in enumerate(raw):
        expected = beliefs[0] if value == "p" else beliefs[1]
        assert found[row].get(ill, 0) == pytest.approx(float(expected), abs=1e-12)


def different_worlds(known, values):
    """Every way to give the rows of each group its values; all are as likely."""
    orders = [{*permutations(values[of] for of in rows)} for rows in every(known)]
    for chosen in product(*orders):
        world = list(values)
        for rows, order in zip(every(known), chosen, strict=True):
            for row, value in zip(rows, order, strict=True):
                world[row] = value
        yield world


def worlds_made_anew(known, arrays, promises, partition):
    """By enumeration: all worlds with these values in these groups that are parted the same."""
    names = tuple(name for name in arrays if name != "s")
    promises = [replace(p, quasi_identifiers=names) for p in promises]
    belief = [Counter() for _ in arrays["s"]]
    total = 0
    for world in different_worlds(known, arrays["s"]):
        try:
            group = (
                ROOMS[partition.method]
                .partition(table({**arrays, "s": world}), [], promises, partition, seeded_keys(1))
                .group
            )
        except PromiseError:
            continue
        if (
            len({*zip(group.tolist(), known.group.tolist(), strict=True)})
            == len(every(known))
            == len({*group.tolist()})
        ):
            total += 1
            for row, value in enumerate(world):
                belief[row][value] += 1
    return [{v: Fraction(n, total) for v, n in sorted(of.items())} for of in belief]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("partition", "ages", "values", "promises"),
    [
        (MONDRIAN, [1, 1, 2, 2, 3, 3], [7, 7, 8, 8, 9, 9], [diverse(2)]),
        (MONDRIAN, [1, 2, 2, 3, 4, 4, 5], [7, 7, 7, 7, 8, 8, 9], [diverse(3)]),
        (MONDRIAN, [1, 1, 1, 2, 2], [7, 7, 8, 8, 8], [diverse(2)]),
        (MONDRIAN, [1, 1, 2, 2, 3, 3], [7, 7, 7, 7, 7, 8], [KAnonymity(k=2), diverse(2)]),
        (LATTICE, [1, 1, 2, 2, 3, 3], [7, 8, 7, 7, 8, 9], [diverse(2)]),
        (LATTICE, [1, 1, 1, 2, 2, 2], [7, 7, 7, 7, 8, 8], [diverse(2)]),
        (MONDRIAN, [1, 1, 2, 2, 3, 3], [7, 7, 8, 8, 9, 9], [close("0.3")]),
        (MONDRIAN, [1, 1, 2, 2, 3, 3, 3], [7, 7, 8, 8, 9, 9, 9], [close("0.2", "ordered")]),
        (LATTICE, [1, 1, 1, 2, 2, 2], [7, 7, 7, 8, 8, 9], [close("0.3")]),
        (
            LATTICE,
            [1, 1, 1, 2, 2, 2],
            [7, 7, 7, 8, 8, 9],
            [BetaLikeness(beta="0.4", sensitive="s")],
        ),
    ],
)
def test_beliefs_are_those_of_worlds_that_are_parted_the_same(
    partition, ages, values, promises, form, tmp_path
):
    """One quasi-identifier, and one group: nothing else was tried than what is told."""
    arrays = {"a": ages, "s": values}
    known = known_tries(released(tmp_path, arrays, promises, partition, form))
    assert len(every(known)) == 1
    found, labels = believed(known), sorted({*values})
    expected = worlds_made_anew(known, arrays, promises, partition)
    for one, other in zip(found, expected, strict=True):
        assert {labels[v]: pytest.approx(float(p), abs=1e-12) for v, p in one.items()} == {
            v: float(p) for v, p in other.items()
        }


class Tape:
    """What chance decides about one part after the other, and how likely that is."""

    def __init__(self, told, share, few):
        self.told, self.share, self.few = list(told), share, few
        self.likely, self.at = Fraction(1), 0

    def leaves(self, _, sizes):
        found = []
        for rows in sizes.tolist():
            if self.at == len(self.told):
                self.told.append(False)
            left = self.told[self.at]
            chance = self.share * Fraction(self.few, max(self.few, rows))
            self.likely *= chance if left else 1 - chance
            self.at += 1
            found.append(left)
        return np.array(found, dtype=bool)


def ways_to_be_left(run):
    """Run with every tape that there is: what is found with each, and how likely it is."""
    told = ()
    while True:
        found, tape = run(told)
        yield found, tape.likely
        rest = tape.told[: tape.at]
        while rest and rest[-1]:
            rest.pop()
        if not rest:
            return
        told = (*rest[:-1], True)


def same_parts(one, other):
    return len({*zip(one.tolist(), other.tolist(), strict=True)}) == len({*one}) == len({*other})


@pytest.mark.parametrize(
    ("ages", "values", "promises"),
    [
        ([1, 1, 2, 2, 3, 3], [7, 7, 8, 8, 9, 9], [diverse(2)]),
        ([1, 1, 2, 2, 3, 3, 4], [7, 7, 7, 8, 8, 9, 9], [diverse(2)]),
        ([1, 1, 2, 2, 3, 4, 5, 6], [7, 8, 7, 8, 7, 7, 8, 8], [diverse(2)]),
        ([1, 1, 1, 2, 2, 2], [7, 7, 8, 7, 8, 8], [KAnonymity(k=2), diverse(2)]),
    ],
)
@pytest.mark.parametrize("share", ["0.5", "0.125"])
def test_what_is_left_by_chance_tells_no_more_than_its_odds(
    ages, values, promises, share, tmp_path, monkeypatch
):
    """All worlds, and all that chance could decide in each, weighted by how likely it is."""
    arrays = {"a": ages, "s": values}
    partition = MondrianParameters(method="mondrian", leave=share)
    known = known_tries(released(tmp_path, arrays, promises, partition))
    about = [replace(p, quasi_identifiers=("a",)) for p in promises]
    few, labels = 4 * 2, sorted({*values})

    def run(world, told):
        tape = Tape(told, Fraction(share), few)
        monkeypatch.setattr(LeavingChance, "leaves", lambda _, *drawn: tape.leaves(*drawn))
        found = mondrian.partition(
            table({"a": ages, "s": world}), [], about, partition, seeded_keys(1)
        )
        return found.group, tape

    belief, total = [defaultdict(Fraction) for _ in values], Fraction(0)
    for world in different_worlds(known, values):
        likely = sum(
            chance
            for group, chance in ways_to_be_left(partial(run, world))
            if same_parts(group, known.group)
        )
        total += likely
        for row, value in enumerate(world):
            belief[row][value] += likely
    assert total > 0
    assert all(rows.size <= few for rows in every(known))
    each = [(of, Counter(values[row] for row in of).items()) for of in every(known)]
    for rows, value, times in ((rows, *alone) for rows, counts in each for alone in counts):
        prior = Fraction(times, len(rows))
        most = prior / (prior + Fraction(share) * (1 - prior))
        assert all(belief[row][value] / total <= most for row in rows)
    for one, other in zip(believed(known), belief, strict=True):
        assert {labels[v]: pytest.approx(p, abs=1e-8) for v, p in one.items()} == {
            v: float(p / total) for v, p in other.items() if p
        }


def test_plain_cuts_tell_what_chance_would_hide(tmp_path):
    """Both ill are on one side, or the cut had been made: not sure where it may be left."""
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    promise = AlphaK(alpha="0.5", k=1, sensitive="s")
    plain = believed(known_tries(released(tmp_path / "1", arrays, [promise], MONDRIAN)))
    chance = MondrianParameters(method="mondrian", leave="0.5")
    hidden = believed(known_tries(released(tmp_path / "2", arrays, [promise], chance)))
    assert plain[0] == {0: 1.0}
    assert hidden[0][0] == pytest.approx((1 + 5 / 2) / (1 + 20 / 2)), "worlds of the two ill: 21"


def test_a_node_that_fails_in_one_group_tells_a_little_of_all(tmp_path):
    """Two groups of two raw values each; the lower node failed in one of them, or in both."""
    arrays, promises = TWO_GROUPS, [diverse(2)]
    release = released(tmp_path, arrays, promises, LATTICE)
    known = known_tries(release)
    assert known.together
    assert sorted(map(len, every(known))) == [4, 4]
    labels = [7, 8, 9]
    found = believed(known)
    total, beliefs = Fraction(0), [defaultdict(Fraction) for _ in range(8)]
    lower = defaultdict(list)
    for row, raw in enumerate(zip(arrays["a"], arrays["b"], strict=True)):
        lower[raw].append(row)
    for orders in product(*(permutations(rows.tolist()) for rows in every(known))):
        world = [0] * 8
        for rows, order in zip(every(known), orders, strict=True):
            for row, of in zip(rows, order, strict=True):
                world[row] = arrays["s"][of]
        if any(len({world[row] for row in rows}) < 2 for rows in lower.values()):
            total += 1
            for row, value in enumerate(world):
                beliefs[row][value] += 1
    for row in range(8):
        expected = {value: float(number / total) for value, number in beliefs[row].items()}
        assert {labels[v]: pytest.approx(p, abs=1e-12) for v, p in found[row].items()} == expected


def test_what_was_learned_is_scored(tmp_path):
    """Three with a disease and three without: the cut failed, for one side had them all."""
    arrays = {"a": [1, 1, 1, 2, 2, 2], "s": [7, 7, 7, 8, 8, 8]}
    guessed, sure = minimality.attack(released(tmp_path, arrays, [diverse(2)], MONDRIAN))
    assert (guessed.references, sure.references) == (
        {"from the group alone": 0.5},
        {"from the group alone": 0.0},
    )
    assert guessed.share == 0.5, "either side could have been the one"
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    promise = AlphaK(alpha="0.5", k=1, sensitive="s", values=None)
    guessed, sure = minimality.attack(released(tmp_path / "2", arrays, [promise], LATTICE))
    assert guessed.share == pytest.approx((2 + 5 * 0.2) / 7)
    assert sure.share == pytest.approx(2 / 7)
    assert sure.references["from the group alone"] == 0


def drawn_table(seed):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, most, 24).tolist() for name, most in (("a", 9), ("s", 4))}


@pytest.mark.parametrize(
    ("arrays", "partition"),
    [
        *((drawn_table(seed), MONDRIAN) for seed in range(4)),
        (drawn_table(1), MondrianParameters(method="mondrian", leave="0.1")),
        (TWO_GROUPS, LATTICE),
    ],
)
def test_bars_are_judged_on_what_is_believed_of_each_row(arrays, partition, tmp_path, monkeypatch):
    """One row after the other, whether its group was tried or not; in parts, of many."""
    release = released(tmp_path, arrays, [diverse(2)], partition)
    if partition is not LATTICE:
        monkeypatch.setattr(minimality, "_ROWS", 8 * MOST)
    known, bars = known_tries(release), minimality.beliefs(release)
    assert bars.number == len(known.codes)
    assert max(map(len, every(known))) < 10, "all worlds are listed"
    expected = Counter()
    for own, of in zip(known.codes.tolist(), believed(known), strict=True):
        top = [value for value, belief in of.items() if belief == max(of.values())]
        expected[round(of[own], 9), (own in top) / len(top)] += 1
    found = Counter()
    for people, belief, guessed in zip(bars.people, bars.belief, bars.guessed, strict=True):
        found[round(float(belief), 9), float(guessed)] += int(people)
    assert found == expected
    monkeypatch.undo()
    scores = minimality.attack(release)
    assert [one.share for one in scores] == pytest.approx([bars.hits(), bars.share_above(SURE)])
    alone = homogeneity.beliefs(release)
    assert bars.lift() == pytest.approx(bars.hits() - alone.hits())


def test_groups_are_looked_at_by_the_digest_of_the_release(tmp_path, monkeypatch):
    """The same ones whenever it is attacked, and others of another release."""
    monkeypatch.setattr(minimality, "_ROWS", 40 * MOST)
    rng = np.random.default_rng(3)
    values = np.minimum(rng.geometric(0.7, 900), 3)  # uncommon ones keep groups from being cut
    arrays = {"a": rng.integers(0, 300, 900).tolist(), "s": values.tolist()}
    release = released(tmp_path, arrays, [diverse(2)], MONDRIAN)
    looked_at = defaultdict(list)
    weighed = minimality._weigh_groups

    def remember(known, groups, draw):
        looked_at[digest].append(groups)
        return weighed(known, groups, draw)

    monkeypatch.setattr(minimality, "_weigh_groups", remember)

    for digest in ("one", "another", "one"):
        minimality.attack(replace(release, digest=digest))
    assert looked_at["one"][0] == looked_at["one"][1] != looked_at["another"][0]


def test_too_many_worlds_are_not_judged(tmp_path, monkeypatch):
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    release = released(tmp_path, arrays, [AlphaK(alpha="0.5", k=1, sensitive="s")], MONDRIAN)
    assert minimality.beliefs(release) is not None
    monkeypatch.setattr(minimality, "_ROWS_JUDGED", 7 * MOST - 1)
    assert minimality.beliefs(release) is None


def test_partitions_that_bars_are_for_are_those_that_tell_what_they_tried():
    assert set(JUDGED["minimality"].partitions) == set(known._FINDERS)


@pytest.mark.parametrize(("leave", "kept"), [("0", False), ("0.5", True)])
def test_a_bar_is_broken_by_plain_cuts_and_kept_where_parts_are_left_by_chance(
    leave, kept, tmp_path
):
    """Twenty groups of seven, in each of which two people are surely ill, or had been parted."""
    arrays = {
        "a": [1, 1, 2, 2, 2, 2, 2] * 20,
        "b": np.repeat(range(20), 7).tolist(),
        "s": [7, 7, 8, 9, 10, 11, 12] * 20,
    }
    partition = MondrianParameters(method="mondrian", leave=leave)
    promise = AlphaK(alpha="0.5", k=1, sensitive="s")
    release = released(tmp_path, arrays, [promise], partition)
    asked = AttackBars.model_validate(
        {"minimality": {"max-share-above": {"belief": 0.95, "share": 0.1}}}
    )
    (judged,) = judge_bars(asked.root, [release])
    assert judged.is_kept is kept
    if not kept:
        assert judged.observed == 40 / 140


def test_groups_are_compared_with_all_rows_of_all_groups(tmp_path):
    """World by world: a group's values given out anew, among all rows as they are."""
    arrays = {"a": [1, 1, 2, 2, 7, 7, 8, 8], "s": [8, 9, 8, 8, 7, 7, 9, 9]}
    known = known_tries(released(tmp_path, arrays, [close("0.3")], MONDRIAN))
    draw, rows = np.random.default_rng(0), every(known)
    worlds = [worlds_of(known.kinds(of), known.codes[of], draw) for of in rows]
    labels, met = np.array(sorted({*arrays["s"]})), set()
    for of, world, kept in zip(rows, worlds, known.promises_kept(rows, worlds), strict=True):
        for values, told in zip(world.values, kept, strict=True):
            everybody = np.array(arrays["s"])
            everybody[of] = labels[values]
            people = table({**arrays, "s": everybody.tolist()})
            judge = PartJudge.from_microdata(people, [close("0.3")])
            for side, found in zip(known.sides, told, strict=True):
                if (side[of] >= 0).any():
                    assert found == (not judge.broken(of, side[of], 2).any())
                    met.add(bool(found))
    assert met == {True, False}


def test_nothing_is_told_where_no_values_decide(tmp_path):
    arrays = {"a": [1, 1, 2, 2, 3, 3, 4, 4], "s": [7, 8, 7, 8, 7, 8, 7, 8]}
    release = released(tmp_path, arrays, [KAnonymity(k=3), diverse(2)], MONDRIAN)
    guessed, _ = minimality.attack(release)
    assert guessed.share == guessed.references["from the group alone"]
    relaxed = MondrianParameters(method="mondrian", mode="relaxed")
    (skipped,) = minimality.attack(released(tmp_path / "2", arrays, [diverse(2)], relaxed))
    assert skipped.skipped


def test_many_worlds_are_drawn_and_say_about_the_same(tmp_path, monkeypatch):
    arrays = {"a": [1, 2, 2, 3, 4, 4, 5], "s": [7, 7, 7, 7, 8, 8, 9]}
    known = known_tries(released(tmp_path, arrays, [diverse(3)], MONDRIAN))
    exact = believed(known)
    monkeypatch.setattr("sfumato.tasks.attacks.minimal.worlds._FEW", 0)
    drawn = believed(known)
    error = 4 * 0.5 / np.sqrt(MOST / 4)
    for one, other in zip(exact, drawn, strict=True):
        for value, share in one.items():
            assert other.get(value, 0) == pytest.approx(share, abs=error)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6),
)
def test_worlds_are_all_that_there_are(rows):
    kind, values = np.array(rows).T
    kind = np.unique(kind, return_inverse=True)[1]
    found = worlds_of(kind, values, np.random.default_rng(0))
    expected = Counter(
        tuple(tuple(sorted(np.array(one)[kind == of])) for of in range(kind.max() + 1))
        for one in permutations(values.tolist())
    )
    alike = Counter(values.tolist())
    times = len(values) and int(np.prod([np.prod(range(1, n + 1)) for n in alike.values()]))
    told = {
        tuple(tuple(sorted(world[kind == of])) for of in range(kind.max() + 1)): int(weight)
        for world, weight in zip(found.values, found.weight, strict=True)
    }
    assert {world: number // times for world, number in expected.items()} == told
    assert sum(told.values()) == arrangements(list(alike.values()))
