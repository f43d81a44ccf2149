"""Every way in which a CSV file may not be as declared: one clear error, and never a value."""

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from tests.microdata.sources import CANARY, FILE, column, ingest_csv, refusal, values

AB = {"a": column(), "b": column()}


def test_absent_file(tmp_path):
    message = refusal(
        lambda: ingest(Source(uri="none.csv"), AB, "refuse", tmp_path, {}), InputError
    )
    assert message == "none.csv: cannot be read (No such file or directory)"


def test_directory(tmp_path):
    message = refusal(lambda: ingest(Source(uri="."), AB, "refuse", tmp_path, {}), InputError)
    assert message == ".: contains no file *.csv"


@pytest.mark.parametrize(
    ("content", "header", "rule"),
    [
        ("", None, "is empty"),
        ("", ("a", "b"), "is empty"),
        ("\n\n", None, "is empty"),
        ("\n\n", ("a", "b"), "has no rows"),
        ("a,b", None, "has no rows"),
        ("a,b\n", None, "has no rows"),
        ("a,b\r\n\r\n", None, "has no rows"),
    ],
)
def test_nothing_in_it(tmp_path, content, header, rule):
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, header=header), InputError)
    assert message == f"{FILE}: {rule}"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (f"a\n{CANARY}\n", "column 'b': is missing"),
        (f"a,b,c\n1,2,{CANARY}\n", "column 3 of 3 is not in the spec"),
        (f"a,b,{CANARY}\n1,2,3\n", "column 3 of 3 is not in the spec"),
        (
            f"{CANARY},b\n1,2\n",
            "2 faults: column 'a': is missing; column 1 of 2 is not in the spec",
        ),
        (
            f"a,b,a\n1,2,{CANARY}\n",
            "column 3 has the same name as column 1. Give each column its own name",
        ),
        (
            "a, b\n1,2\n",
            "2 faults: column 'b': is missing (column 2 has nearly its name); "
            "column 2 of 2 is not in the spec",
        ),
        ("a;b\n1;2\n", "has one column: it may be separated by ';' (source.csv.delimiter)"),
    ],
)
def test_wrong_columns(tmp_path, content, rule):
    assert refusal(lambda: ingest_csv(tmp_path, content, AB), InputError) == f"{FILE}: {rule}"


@pytest.mark.parametrize(
    ("content", "header", "row", "fields"),
    [
        (f"a,b\n1,2\n\n\n1,2,{CANARY}\n", None, 2, 3),
        (f"\n\na,b\n1,2\n{CANARY}\n", None, 2, 1),
        (f"1,2\n\n{CANARY}\n", ("a", "b"), 2, 1),
        (f'"a",b\r\n"1\n2",2\r\n{CANARY}\r\n', None, 2, 1),
        (f"a,b\n{CANARY}\n", None, 1, 1),
        ("a,b\n" + "1,2\n" * 900_000 + f"{CANARY}\n", None, 900_001, 1),
    ],
)
def test_ragged_row(tmp_path, content, header, row, fields):
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, header=header), InputError)
    hint = "a value with ','" if fields > 2 else "a value with a line break"
    assert (
        message
        == f"{FILE}: row {row}: {fields} fields, 2 columns: {hint} may have no quotes around it"
    )


@pytest.mark.parametrize(
    ("content", "dialect", "faults"),
    [
        (
            f"a;b\n1,5;2,5\n2,5;{CANARY}\n",
            {},
            ["row 1: 3 fields, 1 columns: it may be separated by ';' (source.csv.delimiter)"],
        ),
        (
            f"a;c\n1,5;2,5\n2,5;{CANARY}\n",
            {},
            [
                "row 1: 3 fields, 1 columns: it may be separated by ';' (source.csv.delimiter)",
                "column 'b': is missing",
                "column 2 of 2 is not in the spec",
            ],
        ),
        (
            f"a\tb\n1,5\t{CANARY},5\n",
            {"delimiter": ";"},
            ["has one column: it may be separated by '\\t' (source.csv.delimiter)"],
        ),
        (
            f"1,5;{CANARY}\n2,5;3\n",
            {"header": ("a", "b", "c")},
            [
                "row 1: 2 fields, 3 columns: it may be separated by ';' (source.csv.delimiter)",
                "row 1: 2 fields, 3 columns: a value with a line break may have no quotes around "
                "it",
            ],
        ),
        (
            f"a,c\n1,2\n1,2,{CANARY}\n",
            {},
            [
                "row 2: 3 fields, 2 columns: a value with ',' may have no quotes around it",
                "column 'b': is missing",
                "column 2 of 2 is not in the spec",
            ],
        ),
    ],
)
def test_another_delimiter_is_asked_for_with_all_other_faults(tmp_path, content, dialect, faults):
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, **dialect), InputError)
    several = f"{len(faults)} faults: " if len(faults) > 1 else ""
    assert message == f"{FILE}: {several}{'; '.join(faults)}"


