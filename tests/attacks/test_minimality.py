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


def release_of(folder, arrays, promises, partition, form="permuted", seed=1):
    people = table(arrays)
    declarations = {
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
        columns=declarations,
        strata=(),
        promises=tuple(replace(p, quasi_identifiers=names) for p in promises),
        partition=partition,
        form={**FORMS, "ambiguous": APART, "suppressed": STARRED}[form],
        formats=("parquet",),
    )
    trial = run_trial(people, terms, folder, seeded_keys(seed)).require_kept()
    declared, tables = trial.assessment.declared, trial.assessment.tables
    return AttackedRelease(declared, tables, trial.represented, "s")


def every(tries: KnownTries):
    """The rows of all groups."""
    return tries.rows(range(len(tries.sizes)))


def beliefs_of_rows(tries: KnownTries):
    """Return the belief about each row: the share of its weight that each value has."""
    kinds = [tries.kinds(rows) for rows in every(tries)]
    draw = np.random.default_rng(0)
    worlds = [worlds_of(k, tries.codes[r], draw) for k, r in zip(kinds, every(tries), strict=True)]
    keeps = tries.promises_kept(every(tries), worlds)
    weights = weigh(
        [drawn_worlds.weight for drawn_worlds in worlds], keeps, tries.left.tolist(), tries.together
    )
    beliefs = {}
    for rows, kind, world, weight in zip(every(tries), kinds, worlds, weights, strict=True):
        mass = tally(world.values, kind, weight)
        mass /= mass.sum(axis=1, keepdims=True)
        values = np.unique(world.values)
        for row, position in zip(rows, kind, strict=True):
            beliefs[int(row)] = {
                int(v): float(m) for v, m in zip(values, mass[position], strict=True) if m
            }
    return [beliefs[row] for row in range(len(tries.codes))]


@pytest.mark.parametrize(
    ("sizes", "cases", "beliefs"),
    [((2, 5), 2, (Fraction(1), Fraction(0))), ((4, 4), 3, (Fraction(3, 8), Fraction(3, 8)))],
)
def test_the_vectors_of_the_lattice(sizes, cases, beliefs, tmp_path):
    """Two raw values merged by (1/2, 1)-anonymity of one disease: n = (2, 5), c = 2: 1 and 0."""
    raw = ["p"] * sizes[0] + ["q"] * sizes[1]
    where = [0, 1] if sizes == (2, 5) else [0, 1, 2]
    illness = ["ill" if place in where else f"well {place}" for place in range(sum(sizes))]
    promise = AlphaK(alpha="0.5", k=1, sensitive="s", values=("ill",))
    release = release_of(tmp_path, {"a": raw, "s": illness}, [promise], LATTICE)
    tries = known_tries(release)
    assert len(every(tries)) == 1
    beliefs_found = beliefs_of_rows(tries)
    ill = int(tries.codes[0])
    assert illness.count("ill") == cases
    for row, value in enumerate(raw):
        expected = beliefs[0] if value == "p" else beliefs[1]
        assert beliefs_found[row].get(ill, 0) == pytest.approx(float(expected), abs=1e-12)


def different_worlds(tries, values):
    """Every way to give the rows of each group its values; all are as likely."""
    orders = [{*permutations(values[row] for row in rows)} for rows in every(tries)]
    for chosen in product(*orders):
        world = list(values)
        for rows, order in zip(every(tries), chosen, strict=True):
            for row, value in zip(rows, order, strict=True):
                world[row] = value
        yield world


def worlds_made_anew(tries, arrays, promises, partition):
    """By enumeration: all worlds with these values in these groups that are parted the same."""
    names = tuple(name for name in arrays if name != "s")
    promises = [replace(p, quasi_identifiers=names) for p in promises]
    belief = [Counter() for _ in arrays["s"]]
    total = 0
    for world in different_worlds(tries, arrays["s"]):
        try:
            group = (
                ROOMS[partition.method]
                .partition(table({**arrays, "s": world}), [], promises, partition, seeded_keys(1))
                .group
            )
        except PromiseError:
            continue
        if (
            len({*zip(group.tolist(), tries.group.tolist(), strict=True)})
            == len(every(tries))
            == len({*group.tolist()})
        ):
            total += 1
            for row, value in enumerate(world):
                belief[row][value] += 1
    return [{v: Fraction(n, total) for v, n in sorted(counts.items())} for counts in belief]


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
    tries = known_tries(release_of(tmp_path, arrays, promises, partition, form))
    assert len(every(tries)) == 1
    beliefs, labels = beliefs_of_rows(tries), sorted({*values})
    expected = worlds_made_anew(tries, arrays, promises, partition)
    for belief, other in zip(beliefs, expected, strict=True):
        assert {labels[v]: pytest.approx(float(p), abs=1e-12) for v, p in belief.items()} == {
            v: float(p) for v, p in other.items()
        }


