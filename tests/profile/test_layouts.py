"""Layouts of CSV files: what is above a header, in place of it, or wrong with it."""

import gzip
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.microdata.source import read
from sfumato.tasks.profile.dialect import DraftOptions
from tests.profile.drafts import confirm_draft, document, draft, roles

ROWS = [f"{n + 1},{20 + n % 40},{'mf'[n % 2]},{('flu', 'cold', 'gout')[n % 3]}" for n in range(60)]
HEADER = "id,age,sex,diagnosis"


def file(header=HEADER, rows=ROWS, above="", end="\n"):
    return (above + end.join([header, *rows]) + end).encode()


def values(directory, made, name):
    """The values of a column, as a release of the draft reads them."""
    spec = confirm_draft(made)
    return read(spec.source, spec.columns, directory, {})[name].array().to_pylist()


def ages(count=60):
    return [20 + n % 40 for n in range(count)]


def semicolons(content):
    return content.replace(b",", b";")


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        (file(), {}),
        (file(above="\ufeff"), {}),
        (file(above="sep=,\n"), {"skip": 1}),
        (b"sep=;\r\n" + semicolons(file(end="\r\n")), {"skip": 1, "delimiter": ";"}),
        (b'"sep=;"\n' + semicolons(file()), {"skip": 1, "delimiter": ";"}),
        (file(above="Patients\nof 2024-03-01\n\n"), {"skip": 3}),
        (file(above="Patients, by ward\n"), {"skip": 1}),
        (file(above='"Patients\nof a clinic"\n'), {"skip": 2}),
        (file(above="Patients,,,\n,,,\n"), {"skip": 2}),
        (file(above="Patients,,,\n"), {"skip": 1}),
        (b"Patients;;\n" + semicolons(file()), {"skip": 1, "delimiter": ";"}),
        (file(rows=[f"{row}\r" if n % 2 else row for n, row in enumerate(ROWS)]), {}),
    ],
)
def test_lines_above_the_header(tmp_path, content, dialect):
    made = draft(tmp_path, content)
    assert document(made)["source"].get("csv", {}) == dialect
    assert values(tmp_path, made, "age") == ages()


def test_titles_are_told(tmp_path):
    made = draft(tmp_path, file(above="Patients\n"))
    assert made.notes == ("its first line is above the header and not read (csv.skip: 1)",)
    assert "# Its first line is above the header" in made.spec.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            file(header=f"{HEADER},"),
            "line 2 has 4 fields, but the header (line 1) has 5. To read the file, delete "
            "the ',' at the end of the header, or name the columns yourself (--columns A,B,C,D)",
        ),
        (
            file(header="id,age"),
            "line 2 has 4 fields, but the header (line 1) has 2. To read the file, name "
            "the columns yourself (--columns A,B,C,D)",
        ),
        (
            file(rows=[*ROWS[:20], "21,33,m", *ROWS[21:]]),
            "line 22 has 3 fields, but the header (line 1) has 4. To read the file, "
            "complete the line, or delete it if it is no row, such as a total",
        ),
        (
            file(rows=[*ROWS, "Total: 60"]),
            "line 62 has 1 field, but the header (line 1) has 4. To read the file, "
            "complete the line",
        ),
        (
            file(rows=[*ROWS[:20], "21,33,m,flu, severe", *ROWS[21:]]),
            "line 22 has 5 fields, but the header (line 1) has 4. To read the file, put "
            "values that contain ',' in quotes",
        ),
        (
            file(rows=[*ROWS[:10], '11,"30,m,flu', *ROWS[11:]]),
            (
                "a quote opens in line 12 and does not close before line 61. So these "
                "lines are one row of 2 fields, but the header (line 1) has 4. To read the file, "
                "delete the quote, or double"
            ),
        ),
        (
            file(rows=[*ROWS[:10], '11,"30,m,flu', *ROWS[11:15], '16,35",m,f,flu', *ROWS[16:]]),
            "a quote opens in line 12 and does not close before line 17",
        ),
        (
            file(rows=['1,"20,m,flu', *ROWS[1:] * 400]),
            (
                "a quote opens in line 2 and does not close. To read the file, delete "
                "the quote, or double"
            ),
        ),
    ],
)
def test_rows_that_differ_are_told_by_their_line(tmp_path, content, message):
    with pytest.raises(InputError) as caught:
        draft(tmp_path, content)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "flu" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "dialect"),
    [
        (file(header=f"{HEADER},"), {}, {"skip": 1}),
        (file(), {}, {"skip": 1}),
        (file(above="Patients\n"), {}, {"skip": 2}),
        (b"\n".join(file().splitlines()[1:]), {}, {}),
        (file(), {"header": "no"}, {}),
        (file(above="a,b,c,d\n"), {"skip": 2}, {"skip": 2}),
    ],
)
def test_names_that_are_said(tmp_path, content, options, dialect):
    names = ["number", "years", "sex", "illness"]
    if options == {"header": "no"}:
        names = ["number", "years", "sex", "disease"]
    made = draft(tmp_path, content, columns=tuple(names), **options)
    assert document(made)["source"]["csv"] == dialect | {"header": names}


