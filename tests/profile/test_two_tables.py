"""Drafts of two tables: the key between them, roles of rows, promises, and what is left out."""

import csv
import io
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.models.related import RelatedDiversity
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_two_tables import write_first_spec_of_two
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.keys import NamedTable, TableKey
from sfumato.tasks.profile.linked import as_texts, limit_needed, link
from sfumato.tasks.profile.table import FoundTable
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.profile.drafts import confirm, document
from tests.profile.test_shapes import release_of

ILL = ("C50", "E11.9", "I10", "J45", "K35", "N18")
PEOPLE = ["patient", "born", "sex", "income"]
ROWS = ["number", "patient", "day", "ward", "icd", "cost", "note"]


def people(number=60, seed=1):
    """Patients; their income is something that two tables cannot publish yet."""
    draw = random.Random(seed)
    return [
        [f"P{n:03d}", draw.randint(1940, 2000), draw.choice("fm"), draw.randint(9, 99) * 1000]
        for n in range(number)
    ]


def stays(patients, seed=2, most=3):
    """Some stays of each patient; the first patient has none."""
    draw = random.Random(seed)
    owners = [row[0] for row in patients[1:] for _ in range(draw.randint(0, most))]
    return [
        [
            9000 + place,
            owner,
            f"2025-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
            draw.choice(["icu", "north"]),
            draw.choice(ILL),
            draw.randint(100, 9000),
            f"{draw.random()} was seen and sent home after a long talk",
        ]
        for place, owner in enumerate(owners)
    ]


def text(names, rows):
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([names, *rows])
    return written.getvalue()


def draft(place, first, second, key=None, policy=None, out="drafted.yaml", **options):
    """The draft of two files, each a name and its text."""
    for name, content in (first, second):
        (place / name).write_text(content, encoding="utf-8")
    paths = [str(place / name) for name, _ in (first, second)]
    own = DraftOptions(of_two=True, **options)
    private = {"SFUMATO_WORK": str(place / "work")}
    return write_first_spec_of_two(paths, place / out, [own, own], private, key=key, policy=policy)


def hospital(place, patients=None, rows=None, **options):
    patients = people() if patients is None else patients
    rows = stays(patients) if rows is None else rows
    files = ("patients.csv", text(PEOPLE, patients)), ("stays.csv", text(ROWS, rows))
    return draft(place, *files, **options)


def roles_in(written, table):
    columns = document(written)["tables"][table]["columns"]
    return {name: column["role"] for name, column in columns.items()}


@pytest.mark.parametrize("reverse", [False, True])
def test_two_files_become_a_spec_that_runs_in_any_order(tmp_path, reverse):
    patients = people()
    files = [("patients.csv", text(PEOPLE, patients)), ("stays.csv", text(ROWS, stays(patients)))]
    written = draft(tmp_path, *(files[::-1] if reverse else files))
    assert list(document(written)["tables"]) == ["patients", "stays"]
    assert roles_in(written, "patients") == {
        "patient": "identifier",
        "born": "quasi-identifier",
        "sex": "quasi-identifier",
        "income": "drop",
    }
    assert roles_in(written, "stays") == {
        "patient": "key",
        "number": "drop",
        "day": "drop",
        "ward": "drop",
        "icd": "sensitive",
        "cost": "sensitive",
        "note": "drop",
    }
    assert written.undecided is None
    confirm(written)
    declared = open_release(release_of(written, tmp_path)).declared
    assert declared.related_rows.published == len(stays(patients))
    assert written.question.endswith(
        "'SELECT sex, COUNT(*) FROM patients JOIN stays USING (patient) GROUP BY sex'"
    )


def test_a_date_of_rows_is_dropped_and_why_is_said(tmp_path):
    words = " ".join(hospital(tmp_path).spec.read_text("utf-8").replace("#", " ").split())
    assert "Anyone who knows a date of a person would recognise the row" in words
    assert "sensitive columns of people are published beside the rows of stays only as facts" in (
        words
    )