class Tape:
    """Decisions of chance about one part after the other, and how likely they are."""

    def __init__(self, answers, share, few):
        self.told, self.share, self.few = list(answers), share, few
        self.likely, self.at = Fraction(1), 0

    def leaves(self, _, sizes):
        answers = []
        for rows in sizes.tolist():
            if self.at == len(self.told):
                self.told.append(False)
            answer = self.told[self.at]
            chance = self.share * Fraction(self.few, max(self.few, rows))
            self.likely *= chance if answer else 1 - chance
            self.at += 1
            answers.append(answer)
        return np.array(answers, dtype=bool)


def ways_to_be_left(run):
    """Run with every tape that there is: what is found with each, and how likely it is."""
    answers = ()
    while True:
        group, tape = run(answers)
        yield group, tape.likely
        rest = tape.told[: tape.at]
        while rest and rest[-1]:
            rest.pop()
        if not rest:
            return
        answers = (*rest[:-1], True)


def same_parts(first, other):
    return (
        len({*zip(first.tolist(), other.tolist(), strict=True)}) == len({*first}) == len({*other})
    )


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
    tries = known_tries(release_of(tmp_path, arrays, promises, partition))
    about = [replace(p, quasi_identifiers=("a",)) for p in promises]
    few, labels = 4 * 2, sorted({*values})

    def run(world, answers):
        tape = Tape(answers, Fraction(share), few)
        monkeypatch.setattr(LeavingChance, "leaves", lambda _, *odds: tape.leaves(*odds))
        partition_ = mondrian.partition(
            table({"a": ages, "s": world}), [], about, partition, seeded_keys(1)
        )
        return partition_.group, tape

    belief, total = [defaultdict(Fraction) for _ in values], Fraction(0)
    for world in different_worlds(tries, values):
        likely = sum(
            chance
            for group, chance in ways_to_be_left(partial(run, world))
            if same_parts(group, tries.group)
        )
        total += likely
        for row, value in enumerate(world):
            belief[row][value] += likely
    assert total > 0
    assert all(rows.size <= few for rows in every(tries))
    each = [(rows, Counter(values[row] for row in rows).items()) for rows in every(tries)]
    for rows, value, times in ((rows, *alone) for rows, counts in each for alone in counts):
        prior = Fraction(times, len(rows))
        most = prior / (prior + Fraction(share) * (1 - prior))
        assert all(belief[row][value] / total <= most for row in rows)
    for first, other in zip(beliefs_of_rows(tries), belief, strict=True):
        assert {labels[v]: pytest.approx(p, abs=1e-8) for v, p in first.items()} == {
            v: float(p / total) for v, p in other.items() if p
        }


def test_plain_cuts_tell_what_chance_would_hide(tmp_path):
    """Both ill are on one side, or the cut had been made: not sure where it may be left."""
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    promise = AlphaK(alpha="0.5", k=1, sensitive="s")
    plain = beliefs_of_rows(known_tries(release_of(tmp_path / "1", arrays, [promise], MONDRIAN)))
    chance = MondrianParameters(method="mondrian", leave="0.5")
    hidden = beliefs_of_rows(known_tries(release_of(tmp_path / "2", arrays, [promise], chance)))
    assert plain[0] == {0: 1.0}
    assert hidden[0][0] == pytest.approx((1 + 5 / 2) / (1 + 20 / 2)), "worlds of the two ill: 21"


def test_a_node_that_fails_in_one_group_tells_a_little_of_all(tmp_path):
    """Two groups of two raw values each; the lower node failed in one of them, or in both."""
    arrays, promises = TWO_GROUPS, [diverse(2)]
    release = release_of(tmp_path, arrays, promises, LATTICE)
    tries = known_tries(release)
    assert tries.together
    assert sorted(map(len, every(tries))) == [4, 4]
    labels = [7, 8, 9]
    beliefs_found = beliefs_of_rows(tries)
    total, beliefs = Fraction(0), [defaultdict(Fraction) for _ in range(8)]
    lower = defaultdict(list)
    for row, raw in enumerate(zip(arrays["a"], arrays["b"], strict=True)):
        lower[raw].append(row)
    for orders in product(*(permutations(rows.tolist()) for rows in every(tries))):
        world = [0] * 8
        for rows, order in zip(every(tries), orders, strict=True):
            for row, source_row in zip(rows, order, strict=True):
                world[row] = arrays["s"][source_row]
        if any(len({world[row] for row in rows}) < 2 for rows in lower.values()):
            total += 1
            for row, value in enumerate(world):
                beliefs[row][value] += 1
    for row in range(8):
        expected = {value: float(number / total) for value, number in beliefs[row].items()}
        assert {
            labels[v]: pytest.approx(p, abs=1e-12) for v, p in beliefs_found[row].items()
        } == expected