def test_the_header_of_r_lacks_the_name_of_row_names(tmp_path):
    made = draft(tmp_path, file(header="age,sex,diagnosis"))
    named = {"skip": 1, "header": ["row-names", "age", "sex", "diagnosis"]}
    assert document(made)["source"]["csv"] == named
    assert document(made)["columns"]["row-names"]["unit"] is True
    assert values(tmp_path, made, "age") == ages()


@pytest.mark.parametrize(
    ("header", "rename"),
    [
        (",age,sex,diagnosis", {"": "row-names"}),
        ("id,age,town/city,diagnosis.", {"town/city": "town-city", "diagnosis.": "diagnosis"}),
        ("id,age,count,Age", {"count": "count-3", "Age": "Age-4"}),
        ("id,年齢,sex,diagnosis", {"年齢": "column-2"}),
    ],
)
def test_names_that_no_release_can_have_are_changed(tmp_path, header, rename):
    made = draft(tmp_path, file(header=header), header="yes")
    assert document(made)["source"]["rename"] == rename
    assert made.undecided is None or "role sensitive" in made.undecided
    assert "source.rename" in made.notes[0]


def test_names_that_are_there_twice_get_a_number(tmp_path):
    made = draft(tmp_path, file(header="id,age,age,diagnosis"))
    names = ["id", "age", "age-3", "diagnosis"]
    assert document(made)["source"]["csv"] == {"skip": 1, "header": names}
    assert values(tmp_path, made, "age") == ages()


def test_a_column_behind_the_last_delimiter_is_dropped(tmp_path):
    made = draft(tmp_path, file(header=f"{HEADER},", rows=[f"{row}," for row in ROWS]))
    assert document(made)["source"]["rename"] == {"": "column-5"}
    assert "column-5: it has no value" in made.spec.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("texts", "options", "written"),
    [
        (["1,234.50", "999", "12,345"], {}, {"thousands": ","}),
        (["1,234,567", "999", "12,345"], {}, {"thousands": ","}),
        (["1,234", "999", "12,345"], {"thousands": ","}, {"thousands": ","}),
        (["1,234", "999", "12,345"], {"decimal": ","}, {}),
        (["1.234,50", "999", "12.345"], {}, {"thousands": "."}),
        (["1'234", "999", "12'345.5"], {}, {"thousands": "'"}),
        (["1\u202f234", "999", "12\u202f345"], {}, {"thousands": " "}),
        (["030 123", "031 124", "032 125"], {}, {}),
        (["1.234", "999", "12.345"], {}, {}),
    ],
)
def test_marks_between_thousands(tmp_path, texts, options, written):
    rows = [f"{row};{texts[n // 20]}".replace(",", ";", 3) for n, row in enumerate(ROWS)]
    made = draft(tmp_path, file("id;age;sex;diagnosis;income", rows), **options)
    assert document(made)["source"]["csv"] == {"delimiter": ";"} | written
    numeric = document(made)["columns"]["income"].get("type") in ("integer", "decimal")
    assert numeric is (texts[0] != "030 123")
    if written:
        assert {float(value) for value in values(tmp_path, made, "income")} > {999.0}