def test_a_dropped_date_keeps_its_format_in_either_table(tmp_path):
    """Formats are of the source: without its type the column would not have one."""
    patients = [[*row, f"{n % 28 + 1}.{n % 12 + 1}.2019"] for n, row in enumerate(people())]
    rows = [[*row[:2], "/".join(reversed(row[2].split("-"))), *row[3:]] for row in stays(people())]
    files = ("patients.csv", text([*PEOPLE, "since"], patients)), ("stays.csv", text(ROWS, rows))
    written = draft(tmp_path, *files)
    tables = document(written)["tables"]
    assert tables["patients"]["source"]["date-formats"] == {"since": "%d.%m.%Y"}
    assert tables["patients"]["columns"]["since"] == {"role": "drop", "type": "date"}
    assert tables["stays"]["source"]["date-formats"] == {"day": "%d/%m/%Y"}
    assert tables["stays"]["columns"]["day"] == {"role": "drop", "type": "date"}
    assert written.undecided is None
    confirm(written)
    assert open_release(release_of(written, tmp_path)).declared.related_rows.published == len(rows)


def fact_in(words, name):
    """A fact that a draft says how to write, as a key of a spec."""
    return yaml.safe_load(re.search(rf"({name}: {{.*?}})(?=`)", words)[1])


def test_what_a_draft_says_of_facts_can_be_written_and_released(tmp_path, monkeypatch):
    """A sensitive column of people, repeated in every row, is published as a fact of them."""
    patients = people()
    rows = stays(patients)
    income = {row[0]: row[3] for row in patients}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    words = " ".join(hospital(tmp_path / "first", patients, rows).spec.read_text().split())
    words = words.replace(" # ", " ")
    facts = fact_in(words, "income_of_person") | fact_in(words, "times")
    repeated = [[*row, income[row[1]]] for row in rows]
    written = draft(
        tmp_path / "second",
        ("patients.csv", text(PEOPLE, patients)),
        ("stays.csv", text([*ROWS, "income_of_row"], repeated)),
    )
    spec = {**document(written), "roles": "confirmed"}
    spec["tables"]["patients"]["columns"] |= facts
    spec["tables"]["stays"]["columns"]["income_of_row"] = {"role": "drop", "type": "integer"}
    spec["promises"] = [p for p in spec["promises"] if p.get("sensitive") != "income_of_row"]
    spec["evaluate"] = {}
    written.spec.write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "private"))
    release = release_here(written.spec)
    published = pq.read_table(release / "data" / "patients.parquet")
    owners = {row[1] for row in rows}
    expected = [income[row[0]] if row[0] in owners else None for row in patients]
    assert sorted(published["income_of_person"].to_pylist(), key=str) == sorted(expected, key=str)
    assert sum(published["times"].to_pylist()) == len(rows)


def test_a_draft_holds_no_value_and_no_count(tmp_path):
    patients = people()
    rows = stays(patients)
    written = hospital(tmp_path, patients, rows)
    lines = written.spec.read_text("utf-8").replace(str(tmp_path), "").splitlines()
    without_workloads = "\n".join(line for line in lines if "kind:" not in line)
    words = set(re.findall(r"[\w.]+", without_workloads)) - {"icu"}
    values = {str(value) for row in [*patients, *rows] for value in row} - {"f", "m"}
    assert words & values == set()
    assert {str(len(patients)), str(len(rows))} & words == set()
    page = written.profile.read_text("utf-8")
    assert "PRIVATE" in page
    assert written.profile.stat().st_mode & 0o777 == 0o600


def test_the_profile_counts_what_does_not_fit(tmp_path):
    patients = people()
    rows = stays(patients)
    patients += [[*patients[3][:1], 1950, "f", 9000], ["", 1960, "m", 9000]]
    rows += [
        [1, "P999", "2025-01-01", "icu", "I10", 5, "x"],
        [2, "", "2025-01-02", "icu", "I10", 6, "y"],
    ]
    written = hospital(tmp_path, patients, rows)
    spec = document(written)["tables"]
    assert spec["patients"]["columns"]["patient"] == {
        "role": "identifier",
        "unit": True,
        "nulls": "drop-row",
        "repeat": "keep-one",
    }
    assert (spec["stays"]["orphans"], spec["stays"]["source"]["where"]) == (
        "drop",
        "patient IS NOT NULL",
    )
    assert [note for note in written.notes if note[0] == "1"] == [
        "1 person is in several rows of patients; each keeps one",
        "1 row has no patient in patients, and is left out",
        "1 row belongs to no person of patients (table stays), and is left out",
        "1 row has no patient in stays, and is left out",
    ]
    confirm(written)
    declared = open_release(release_of(written, tmp_path)).declared
    assert declared.rows.dropped_as_repeats == 1
    assert declared.related_rows.dropped_as_orphans == 1
    page = " ".join(written.profile.read_text("utf-8").split())
    without = 60 - len({row[1] for row in stays(people())})
    assert f'people without any row in stays</th><td class="number">{without}</td>' in page