def test_what_was_learned_is_scored(tmp_path):
    """Three with a disease and three without: the cut failed, for one side had them all."""
    arrays = {"a": [1, 1, 1, 2, 2, 2], "s": [7, 7, 7, 8, 8, 8]}
    guessed, sure = minimality.attack(release_of(tmp_path, arrays, [diverse(2)], MONDRIAN))
    assert (guessed.references, sure.references) == (
        {"from the group alone": 0.5},
        {"from the group alone": 0.0},
    )
    assert guessed.share == 0.5, "either side could have been the one"
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    promise = AlphaK(alpha="0.5", k=1, sensitive="s", values=None)
    guessed, sure = minimality.attack(release_of(tmp_path / "2", arrays, [promise], LATTICE))
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
    release = release_of(tmp_path, arrays, [diverse(2)], partition)
    if partition is not LATTICE:
        monkeypatch.setattr(minimality, "_ROWS", 8 * MOST)
    tries, bars = known_tries(release), minimality.beliefs(release)
    assert bars.number == len(tries.codes)
    assert max(map(len, every(tries))) < 10, "all worlds are listed"
    expected = Counter()
    for own, belief_of_row in zip(tries.codes.tolist(), beliefs_of_rows(tries), strict=True):
        top = [
            value
            for value, belief in belief_of_row.items()
            if belief == max(belief_of_row.values())
        ]
        expected[round(belief_of_row[own], 9), (own in top) / len(top)] += 1
    counts = Counter()
    for people, belief, guessed in zip(bars.people, bars.belief, bars.guessed, strict=True):
        counts[round(float(belief), 9), float(guessed)] += int(people)
    assert counts == expected
    monkeypatch.undo()
    scores = minimality.attack(release)
    assert [score.share for score in scores] == pytest.approx([bars.hits(), bars.share_above(SURE)])
    alone = homogeneity.beliefs(release)
    assert bars.lift() == pytest.approx(bars.hits() - alone.hits())


def test_groups_are_looked_at_by_the_digest_of_the_release(tmp_path, monkeypatch):
    """The same ones whenever it is attacked, and others of another release."""
    monkeypatch.setattr(minimality, "_ROWS", 40 * MOST)
    rng = np.random.default_rng(3)
    values = np.minimum(rng.geometric(0.7, 900), 3)  # uncommon ones keep groups from being cut
    arrays = {"a": rng.integers(0, 300, 900).tolist(), "s": values.tolist()}
    release = release_of(tmp_path, arrays, [diverse(2)], MONDRIAN)
    looked_at = defaultdict(list)
    weighed = minimality._weigh_groups

    def remember(tries, groups, draw):
        looked_at[digest].append(groups)
        return weighed(tries, groups, draw)

    monkeypatch.setattr(minimality, "_weigh_groups", remember)

    for digest in ("one", "another", "one"):
        minimality.attack(replace(release, digest=digest))
    assert looked_at["one"][0] == looked_at["one"][1] != looked_at["another"][0]


def test_too_many_worlds_are_not_judged(tmp_path, monkeypatch):
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    release = release_of(tmp_path, arrays, [AlphaK(alpha="0.5", k=1, sensitive="s")], MONDRIAN)
    assert minimality.beliefs(release) is not None
    monkeypatch.setattr(minimality, "_ROWS_JUDGED", 7 * MOST - 1)
    assert minimality.beliefs(release) is None


def test_partitions_that_bars_are_for_are_those_that_tell_what_they_tried():
    assert set(JUDGED["minimality"].partitions) == set(known._FINDERS)


