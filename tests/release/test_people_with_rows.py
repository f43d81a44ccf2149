"""Lines of people who have several rows: promises over people, judged by what no file shows."""

import csv
import json
import random
import re
import shutil
from collections import Counter, defaultdict
from datetime import UTC, datetime
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.expectations.suites.gate import judge
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.dossier import dossier_of
from sfumato.flows.life.evaluation import attack_again, evaluate_again
from sfumato.tasks.candidates.remember import whose_in, write_whose
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.query.ask import answer
from sfumato.tasks.report.steward.tables import risk_tables
from sfumato.tasks.report.watched import whole_rows
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.stages.attack import attack_candidate
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.hold import hold_candidate
from sfumato.tasks.stages.ingest import accepted_rows, rows_of_one_person
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from sfumato.tasks.stages.verify import measure_whole
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.verification.integrity import digest
from tests.related.test_second_verifier import verify_again
from tests.release.forge import edit
from tests.report.html import Read

ILLS = "abcdefgh"
OPEN = {"role": "sensitive", "unprotected": "everybody knows it"}
COLUMNS = {
    "person": {"role": "identifier", "unit": True, "repeat": "all"},
    "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5, 10, 20]}},
    "town": {"role": "quasi-identifier"},
    "note": {"role": "drop"},
    "wage": {"role": "sensitive", "type": "decimal", "unprotected": "everybody knows it"},
    "ill": {"role": "sensitive"},
}
K = {"model": "k-anonymity", "k": 5}
L = {"model": "l-diversity", "variant": "distinct", "l": 3, "sensitive": "ill"}
R = {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 2, "sensitive": "ill"}
T = {"model": "t-closeness", "t": 0.5, "distance": "equal", "sensitive": "ill"}
A = {"model": "alpha-k", "alpha": 0.6, "k": 5, "sensitive": "ill"}
P = {"model": "people", "k": 4}
E = {"model": "ke-anonymity", "k": 4, "e": 100, "sensitive": "wage"}
WAYS = {
    "boxes": ("mondrian", "generalized", [K, L, R, T, A]),
    "stars": ("mondrian", "suppressed", [K, L]),
    "shuffled boxes": ("mondrian", "permuted", [L, R]),
    "split boxes": ("mondrian", "split", [L]),
    "levels": ("full-domain", "generalized", [K, L, A]),
    "cells": ("forest", "suppressed", [K, L]),
    "anatomy": ("anatomy", "split", [L]),
    "shuffled": ("ke", "permuted", [E, L]),
}
WITH_PEOPLE = {
    "people in shuffled boxes": ("mondrian", "permuted", [L, P]),
    "people in split boxes": ("mondrian", "split", [P, L]),
    "people in relaxed boxes": ("mondrian", "permuted", [L, P]),
    "people of levels": ("full-domain", "permuted", [L, {**P, "k": 7}]),
    "people of anatomy": ("anatomy", "split", [L, P]),
    "people of ke": ("ke", "permuted", [{**E, "k": 2, "e": 1}, {**L, "l": 1}, {**P, "k": 6}]),
}


def stays(people=400, seed=1, first=0):
    """Most people have one or two rows, some eight; those of one are alike but for the illness."""
    rng, rows = random.Random(seed), []
    for number in range(first, first + people):
        age, town = rng.randint(19, 60), rng.choice(["Aa", "Bee", "Cé"])
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 8])):
            ill, wage = rng.choice(ILLS), f"{rng.randint(100, 400)}.05"
            details = {"person": f"IDENT-{number}", "age": age, "town": town, "note": "n"}
            rows.append({**details, "wage": wage, "ill": ill})
    rng.shuffle(rows)
    return rows


def changes(way="boxes", **more):
    partition, form, promises = (WAYS | WITH_PEOPLE)[way]
    mode = {"mode": "relaxed"} if "relaxed" in way else {}
    return {
        "columns": COLUMNS,
        "promises": promises,
        "partition": {"method": partition, **mode},
        "form": {"method": form},
        "evaluate": {"workloads": []},
    } | more


