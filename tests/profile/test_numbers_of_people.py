"""Numbers of people in a table that is drafted: what looks like a code, and what is missing."""

import random

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.terms.opened import open_release
from tests.profile.drafts import confirm, document, draft, roles
from tests.profile.tables import write_csv
from tests.profile.test_shapes import release_of

ILL = ("C50.1", "E11.9", "I10", "J45.0", "K35")


def stays(rows=150, missing=(), name="patient_id", seed=4):
    """Hospital stays whose patient numbers look like ICD codes: P0017."""
    draw = random.Random(seed)
    numbers = random.Random(seed + 1).sample(range(100, 1000), rows)
    people = [f"P{number // 10:02d}.{number % 10}" for number in numbers]
    return [name, "age", "town", "ill"], [
        [
            "" if place in missing else person,
            draw.randint(20, 80),
            draw.choice(["Aa", "Bb", "Cc"]),
            draw.choice(ILL),
        ]
        for place, person in enumerate(people)
    ]


@pytest.mark.parametrize("missing", [(), (3,), (3, 70, 149)])
def test_patient_numbers_that_look_like_codes_are_a_unit(tmp_path, missing):
    made = draft(tmp_path, write_csv(*stays(missing=missing)))
    column_keys = document(made)["columns"]["patient_id"]
    nulls = {"nulls": "drop-row"} if missing else {}
    assert column_keys == {"role": "identifier", "unit": True, **nulls}
    assert roles(made)["ill"] == "sensitive"
    assert "unit" not in document(made)


def test_rows_without_a_number_are_said_and_left_out(tmp_path):
    made = draft(tmp_path, write_csv(*stays(missing=(3, 70))))
    text = " ".join(made.spec.read_text("utf-8").replace("#", " ").split())
    assert "rows without a value belong to no person, and are left" in text
    assert "No column identifies people" not in text
    assert made.unnumbered.startswith("2 rows have no 'patient_id'")
    confirm(made)
    assert open_release(release_of(made, tmp_path)).declared.rows.dropped_for_nulls == 2


def test_where_many_have_no_number_rows_are_people_and_why_is_said(tmp_path):
    made = draft(tmp_path, write_csv(*stays(missing=range(40))))
    assert (roles(made)["patient_id"], document(made)["unit"]) == ("identifier", "row")
    text = " ".join(made.spec.read_text("utf-8").replace("#", " ").split())
    assert "Many rows have no patient_id" in text
    assert made.unnumbered.startswith("40 rows have no 'patient_id'")


@pytest.mark.parametrize("name", ["code", "x1", "diagnosis"])
def test_texts_that_nearly_all_differ_are_never_sensitive_without_a_question(tmp_path, name):
    made = draft(tmp_path, write_csv(*stays(name=name)))
    assert roles(made).get(name) in (None, "identifier")
    text = " ".join(made.spec.read_text("utf-8").replace("#", " ").split())
    if roles(made).get(name) is None:
        assert f"{name}: " in text
    if name == "diagnosis":
        assert "nearly all its values differ" in text
        assert "all-different" in text


def test_codes_that_many_share_are_diagnoses_whatever_they_are_called(tmp_path):
    names, rows = stays()
    codes = [f"{letter}{number:02d}" for letter in "CEI" for number in range(8)]
    draw = random.Random(1)
    rows = [[*row, draw.choice(codes)] for row in rows]
    made = draft(tmp_path, write_csv([*names, "x1"], rows))
    assert roles(made)["x1"] == "sensitive"


def test_a_name_that_says_something_else_than_the_values_is_said(tmp_path):
    names, rows = stays()
    codes = [f"{letter}{number:02d}" for letter in "CEI" for number in range(8)]
    draw = random.Random(1)
    rows = [[*row, draw.choice(codes)] for row in rows]
    made = draft(tmp_path, write_csv([*names, "occupation"], rows))
    assert roles(made)["occupation"] == "quasi-identifier"
    text = " ".join(made.spec.read_text("utf-8").replace("#", " ").split())
    assert "though its values look like ICD codes" in text


def test_a_missing_number_is_refused_with_the_way_out(tmp_path):
    made = draft(tmp_path, write_csv(*stays(missing=(3,))))
    text = made.spec.read_text("utf-8").replace(", nulls: drop-row", "")
    made.spec.write_text(text, "utf-8")
    confirm(made)
    with pytest.raises(InputError, match=r"missing value in the unit \(nulls: drop-row"):
        release_of(made, tmp_path)


def test_spellings_of_one_illness_are_asked_about(tmp_path):
    names, rows = stays()
    ills = ("HIV", "hiv ", "flu", "gout", "ache") * 30
    rows = [[*row[:3], ill] for row, ill in zip(rows, ills, strict=True)]
    made = draft(tmp_path, write_csv([*names[:3], "diagnosis"], rows))
    assert roles(made)["diagnosis"] == "sensitive"
    text = " ".join(made.spec.read_text("utf-8").replace("#", " ").split())
    assert "some values differ only in spaces, case or Unicode form" in text
    assert "HIV" not in text
    assert "unite: spellings" in text
    confirm(made)
    released = release_of(made, tmp_path)
    assert open_release(released).declared.columns["diagnosis"].unite == "spellings"
    published_text = "".join(
        file.read_text("utf-8") for file in sorted(released.glob("data/*.csv"))
    )
    assert "hiv" in published_text
    assert "HIV" not in published_text
