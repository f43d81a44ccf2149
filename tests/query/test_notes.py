"""Notes on what no published row can have: said where the answer shows it, and nowhere else."""

import random
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.tasks.query.ask import answer_on, files_of_tables
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.published.notes import notes_on
from sfumato.tasks.query.published.values import PublishedValues
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.asked import EXACT, FORMS, SENSITIVE, Queries, declare, in_form, microdata
from tests.query.worlds import column, with_help
from tests.query.worlds import declare as small

PEOPLE = pa.table(
    {
        "age": [17, 30, 31, 40, 55, 90],
        "sex": ["Male", "Female", "Male", None, "Female", "Male"],
        "born": [date(1950 + n, 1, 1) for n in range(6)],
        "vip": [False] * 6,
        "loss": [54, 55, 56, 65, 70, 75],
        "group_id": [0, 0, 0, 1, 1, 1],
    }
)
DECLARED = small(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
    born=column("quasi-identifier", "date"),
    vip=column("insensitive", "boolean"),
    loss=column("sensitive", "integer"),
)
TABLES = with_help(PEOPLE, "loss")
COUNT = "SELECT COUNT(*) FROM microdata WHERE "
FEMALE = "no published row has sex = 'female'; nearest: 'Female'"
OLD = "no published row has age > 900; published values: 17 to 90"


def notes(query, **own):
    tables = {name: pa.table(columns) for name, columns in own.items()}
    return answer_on(TABLES, DECLARED, query, own=tables).notes


@pytest.mark.parametrize(
    "condition,expected",
    [
        ("sex = 'female'", FEMALE),
        ("'female' = sex", FEMALE),
        ("sex <> 'female'", FEMALE),
        ("NOT sex IN ('Male', 'female')", FEMALE),
        (
            "sex LIKE 'Fem'",
            "no published row has sex LIKE 'Fem'; published values: 'Female', 'Male'",
        ),
        ("sex NOT LIKE 'femal_'", "no published row has sex LIKE 'femal_'; nearest: 'Female'"),
        ("sex > 'X'", "no published row has sex > 'X'; published values: 'Female' to 'Male'"),
        ("age > 900", OLD),
        ("NOT (age > 900 OR vip IS NULL)", OLD),
        ("900 <= age", "no published row has 900 <= age; published values: 17 to 90"),
        ("age = 16", "no published row has age = 16; published values: 17 to 90"),
        ("age = 41", "no published row has age = 41; nearest: 40 and 55"),
        ("age = 30.5", "no published row has age = 30.5; nearest: 30 and 31"),
        (
            "age BETWEEN 41 AND 54",
            "no published row has age BETWEEN 41 AND 54; published values: 17 to 90",
        ),
        (
            "born < DATE '1900-01-01'",
            "no published row has born < DATE '1900-01-01'; published values: 1950-01-01 to "
            "1955-01-01",
        ),
        ("vip = TRUE", "no published row has vip = TRUE; published values: FALSE"),
        ("loss = 60", "no published row has loss = 60; nearest: 56 and 65"),
        ("loss < 54 AND age < 40", "no published row has loss < 54; published values: 54 to 75"),
    ],
)
def test_what_no_row_can_have_is_said_with_what_is_published(condition, expected):
    assert notes(COUNT + condition) == (expected,)


@pytest.mark.parametrize(
    "condition",
    [
        "sex = 'Female'",
        "sex IN ('Male', 'Female') AND age BETWEEN 17 AND 900",
        "sex ILIKE 'FEM%'",
        "age < 900",
        "age = 17.0",
        "age > 50 AND age < 30 OR age BETWEEN 40 AND 20",
        "age > 18 AND age < 30",
        "sex = NULL",
        "sex IS NULL",
        "vip",
        "age = age",
        "born = TIMESTAMP '1950-01-01 00:00:00'",
        "UPPER(sex) = 'FEMALE'",
    ],
)
def test_what_a_row_can_have_or_logic_alone_makes_empty_is_not_said(condition):
    assert notes(COUNT + condition) == ()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT SUM(CASE WHEN sex = 'female' THEN 1 ELSE 0 END) FROM microdata",
        "SELECT COUNT(*) FILTER (sex = 'female') FROM microdata",
        "SELECT sex, COUNT(*) FROM microdata GROUP BY sex HAVING sex = 'female'",
        "SELECT COUNT(*) FROM microdata WHERE sex = 'female' OR loss = 54",
        "WITH m AS (SELECT sex AS s FROM microdata) SELECT COUNT(*) FROM m WHERE s = 'female'",
        "SELECT COUNT(*) / (SELECT COUNT(*) FROM microdata WHERE sex = 'female') FROM microdata",
        "SELECT COUNT(*) FROM microdata UNION ALL "
        "SELECT COUNT(*) FROM microdata WHERE sex = 'female'",
    ],
)
def test_every_clause_that_has_a_condition_is_looked_at(query):
    assert notes(query) == (FEMALE,)


def test_five_are_said_and_the_others_are_counted():
    notes_found = notes(f"{COUNT}age IN (1, 2, 3, 4, 5, 6, 7, 17)")
    assert len(notes_found) == 6
    assert notes_found[0] == "no published row has age = 1; published values: 17 to 90"
    assert (
        notes_found[-1] == "other conditions that fit no published row, and are not listed here: 2"
    )


def test_a_long_constant_is_cut():
    (note,) = notes(f"{COUNT}sex = '{'x' * 500}'")
    assert len(note) < 150
    assert "…" in note


