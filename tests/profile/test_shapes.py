"""Tables in well-known shapes become drafts that work, with one edit."""

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.lines import prepare, publish_prepared
from tests.profile.drafts import confirm, confirm_draft, document, draft, roles
from tests.profile.tables import admissions, journeys, marriages, members, votes, write_csv


def release_of(made, directory):
    """The directory of what the draft publishes, evaluated elsewhere."""
    run = directory / "run"
    return publish_prepared(prepare(made.spec, run, seeded_keys(1)), run).directory


def test_codes_and_texts_without_a_unit(tmp_path):
    made = draft(tmp_path, write_csv(*marriages()))
    document_ = document(made)
    assert document_["source"]["csv"] == {"delimiter": ";", "encoding": "windows-1252"}
    assert (document_["source"]["decimal"], document_["unit"], document_["other-columns"]) == (
        ",",
        "row",
        "drop",
    )
    known_roles = dict.fromkeys(["rate", "age", "yrs_married", "occupation"], "quasi-identifier")
    assert roles(made) == known_roles | {"religiös": "sensitive", "affairs": "sensitive"}
    assert made.undecided is None
    assert made.guess == "windows-1252"


def test_a_column_that_tells_what_another_tells_is_dropped(tmp_path):
    made = draft(tmp_path, write_csv(*votes()))
    assert "logpopul" not in roles(made)
    assert "logpopul: has the same information as column 'popul'" in made.spec.read_text(
        encoding="utf-8"
    )
    assert document(made)["columns"]["age"]["hierarchy"] == {
        "file": "hierarchies/drafted-age.draft.csv"
    }
    rows = [line.split(",") for line in made.hierarchies[-1].read_text("utf-8").splitlines()]
    ends = [float(row[0]) for row in rows]
    assert ends == [float(age) for age in range(int(ends[0]), int(ends[-1]) + 1)]
    assert ends[0] % 5 == 0 == (ends[-1] + 1) % 5  # the range is rounded, and has no gaps


def test_several_rows_of_a_person_are_found_and_said(tmp_path):
    made = draft(tmp_path, write_csv(*journeys()))
    unit = {"role": "identifier", "type": "decimal", "unit": True, "repeat": "keep-one"}
    assert document(made)["columns"]["individual"] == unit
    text = made.spec.read_text(encoding="utf-8")
    assert "People have several rows" in " ".join(text.split()).replace("# ", "")
    text_joined = " ".join(text.replace("#", " ").split())
    assert "mode: the rows that are kept, one per person, have the same value" in text_joined
    assert "80 are profiled, one for each individual" in made.profile.read_text(encoding="utf-8")


def test_what_is_the_same_in_all_rows_is_dropped_as_that(tmp_path):
    names, rows = votes()
    made = draft(tmp_path, write_csv([*names, "year"], [[*row, 1996] for row in rows]))
    assert "year" not in roles(made)
    assert "year: all rows have the same value, so it adds" in made.spec.read_text(encoding="utf-8")


def test_rows_of_a_person_need_not_follow_one_another(tmp_path):
    made = draft(tmp_path, write_csv(*admissions()))
    document_ = document(made)
    unit = {"role": "identifier", "unit": True, "repeat": "keep-one"}
    assert document_["columns"]["Patienten-Nr"] == unit
    assert "unit" not in document_
    assert "the rows of a person in different places" in made.spec.read_text(encoding="utf-8")


def test_names_and_numbers_of_people_are_never_published_however_often_they_come(tmp_path):
    names, rows = admissions(people=30)
    often = [row for row in rows for _ in range(12)]  # too many rows each to be people's own
    made = draft(tmp_path, write_csv(names, often))
    assert (roles(made)["Patienten-Nr"], roles(made)["Name"]) == ("identifier", "identifier")
    assert "Bemerkung" not in roles(made)
    assert not [path for path in made.hierarchies if "name" in path.name]


def test_a_source_without_a_name_needs_a_name_for_the_draft(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for address in (".", "*.csv"):
        with pytest.raises(SpecError, match=r"--out NAME\.yaml"):
            write_first_spec(address, None, DraftOptions(), {})


@pytest.mark.parametrize("shape", [marriages, votes, journeys, admissions])
def test_one_edit_publishes(tmp_path, shape):
    made = draft(tmp_path, write_csv(*shape()))
    with pytest.raises(SpecError, match="roles: are proposed and not confirmed yet"):
        read_spec(made.spec)
    confirm(made)
    release = release_of(made, tmp_path)
    assert all(verdict.holds for _, verdict in check(release).verdicts)


def test_a_column_that_comes_later_is_refused(tmp_path):
    names, rows = marriages()
    made = draft(tmp_path, write_csv(names, rows))
    confirm(made)
    later = write_csv([*names, "hiv"], [[*row, 1] for row in rows])
    (tmp_path / "people.csv").write_bytes(later)
    with pytest.raises(
        InputError, match=r"column 7 of 7 is not in the spec and is not in source\.seen"
    ):
        release_of(made, tmp_path)


def test_what_is_said_beforehand_is_taken(tmp_path):
    made = draft(tmp_path, write_csv(*votes()), roles={"TVnews": "sensitive", "vote": "drop"})
    assert roles(made)["TVnews"] == "sensitive"
    assert "vote" not in roles(made)
    promised = [p.get("sensitive") for p in document(made)["promises"]]
    assert promised == [None, "TVnews", "income (€)"]
    assert confirm_draft(made).columns["TVnews"].role == "sensitive"


def test_a_table_without_anything_sensitive_says_so(tmp_path):
    rows = [[20 + n % 50, "abcd"[n % 4]] for n in range(120)]
    made = draft(tmp_path, write_csv(["age", "town"], rows))
    assert made.undecided.startswith("columns: no column has role sensitive")


def test_households_weights_and_missing_diagnoses(tmp_path):
    made = draft(tmp_path, write_csv(*members()))
    document_ = document(made)
    text = " ".join(made.spec.read_text(encoding="utf-8").replace("# ", "").split())
    assert document_["household"] == "HHID"
    assert document_["columns"]["HHID"]["role"] == "identifier"
    assert document_["columns"]["pid"]["unit"] is True
    assert document_["columns"]["diagnosis"]["nulls"] == "category"
    assert "`nulls: category` keeps rows without a value" in text
    assert "sample_weight" not in roles(made)
    assert "sample_weight: its name looks like a sample weight" in text
    confirm(made)
    release = release_of(made, tmp_path)
    assert all(verdict.holds for _, verdict in check(release).verdicts)
    table = read_tables(open_release(release).declared, release / "data")["microdata"]
    assert table.num_rows == len(members()[1])
    assert table["diagnosis"].null_count


def test_numbers_of_households_number_no_people(tmp_path):
    names, rows = members()
    made = draft(tmp_path, write_csv(names[1:], sorted(row[1:] for row in rows)))
    document_ = document(made)
    assert document_["unit"] == "row"
    assert "household" not in document_
    assert roles(made)["HHID"] == "identifier"


def test_one_value_of_all_rows_cannot_be_hidden(tmp_path):
    """A promise of two values in every group would be drafted, and refused by the first run."""
    rows = "".join(f"{20 + n % 40};{'mf'[n % 2]};1\n" for n in range(60))
    content = ("age;sex;outcome\n" + rows).encode()
    with pytest.raises(SpecError, match="--role outcome=sensitive: all rows have the same value"):
        draft(tmp_path, content, roles={"outcome": "sensitive"})
    assert not list(tmp_path.glob("*.yaml"))
    assert "outcome" not in roles(draft(tmp_path, content))