def whose_are(release, small):
    """The true rows of each published group, found again without what the line knows."""
    declared = release.declared
    table = read_tables(declared, release.directory / "data")[
        declared.form.rows_table or "microdata"
    ]
    with (small.folder / "people.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.num_rows == len(rows)
    return table, rows


@pytest.mark.parametrize("way", WAYS | WITH_PEOPLE)
def test_published_and_checked(small, way):
    directory = small.write(stays(), **changes(way)).publish("one").directory
    manifest_keys = open_release(directory).manifest["sfumato"]
    format_ = 16 if way in WITH_PEOPLE else 6
    assert (manifest_keys["format"], manifest_keys["rows_per_unit"]) == (format_, "several")
    for observed in manifest_keys["observed"]:
        assert set(observed["people"]) == set(observed["observed"])
    report = check(directory)
    assert report.derived == "equal"
    assert [promise.name for promise, _ in report.over_people] == [
        promise.name for promise, _ in report.verdicts
    ]
    assert not any(
        "IDENT-" in path.read_text("utf-8", "replace") for path in directory.rglob("*.*")
    )


@pytest.mark.parametrize("way", ["people in shuffled boxes", "people in split boxes"])
def test_people_of_groups_with_exact_rows_are_counted_by_hand(small, way):
    """Strict boxes keep equal rows together, so the source tells who stands in which group."""
    release = open_release(small.write(stays(), **changes(way)).publish("one").directory)
    table, rows = whose_are(release, small)
    details = zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True)
    group_of = dict(zip(details, table["group_id"].to_pylist(), strict=True))
    people, size = defaultdict(set), Counter(table["group_id"].to_pylist())
    for row in rows:
        people[group_of[int(row["age"]), row["town"]]].add(row["person"])
    (observed,) = [
        entry
        for entry in release.manifest["sfumato"]["observed"]
        if entry["promise"]["model"] == "people"
    ]
    assert observed["people"] == {"k": min(map(len, people.values()))}
    assert observed["observed"] == {"k": min(size.values())}
    assert observed["observed"]["k"] >= observed["people"]["k"] >= 4


@pytest.mark.parametrize("way", WITH_PEOPLE)
def test_without_the_promise_groups_have_fewer_people(small, way):
    """The search keeps four people in a group; the same spec without it makes groups of fewer."""

    def fewest(run, promises):
        prepared = small.write(stays(), **changes(way, promises=promises)).prepare_run(run)
        whose = whose_in(prepared[1] / "candidate")
        pairs = set(zip(whose.group.tolist(), whose.rows.person.tolist(), strict=True))
        return min(Counter(group for group, _ in pairs).values())

    promises = WITH_PEOPLE[way][2]
    others = [promise for promise in promises if promise["model"] != "people"]
    (least,) = [promise["k"] for promise in promises if promise not in others]
    assert fewest("without", others) < least <= fewest("with", promises)


def test_too_few_people_are_refused_with_the_largest_k(small):
    few = [row for row in stays() if int(row["person"].split("-")[1]) < 9]
    spec = changes("people in shuffled boxes", promises=[{**P, "k": 10}, {**L, "l": 2}])
    with pytest.raises(PromiseError, match=r"required k=10, at best k=9 .* write k: 9 or less"):
        small.write(few, **spec).prepare_run("one")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"form": {"method": "generalized"}}, "In form generalized, promise k-anonymity"),
        ({"promises": [{**P, "numbers": "known"}, L]}, "Leave numbers out"),
        ({"form": {"method": "ambiguous"}}, "Use form permuted, split"),
        (
            {
                "columns": COLUMNS | {"person": {"role": "identifier", "unit": True}},
                "versions": "composed",
            },
            "people is about one version",
        ),
    ],
)
def test_k_people_are_refused_where_they_mean_nothing(small, more, words):
    with pytest.raises(SpecError, match=words):
        small.write(stays(), **changes("people in shuffled boxes", **more)).plan()


def test_people_are_counted_as_they_are(small):
    """Exact labels of full-domain groups tell who stands in which: people are counted by hand."""
    release = open_release(small.write(stays(), **changes("levels")).publish("one").directory)
    table, rows = whose_are(release, small)
    people, ill = defaultdict(set), defaultdict(lambda: defaultdict(set))
    labels = set(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))
    for row in rows:
        details = (row["age"], row["town"])
        (group,) = [label for label in labels if all(map(stands_for, label, details))]
        people[group].add(row["person"])
        ill[group][row["ill"]].add(row["person"])
    shares = [max(len(who) for who in ill[group].values()) / len(people[group]) for group in people]
    k, l, alpha = (observed["people"] for observed in release.manifest["sfumato"]["observed"])
    assert k == {"k": min(map(len, people.values()))}
    assert l == {"l": min(len(values) for values in ill.values())}
    assert alpha["k"] == k["k"]
    assert fraction(alpha["alpha"]) == pytest.approx(max(shares), abs=1e-12)


