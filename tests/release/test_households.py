"""Lines about people who live in households: promises are kept over these, too."""

import random
import re
from collections import Counter

import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.expectations.suites.gate import judge
from sfumato.flows.life.dossier import dossier_of
from sfumato.tasks.candidates.remember import forget_whose, whose_in, write_whose
from sfumato.tasks.publication.check import check
from sfumato.tasks.report.steward.tables import promise_row, risk_tables
from sfumato.tasks.report.watched import whole_rows
from sfumato.tasks.stages.validate import assess_candidate
from sfumato.tasks.stages.verify import measure_whole
from sfumato.tasks.terms.opened import PAGE, open_release
from tests.report.html import Read

COLUMNS = {
    "person": {"role": "identifier", "unit": True},
    "home": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier"},
    "note": {"role": "drop"},
    "wage": {"role": "drop", "type": "decimal"},
    "ill": {"role": "sensitive"},
}
K = {"model": "k-anonymity", "k": 4}
BELIEFS = {"model": "bayes-optimal", "rho1": 0.1, "rho2": 0.9}
L = {"model": "l-diversity", "variant": "distinct", "l": 3}
SPEC = {
    "columns": COLUMNS,
    "household": "home",
    "promises": [K, L],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "evaluate": {"workloads": []},
}


def members(homes=150, seed=2):
    """Homes of one to six people of about one age, in one town."""
    rng, rows = random.Random(seed), []
    for home in range(homes):
        town, age = rng.choice(["Aa", "Bee"]), rng.randint(20, 60)
        for _ in range(rng.randint(1, 6)):
            person = {"person": f"IDENT-{len(rows)}", "home": f"HOME-{home}", "note": "n"}
            details = {"age": age + rng.randint(0, 3), "town": town, "wage": "1.05"}
            rows.append(person | details | {"ill": rng.choice("abcdefgh")})
    rng.shuffle(rows)
    return rows


def homes_in_groups(rows, directory):
    """The homes of those who fit the labels of each published group; its boxes are disjoint."""
    labels = {
        (row["age"], row["town"]) for row in open_release(directory).table("microdata").to_pylist()
    }
    return {
        (age, town): {
            row["home"] for row in rows if town in (row["town"], "*") and fits(row["age"], age)
        }
        for age, town in labels
    }


def fits(age, label):
    """Tell if an age is under a label: a number, or a range such as [20, 25]."""
    limits = [int(number) for number in re.findall("[0-9]+", label)]
    return min(limits) <= age <= max(limits)


def test_every_group_has_people_of_so_many_households(small):
    directory = small.write(members(), **SPEC).publish("one").directory
    homes = homes_in_groups([row for row in members() if row["age"] > 18], directory)
    release = open_release(directory)
    assert release.declared.households
    assert release.declared.rows_are_people
    for stated in release.manifest["sfumato"]["observed"]:
        assert stated["households"].keys() == stated["observed"].keys()
    stated = release.manifest["sfumato"]["observed"][0]
    assert stated["households"]["k"] == min(map(len, homes.values())) >= K["k"]
    assert check(directory, None)
    (words, required, reached, _) = promise_row(stated)
    assert (words, required) == ("k-anonymity", "k 4")
    assert reached == f"k {stated['observed']['k']}; over households k {stated['households']['k']}"
    (_, document) = dossier_of(directory, small.spec)
    assert sorted(document["data"]["withheld"]) == ["home", "note", "person", "wage"]
    text = "".join(p.read_bytes().decode("latin-1") for p in directory.rglob("*") if p.is_file())
    assert "HOME-" not in text
    assert '"home"' not in text


