"""Registers that are linked with releases, against every pair of a person and a row."""

import csv
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import REGISTER, attack_again
from sfumato.tasks.attacks.linking.linkage import chance_above
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.small import SPEC, people

AGES = {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5, 10, 20]}}
TOWN = {"role": "quasi-identifier"}
COLUMNS = {**SPEC["columns"], "age": AGES, "town": TOWN}
K = {"model": "k-anonymity", "k": 3}
L = {"model": "l-diversity", "variant": "distinct", "l": 2}
WAYS = {
    "permuted": ([L], {"method": "anatomy"}, {"method": "permuted"}),
    "generalized": ([K, L], {"method": "full-domain"}, {"method": "generalized"}),
    "suppressed": ([K, L], {"method": "forest"}, {"method": "suppressed"}),
}


def rows():
    return [row for row in people(rows=60) if row["town"] and row["wage"] and int(row["age"]) > 18]


def publish_as(small, way):
    promises, partition, form = WAYS[way]
    terms = {"promises": promises, "partition": partition, "form": form, "nulls": "refuse"}
    small.write(rows(), columns=COLUMNS, **terms, evaluate={"workloads": []})
    return small.publish("one").directory


def register_of(folder, register_rows):
    place = folder / "register.csv"
    with place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["age", "town"])
        writer.writeheader()
        writer.writerows({"age": age, "town": town} for age, town in register_rows)
    return place


def fits(label, value):
    if label in ("*", value):
        return True
    if label.startswith("["):
        low, high = label.strip("[])").split(", ")
        return int(low) <= int(value) <= int(high) - label.endswith(")")
    return label.startswith("{") and value in label


def by_hand(release, register_rows, ours):
    """Every score, from every pair of a person of the register and a published row."""
    table = read_tables(release.declared, release.directory / "data")["microdata"]
    columns = (map(str, table[name].to_pylist()) for name in ("age", "town"))
    rows = list(zip(*columns, strict=True))
    pairs = {
        (person, row): all(map(fits, row, person))
        for person, row in product({*register_rows}, {*rows})
    }
    times, present = Counter(rows), Counter(ours)
    fit = {row: sum(pairs[person, row] for person in register_rows) for row in times}
    picked = [Fraction(1, sum(pairs[p, row] for row in rows)) for p in ours]
    expected = {
        p: min(1, sum(Fraction(times[row], fit[row]) for row in times if pairs[p, row]))
        for p in {*register_rows}
    }
    absent = list((Counter(register_rows) - present).elements())
    above = [
        (expected[p] > expected[q]) + Fraction(expected[p] == expected[q], 2)
        for p, q in product(ours, absent)
    ]
    return [
        sum(picked) / len(ours),
        sum(Fraction(1, fit[row]) for row in rows) / len(rows),
        Fraction(sum(fit[row] == 1 for row in rows), len(rows)),
        Fraction(sum(expected[p] == 1 for p in ours), len(ours)),
        sum(above) / len(above),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_as_every_pair_of_a_person_and_a_row(small, tmp_path, way):
    directory = publish_as(small, way)
    ours = [(str(row["age"]), row["town"]) for row in rows()]
    others = [(str(age), town) for age in range(19, 61, 3) for town in ("Aa", "Bee", "Dee")]
    register = register_of(tmp_path, ours + others)
    scores, _ = attack_again(directory, small.spec, Overrides(), register)
    *shares, guessed, sure = [score.share for score in scores[REGISTER]]
    release = open_release(directory)
    expected = by_hand(release, ours + others, ours)
    assert shares == pytest.approx([float(share) for share in expected])
    wages = [Decimal(row["wage"]) for row in rows()]
    own = values_by_hand(release, list(zip(ours, wages, strict=True)))
    assert [guessed, sure] == pytest.approx([float(share) for share in own])


def values_by_hand(release, people):
    """Guessed, and believed with 80 %: each row that fits and each shuffle of a group as likely."""
    table = read_tables(release.declared, release.directory / "data")["microdata"].to_pylist()
    rows = [(str(row["age"]), row["town"]) for row in table]
    group = [row.get("group_id", position) for row, position in zip(table, rows, strict=True)]
    hits, sure = Fraction(0), 0
    for person, own in people:
        believed = Counter()
        mine = [position for position, row in enumerate(rows) if all(map(fits, row, person))]
        for position in mine:
            there = [n for n, group_ in enumerate(group) if group_ == group[position]]
            worlds = [[table[n]["wage"] for n in there]]
            if "group_id" in table[position]:
                worlds = list(permutations(worlds[0]))
            for wages in worlds:
                believed[wages[there.index(position)]] += Fraction(1, len(mine) * len(worlds))
        top = [value for value, share in believed.items() if share == max(believed.values())]
        hits += Fraction(own in top, len(top))
        sure += believed[own] >= Fraction(4, 5)
    return [hits / len(people), Fraction(sure, len(people))]


def test_people_who_are_not_in_the_register(small, tmp_path):
    directory = publish_as(small, "generalized")
    with pytest.raises(InputError, match="the register does not contain all people of the release"):
        attack_again(directory, small.spec, Overrides(), register_of(tmp_path, [("30", "Aa")]))


def test_the_command(small, tmp_path, capsys):
    directory = publish_as(small, "generalized")
    register = register_of(tmp_path, [(row["age"], row["town"]) for row in rows()])
    command = ["attack", str(directory), "--truth", str(small.spec), "--register", str(register)]
    assert run(command) == 0
    assert "own row picked among the rows that fit" in capsys.readouterr().out


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_likelier_is_the_share_of_pairs(scored):
    ones = [score for score, is_own in scored if is_own]
    others = [score for score, is_own in scored if not is_own]
    pairs = [(a > b) + (a == b) / 2 for a, b in product(ones, others)]
    counts = [np.bincount(numbers, minlength=4) for numbers in (ones or [0], others or [0])]
    first, other = (
        c if numbers else 0 * c for c, numbers in zip(counts, (ones, others), strict=True)
    )
    expected = sum(pairs) / len(pairs) if pairs else 0.5
    assert chance_above(np.arange(4.0), first, other) == pytest.approx(expected)
