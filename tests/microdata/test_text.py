"""The meaning of texts of a CSV file."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.microdata.sources import column, ingest_csv, values

parse_time = dt.datetime.fromisoformat


@pytest.mark.parametrize(
    ("type_", "texts", "expected"),
    [
        ("integer", ["+5", "-0", "007", "0" * 40 + "9"], [5, 0, 7, 9]),
        ("integer", ["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        ("decimal", ["+1.5", "-.25", "7.", "0.1"], ["1.50", "-0.25", "7.00", "0.10"]),
        ("decimal", ["9" * 36, "-0.01"], ["9" * 36 + ".00", "-0.01"]),
        ("float", ["+1.5", ".5", "5.", "1E5", "-2.5e-3", "1e-999"], [1.5, 0.5, 5, 1e5, -0.0025, 0]),
        ("date", ["2020-02-29", "0001-01-01"], [dt.date(2020, 2, 29), dt.date(1, 1, 1)]),
        (
            "timestamp",
            ["2020-02-29", "2020-02-29 10:30", "2020-02-29T10:30:01.5"],
            [
                parse_time("2020-02-29"),
                parse_time("2020-02-29 10:30"),
                parse_time("2020-02-29 10:30:01.500000"),
            ],
        ),
        (
            "timestamp",
            ["2020-02-29T10:30Z", "2020-02-29 10:30:00+02:00", "2020-02-29T23:30:00.25-0130"],
            [
                parse_time("2020-02-29 10:30"),
                parse_time("2020-02-29 08:30"),
                parse_time("2020-03-01 01:00:00.250000"),
            ],
        ),
        (
            "boolean",
            ["true", "FALSE", "1", "0", "Yes", "nO"],
            [True, False, True, False, True, False],
        ),
        ("string", ["", " x", "é☃", "1", "a\0b"], ["", " x", "é☃", "1", "a\0b"]),
    ],
)
def test_texts(tmp_path, type_, texts, expected):
    if type_ == "decimal":
        expected = [Decimal(text) for text in expected]
    content = "x\n" + "".join(f'"{text}"\n' for text in texts)
    ingested = ingest_csv(tmp_path, content, {"x": column(type_)}, null_values=())
    assert values(ingested, "x") == expected
    assert ingested.microdata["x"].values.to_pylist() == sorted(set(expected))


def test_equal_values_written_differently_are_one_value(tmp_path):
    content = "i,d,f,b\n1,1.5,0.0,yes\n+01,1.50,-0.0,TRUE\n"
    types = {"i": "integer", "d": "decimal", "f": "float", "b": "boolean"}
    ingested = ingest_csv(tmp_path, content, {n: column(t) for n, t in types.items()})
    for name in types:
        assert ingested.microdata[name].codes.tolist() == [0, 0]
        assert len(ingested.microdata[name].values) == 1
    assert ingested.microdata["d"].values.type == pa.decimal128(38, 2)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_blank_lines(tmp_path, end, last):
    content = end.join(["", "a;b", "", '1;"x;y"', "", "2;z"]) + (end * 2 if last else "")
    columns = {"a": column("integer"), "b": column()}
    ingested = ingest_csv(tmp_path, content, columns, delimiter=";")
    assert values(ingested, "a") == [1, 2]
    assert values(ingested, "b") == ["x;y", "z"]


def test_line_breaks_and_quotes_inside_values(tmp_path):
    content = 'a,b\n1,"x\r\ny"\n2,"say ""hi"""\n3,"\n"\n'
    ingested = ingest_csv(tmp_path, content, {"a": column(), "b": column()})
    assert values(ingested, "b") == ["x\r\ny", 'say "hi"', "\n"]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        *[("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-8", ""), ("utf-16-le", "")],
        *[("utf-8-sig", ""), ("utf-16", ""), ("utf-32", ""), ("latin-1", ""), ("cp1252", "")],
    ],
)
def test_encodings_and_byte_order_marks(tmp_path, encoding, mark):
    text = f"{mark}né,b\n1,é\n"
    columns = {"né": column("integer"), "b": column()}
    ingested = ingest_csv(tmp_path, text.encode(encoding), columns, encoding=encoding)
    assert values(ingested, "b") == ["é"]


def test_blanks_are_trimmed_before_nulls_are_told(tmp_path):
    content = "a, b\n1,  ?\n 2, x y \n3,?\n"
    columns = {"a": column("integer"), "b": column()}
    ingested = ingest_csv(
        tmp_path, content, columns, skip_initial_space=True, null_values=["?", "-"]
    )
    assert values(ingested, "a") == [1, 2, 3]
    assert values(ingested, "b") == [None, "x y ", None]


def test_blanks_stay_unless_said_otherwise(tmp_path):
    ingested = ingest_csv(tmp_path, "a\n ?\n?\n", {"a": column()}, null_values=["?"])
    assert values(ingested, "a") == [" ?", None]


def test_columns_come_in_the_order_of_the_spec_with_their_roles(tmp_path):
    """A dropped column is not read: nothing needs it."""
    columns = {"c": column(role="drop"), "a": column("integer", role="identifier"), "b": column()}
    ingested = ingest_csv(tmp_path, "a,b,c\n1,x,y\n", columns)
    assert [(c.name, c.role) for c in ingested.microdata.columns] == [
        ("a", "identifier"),
        ("b", "insensitive"),
    ]