def shop(names=("id", "age", "city")):
    draw = random.Random(4)
    buyers = [[n, draw.randint(18, 90), draw.choice(["York", "Bath"])] for n in range(1, 61)]
    orders = [
        [place, draw.randint(2, 60), draw.choice(["book", "toy", "food"]), draw.randint(1, 5)]
        for place in range(1, 51)
    ]
    of_orders = ["id", "customer_id", "category", "age"]
    return (
        ("customers.csv", text(names, buyers)),
        ("orders.csv", text(of_orders, orders)),
    )


def test_keys_of_different_names_and_columns_of_the_same_name(tmp_path):
    written = draft(tmp_path, *shop())
    tables = document(written)["tables"]
    assert tables["customers"]["source"]["rename"] == {"id": "customer_id"}
    assert tables["orders"]["source"]["rename"] == {"age": "orders_age"}
    assert tables["orders"]["columns"]["customer_id"] == {"role": "key"}
    assert roles_in(written, "orders")["id"] == "drop"
    confirm(written)
    read_spec(written.spec, Overrides())


def test_columns_of_unknown_meaning_are_protected_if_no_other_column_is(tmp_path):
    written = draft(tmp_path, *shop())
    assert roles_in(written, "orders")["category"] == "sensitive"
    promised = [p.get("sensitive") for p in document(written)["promises"]]
    assert "category" in promised


def test_a_key_by_values_alone_is_said(tmp_path):
    buyers, orders = shop(("x1", "age", "city"))
    orders = (orders[0], orders[1].replace("customer_id", "ref"))
    written = draft(tmp_path, buyers, orders)
    assert "found only by its values" in written.notes[0]
    assert "No name shows this" in written.profile.read_text("utf-8")


def test_no_key_says_what_to_type(tmp_path):
    patients = people()
    rows = [[row[0], *row[2:]] for row in stays(patients)]
    names = [ROWS[0], *ROWS[2:]]
    with pytest.raises(InputError) as error:
        draft(tmp_path, ("patients.csv", text(PEOPLE, patients)), ("stays.csv", text(names, rows)))
    assert "share no key" in str(error.value)
    assert "--key COLUMN=COLUMN" in str(error.value)


def test_two_keys_are_offered_as_options(tmp_path):
    patients = [[*row, f"N{row[0]}"] for row in people()]
    rows = [[*row, f"N{row[1]}"] for row in stays(people())]
    files = (
        ("patients.csv", text([*PEOPLE, "mrn"], patients)),
        ("stays.csv", text([*ROWS, "mrn"], rows)),
    )
    with pytest.raises(InputError) as error:
        draft(tmp_path, *files)
    assert "Choose one: --key patient, or --key mrn" in str(error.value)
    written = draft(tmp_path, *files, key="mrn")
    assert roles_in(written, "stays")["mrn"] == "key"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("patientt", "has no column 'patientt': 'patient'?"),
        ("patient=pat", "has no column 'pat'"),
        ("sex=icd", "neither is a table of people"),
    ],
)
def test_a_wrong_key_is_refused(tmp_path, key, words):
    with pytest.raises(SpecError) as error:
        hospital(tmp_path, key=key)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hide": "rows"}, "--hide: is for one table"),
        ({"about": "numbers"}, "--about: is for one table"),
        ({"unit": "patient"}, "Write --key COLUMN in its place"),
        ({"roles": {"wart": "drop"}}, "--role wart"),
    ],
)
def test_options_of_one_table_are_refused(tmp_path, options, words):
    with pytest.raises((SpecError, InputError)) as error:
        hospital(tmp_path, **options)
    assert words in str(error.value)


def test_roles_are_chosen_for_columns_of_either_table(tmp_path):
    written = hospital(tmp_path, roles={"born": "drop", "ward": "sensitive", "cost": "drop"})
    assert roles_in(written, "patients")["born"] == "drop"
    assert roles_in(written, "stays")["ward"] == "sensitive"
    assert roles_in(written, "stays")["cost"] == "drop"


def test_one_person_with_most_rows_is_left_out_by_a_limit(tmp_path):
    patients, draw = people(), random.Random(6)
    rows = [
        [n, f"P{n % 50:03d}", "2025-02-03", "icu", draw.choice(ILL), n % 9, "x"] for n in range(60)
    ]
    rows += [[100 + n, "P055", "2025-02-04", "icu", "I10", n % 9, "x"] for n in range(70)]
    written = hospital(tmp_path, patients, rows)
    maximum = document(written)["tables"]["stays"]["maximum"]
    assert maximum == {"at-most": 2, "else": "leave-out"}
    confirm(written)
    declared = open_release(release_of(written, tmp_path)).declared
    assert declared.rows.published == 59


