"""Registers joined back with tables that show columns apart, against every group and person."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from sfumato.expectations.errors import InputError
from sfumato.flows.evaluation import REGISTER, attack_again
from sfumato.flows.overrides import Overrides
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.declaration.tables import read_tables
from tests.attacks.test_linkage import register_of
from tests.release.small import SPEC

PROMISE = {"model": "alpha-beta", "alpha": "0.9", "beta": "0.5", "presence": "per-group"}
COLUMNS = {
    **SPEC["columns"],
    "town": {"role": "quasi-identifier"},
    "wage": {"role": "drop"},
    "job": {"role": "sensitive"},
}
TERMS = {
    "promises": [PROMISE],
    "partition": {"method": "ambiguity"},
    "form": {"method": "ambiguous"},
    "columns": COLUMNS,
    "evaluate": {"workloads": []},
}
JOBS = ["baker", "clerk", "driver", "nurse"]


def rows(draw):
    return [
        {"person": f"IDENT-{n}", "age": draw.randint(19, 60), "town": draw.choice("ABCDEFGH")}
        | {"note": "", "wage": "", "job": draw.choice(JOBS)}
        for n in range(60)
    ]


def groups_of(release):
    """The rows of each group, the values that it admits, and its jobs, from the published files."""
    sizes, values, jobs = Counter(), {}, {}
    tables = read_tables(release.declared, release.directory / "data")
    for row in (row for table in tables.values() for row in table.to_pylist()):
        for name in {"age", "town"} & row.keys():
            values.setdefault((row["group_id"], name), set()).add(str(row[name]))
        if "job" in row:
            sizes[row["group_id"]] += row["count"]
            jobs.setdefault(row["group_id"], {})[row["job"]] = row["count"]
    return sizes, values, jobs


def believed(admitting, chance, sizes, jobs):
    """The likeliest jobs of somebody whom these groups admit."""
    weighed = Counter()
    for group in admitting:
        p = chance[group]
        for job, count in jobs[group].items():
            weighed[job] += (p / (1 - p) if p < 1 else 10**9) * Fraction(count, sizes[group])
    return [job for job in weighed if weighed[job] == max(weighed.values())]


def by_hand(release, known, ours):
    """The chances by people and by combinations, of every vector that somebody has."""
    sizes, values, jobs = groups_of(release)
    admitting = {
        (age, town): [g for g in sizes if age in values[g, "age"] and town in values[g, "town"]]
        for age, town in {*known}
    }
    covered = {group: sum(group in admitting[vector] for vector in known) for group in sizes}
    combined = {
        group: prod(len(values[group, name]) for name in ("age", "town")) for group in sizes
    }
    for among in (covered, combined):
        chance = {group: min(Fraction(1), Fraction(n, among[group])) for group, n in sizes.items()}
        there = {
            vector: 1 - prod(1 - chance[group] for group in of) for vector, of in admitting.items()
        }
        yield there, {at: believed(admitting[at], chance, sizes, jobs) for at in {*ours}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["ambiguity", "disjoint-cover"])
def test_as_every_person_and_group(seed, method, small, tmp_path):
    draw = random.Random(seed)
    people = rows(draw)
    small.write(people, **{**TERMS, "partition": {"method": method}})
    directory = small.publish("one").directory
    ours = [(str(row["age"]), row["town"]) for row in people]
    known = ours + [(str(draw.randint(19, 62)), draw.choice("ABCDEFGHI")) for _ in range(40)]
    scores, _ = attack_again(directory, small.spec, Overrides(), register_of(tmp_path, known))
    surely, above, guessed = scores[REGISTER]
    absent = list((Counter(known) - Counter(ours)).elements())
    found = []
    for there, likely in by_hand(open_release(directory), known, ours):
        pairs = [
            (there[p] > there[q]) + Fraction(there[p] == there[q], 2)
            for p, q in product(ours, absent)
        ]
        hits = [
            Fraction(row["job"] in likely[at], len(likely[at]))
            for row, at in zip(people, ours, strict=True)
        ]
        sure = Fraction(sum(there[at] == 1 for at in ours), len(ours))
        found.append([sure, sum(pairs) / len(pairs), sum(hits) / len(hits)])
    told = (surely, above, guessed)
    by_people, by_combinations = ([float(one) for one in of] for of in found)
    assert [one.share for one in told] == pytest.approx(by_people, abs=1e-9)
    without = [one.references["taking combinations to be as likely"] for one in told]
    assert without == pytest.approx(by_combinations, abs=1e-9)
    assert surely.references["share of the register that is in it"] == 0.6


def test_people_whom_the_register_lacks(small, tmp_path):
    small.write(rows(random.Random(1)), **TERMS)
    directory = small.publish("one").directory
    with pytest.raises(InputError, match="the register lacks people of the release"):
        attack_again(directory, small.spec, Overrides(), register_of(tmp_path, [("30", "A")]))
