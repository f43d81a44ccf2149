"""Files of fixed width: columns cut out of lines."""

import pytest
from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers import delimited
from sfumato.tasks.schema.names import CsvDialect

HEADER, WIDTHS = ("age", "town", "sex"), ((1, 2), (3, 5), (8, 1))


def read(path, content, **settings):
    path.write_bytes(content)
    dialect = CsvDialect(header=HEADER, widths=WIDTHS, **settings)
    columns = delimited.read(path, path.name, FileDialect(csv=dialect))
    return {name: column.array().to_pylist() for name, column in columns.items()}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_columns_are_cut_and_blanks_around_values_left_out(tmp_path, end):
    lines = [b"30Ulm  F", b"", b' 7J,"naM', b"41     F"]
    assert read(tmp_path / "a.asc", end.join(lines)) == {
        "age": ["30", "7", "41"],
        "town": ["Ulm", 'J,"na', None],
        "sex": ["F", "M", "F"],
    }


def test_positions_are_characters_in_any_encoding(tmp_path):
    content = "30Köln F\n31Ulm  M\n"
    expected = {"age": ["30", "31"], "town": ["Köln", "Ulm"], "sex": ["F", "M"]}
    assert read(tmp_path / "a.asc", content.encode()) == expected
    assert read(tmp_path / "b.asc", content.encode("latin-1"), encoding="latin-1") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"30Ulm  F\n31Ulm\n", "row 2: the line ends before its last column begins (character 8)"),
        ("30Köln F\n".encode("latin-1"), "is not utf-8"),
        (b"30U\x1fm  F\n", "has no lines of fixed width"),
    ],
)
def test_faults_have_their_place(tmp_path, content, message):
    with pytest.raises(InputError) as raised:
        read(tmp_path / "a.asc", content)
    assert message in str(raised.value)


def test_widths_need_as_many_names():
    for header in (None, ("age",)):
        with pytest.raises(ValidationError, match="files of fixed width have no header line"):
            CsvDialect(header=header, widths=WIDTHS)