def test_a_column_that_no_promise_protects_is_left_to_the_steward(tmp_path):
    patients = people()
    rows = stays(patients)
    for place, row in enumerate(rows):
        row[4] = "I10" if place else "C50"
    written = hospital(tmp_path, patients, rows, roles={"icd": "sensitive"})
    assert "icd" not in [p.get("sensitive") for p in document(written)["promises"]]
    assert "no promise" in written.undecided or "protects" in written.undecided
    words = " ".join(written.spec.read_text("utf-8").replace("#", " ").split())
    assert "no promise about it can be kept" in words


def test_keys_of_other_types_are_compared_as_texts(tmp_path):
    patients = [[int(row[0][1:]) + 100, *row[1:]] for row in people()]
    rows = [[row[0], str(int(row[1][1:]) + 100), *row[2:]] for row in stays(people())]
    rows.append([1, "unknown", "2025-01-01", "icu", "I10", 5, "x"])
    written = hospital(tmp_path, patients, rows)
    assert document(written)["tables"]["patients"]["columns"]["patient"] == {
        "role": "identifier",
        "unit": True,
    }
    confirm(written)
    declared = open_release(release_of(written, tmp_path)).declared
    assert declared.related_rows.dropped_as_orphans == 1


def test_files_of_other_formats(tmp_path):
    patients, rows = people(), stays(people())
    pq.write_table(
        pa.table(dict(zip(PEOPLE, map(list, zip(*patients, strict=True)), strict=True))),
        tmp_path / "patients.parquet",
    )
    (tmp_path / "stays.csv").write_text(text(ROWS, rows), encoding="utf-8")
    own = DraftOptions(of_two=True)
    written = write_first_spec_of_two(
        [str(tmp_path / "stays.csv"), str(tmp_path / "patients.parquet")],
        tmp_path / "drafted.yaml",
        [own, own],
        {"SFUMATO_WORK": str(tmp_path / "work")},
    )
    assert document(written)["tables"]["patients"]["source"]["format"] == "parquet"
    confirm(written)
    assert open_release(release_of(written, tmp_path)).declared.rows.published == len(patients)


def table_of(name, **columns):
    """A table as it is read, of lists of values."""
    made = [encode(column, "insensitive", pa.array(values)) for column, values in columns.items()]
    types = dict.fromkeys(columns, "string")
    source = Source(uri=f"{name}.csv", seen=tuple(columns))
    return NamedTable(name, FoundTable(source, types, Microdata(tuple(made), len(made[0].codes))))


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=7, unique=True),
    st.lists(
        st.tuples(st.sampled_from("abcdefgx") | st.none(), st.sampled_from("12345")), max_size=30
    ),
)
def test_rows_are_given_to_the_people_whom_they_name(names, rows):
    keys = [key for key, _ in rows] + [names[0]]
    values = [value for _, value in rows] + ["1"]
    tables = table_of("p", key=names), table_of("r", key=keys, value=values)
    linked = link(TableKey(*tables, "key", "key"))
    by_hand = [sum(key == name for key in keys) for name in names]
    assert linked.rows_of_person.tolist() == by_hand
    assert linked.orphans == sum(key is not None and key not in names for key in keys)
    assert linked.missing == keys.count(None)
    assert linked.most == max(by_hand)
    assert linked.without_rows == by_hand.count(0)
    # what can be promised, by counting: c + n <= s for every value and everyone
    own = [(key, value) for key, value in zip(keys, values, strict=True) if key in names]
    times = [sum(value == other for _, other in own) for value in {v for _, v in own}]
    for number in (2, 3):
        is_kept = len(times) >= number and max(times) + max(by_hand) <= len(own)
        assert linked.keeps("value", number) == is_kept
    limit = limit_needed(linked, ["value"])
    if limit is not None:
        assert linked.values("value") == 0
        assert linked.with_most(limit).values("value") >= 2
    assert RelatedDiversity(l=2, sensitive="value").numbers == "known"


def test_texts_keep_the_order_of_codes():
    column = encode("n", "insensitive", pa.array([10, 9, None, 100]))
    assert as_texts(column).array().to_pylist() == ["10", "9", None, "100"]
    assert as_texts(column).values.to_pylist() == ["10", "100", "9"]
