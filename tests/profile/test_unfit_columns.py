"""Columns that no release can show: the draft drops them with the reason, and goes on."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.profile.dialect import DraftOptions
from tests.microdata.arrow_types import column_of_type, people_with
from tests.profile.drafts import confirm, confirmed, document, draft, roles
from tests.profile.tables import written

NAMES = ["age", "sex", "note", "income"]
ROWS = [[20 + n % 40, "mf"[n % 2], "", 1000 + 37 * (n % 23)] for n in range(120)]


def words(written_spec):
    """The text of a draft in one line, without the marks of comments."""
    return " ".join(written_spec.spec.read_text(encoding="utf-8").replace("#", " ").split())


def drafted(directory, column, **options):
    pq.write_table(people_with(column), directory / "t.parquet")
    private = {"SFUMATO_WORK": str(directory / "work")}
    place = directory / "drafted.yaml"
    return write_first_spec(str(directory / "t.parquet"), place, DraftOptions(**options), private)


def test_an_empty_column_of_a_csv_file_is_dropped(tmp_path):
    made = draft(tmp_path, written(NAMES, ROWS))
    assert "note: it has no value in any row" in words(made)
    assert "note" not in roles(made)
    assert confirmed(made).source.seen == tuple(NAMES)
    assert "120<br>100 %" in made.profile.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("null", "it has no value in any row"),
        ("float64, all null", "it has no value in any row"),
        ("float64 with NaN", "some of its numbers are NaN or infinite, which no release can show"),
        ("timestamp of nanoseconds", "its times are finer than microseconds"),
        ("time32", "no release can show values of type time32[ms]"),
        ("binary", "no release can show values of type binary"),
        ("duration s", "no release can show values of type duration[s]"),
        ("list", "no release can show values of type list<element: int8>"),
        ("struct", "no release can show values of type struct<a: int8>"),
        ("decimal256 of 60 digits", "its numbers have more than 38 digits"),
    ],
)
def test_the_reason_stands_in_the_draft(tmp_path, type_, reason):
    made = drafted(tmp_path, column_of_type(type_))
    assert f"extra: {reason}" in words(made)
    assert "extra" not in roles(made)
    assert made.undecided is None
    confirm(made)
    assert confirmed(made).source.seen[-1] == "extra"


def test_a_role_that_no_release_can_give_is_refused(tmp_path):
    column = column_of_type("list")
    with pytest.raises(SpecError, match=r"--role extra=sensitive: no release can show values of"):
        drafted(tmp_path, column, roles={"extra": "sensitive"})
    assert "extra" not in roles(drafted(tmp_path, column, roles={"extra": "drop"}))


def test_a_table_of_nothing_else_is_refused_with_the_reasons(tmp_path):
    pq.write_table(pa.table({"a": pa.nulls(3), "b": [[1], [2], [3]]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'a': it has no value in any row; column 'b': no"):
        write_first_spec(
            str(tmp_path / "t.parquet"), None, DraftOptions(), {"SFUMATO_WORK": str(tmp_path / "w")}
        )


def test_a_header_without_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no rows"):
        draft(tmp_path, b"age,sex\n")


def test_missing_values_are_counted_in_the_profile_alone(tmp_path):
    rows = [["" if n % 8 == 0 else row[0], *row[1:]] for n, row in enumerate(ROWS)]
    made = draft(tmp_path, written(NAMES, rows))
    assert "15<br>12.5 %" in made.profile.read_text(encoding="utf-8")
    assert "others may know or see; some values are missing" in words(made)
    assert document(made)["columns"]["age"]["nulls"] == "category"
    assert "12.5" not in words(made)


@pytest.mark.parametrize("name", ["people", "keys"])
def test_a_source_may_be_called_like_a_directory_beside_lines(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}.csv").write_bytes(written(NAMES, ROWS))
    private = {"SFUMATO_WORK": str(tmp_path / "work")}
    made = write_first_spec(f"{name}.csv", None, DraftOptions(), private)
    assert document(made)["name"] == f"{name}-data"