def test_decimal_commas_are_told_beside_another_delimiter(tmp_path):
    content = "a;b;day\n1,5;x;01.02.2003\n2,5;y;02.03.2004\n"
    columns = {"a": column("decimal"), "b": column(), "day": column("date")}
    message = refusal(lambda: ingest_csv(tmp_path, content, columns), InputError)
    first, *others = message.removeprefix(f"{FILE}: 3 faults: ").split("; ")
    assert first == "row 1: 2 fields, 1 columns: it may be separated by ';' (source.csv.delimiter)"
    assert "column 'a'" in others[0]
    assert "source.decimal" in others[0]
    assert "column 'day'" in others[1]
    assert "date-formats" in others[1]


@pytest.mark.parametrize(
    ("content", "row", "fields"),
    [
        (f"a,b\n1,2\n1,\xe9,{CANARY}\n".encode("latin-1"), 2, 3),
        (f'\ufeff"a\nc",b\n1,2\n1,é,{CANARY}\n'.encode(), 2, 3),
        (b"a,b\n1,2\n\xff\n\xfe\xff,1,2\n", 2, 1),
    ],
)
def test_ragged_row_that_is_not_text(tmp_path, content, row, fields, capfd):
    """PyArrow would print a traceback that quotes the row."""
    message = refusal(lambda: ingest_csv(tmp_path, content, AB), InputError)
    assert f" row {row}: {fields} fields, 2 columns: " in message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("integer", f"{CANARY}.0"),
        ("integer", f"0x{CANARY}"),
        ("integer", f" {CANARY}"),
        ("integer", f"{CANARY}\n"),
        ("integer", f"1e{CANARY}"),
        ("integer", "9223372036854775808"),
        ("integer", "-9223372036854775809"),
        ("integer", "--1"),
        ("integer", ""),
        ("decimal", f"1,{CANARY}"),
        ("decimal", f"{CANARY}e3"),
        ("decimal", CANARY * 5),
        ("decimal", "0." + CANARY * 5),
        ("decimal", "."),
        ("decimal", "nan"),
        ("float", "nan"),
        ("float", "NaN"),
        ("float", "inf"),
        ("float", "-Infinity"),
        ("float", f"1e{CANARY}"),
        ("float", f"0x{CANARY}"),
        ("float", f"{CANARY} 1"),
        ("date", "2023-02-29"),
        ("date", "2023-13-01"),
        ("date", f"{CANARY}"),
        ("date", "01.02.2023"),
        ("date", "2023-02-01T00:00"),
        ("date", "0000-01-01"),
        ("timestamp", "2023-02-29T10:00:00"),
        ("timestamp", "2023-02-01T24:30:00"),
        ("timestamp", "2023-02-01 10:00:00.1234567"),
        ("timestamp", "2023-02-01T10"),
        ("timestamp", f"{CANARY}"),
        ("timestamp", "0000-01-01T00:00:00"),
        ("boolean", "maybe"),
        ("boolean", "2"),
        ("boolean", "true "),
    ],
)
def test_text_of_another_type(tmp_path, type_, text):
    good = {
        "integer": "7",
        "decimal": "1.25",
        "float": "1.5",
        "date": "2020-02-29",
        "timestamp": "2020-02-29T12:00:00",
        "boolean": "yes",
    }[type_]
    content = f'id,x\n1,"{good}"\n\n2,"{good}"\n3,"{text}"\n4,"{text}"\n'
    columns = {"id": column(), "x": column(type_)}
    message = refusal(
        lambda: ingest_csv(tmp_path, content, columns, null_values=()),
        InputError,
        canary=text if len(text) > len("Infinity") else CANARY,
    )
    assert message.startswith(f"{FILE}: row 3: column 'x': ")
    assert type_ in message or "decimals" in message


def test_decimals_that_fit_alone_but_not_together(tmp_path):
    content = "x\n" + "1" * 30 + "\n0." + "1" * 9 + "\n"
    message = refusal(lambda: ingest_csv(tmp_path, content, {"x": column("decimal")}), InputError)
    assert message.startswith(f"{FILE}: row 1: column 'x': not a decimal, or more than 38 digits")


@pytest.mark.parametrize("beside", ["1", "0.25"])
def test_digits_are_never_lost(tmp_path, beside):
    """Arrow takes 41, 44 and 400 of them for another number, without a word."""
    for digits in range(39, 420):
        content = f"x\n{beside}\n{'9' * digits}\n"
        with pytest.raises(InputError, match="row 2: column 'x': not a decimal, or more than 38"):
            ingest_csv(tmp_path, content, {"x": column("decimal")})
    content = f"x\n{beside}\n-{'0' * 400}{'9' * 36}.0\n"
    result = ingest_csv(tmp_path, content, {"x": column("decimal")})
    assert values(result, "x")[1] == -(10**36 - 1)


