"""Lines about people who live in households: promises are kept over these, too."""

import random
import re

import pytest

from sfumato.expectations.errors import PromiseError, SpecError
from sfumato.flows.life.dossier import dossier_of
from sfumato.tasks.declaration.opened import PAGE, open_release
from sfumato.tasks.publication.check import check
from sfumato.tasks.report.steward.tables import promise_row, risk_tables
from sfumato.tasks.report.watched.risk import whole_rows
from sfumato.tasks.stages.verify import measure_whole
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
            told = {"age": age + rng.randint(0, 3), "town": town, "wage": "1.05"}
            rows.append(person | told | {"ill": rng.choice("abcdefgh")})
    rng.shuffle(rows)
    return rows


def homes_in_groups(rows, directory):
    """The homes of those who fit the labels of each published group; its boxes are disjoint."""
    shown = {
        (row["age"], row["town"]) for row in open_release(directory).table("microdata").to_pylist()
    }
    return {
        (age, town): {
            row["home"] for row in rows if town in (row["town"], "*") and fits(row["age"], age)
        }
        for age, town in shown
    }


def fits(age, label):
    """Whether an age is under a label: a number, or a range such as [20, 25]."""
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


def test_the_page_tells_households(small):
    directory = small.write(members(), **SPEC).publish("one").directory
    page = Read((directory / PAGE).read_text("utf-8"))
    assert "People live in households." in page.text
    assert "People have several rows." not in page.text
    assert page.text.count("The same over households.") == 2
    assert "households with somebody who looks the same, at least" in page.text
    assert "One row stands for one person" in page.text


def test_what_is_at_stake_for_households(small):
    resolved, run = small.write(members(), **SPEC).prepared("one")
    found = measure_whole(run / "deidentified", resolved.terms)
    assert found.households == 150
    told = {row["measure"]: row["by quasi-identifiers"] for row in whole_rows(found, "households")}
    assert told["households"] == 150
    assert told["fewest households in a group"] == found.least
    assert told["households that no other is like"] == found.alone > 0
    (table,) = risk_tables({"households": whole_rows(found, "households")})
    assert table["caption"] == "Risk of households in the table as it is"
    plain = {key: value for key, value in SPEC.items() if key != "household"}
    resolved, run = small.write(members(), **plain).prepared("two")
    assert measure_whole(run / "deidentified", resolved.terms) is None


def test_other_households_are_another_version(small):
    rows = members()
    small.write(rows, **SPEC).publish("one")
    moved = [{**row, "home": "HOME-0"} if n == 3 else row for n, row in enumerate(rows)]
    with pytest.raises(PromiseError, match="the source or the spec changed"):
        small.write(moved, **SPEC).publish("two")


REFUSED = {
    "no such column": ({"household": "house"}, "household: 'house' is not an identifier"),
    "the unit": ({"household": "person"}, "household: 'person' is not an identifier beside"),
    "published": ({"household": "town"}, "household: 'town' is not an identifier beside"),
    "missing": (
        {"columns": {**COLUMNS, "home": {"role": "identifier", "nulls": "category"}}},
        "household: nobody's 'home' may be missing",
    ),
    "several rows": (
        {"columns": {**COLUMNS, "person": {"role": "identifier", "unit": True, "repeat": "all"}}},
        "beside household, promises over people who have several rows",
    ),
    "no unit": (
        {"columns": {**COLUMNS, "person": {"role": "identifier"}}, "unit": "row"},
        "household: needs a unit",
    ),
    "composed": ({"versions": "composed"}, "household: versions: composed follows"),
    "beliefs": (
        {"promises": [K, L, {**BELIEFS, "reference": "r.csv"}]},
        "promises.2: bayes-optimal is not defined over people or households: prior and belief are "
        "of the one value of a person, and whoever has several rows may have several values; "
        "promise beta-likeness or t-closeness, or leave household out (household)",
    ),
    "stratum": (
        {"partition": {"method": "stratum"}, "strata": ["town"]},
        "household: stratum groups rows",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_when_the_spec_is_read(small, case):
    more, message = REFUSED[case]
    small.write(members(20), **SPEC | more)
    with pytest.raises(SpecError) as error:
        small.plan()
    assert message in str(error.value)


def test_too_few_households_are_refused(small):
    small.write(members(3), **SPEC)
    with pytest.raises(PromiseError, match="cannot be kept"):
        small.publish("one")