def stands_for(label, value):
    if label == "*" or label == value:
        return True
    ends = re.fullmatch(r"[\[(](\d+), ?(\d+)[\])]", label or "")
    return bool(ends) and int(ends[1]) <= int(value) <= int(ends[2]) - (label[-1] == ")")


def fraction(written):
    up, _, down = str(written).partition("/")
    return float(up) / float(down or 1)


def test_rows_of_three_people_are_no_six(small):
    """Groups of six rows that are three people's are not published as k = 5."""
    rows = [
        {"person": f"P{n // 2}", "age": 20 + n // 6, "town": "Aa", "note": "n", "wage": "1.05"}
        | {"ill": ILLS[n % 8]}
        for n in range(120)
    ]
    small.write(rows, **changes(promises=[K, {**L, "l": 2}]))
    (k, _) = open_release(small.publish("one").directory).manifest["sfumato"]["observed"]
    assert k["people"]["k"] >= 5 and k["observed"]["k"] >= 10


def candidate_of(small, way="boxes"):
    """A candidate that nobody has judged."""
    _, run = small.write(stays(), **changes(way)).prepare_run("one")
    return run / "candidate"


def taken_away(candidate):
    """Take away a candidate's record of whose its rows are; return it."""
    whose = whose_in(candidate)
    shutil.rmtree(candidate / "whose")
    return whose


def test_without_knowing_whose_rows_are_nothing_passes(small):
    candidate = candidate_of(small)
    taken_away(candidate)
    with pytest.raises(
        PromiseError, match=("the record of which rows belong to which people is missing")
    ):
        assess_candidate(candidate)


@pytest.mark.parametrize("what", ["group", "values"])
def test_what_is_known_of_people_has_to_be_of_the_published_groups(small, what):
    candidate = candidate_of(small)
    whose = taken_away(candidate)
    if what == "group":
        object.__setattr__(whose, "group", np.roll(whose.group, 1))
    else:
        column = whose.rows["ill"]
        object.__setattr__(column, "codes", np.roll(column.codes, 1))
    write_whose(candidate, whose)
    with pytest.raises(
        PromiseError, match=("the record of which rows belong to which people is about")
    ):
        assess_candidate(candidate)


@pytest.mark.parametrize(
    ("way", "broken_promise"), [("boxes", "k-anonymity"), ("people in shuffled boxes", "people")]
)
def test_a_group_of_too_few_people_is_refused_by_the_gate(small, way, broken_promise):
    """The partition is not believed: rows of one person spread over a group's rows break k."""
    candidate = candidate_of(small, way)
    whose = taken_away(candidate)
    object.__setattr__(whose.rows, "person", np.where(whose.group == 0, 0, whose.rows.person))
    write_whose(candidate, whose)

    def judging(tables, structure, promises):
        return judge("wages", tables, structure, promises)

    by_gate = assess_candidate(candidate, (), judging)
    assert by_gate.findings == assess_candidate(candidate).findings
    broken = [str(finding) for finding in by_gate.findings if not finding.passed]
    assert any(
        finding.startswith(f"{broken_promise} over people is broken in 1 of") for finding in broken
    )
    assert all("over people" in finding for finding in broken)


def test_what_waits_for_approval_knows_nobody(small):
    """The owners of the rows were needed to judge the candidate, and not to publish it."""
    resolved, run = small.write(stays(), **changes(approval="required")).prepare_run("one")
    candidate = run / "candidate"
    seal_candidate(candidate, assess_candidate(candidate))
    assert (candidate / "whose").exists()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    waiting = hold_candidate(candidate, run / "deidentified", resolved.line, 7, None, now)
    assert not (waiting.candidate / "whose").exists()
    assert sealed_candidate(waiting.candidate).release.exists()


@pytest.mark.parametrize(
    "forge",
    [
        lambda people: people.update(k=4),
        lambda people: people.update(k="5.5x"),
        lambda people: people.clear(),
    ],
)
def test_what_is_stated_of_people_has_to_keep_the_promise(writable_stays, forge):
    place = writable_stays / MANIFEST
    document = json.loads(place.read_text())
    forge(document["sfumato"]["observed"][0]["people"])
    document["sfumato"]["digest"] = digest(document)
    place.write_bytes(canonical_json(document))
    with pytest.raises(PromiseError, match="does not state that the groups keep k-anonymity"):
        check(writable_stays)


@pytest.fixture
def writable_stays(small, tmp_path):
    directory = small.write(stays(), **changes()).publish("one").directory
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy, copy_function=shutil.copyfile)
    return copy