def test_without_it_a_group_may_be_one_household(small):
    rows = [
        {"person": f"P{n}", "home": f"H{n // 5}", "age": 20 + n // 5, "town": "Aa", "note": "n"}
        | {"wage": "1.05", "ill": "abcde"[n % 5]}
        for n in range(100)
    ]
    plain = {key: value for key, value in SPEC.items() if key != "household"}
    columns = {**COLUMNS, "home": {"role": "identifier"}}
    alone = small.write(rows, **plain | {"columns": columns}).publish("one").directory
    groups = open_release(alone).manifest["sfumato"]["observed"][0]["groups"]
    assert groups == 20, "a group for each household of five"


def test_groups_of_one_household_are_not_made(small):
    rows = [
        {"person": f"P{n}", "home": f"H{n // 5}", "age": 20 + n // 5, "town": "Aa", "note": "n"}
        | {"wage": "1.05", "ill": "abcde"[n % 5]}
        for n in range(100)
    ]
    directory = small.write(rows, **SPEC).publish("one").directory
    stated = open_release(directory).manifest["sfumato"]["observed"][0]
    assert stated["groups"] == 4, "twenty households halved twice"
    assert stated["households"] == {"k": 5}
    assert stated["observed"] == {"k": 25}


WHOLE = {**K, "members": "linkable"}
LEVELS = {
    **COLUMNS,
    "age": {**COLUMNS["age"], "hierarchy": {"intervals": [5, 10, 20, 80]}},
}


def whole(**more):
    """Whole households of one to three members, alike by levels of ages and of towns."""
    return (
        SPEC
        | {
            "columns": LEVELS,
            "promises": [WHOLE, L],
            "partition": {"method": "full-domain"},
        }
        | more
    )


def small_homes(homes=60):
    """So few kinds of homes that each can be like four others."""
    rng, rows = random.Random(5), []
    for home in range(homes):
        for _ in range(1 + home % 3):
            person = {"person": f"IDENT-{len(rows)}", "home": f"HOME-{home}", "note": "n"}
            details = {"age": 20 + home % 40, "town": rng.choice(["Aa", "Bee"]), "wage": "1.05"}
            rows.append(person | details | {"ill": rng.choice("abcdefgh")})
    rng.shuffle(rows)
    return rows


def alike(rows, labels_of):
    """The fewest homes whose members have the same labels, by going through them one by one."""
    looks = {}
    for row in rows:
        looks.setdefault(row["home"], []).append(labels_of(row))
    counted = Counter(tuple(sorted(look)) for look in looks.values())
    return min(counted.values())


def labels_in(directory):
    """Return a function that finds the labels that a row is published under."""
    rows_shown = open_release(directory).table("microdata").select(["age", "town"]).to_pylist()
    labels = {(row["age"], row["town"]) for row in rows_shown}

    def labels_of_person(row):
        (label_pair,) = [
            (age, town)
            for age, town in labels
            if town in (row["town"], "*") and (age == "*" or fits(row["age"], age))
        ]
        return label_pair

    return labels_of_person


def test_whole_households_are_alike(small):
    others = [{**row, "person": f"OTHER-{row['person']}"} for row in small_homes()]
    plain = small.write(others, **whole(promises=[K, L])).publish("one").directory
    assert alike(others, labels_in(plain)) < K["k"], "what is not promised is not kept"
    small.write(small_homes(), **whole(name="second", **{"across-lines": "accepted-risk"}))
    directory = small.publish("two").directory
    release = open_release(directory)
    stated, _ = release.manifest["sfumato"]["observed"]
    assert release.manifest["sfumato"]["format"] == 7
    assert stated["promise"].items() >= WHOLE.items()
    assert stated["households"]["k"] == alike(small_homes(), labels_in(directory)) >= K["k"]
    page = Read((directory / PAGE).read_text("utf-8")).text
    assert "households that look the same in all members, at least" in page
    assert "do not cover what the groups of all members reveal of values together" in page
    assert "an attacker who knows all members of a household, finds each" not in page
    report = check(directory, None)
    assert [promise.of_whole_people for promise, _ in report.over_people] == [True, False]


def test_a_household_of_a_size_of_its_own_is_like_no_other_however_coarse(small):
    """Seven members, where all others have three at most: refused before anything is grouped."""
    more = [{**row, "home": "HOME-0"} for row in small_homes()[:6]]
    small.write([*small_homes()[6:], *more], **whole())
    with pytest.raises(PromiseError) as error:
        small.publish("one")
    message = (
        "k-anonymity cannot be kept over households: required k=4, at best k=1 in 1 of 1 strata"
    )
    assert str(error.value) == message
    small.write([*small_homes()[6:], *more], **whole(promises=[K, L])).publish("two")


def test_whole_households_are_judged_by_the_gate(small):
    """The partition is not believed: one member in another home makes that home like no other."""
    _, run = small.write(small_homes(), **whole()).prepare_run("one")
    candidate = run / "candidate"
    whose = whose_in(candidate)
    forget_whose(candidate)
    moved = whose.rows.person.copy()
    moved[0] = moved[-1]
    object.__setattr__(whose.rows, "person", moved)
    write_whose(candidate, whose)

    def judging(tables, structure, promises):
        return judge("wages", tables, structure, promises)

    by_gate = assess_candidate(candidate, (), judging)
    assert by_gate.findings == assess_candidate(candidate).findings
    broken = [str(finding) for finding in by_gate.findings if not finding.passed]
    assert any(finding.startswith("k-anonymity over people is broken in") for finding in broken)


def test_the_page_tells_households(small):
    directory = small.write(members(), **SPEC).publish("one").directory
    page = Read((directory / PAGE).read_text("utf-8"))
    assert "People live in households." in page.text
    assert "People have several rows." not in page.text
    assert page.text.count("The same over households, as the publisher measured it.") == 2
    assert "households with a member who looks the same, at least" in page.text
    assert "Each row is about another person." in page.text


def test_what_is_at_stake_for_households(small):
    resolved, run = small.write(members(), **SPEC).prepare_run("one")
    stakes = measure_whole(run / "deidentified", resolved.terms)
    assert stakes.households == 150
    shares = {
        row["measure"]: row["by quasi-identifiers"] for row in whole_rows(stakes, "households")
    }
    assert shares["households"] == 150
    assert shares["fewest households in a group"] == stakes.least
    assert shares["unique households"] == stakes.alone > 0
    (table,) = risk_tables({"households": whole_rows(stakes, "households")})
    assert table["caption"] == "Risk of households in the table as it is"
    plain = {key: value for key, value in SPEC.items() if key != "household"}
    resolved, run = small.write(members(), **plain).prepare_run("two")
    assert measure_whole(run / "deidentified", resolved.terms) is None


def test_other_households_are_another_version(small):
    rows = members()
    small.write(rows, **SPEC).publish("one")
    moved = [{**row, "home": "HOME-0"} if n == 3 else row for n, row in enumerate(rows)]
    with pytest.raises(PromiseError, match="the source or the spec changed"):
        small.write(moved, **SPEC).publish("two")


REFUSED = {
    "no such column": (
        {"household": "house"},
        "household: 'house' is not a column with role identifier",
    ),
    "the unit": (
        {"household": "person"},
        ("household: 'person' is not a column with role identifier"),
    ),
    "published": (
        {"household": "town"},
        ("household: 'town' is not a column with role identifier"),
    ),
    "missing": (
        {"columns": {**COLUMNS, "home": {"role": "identifier", "nulls": "category"}}},
        "household: each person needs a 'home'",
    ),
    "several rows": (
        {"columns": {**COLUMNS, "person": {"role": "identifier", "unit": True, "repeat": "all"}}},
        "promises over households do not yet work where people",
    ),
    "no unit": (
        {"columns": {**COLUMNS, "person": {"role": "identifier"}}, "unit": "row"},
        "household: households need a column that identifies each person",
    ),
    "composed": ({"versions": "composed"}, "household: `versions: composed` follows"),
    "beliefs": (
        {"promises": [K, L, {**BELIEFS, "reference": "r.csv"}]},
        "promises.2: bayes-optimal is not defined over people or households, because it is about "
        "the one value of a person, and a person with several rows may have several values; "
        "promise beta-likeness or t-closeness, or leave household out (household)",
    ),
    "whole households, one group after the other": (
        {"promises": [{**K, "members": "linkable"}, L]},
        "promises.0: k-anonymity with `members: linkable` is about all groups together. Partition "
        "mondrian judges one group after the other, or suppresses rows of some groups. Use "
        "full-domain without suppression, or leave members out (household)",
    ),
    "whole households, some suppressed": (
        {
            "promises": [{**K, "members": "linkable"}, L],
            "partition": {"method": "full-domain", "suppression": 0.1},
        },
        "promises.0: k-anonymity with `members: linkable` is about all groups together",
    ),
    "stratum": (
        {"partition": {"method": "stratum"}, "strata": ["town"]},
        "household: partition stratum groups rows",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_when_the_spec_is_read(small, case):
    more, message = REFUSED[case]
    small.write(members(20), **SPEC | more)
    with pytest.raises(SpecError) as error:
        small.plan()
    assert message in str(error.value)


def test_whole_households_need_households(small):
    plain = {key: value for key, value in SPEC.items() if key != "household"}
    small.write(members(20), **plain | {"promises": [{**K, "members": "linkable"}, L]})
    with pytest.raises(SpecError) as error:
        small.plan()
    assert "promises.0.members: is about households, and the spec" in str(error.value)


def test_too_few_households_are_refused(small):
    small.write(members(3), **SPEC)
    with pytest.raises(PromiseError, match="cannot be kept"):
        small.publish("one")
