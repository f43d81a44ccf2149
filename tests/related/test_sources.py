"""Reading two related tables: keys that fit, and rows that are left out and counted."""

import re

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pc
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.metadata.sentences import rows_left_out
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.related.hospital import Hospital, made_up, patients, spec_with, stays, toy
from tests.release.forge import edit

EASY = [
    {"model": "people", "k": 1},
    {"model": "related-l-diversity", "l": 1, "sensitive": "diagnosis", "numbers": "hidden"},
]


@pytest.fixture(autouse=True)
def _work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def with_stays(hospital, *rows):
    more = pa.table(
        dict(zip(hospital.stays.column_names, map(list, zip(*rows, strict=True)), strict=True)),
        schema=hospital.stays.schema,
    )
    return Hospital(hospital.patients, pa.concat_tables([hospital.stays, more]))


def counts(release):
    return open_release(release).declared.related_rows.model_dump()


def test_stays_of_nobody_are_refused_with_their_number(tmp_path):
    spec = spec_with(tmp_path, with_stays(toy(), ("p9", "flu", 1), ("p9", "flu", 2)), promises=EASY)
    with pytest.raises(InputError, match=r"2 of 14 rows have a 'patient'.*orphans: drop"):
        release_here(spec)


def test_stays_of_nobody_can_be_dropped_and_are_counted(tmp_path):
    both = {"patients": patients(), "stays": stays(orphans="drop")}
    spec = spec_with(tmp_path, with_stays(toy(), ("p9", "flu", 1)), promises=EASY, tables=both)
    release = release_here(spec)
    seen = counts(release)
    assert (seen["read"], seen["dropped_as_orphans"], seen["published"]) == (13, 1, 12)
    (answer,) = answers(open_release(release), ["SELECT COUNT(*) FROM stays"])
    assert answer.not_represented["related orphans"] == 1


def test_stays_without_a_patient_are_refused(tmp_path):
    spec = spec_with(tmp_path, with_stays(toy(), (None, "flu", 1)), promises=EASY)
    with pytest.raises(InputError, match="belong to no person"):
        release_here(spec)


def test_a_patient_twice_is_refused(tmp_path):
    hospital = toy()
    twice = Hospital(pa.concat_tables([hospital.patients, hospital.patients]), hospital.stays)
    with pytest.raises(InputError, match="the same unit"):
        release_here(spec_with(tmp_path, twice, promises=EASY))


def test_no_stay_at_all_is_refused(tmp_path):
    hospital = toy()
    spec = spec_with(
        tmp_path, Hospital(hospital.patients, hospital.stays.slice(0, 0)), promises=EASY
    )
    with pytest.raises(InputError, match=r"stays.csv: has no rows, so nothing.*source and columns"):
        release_here(spec)


def test_stays_go_with_patients_who_are_filtered(tmp_path):
    people = patients()
    people["source"]["where"] = "age < 60"
    spec = spec_with(tmp_path, toy(), promises=EASY, tables={"patients": people, "stays": stays()})
    release = open_release(release_here(spec))
    assert release.declared.related_rows.dropped_with_people == 7
    assert release.declared.rows.published == 4
    assert release.table("stays").num_rows == 5


def test_a_filter_on_stays_drops_no_patient(tmp_path):
    table = stays()
    table["source"]["where"] = "diagnosis = 'gout'"
    spec = spec_with(
        tmp_path, toy(), promises=EASY, tables={"patients": patients(), "stays": table}
    )
    release = open_release(release_here(spec))
    assert release.declared.rows.published == 8
    assert release.declared.related_rows.dropped_by_filter == 8
    assert set(release.table("stays")["diagnosis"].to_pylist()) == {"gout"}


def test_a_missing_diagnosis_is_refused_with_what_to_write(tmp_path):
    spec = spec_with(tmp_path, with_stays(toy(), ("p1", None, 1)), promises=EASY)
    with pytest.raises(InputError, match=r"row 13: column 'diagnosis'.*drop-row.*category makes"):
        release_here(spec)