def test_versions_are_about_different_people(small):
    first_version = small.write(stays(), **changes()).publish("one")
    assert small.publish("again").existed
    rows = stays()
    swapped = [
        {**row, "person": "IDENT-0" if i < 9 else row["person"]} for i, row in enumerate(rows)
    ]
    with pytest.raises(PromiseError, match="units"):
        small.write(swapped, **changes()).publish("other")  # the same rows, other people's
    assert (
        small.write(stays(first=5000, seed=4), **changes()).publish("new").directory
        != first_version.directory
    )


def test_evaluated_attacked_and_asked_afterwards(small):
    evaluation = {
        "workloads": [
            {"kind": "range", "aggregate": "count", "over": "age", "spans": [5], "queries": 9}
        ]
    }
    first_version = small.write(stays(), **changes(evaluate=evaluation)).publish("one")
    evaluate_again(first_version.directory, small.spec, Overrides())
    scores, _ = attack_again(first_version.directory, small.spec, Overrides())
    assert scores
    with (small.folder / "people.csv").open(encoding="utf-8") as file:
        true = sum(row["ill"] == "a" for row in csv.DictReader(file))
    query = "SELECT COUNT(*) AS n FROM microdata WHERE ill = 'a'"
    bounds = answer(open_release(first_version.directory), query).rows[0]["n"]
    assert bounds.lower == bounds.upper == true


def test_the_page_says_who_can_verify_what(small):
    directory = small.write(stays(), **changes()).publish("one").directory
    page = Read((directory / PAGE).read_text("utf-8"))
    assert "People have several rows." in page.text
    assert page.text.count("No file of this release can show it") == 5
    assert "Each row is about another person." not in page.text
    assert "people who look the same, at least" in page.text
    assert (
        "the number of a person's rows can be seen" not in page.text
    )  # of labels many have the same


def test_the_page_of_exact_rows_names_k_people(small):
    directory = small.write(stays(), **changes("people in shuffled boxes")).publish("one").directory
    page = Read((directory / PAGE).read_text("utf-8"))
    assert "Each group has at least 4 people: k people is promised." in page.text
    assert "rows of a group, at least" in page.text and "people of a group, at least" in page.text
    assert "there may be two" not in page.text


@pytest.mark.node
@pytest.mark.parametrize("way", ["people in shuffled boxes", "people of anatomy"])
def test_a_second_verifier_measures_k_people_over_rows(small, way):
    release = small.write(stays(), **changes(way)).publish("one").directory
    answer = verify_again(release)
    assert answer["verdict"] == "valid", answer


@pytest.mark.node
@pytest.mark.parametrize("wrong", [{"k": 99}, {"numbers": "known"}])
def test_both_verifiers_refuse_k_people_that_are_not_kept(small, wrong, tmp_path):
    published = small.write(stays(), **changes("people in shuffled boxes")).publish("one").directory
    release = tmp_path / "copy"
    shutil.copytree(published, release, copy_function=shutil.copyfile)

    def change(document):
        declared = document["sfumato"]
        for promise in (declared["promises"][1], declared["observed"][1]["promise"]):
            promise.update(wrong)

    edit(release, change)
    with pytest.raises(PromiseError, match="people"):
        check(release)
    assert verify_again(release)["verdict"] == "refused"


@pytest.mark.parametrize(("way", "says_few"), [("shuffled boxes", True), ("shuffled", False)])
def test_the_page_of_exact_rows_says_that_numbers_of_rows_can_be_seen(small, way, says_few):
    directory = small.write(stays(), **changes(way)).publish("one").directory
    page = Read((directory / PAGE).read_text("utf-8"))
    assert "the number of a person's rows can be seen" in page.text
    assert ("there may be two" in page.text) == says_few