def test_commas_that_may_be_either_are_asked_about(tmp_path):
    rows = [f'{row},"{n % 7 + 1},234"' for n, row in enumerate(ROWS)]
    with pytest.raises(InputError, match=r"--decimal ',' or --thousands ','$"):
        draft(tmp_path, file(f"{HEADER},income", rows))


@pytest.mark.parametrize(
    ("written", "format_"), [("2024{m:02}{d:02}", "%Y%m%d"), ("{d:02}{m:02}1994", "%d%m%Y")]
)
def test_dates_in_digits(tmp_path, written, format_):
    days = [written.format(m=n % 12 + 1, d=n % 28 + 1) for n in range(60)]
    rows = [f"{row},{day}" for row, day in zip(ROWS, days, strict=True)]
    made = draft(tmp_path, file(f"{HEADER},admission", rows))
    assert document(made)["source"]["date-formats"] == {"admission": format_}
    assert document(made)["columns"]["admission"]["type"] == "date"


def test_whole_numbers_of_a_parquet_file_may_be_dates(tmp_path):
    days = [20240000 + (n % 12 + 1) * 100 + n % 28 + 1 for n in range(60)]
    table = people().append_column("admission", pa.array(days, pa.int32()))
    pq.write_table(table.append_column("cost", pa.array(days)), tmp_path / "t.parquet")
    made = make_draft(tmp_path, "t.parquet")
    assert document(made)["source"]["date-formats"] == {"admission": "%Y%m%d"}
    assert document(made)["columns"]["admission"]["type"] == "date"
    assert values(tmp_path, made, "admission")[1] == date(2024, 2, 2)


def test_numbers_of_eight_digits_are_no_dates(tmp_path):
    rows = [f"{row},{20240000 + n}" for n, row in enumerate(ROWS)]
    made = draft(tmp_path, file(f"{HEADER},cost", rows))
    assert "date-formats" not in document(made)["source"]


def test_times_with_and_without_an_offset(tmp_path):
    rows = [
        f"{row},2024-03-{n % 28 + 1:02}T10:00:00{('', 'Z')[n % 2]}" for n, row in enumerate(ROWS)
    ]
    content = file(f"{HEADER},admission", rows)
    made = draft(tmp_path, content)
    assert "admission" not in roles(made)
    assert "others do not" in made.spec.read_text(encoding="utf-8")
    made.spec.unlink()
    for path in made.hierarchies:
        path.unlink()
    local = draft(tmp_path, content, timezone="Europe/Rome")
    assert document(local)["columns"]["admission"]["type"] == "timestamp"
    assert document(local)["source"]["timezone"] == "Europe/Rome"