@pytest.mark.parametrize(("policy", "published"), [("drop-row", 12), ("category", 13)])
def test_a_missing_diagnosis_is_left_out_or_a_value_of_its_own(tmp_path, policy, published):
    table = stays()
    table["columns"]["diagnosis"]["nulls"] = policy
    spec = spec_with(
        tmp_path,
        with_stays(toy(), ("p1", None, 1)),
        promises=EASY,
        tables={"patients": patients(), "stays": table},
    )
    assert counts(release_here(spec))["published"] == published


def refusal_of(tmp_path, hospital, *promises):
    with pytest.raises(PromiseError) as refused:
        release_here(spec_with(tmp_path, hospital, promises=[*promises]))
    return str(refused.value)


NAMES = pa.array(["p1", "p2", "p3"])
DIVERSE = {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"}


def test_one_patient_with_most_stays_cannot_keep_the_promise(tmp_path, monkeypatch):
    """So many rows as the message says are enough to leave out, and one row fewer is not."""
    many = [("p1", value, 1) for value in ("flu", "gout", "asthma", "cancer") * 10]
    words = refusal_of(tmp_path, with_stays(toy(), *many), DIVERSE)
    assert "related-l-diversity cannot be kept: required l=2, at best l=1" in words
    assert "One person has 42 of all 52 rows, all others together have 10" in words
    assert "leave out at least 12 rows" in words
    assert "write `maximum: {at-most: 3, else: leave-out}` under the table of rows" in words
    assert "numbers: hidden" in words
    assert "strata" not in words
    # each value is in at most the 10 rows of the others: flu 3, gout 4, asthma 3, cancer 2 too many
    over = {"flu": 3, "gout": 4, "asthma": 3, "cancer": 2}
    assert "leave out at least 1 row" in refusal_of(
        tmp_path / "fewer", with_stays(toy(), *fewer_rows(many, {**over, "flu": 2})), DIVERSE
    )
    spec = spec_with(tmp_path / "enough", with_stays(toy(), *fewer_rows(many, over)))
    assert open_release(release_here(spec)).declared.related_rows.published == 40
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other-work"))
    capped_spec = spec_with(
        tmp_path / "capped", with_stays(toy(), *many), tables=tables_with_most(3)
    )
    assert open_release(release_here(capped_spec)).declared.rows.suppressed == 1


def fewer_rows(rows, fewer):
    """Return the rows without the first so many of each diagnosis."""
    of_each = {value: [row for row in rows if row[1] == value] for value in fewer}
    return [row for value, number in fewer.items() for row in of_each[value][number:]]


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ({"model": "people", "k": 9}, "has 8 people. To go on, write k: 8 or less"),
        ({"model": "people", "k": 8, "numbers": "known"}, "7 people who have rows.*k: 7 or less"),
        ({"model": "people", "k": 8, "numbers": "known"}, "numbers: hidden, which does not"),
        ({**DIVERSE, "l": 9}, "has 4 different values of 'diagnosis'. To go on, write l: 4"),
        (
            {"model": "related-alpha", "alpha": 0.1, "sensitive": "diagnosis"},
            "even if all people are one group. To go on, write alpha: 0.5 or more",
        ),
    ],
)
def test_what_no_group_keeps_is_refused_with_what_can_be_kept(tmp_path, promise, words):
    easy = [p for p in EASY if p["model"] != promise["model"]]
    assert re.search(words, refusal_of(tmp_path, toy(), promise, *easy))


def test_what_only_insiders_learn_is_refused_with_that_reason(tmp_path):
    """Of flu, gout, gout with one stay each, only who had flu is sure of the others."""
    people, rows = toy()
    three = Hospital(people.slice(0, 3), rows.take([0, 1, 3]).set_column(0, "patient", NAMES))
    words = refusal_of(tmp_path, three, {**DIVERSE, "insiders": 1})
    assert "A person of the group who knows their own rows" in words
    assert words.endswith(
        "; or write numbers: hidden, which does not protect from anyone who knows how many rows "
        "each person has"
    )
    assert "To go on, write insiders: 0, which does not protect from people of the same" in words