def test_who_knows_all_rows_of_a_person_guesses_as_often_as_counted_by_hand(small):
    """Groups of labels are looked up one by one; the same by the private map, and without it."""
    attacks = {"several-rows": {"max-lift": 1, "on-failure": "tell"}}
    small.write(stays(), **changes("levels", attacks=attacks))
    run = attack_prepared(small, "one")[1].parent
    of_candidate = json.loads((run / ATTACKED).read_bytes())["scores"]["ill"]
    release = small.publish("one-more").directory
    table, rows = whose_are(open_release(release), small)
    labels = list(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))
    illnesses, size = defaultdict(Counter), Counter(labels)
    for label, ill in zip(labels, table["ill"].to_pylist(), strict=True):
        illnesses[label][ill] += 1
    theirs = defaultdict(list)
    for row in rows:
        details = (row["age"], row["town"])
        (label,) = [label for label in size if all(map(stands_for, label, details))]
        theirs[row["person"]].append((label, row["ill"]))
    right = sure = Fraction(0)
    for mine in theirs.values():
        chances = {ill: 1 - missed_chance(mine, illnesses, size, ill) for ill in ILLS}
        top = {ill for ill, belief in chances.items() if belief == max(chances.values())}
        own = {ill for _, ill in mine}
        right += Fraction(len(top & own), len(top))
        sure += max(chances[ill] for ill in own) >= Fraction(8, 10)
    scores, _ = attack_again(release, small.spec, Overrides())
    shares = {score.measure: score.share for score in scores["ill"]}
    by_map = {score["measure"]: score.get("share") for score in of_candidate}
    theirs_alone = [measure for measure in shares if measure.startswith("a value of their own")]
    assert len(theirs_alone) == 3
    assert [by_map[person] for person in theirs_alone] == [
        shares[person] for person in theirs_alone
    ]
    assert shares["a value of their own guessed, by who knows all their rows"] == pytest.approx(
        float(right / len(theirs))
    )
    assert shares["a value of their own believed 80% or more"] == float(sure / len(theirs))


def attack_prepared(small, name):
    """The run of a candidate, its directory, and how its bars are judged before publication."""
    resolved, folder = small.prepare_run(name)
    candidate, deidentified = folder / "candidate", folder / "deidentified"
    seal_candidate(candidate, assess_candidate(candidate))
    bars, whose = resolved.spec.attacks, identity(deidentified)
    judged = attack_candidate(
        candidate, load(deidentified), bars, whose, resolved.line, lambda _: ()
    )
    return resolved, candidate, judged.judged


def missed_chance(rows, illnesses, size, ill):
    """The chance that none of the rows (their label, and what is not looked at) has a value."""
    chance = Fraction(1)
    for label, number in Counter(label for label, _ in rows).items():
        number_with_label = size[label]
        chance *= Fraction(
            comb(number_with_label - illnesses[label][ill], number), comb(number_with_label, number)
        )
    return chance


def test_a_bar_on_who_knows_all_rows_is_judged_by_the_private_map(small):
    """In anatomy people who look alike stand in several groups, which the map alone tells."""
    bar = {"max-share-above": {"belief": 0.5, "share": 0}, "on-failure": "tell"}
    small.write(stays(), **changes("anatomy", attacks={"several-rows": bar}))
    _, candidate, judged = attack_prepared(small, "one")
    (of_illness,) = [verdict for verdict in judged if verdict.column == "ill"]
    assert not of_illness.is_kept
    assert 0 < of_illness.observed < 1, "who has one row is believed a third"
    people = whose_in(candidate).rows.person.max() + 1
    assert of_illness.observed * people == pytest.approx(round(of_illness.observed * people))


