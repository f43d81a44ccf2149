"""The dialect that a file tells of itself; where it does not, the option that says it is named."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.profile.dialect import read_options
from sfumato.tasks.profile.facts import facts_of
from sfumato.tasks.profile.names import sense_of
from sfumato.tasks.profile.spelled import doubtful_texts, null_texts
from tests.profile.drafts import document, draft, roles
from tests.profile.tables import write_csv

PEOPLE = ["age", "town", "income"]
ROWS = [[20 + n % 45, "abcd"[n % 4], 1000 + 37 * (n % 23)] for n in range(120)]


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"town,place\nRome,Oslo\nBonn,Rome\nOslo,Oslo\n", None),
        (b"rosa,karl\nkarl,rosa\nrosa,rosa\n", None),
        (b"a1,b1\nc1,d1\ne1,f1\n", "its first line may be a header or a row"),
        (b"age;town\n30;Rome;x\n31\n", "line 2 has 3 fields, but the header (line 1) has 2."),
        (
            b"age,born\n30,1/2/1990\n31,3/4/1990\n",
            ("dates can be read with the day or with the month first"),
        ),
        (b"age;income\n30;1,000\n31;2,000\n", "--decimal ',' or --thousands ','"),
        (b"age,town\n30,\x81\n", "cannot be decoded as windows-1252. Name the encoding"),
    ],
)
def test_what_a_file_does_not_tell(tmp_path, content, delimiter):
    if delimiter is None:
        draft(tmp_path, content)
        return
    with pytest.raises(InputError) as caught:
        draft(tmp_path, content)
    assert delimiter in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "drafted.yaml").exists()


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_delimiter_that_is_said_is_held_to_the_rows(tmp_path, delimiter):
    content = b"age;wage\n30;1,5\n31;2,5\n\t;1\n"
    with pytest.raises(
        InputError, match=(r"rows have different numbers of fields\. Try --delimiter ';'")
    ):
        draft(tmp_path, content, delimiter=delimiter)


def test_a_first_row_is_never_taken_for_a_header(tmp_path):
    rows = [["rosa", "bonn", 4711], ["karl", "oslo", 1848], ["rosa", "rome", 1789]]
    made = draft(tmp_path, write_csv(None, rows, header=False))
    assert document(made)["source"]["csv"]["header"] == ["column-1", "column-2", "column-3"]
    assert "rosa" not in made.spec.read_text(encoding="utf-8")


@pytest.mark.parametrize("mark", ["NA", "?", "-", "NULL", "n/a"])
def test_texts_for_missing_values(tmp_path, mark):
    rows = [[mark if n % 9 == 0 else age, town, pay] for n, (age, town, pay) in enumerate(ROWS)]
    made = draft(tmp_path, write_csv(PEOPLE, rows))
    assert document(made)["source"]["csv"]["null_values"] == ["", mark]
    keys = document(made)["columns"]["age"]
    assert (keys["type"], keys["nulls"]) == ("integer", "category")


def test_a_text_is_not_missing_because_it_looks_so(tmp_path):
    rows = [[age, "NA" if n % 4 else "DE", pay] for n, (age, _, pay) in enumerate(ROWS)]
    assert "null_values" not in document(draft(tmp_path, write_csv(PEOPLE, rows)))["source"]["csv"]


@pytest.mark.parametrize(
    ("format_", "type_"),
    [("%d.%m.%Y", "date"), ("%Y/%m/%d", "date"), ("%d.%m.%Y %H:%M", "timestamp")],
)
def test_dates_are_read_as_written(tmp_path, format_, type_):
    days = [
        f"{format_}".replace("%Y", str(1940 + n % 60)).replace("%m", f"{n % 12 + 1:02}")
        for n in range(120)
    ]
    days = [
        d.replace("%d", f"{n % 28 + 1:02}").replace("%H", "10").replace("%M", "30")
        for n, d in enumerate(days)
    ]
    rows = [[day, *row[1:]] for day, row in zip(days, ROWS, strict=True)]
    document_ = document(draft(tmp_path, write_csv(["born", "town", "income"], rows)))
    assert document_["source"]["date-formats"] == {"born": format_}
    assert document_["columns"]["born"]["type"] == type_


LOOKS = {
    "e-mail address": [f"user{n}@example.org" for n in range(40)],
    "phone number": [f"+31 6 {10_000_000 + 7919 * n}" for n in range(40)],
    "IBAN": ["NL91ABNA0417164300", "DE89370400440532013000", "GB82WEST12345698765432"] * 2
    + ["FR1420041010050500013M02606", "CH9300762011623852957", "BE68539007547034"],
    "national id": ["111222333", "123456782", "100000009", "100000010", "200000007", "999996356"],
    "UUID": [f"123e4567-e89b-12d3-a456-{n:012}" for n in range(40)],
    "IP address": [f"10.0.0.{n}" for n in range(40)],
    "ICD code": [f"{letter}{n:02}.{n % 9}" for n in range(30) for letter in "CEI"] * 2,
    "postcode": [f"{n:04} {a}B" for n in range(1000, 1040) for a in "AX"] * 2,
    "person's name": [f"{a} {b}" for a in ("Ada", "Kurt") for b in ("Gödel", "Noether", "Weyl")],
    "free text": [f"came on day {n} with pain in the arm" for n in range(40)],
    None: [f"w{n}" for n in range(40)],
}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_what_values_look_like(look):
    column = encode("x", "drop", pa.array(LOOKS[look]))
    (facts,) = facts_of(Microdata((column,), len(LOOKS[look])), {"x": "string"})
    assert facts.look == look


@pytest.mark.parametrize("look", ["ICD code", "postcode"])
def test_codes_that_nobody_shares_are_not_taken_for_codes(look):
    different = list(dict.fromkeys(LOOKS[look]))
    column = encode("x", "drop", pa.array(different))
    (facts,) = facts_of(Microdata((column,), len(different)), {"x": "string"})
    assert facts.look is None


@pytest.mark.parametrize(
    ("name", "sense"),
    [
        ("Geburtsdatum", "date"), ("home_address", "contact"), ("maritalStatus", "trait"),
        ("monthly-salary", "sensitive"), ("Diagnose", "sensitive"), ("postal code", "place"),
        ("patient_id", "person"), ("v17", None), ("", None),
    ],
)  # fmt: skip
def test_what_names_say(name, sense):
    assert sense_of(name) == sense


def test_identifiers_are_never_published(tmp_path):
    names = ["pnr", "mail", "note", *PEOPLE]
    notes = LOOKS["free text"] * 3
    rows = [[100_000 + 7 * n, f"u{n}@x.org", f"{notes[n]} {n}", *row] for n, row in enumerate(ROWS)]
    made = draft(tmp_path, write_csv(names, rows))
    identifiers = {name for name, role in roles(made).items() if role == "identifier"}
    assert identifiers == {"pnr", "mail"}
    assert "note" not in roles(made)
    assert document(made)["columns"]["pnr"]["unit"] is True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"roles": {"age": "secret"}}, "--role age: no role 'secret'; choose from"),
        ({"format": "odt"}, "--format: no format 'odt'; choose from"),
        ({"delimiter": ";;"}, "--delimiter: must be one character, such as --delimiter"),
        ({"date_formats": {"born": "%y"}}, "--date-formats.born: uses %y. Use only"),
    ],
)
def test_options_that_are_none(options, words):
    with pytest.raises(SpecError) as caught:
        read_options(**{"roles": {}, "date_formats": {}} | options)
    assert str(caught.value).startswith(words)


def test_files_are_private_and_nothing_is_overwritten(tmp_path):
    made = draft(tmp_path, write_csv(PEOPLE, ROWS))
    assert made.profile.is_relative_to(tmp_path / "work")
    assert made.profile.stat().st_mode & 0o777 == 0o600
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "work", made.profile.parent)} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made.hierarchies} == {0o600}
    with pytest.raises(
        SpecError, match=(r"drafted\.yaml: exists already, and init overwrites no file")
    ):
        draft(tmp_path, write_csv(PEOPLE, ROWS))


@pytest.mark.parametrize("name", ["keys", "people", "1", "äöü"])
def test_names_that_lines_cannot_have(tmp_path, name):
    from sfumato.flows.choice.first_spec import write_first_spec
    from sfumato.tasks.profile.dialect import DraftOptions

    (tmp_path / "t.csv").write_bytes(write_csv(PEOPLE, ROWS))
    private = {"SFUMATO_WORK": str(tmp_path / "work")}
    place = tmp_path / f"{name}.yaml"
    if name in ("keys", "people"):
        with pytest.raises(SpecError, match=r"Name the draft \(--out NAME.yaml\)"):
            write_first_spec(str(tmp_path / "t.csv"), place, DraftOptions(), private)
    else:
        write_first_spec(str(tmp_path / "t.csv"), place, DraftOptions(), private)
        assert document(type("W", (), {"spec": place}))["name"] in ("1", "aou")


def test_words_among_numbers_are_missing_only_if_the_steward_says_so(tmp_path):
    rows = [f"{n}.{n % 12 + 1:02}.1950;{n},50" for n in range(10, 29)] * 3
    content = "\n".join(["born;cost", *rows, "unknown;k.A.", "unknown;12,50"]).encode()
    noted = draft(tmp_path / "first", content)
    (note,) = [note for note in noted.notes if "--null" in note]
    assert "'born', 'cost'" in note
    assert "unknown" not in note
    assert "null_values" not in document(noted)["source"].get("csv", {})
    written = draft(tmp_path / "second", content, nulls=("unknown", "k.A."))
    source = document(written)["source"]
    assert source["csv"]["null_values"] == ["", "unknown", "k.A."]
    assert source["decimal"] == ","
    assert source["date-formats"] == {"born": "%d.%m.%Y"}
    assert not any("--null" in note for note in written.notes)


@given(
    st.dictionaries(st.text("ab", max_size=3), st.lists(st.text("0NA-x", max_size=3)), max_size=3),
    st.lists(st.text("NAx-", min_size=1, max_size=2), max_size=2, unique=True),
)
def test_doubtful_texts_occur_and_are_not_known(columns, nulls):
    texts = {name: pa.array(sorted(set(values)), pa.string()) for name, values in columns.items()}
    options = read_options({}, {}, nulls=tuple(nulls))
    missing = null_texts(texts, options)
    assert missing[: len(nulls)] == tuple(nulls)
    for word, names in doubtful_texts(texts, missing).items():
        assert word not in ("", *missing)
        assert names == [name for name in columns if name in names]
        assert all(word in columns[name] for name in names)