def test_the_first_wrong_row_is_named_wherever_threads_split_the_file(tmp_path):
    rows = 300_000
    content = "x\n" + "".join(f"{i}\n" for i in range(rows)) + f"{CANARY}x\n{CANARY}y\n"
    message = refusal(lambda: ingest_csv(tmp_path, content, {"x": column("integer")}), InputError)
    assert message.startswith(f"{FILE}: row {rows + 1}: column 'x': ")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2020-01-01T10:00:00", "2020-01-01T10:00:00+02:00"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00"),
        ("2020-01-01", "2020-01-01T10:00Z"),
    ],
)
def test_some_timestamps_with_an_offset(tmp_path, first, second):
    content = f"x\n{first}\n{second}\n"
    message = refusal(
        lambda: ingest_csv(tmp_path, content, {"x": column("timestamp")}), InputError, "2020"
    )
    assert message.startswith(f"{FILE}: row 2: column 'x': some timestamps have an offset")


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-8", b"a,b\n1,x\n2,87654321\xff\n"),
        ("utf-8", b"a,b\n1,x\n2,87654321\xed\xa0\x80\n"),
        ("ascii", "a,b\n1,x\n2,87654321é\n".encode()),
        ("cp1252", b"a,b\n1,x\n2,87654321\x81\n"),
        ("utf-16", "a,b\n1,x\n2,87654321".encode("utf-16") + b"\n"),
    ],
)
def test_bad_encoding(tmp_path, encoding, content):
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, encoding=encoding), InputError)
    assert message.removesuffix(" (try source.csv.encoding: windows-1252)") == (
        f"{FILE}: row 2: column 'b': not {encoding}"
    )


def test_bad_encoding_of_the_header(tmp_path):
    message = refusal(lambda: ingest_csv(tmp_path, b"a,87654321\xff\n1,2\n", AB), InputError)
    hint = "(try source.csv.encoding: windows-1252)"
    assert message == f"{FILE}: the header cannot be read as utf-8 CSV {hint}"


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "undefined", "idna", "a\0b"])
def test_unknown_encoding(tmp_path, encoding):
    content = f"a,b\n1,{CANARY}\n"
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, encoding=encoding), SpecError)
    assert message.startswith("source.csv.encoding: ")


@pytest.mark.parametrize("delimiter", ["é", '"', "\n", "\r"])
def test_impossible_delimiter(tmp_path, delimiter):
    content = f"a,b\n1,{CANARY}\n"
    message = refusal(lambda: ingest_csv(tmp_path, content, AB, delimiter=delimiter), SpecError)
    assert message.startswith("source.csv.delimiter: ")


@pytest.mark.parametrize(
    "content",
    [
        f'a,b\n1,2\n3, "{CANARY}"\n',
        f'a,b\n1,2\n3,   "{CANARY},4"\n',
        f'a,b\n1,2\n "{CANARY}",3\n',
    ],
)
def test_a_quoted_value_after_a_blank(tmp_path, content):
    message = refusal(
        lambda: ingest_csv(tmp_path, content, AB, skip_initial_space=True), InputError
    )
    assert message.startswith(f"{FILE}: row 2: ")
    assert message.endswith("a quoted value after a blank")


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (f'a,b\n1,2\n3,"{CANARY}\n5,6\n7,8\n', 2),
        (f'a,b\n1,2\n3,"{CANARY}\n5,"6"\n7,8\n', 2),
        (f'a,b\n1,2\n\n3,"x\n{CANARY}"y\n7,8\n', 2),
    ],
)
def test_a_stray_quote_does_not_swallow_rows(tmp_path, content, row):
    message = refusal(lambda: ingest_csv(tmp_path, content, AB), InputError)
    assert message == f"{FILE}: row {row}: a quote does not close, or text follows a closing quote"


def test_a_stray_quote_in_a_large_file(tmp_path):
    content = f'a,b\n1,"{CANARY}\n' + "1,2\n" * 600_000
    message = refusal(lambda: ingest_csv(tmp_path, content, AB), InputError)
    assert message == f"{FILE}: cannot be parsed as CSV; a quote may not close"


def test_null_where_nulls_are_refused(tmp_path):
    content = f"a,b\n1,2\n\n{CANARY},?\n"
    message = refusal(
        lambda: ingest_csv(tmp_path, content, AB, "refuse", null_values=["?"]), InputError
    )
    assert message.startswith(f"{FILE}: row 2: column 'b': missing value (nulls: drop-row")