REFUSED = {
    "composed": (
        {"versions": "composed"},
        "columns.person.repeat: all: `versions: composed` follows one row of each person",
    ),
    "stratum": (
        {"partition": {"method": "stratum"}, "strata": ["town"]},
        "columns.person.repeat: all: partition stratum groups rows, not people",
    ),
    "noise": (
        {"partition": {"method": "anatomy", "alike": {"epsilon": 1}}, "form": {"method": "split"}},
        "columns.person.repeat: all: partition.alike hides one row by noise",
    ),
    "some quasi-identifiers": (
        {"promises": [{**K, "quasi-identifiers": ["age"]}, L]},
        "which use all of them. Leave quasi-identifiers out, or keep one row of each person "
        "(repeat: keep-one) (repeat: all)",
    ),
    "known values": (
        {"promises": [K, {**L, "known": ["wage"]}]},
        "promises.1: distinct-l-diversity is not defined over people or households with `known`",
    ),
    "presence": (
        {"promises": [K, L, {"model": "delta-presence", "min": 0, "max": 1, "reference": "r.csv"}]},
        "promises.2: delta-presence is not defined over people or households, because it divides "
        "rows of the table by people of the reference, which is not a probability where people "
        "have several rows; promise k-anonymity, or keep one row of each person (repeat: "
        "keep-one) (repeat: all)",
    ),
    "relaxed": (
        {"partition": {"method": "mondrian", "mode": "relaxed"}, "promises": [K, A]},
        "promises.1: alpha-k can be ",
    ),
    "parts": (
        {"parts": {"by": "age", "at": [40]}},
        "columns.person.repeat: all: the rows of one person may be in several parts",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_when_the_spec_is_read(small, case):
    more, message = REFUSED[case]
    small.write(stays(20), **changes(**more))
    with pytest.raises(SpecError) as error:
        small.plan()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_too_few_people_are_refused(small):
    small.write(stays(4), **changes(promises=[K, L]))
    with pytest.raises(PromiseError, match="cannot be kept"):
        small.publish("one")


@pytest.mark.parametrize("unprotected", [None, "phones of houses, not of people"])
def test_rows_that_count_as_people_may_not_be_one_persons(small, unprotected):
    columns = json.loads(json.dumps(COLUMNS))
    columns["person"] = {"role": "identifier"}
    if unprotected:
        columns["person"]["unprotected"] = unprotected
    resolved, run = small.write(stays(), **changes(columns=columns, unit="row")).prepare_run("one")
    message = rows_of_one_person(run / "ingested", resolved.spec.columns)
    assert (message is None) == bool(unprotected)
    assert unprotected or "columns.person: several rows have the same value" in message
    accepted = accepted_rows(run / "ingested", resolved.spec.columns)
    warning = "columns.person: several rows have the same value, and each counts as a person: "
    assert accepted == ([warning + unprotected] if unprotected else [])


def test_the_reason_why_rows_count_as_people_is_told(small):
    reason = "phones of <houses>, not of people"
    columns = {**json.loads(json.dumps(COLUMNS)), "person": {"role": "identifier"}}
    small.write(stays(), **changes(columns=columns, unit="row"))
    before = small.plan().terms.digest()
    columns["person"]["unprotected"] = reason
    directory = (
        small.write(stays(), **changes(columns=columns, unit="row")).publish("one").directory
    )
    assert small.plan().terms.digest() == before, "it is no term"
    assert reason in Read((directory / PAGE).read_text("utf-8")).text
    assert check(directory, None)
    _, document = dossier_of(directory, small.spec)
    assert {"about": "unit", "decided": "rows count as people", "reason": reason} in document[
        "decisions"
    ]


def test_people_in_another_line_are_counted_once(small):
    """However many rows they have there, or here."""
    small.write(stays(), **changes()).publish("one")
    number = len({row["person"] for row in stays()})
    small.write(stays(), **changes(name="second"))
    resolved, run = small.prepare_run("two")
    whose = identity(run / "deidentified")
    assert whose.met == {"wages": number}
    with pytest.raises(PromiseError, match=f"{number} units are in line wages"):
        existing_version(resolved.line, whose, "disjoint")


def test_what_is_at_stake_for_people(small):
    """A person is at risk by every row; people are counted, and not their rows."""
    rows = [{**row, "age": 20 + n % 3} for n, row in enumerate(stays(30))]
    resolved, run = small.write(rows, **changes()).prepare_run("one")
    stakes = measure_whole(run / "deidentified", resolved.terms)
    seen = defaultdict(set)
    for row in rows:
        seen[row["age"], row["town"]].add(row["person"])
    shares = {row["measure"]: row["by quasi-identifiers"] for row in whole_rows(stakes, "people")}
    assert shares["people"] == len({row["person"] for row in rows})
    assert shares["fewest people in a group"] == min(map(len, seen.values()))
    (table,) = risk_tables({"people": whole_rows(stakes, "people")})
    assert "people" in table["caption"]