def test_a_readers_own_table_is_never_named():
    own = {"sex": ["Female", "Secret"], "club": ["Rowing", "Chess"]}
    join = "SELECT COUNT(*) FROM microdata JOIN own USING (sex) WHERE "
    assert notes(f"{join}sex = 'secret'", own=own) == (
        "no published row has sex = 'secret'; published values: 'Female', 'Male'",
    )
    assert notes(f"{join}club = 'rowing'", own=own) == ()


def test_json_has_notes_only_where_there_are_any():
    query = f"{COUNT}sex = 'female'"
    assert document(answer_on(TABLES, DECLARED, query))["notes"] == [FEMALE]
    assert "notes" not in document(answer_on(TABLES, DECLARED, f"{COUNT}sex = 'Female'"))


@pytest.mark.parametrize("form,sensitive", FORMS)
def test_of_exact_values_a_comparison_is_noted_exactly_where_it_holds_nowhere(form, sensitive):
    """Of every type, against the answers themselves."""
    rng = random.Random(f"{form} {sensitive}")
    declared = declare(form, sensitive)
    tables = in_form(microdata(rng), declared)
    queries = Queries(rng, together=False)
    noted = 0
    for _ in range(60):
        name = rng.choice([*EXACT, *SENSITIVE])
        constant = queries.literal({**EXACT, **SENSITIVE}[name])
        sign = rng.choice(["=", "<", "<=", ">", ">=", "BETWEEN 0 AND"])
        if constant == "NULL" or (sign[0] == "B" and not constant[-1].isdigit()):
            continue
        answer = answer_on(tables, declared, f'{COUNT}"{name}" {sign} {constant}')
        empty = answer.rows[0]["count(*)"].upper == 0
        noted += empty
        if "BETWEEN" not in sign:
            assert bool(answer.notes) == empty, (name, sign, constant)
        assert empty or not answer.notes
    assert noted


RELEASES = [
    *sorted(CORPUS.glob("format-[27]/public/*/0001")),
    *sorted(CORPUS.glob("format-6-people/public/*/0002")),
    *sorted(CORPUS.glob("format-9/public/*/0002")),
]
CONSTANTS = {
    "integer": ["17", "38.5", "9876"],
    "decimal": ["17", "38.5", "9876"],
    "string": ["'male'", "'Male'", "'*'"],
}


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: "/".join(path.parts[-4:-1:2]))
def test_every_frozen_release_notes_nothing_that_it_may_hold(release):
    """A note is on a condition that holds of no row: in every form, composed and in parts."""
    with sfumato.open(release) as opened:
        held_count = 0
        for name, declared_column in opened.schema.items():
            for constant in CONSTANTS[declared_column.type]:
                for sign in ("=", "<", ">"):
                    query = f'{COUNT}"{name}" {sign} {constant}'
                    answer = opened.query(query)
                    upper = answer[0]["count(*)"].upper
                    assert upper == 0 or not answer.notes, query
                    held_count += bool(answer.notes)
    assert held_count


def test_a_star_of_a_column_without_a_list_of_leaves_admits_anything():
    release = CORPUS / "format-2" / "public" / "corpus-suppressed" / "0001"
    answer = sfumato.open(release).query(f"{COUNT}sex = 'female'")
    assert answer[0]["count(*)"].upper > 0
    assert answer.notes == ()


def test_labels_are_named_by_the_values_that_they_admit():
    release = CORPUS / "format-6" / "public" / "corpus-generalized" / "0001"
    opened_release = sfumato.open(release)
    assert opened_release.query(f"{COUNT}workclass = 'private'").notes == (
        "no published row has workclass = 'private'; nearest: 'Private'",
    )
    assert opened_release.query(f"{COUNT}age > 900").notes == (
        "no published row has age > 900; published labels: 0 to 79",
    )


def test_decimals_are_written_as_they_are():
    table = PEOPLE.append_column("fee", pa.array([Decimal("1.50")] * 6, pa.decimal128(38, 2)))
    fee = {"fee": column("insensitive", "decimal", scale=2)}
    declared = DECLARED.model_copy(update={"columns": {**DECLARED.columns, **fee}})
    answer = answer_on(with_help(table, "loss"), declared, f"{COUNT}fee > 2")
    assert answer.notes == ("no published row has fee > 2; published values: 1.50 to 1.50",)


def test_numbers_out_of_range_are_decided_by_what_footers_say(monkeypatch):
    """No column of a release in parts is read for them."""
    release = open_release(CORPUS / "format-7" / "public" / "corpus-redistributed" / "0001")
    declared = release.declared
    tables = files_of_tables(release, declared.names_with_roles("sensitive"))
    assert all(isinstance(table, TableInParts) for table in tables.values())
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", None)
    values = PublishedValues(tables, declared)
    (note,) = notes_on(read_inquiries(f"{COUNT}age > 900", declared).inquiries, values, declared)
    assert note.startswith("no published row has age > 900; published values: ")
    assert values.rows == sum(part.rows for part in declared.made_of)
    assert notes_on(read_inquiries(f"{COUNT}age < 900", declared).inquiries, values, declared) == ()


def test_who_asks_for_the_label_of_a_code_is_told_the_code():
    """Of codes that a row has: others may be a list's."""
    release = CORPUS / "format-6-labels" / "public" / "corpus-permuted" / "0001"
    opened_release = sfumato.open(release)
    assert opened_release.query(f"{COUNT}sex = 'Women'").notes == (
        "no published row has sex = 'Women'; the codebook's 'Women' is written 'Female'",
    )
    assert opened_release.query(f"{COUNT}sex = 'neither'").notes == (
        "no published row has sex = 'neither'; published values: 'Female', 'Male'",
    )