def test_the_order_of_rows_says_nothing(tmp_path, monkeypatch):
    hospital = made_up(3, 60)
    backwards = Hospital(*(table.take(pa.array(range(table.num_rows)[::-1])) for table in hospital))
    places = []
    for name, tables in (("forwards", hospital), ("backwards", backwards)):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / f"work-{name}"))
        places.append(release_here(spec_with(tmp_path / name, tables)) / "data")
    for name in ("patients", "stays", "group_counts"):
        first, second = ((place / f"{name}.csv").read_bytes() for place in places)
        assert first == second


def test_the_same_two_tables_are_the_same_version(tmp_path):
    hospital = made_up(4, 50)
    spec = spec_with(tmp_path, hospital)
    assert release_here(spec) == release_here(spec)
    changed = hospital.stays.set_column(2, "cost", pa.array([1] * hospital.stays.num_rows))
    pc.write_csv(changed, tmp_path / "stays.csv")
    with pytest.raises(PromiseError, match="50 units are in an earlier version"):
        release_here(spec)


def tables_with_most(most):
    maximum = {"at-most": most, "else": "leave-out"}
    return {"patients": patients(), "stays": stays(maximum=maximum)}


def test_people_with_more_stays_than_the_most_are_left_out_and_counted(tmp_path):
    hospital = toy()
    release = release_here(spec_with(tmp_path, hospital, promises=EASY, tables=tables_with_most(2)))
    declared, seen = open_release(release).declared, counts(release)
    assert (declared.rows.suppressed, declared.rows.published, declared.form.cap) == (1, 7, 2)
    assert (seen["dropped_with_people"], seen["published"]) == (3, 9)
    queries = ["SELECT MAX(age) FROM patients WHERE sex = 'm'", "SELECT SUM(cost) FROM stays"]
    ages, costs = answers(open_release(release), queries)
    assert [cell.lower for row in ages.rows for cell in row.values()] == [74]
    assert [cell.lower for row in costs.rows for cell in row.values()] == [
        sum(hospital.stays["cost"].to_pylist()) - 12800
    ]
    page = " ".join((release / "index.html").read_text(encoding="utf-8").split())
    assert "more than <strong>2</strong> rows of <code>stays</code>" in page
    assert "Left out with more than 2 rows of <code>stays</code>" in page
    assert "Suppressed to keep the promise" not in page
    assert rows_left_out(declared).endswith("1 because they have more than 2 rows of stays.")
    check(release)


def test_plan_counts_people_with_more_stays_than_the_most(tmp_path):
    spec = spec_with(tmp_path, toy(), promises=EASY, tables=tables_with_most(2))
    summary = draft(spec, Overrides()).summary
    assert summary["left_out"] == {"people with more than 2 rows (maximum.at-most)": 1}


def test_a_most_that_nobody_exceeds_leaves_nobody_out(tmp_path):
    release = release_here(spec_with(tmp_path, toy(), promises=EASY, tables=tables_with_most(3)))
    assert open_release(release).declared.rows.suppressed == 0
    assert "is not in the table.</strong>" not in (release / "index.html").read_text("utf-8")


def test_a_most_that_leaves_nobody_with_stays_is_refused(tmp_path):
    hospital = toy()
    several = pa.array(["p1", "p5"])
    whose = hospital.stays.filter(pa.compute.is_in(hospital.stays["patient"], several))
    spec = spec_with(
        tmp_path, Hospital(hospital.patients, whose), promises=EASY, tables=tables_with_most(1)
    )
    with pytest.raises(InputError, match=r"more than 1, so that all.*larger maximum"):
        release_here(spec)


def test_a_promise_that_one_person_with_many_stays_breaks_is_kept_without_them(tmp_path):
    hospital = with_stays(toy(), *[("p6", "cancer", 1)] * 40)
    with pytest.raises(PromiseError):
        release_here(spec_with(tmp_path / "all", hospital))
    check(release_here(spec_with(tmp_path / "capped", hospital, tables=tables_with_most(6))))


def test_a_stated_most_that_somebody_exceeds_is_refused(tmp_path):
    release = release_here(spec_with(tmp_path, toy(), promises=EASY, tables=tables_with_most(3)))
    edit(release, lambda document: document["sfumato"]["form"].update(cap=2))
    with pytest.raises(PromiseError, match=r"form\.cap is 2, but group_counts has most_rows of 3"):
        check(release)
