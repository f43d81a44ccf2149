"""Rows by their hashes: over the columns of both, in normal form, without units of both."""

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.same_people import rows_of_two
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people.keys import names_of, names_of_values
from sfumato.tasks.private.people.spelled import (
    half_of,
    read_spelled,
    spelled_otherwise,
    spelled_units,
    write_spelled,
)
from sfumato.tasks.private.source_rows import (
    WHOSE,
    columns_of_both,
    compared_rows,
    hashed_rows,
    normal_rows,
    read_rows,
    write_rows,
)

SECRET = b"s" * 32


def table(**columns):
    made = [encode(name, "insensitive", pa.array(of)) for name, of in columns.items()]
    return Microdata(tuple(made), len(next(iter(columns.values()))))


def units_of(*texts):
    return encode("id", "identifier", pa.array(texts))


def spelled(*texts):
    unit = units_of(*texts)
    return spelled_units(unit, names_of_values(unit.values, SECRET), SECRET)


def equal(one, other):
    return bool(rows_of_two(*compared_rows(one, other)).equal)


def test_rows_are_compared_as_multisets_over_common_columns():
    one = table(a=[1, 1, 2, None], b=["x", "x", "y", "z"], c=[1, 2, 3, 4])
    other = table(b=["x", "z", "x", "y"], d=[0, 0, 0, 0], a=["1", None, "01", "2.0"])
    rows = [normal_rows(of, SECRET) for of in (one, other)]
    assert columns_of_both(*rows) == ["a", "b"]
    assert equal(*rows)
    assert not equal(normal_rows(one, SECRET), normal_rows(one, b"another"))
    assert not equal(*(hashed_rows(of, SECRET) for of in (one, other)))


def test_values_are_compared_in_their_normal_form():
    one = table(a=["HIV", "flu"], b=["1,200.50", "3"])
    other = table(a=["hiv ", "Flu"], b=[1200.5, 3.0])
    assert equal(normal_rows(one, SECRET), normal_rows(other, SECRET))


def test_rows_of_units_in_both_are_left_out():
    rows = table(a=[1, 2, 3])
    one, other = (
        normal_rows(rows, SECRET, names_of(units_of(*units), SECRET))
        for units in (("x", "y", "z"), ("z", "u", "x"))
    )
    left = compared_rows(one, other)
    assert [len(rows) for rows in left] == [1, 1]
    assert left[0] == left[1]  # the second row of each
    assert one.column_names == ["a", WHOSE]


def test_rows_that_are_nobodys_are_compared():
    names = names_of(units_of("x", "y"), SECRET)
    names[0] = b""
    rows = normal_rows(table(a=[1, 2]), SECRET, names)
    assert [len(of) for of in compared_rows(rows, rows)] == [1, 1]


def test_rows_in_a_file_are_compared_alike(tmp_path):
    rows = normal_rows(table(a=list(range(40))), SECRET)
    assert read_rows(tmp_path, "0001") is None
    write_rows(tmp_path, "0001", rows)
    assert equal(read_rows(tmp_path, "0001"), rows)


def test_units_are_known_in_another_spelling(tmp_path):
    ours = spelled("P1", "p2", "P03 ", "x")
    theirs = spelled("P1", "P2", "P3", "y")
    found = spelled_otherwise(ours, theirs)
    assert (found.units, sum(count for _, count in found.kinds)) == (2, 2)
    assert found.in_words == "case: 1, a space at the end and leading zeros: 1"
    assert spelled_otherwise(ours, ours).units == 0
    write_spelled(tmp_path, "0001", ours)
    assert (read_spelled(tmp_path, "0001") == ours).all()


def test_numbers_of_any_type_are_the_same_units():
    assert (spelled("1", "20")["normal"] == spelled_integers(1, 20)).all()
    assert spelled_otherwise(spelled("001", "020"), spelled("1", "20")).units == 2


def spelled_integers(*numbers):
    unit = encode("id", "identifier", pa.array(numbers))
    return spelled_units(unit, names_of_values(unit.values, SECRET), SECRET)["normal"]


def test_a_name_without_changes_is_that_of_its_normal_form():
    unit = units_of("p1", "p2")
    names = names_of_values(unit.values, SECRET)
    found = spelled_units(unit, names, SECRET)
    assert sorted(found["normal"].tolist()) == sorted(names.tolist())
    assert sorted(found["name"].tolist()) == sorted(half_of(names).tolist())
    assert not np.any(found["steps"])