@pytest.mark.parametrize(("leave", "is_kept"), [("0", False), ("0.5", True)])
def test_a_bar_is_broken_by_plain_cuts_and_kept_where_parts_are_left_by_chance(
    leave, is_kept, tmp_path
):
    """Twenty groups of seven, in each of which two people are surely ill, or had been parted."""
    arrays = {
        "a": [1, 1, 2, 2, 2, 2, 2] * 20,
        "b": np.repeat(range(20), 7).tolist(),
        "s": [7, 7, 8, 9, 10, 11, 12] * 20,
    }
    partition = MondrianParameters(method="mondrian", leave=leave)
    promise = AlphaK(alpha="0.5", k=1, sensitive="s")
    release = release_of(tmp_path, arrays, [promise], partition)
    bars_asked = AttackBars.model_validate(
        {"minimality": {"max-share-above": {"belief": 0.95, "share": 0.1}}}
    )
    (judged,) = judge_bars(bars_asked.root, [release])
    assert judged.is_kept is is_kept
    if not is_kept:
        assert judged.observed == 40 / 140


def test_groups_are_compared_with_all_rows_of_all_groups(tmp_path):
    """World by world: a group's values given out anew, among all rows as they are."""
    arrays = {"a": [1, 1, 2, 2, 7, 7, 8, 8], "s": [8, 9, 8, 8, 7, 7, 9, 9]}
    tries = known_tries(release_of(tmp_path, arrays, [close("0.3")], MONDRIAN))
    draw, rows = np.random.default_rng(0), every(tries)
    worlds = [worlds_of(tries.kinds(rows), tries.codes[rows], draw) for rows in rows]
    labels, met = np.array(sorted({*arrays["s"]})), set()
    for rows_, world, keeps in zip(rows, worlds, tries.promises_kept(rows, worlds), strict=True):
        for values, keeps_of_sides in zip(world.values, keeps, strict=True):
            everybody = np.array(arrays["s"])
            everybody[rows_] = labels[values]
            people = table({**arrays, "s": everybody.tolist()})
            judge = PartJudge.from_microdata(people, [close("0.3")])
            for side, keeps_promise in zip(tries.sides, keeps_of_sides, strict=True):
                if (side[rows_] >= 0).any():
                    assert keeps_promise == (not judge.broken(rows_, side[rows_], 2).any())
                    met.add(bool(keeps_promise))
    assert met == {True, False}


def test_nothing_is_told_where_no_values_decide(tmp_path):
    arrays = {"a": [1, 1, 2, 2, 3, 3, 4, 4], "s": [7, 8, 7, 8, 7, 8, 7, 8]}
    release = release_of(tmp_path, arrays, [KAnonymity(k=3), diverse(2)], MONDRIAN)
    guessed, _ = minimality.attack(release)
    assert guessed.share == guessed.references["from the group alone"]
    relaxed = MondrianParameters(method="mondrian", mode="relaxed")
    (skipped,) = minimality.attack(release_of(tmp_path / "2", arrays, [diverse(2)], relaxed))
    assert skipped.skipped


def test_many_worlds_are_drawn_and_say_about_the_same(tmp_path, monkeypatch):
    arrays = {"a": [1, 2, 2, 3, 4, 4, 5], "s": [7, 7, 7, 7, 8, 8, 9]}
    tries = known_tries(release_of(tmp_path, arrays, [diverse(3)], MONDRIAN))
    exact = beliefs_of_rows(tries)
    monkeypatch.setattr("sfumato.tasks.attacks.minimal.worlds._FEW", 0)
    near_beliefs = beliefs_of_rows(tries)
    error = 4 * 0.5 / np.sqrt(MOST / 4)
    for exact_belief, other in zip(exact, near_beliefs, strict=True):
        for value, share in exact_belief.items():
            assert other.get(value, 0) == pytest.approx(share, abs=error)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6),
)
def test_worlds_are_all_that_there_are(rows):
    kind, values = np.array(rows).T
    kind = np.unique(kind, return_inverse=True)[1]
    worlds = worlds_of(kind, values, np.random.default_rng(0))
    expected = Counter(
        tuple(tuple(sorted(np.array(order)[kind == kind_])) for kind_ in range(kind.max() + 1))
        for order in permutations(values.tolist())
    )
    alike = Counter(values.tolist())
    times = len(values) and int(np.prod([np.prod(range(1, n + 1)) for n in alike.values()]))
    weights = {
        tuple(tuple(sorted(world[kind == kind_])) for kind_ in range(kind.max() + 1)): int(weight)
        for world, weight in zip(worlds.values, worlds.weight, strict=True)
    }
    assert {world: number // times for world, number in expected.items()} == weights
    assert sum(weights.values()) == arrangements(list(alike.values()))