def people(count=60):
    return pa.table(
        {"id": range(count), "age": ages(count), "diagnosis": ["flu", "cold"] * (count // 2)}
    )


def written_folder(directory):
    for year in (2020, 2021):
        (directory / f"year={year}").mkdir(parents=True)
        pq.write_table(people(), directory / f"year={year}" / "0.parquet")


def make_draft(directory, name, **options):
    private = {"SFUMATO_WORK": str(directory / "work")}
    place = directory / "drafted.yaml"
    return write_first_spec(str(directory / name), place, DraftOptions(**options), private)


def test_a_folder_of_partitions_needs_no_format(tmp_path):
    written_folder(tmp_path / "t")
    made = make_draft(tmp_path, "t", unit="id")
    source = document(made)["source"]
    assert (source["format"], source["seen"][-1]) == ("parquet", "year")
    spec = confirm_draft(made)
    columns = {**spec.columns, "year": spec.columns["age"]}
    assert set(read(spec.source, columns, tmp_path, {})["year"].array().to_pylist()) == {2020, 2021}


def test_a_folder_of_several_formats_is_asked_about(tmp_path):
    written_folder(tmp_path / "t")
    (tmp_path / "t" / "a.csv").write_bytes(file())
    (tmp_path / "t" / "readme.txt").write_bytes(b"x")
    with pytest.raises(InputError, match=r"--format csv, or --format parquet$"):
        make_draft(tmp_path, "t")
    assert document(make_draft(tmp_path, "t", format="parquet"))["source"]["format"] == "parquet"


def test_a_release_of_a_folder_of_another_format_is_told_the_key(tmp_path):
    from sfumato.tasks.microdata.readers.declared import Source
    from sfumato.tasks.microdata.source_files import source_files

    written_folder(tmp_path / "t")
    with pytest.raises(InputError, match=r"contains no file \*\.csv, .* Write format: parquet"):
        source_files(Source(uri="t"), tmp_path, {}, None)


VISITS = [f"{n % 25},2024-{n % 9 + 1:02}-11,{('flu', 'cold', 'gout')[n % 3]}" for n in range(100)]


def test_rows_that_are_no_people_are_worth_a_word(tmp_path):
    made = draft(tmp_path, file("patient,visit,diagnosis", VISITS))
    text = " ".join(made.spec.read_text(encoding="utf-8").replace("#", " ").split())
    assert "Several rows have the same patient, so rows may be visits" in text
    assert "several rows have the same 'patient'" in made.notes[-1]


def test_the_unit_that_is_said_is_taken(tmp_path):
    made = draft(tmp_path, file("patient,visit,diagnosis", VISITS), unit="patient")
    unit = {"role": "identifier", "type": "integer", "unit": True, "repeat": "keep-one"}
    assert document(made)["columns"]["patient"] == unit
    assert made.notes == ()


@pytest.mark.parametrize("name", ["none", "note"])
def test_a_unit_that_is_none_is_refused(tmp_path, name):
    rows = [f"{row}," for row in ROWS]
    with pytest.raises((InputError, SpecError), match=f"{name}"):
        draft(tmp_path, file(f"{HEADER},note", rows), unit=name)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (gzip.compress(file()), "people.csv.gz"),
        (file().decode().encode("utf-16"), "people.csv"),
        (
            file(rows=[row.replace("flu", "Grippé") for row in ROWS]).decode().encode("latin-1"),
            "p.csv",
        ),
        (file(rows=[row.replace("flu", '"a\nb"') for row in ROWS]), "people.csv"),
        (
            file(
                f"{HEADER},{','.join(f'v{n}' for n in range(300))}",
                [row + ",1" * 300 for row in ROWS],
            ),
            "p.csv",
        ),
    ],
)
def test_unusual_files_are_drafted(tmp_path, content, name):
    made = draft(tmp_path, content, name)
    assert {"id", "age", "sex", "diagnosis"} <= roles(made).keys()


def test_a_file_of_one_column_is_drafted(tmp_path):
    made = draft(tmp_path, b"age\n" + b"\n".join(b"%d" % age for age in ages()))
    assert roles(made) == {"age": "quasi-identifier"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            None,
            "line 702 has 3 fields, but the header (line 1) has 4. To read the file, "
            "complete the line",
        ),
        (("a", "b", "c", "d"), "line 702 has 3 fields, but there are names for 4 columns"),
    ],
)
def test_uneven_rows_far_down_are_told_by_their_line(tmp_path, columns, message):
    content = file(rows=[*(ROWS * 12)[:700], "21,33,m", *ROWS])
    with pytest.raises(InputError) as caught:
        draft(tmp_path, content, columns=columns)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04" + bytes(90), "is a ZIP archive or a workbook"),
        (gzip.compress(file()), "is packed with gzip, and its name must end in .gz"),
        (b"PAR1" + bytes(90), "is a Parquet file"),
        (b"SQLite format 3\0" + bytes(90), "is a database"),
        (b"\x7fELF\0\0\0\1" * 90, "is not a text file"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        draft(tmp_path, content)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_two_bytes_for_a_character_without_a_mark(tmp_path, encoding):
    made = draft(tmp_path, file().decode().encode(encoding))
    assert document(made)["source"]["csv"] == {"encoding": encoding}
    assert values(tmp_path, made, "age") == ages()
