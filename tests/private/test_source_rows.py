"""Rows by their hashes: over the columns of both, in normal form, without units of both."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.notation.normal_form import normal_form
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people import spelled
from sfumato.tasks.private.people.keys import names_of, names_of_values
from sfumato.tasks.private.people.source_rows import (
    WHOSE,
    _bytes_of,
    columns_of_both,
    compare_rows,
    hashed_rows,
    normal_rows,
    read_rows,
    with_other_units,
    write_rows,
)
from sfumato.tasks.private.people.spelled import (
    UNITS_NORMAL,
    count_in_both,
    half_of,
    read_spelled,
    spelled_otherwise,
    spelled_units,
    write_spelled,
)

SECRET = b"s" * 32


def table(**columns):
    made = [encode(name, "insensitive", pa.array(values)) for name, values in columns.items()]
    return Microdata(tuple(made), len(next(iter(columns.values()))))


def units_of(*texts):
    return encode("id", "identifier", pa.array(texts, pa.string()))


def spell_units(*texts):
    unit = units_of(*texts)
    return spelled_units(unit, names_of_values(unit.values, SECRET), SECRET)


def equal(first, other):
    return bool(compare_rows(first, other).rows.equal)


def test_rows_are_compared_as_multisets_over_common_columns():
    first = table(a=[1, 1, 2, None], b=["x", "x", "y", "z"], c=[1, 2, 3, 4])
    other = table(b=["x", "z", "x", "y"], d=[0, 0, 0, 0], a=["1", None, "01", "2.0"])
    rows = [normal_rows(rows, SECRET) for rows in (first, other)]
    assert columns_of_both(*rows) == ["a", "b"]
    assert equal(*rows)
    assert compare_rows(normal_rows(first, SECRET), normal_rows(first, b"another")) is None
    assert not equal(*(hashed_rows(rows, SECRET) for rows in (first, other)))


def test_values_are_compared_in_their_normal_form():
    first = table(a=["HIV", "flu"], b=["1,200.50", "3"])
    other = table(a=["hiv ", "Flu"], b=[1200.5, 3.0])
    assert equal(normal_rows(first, SECRET), normal_rows(other, SECRET))


def test_rows_of_units_in_both_are_left_out():
    rows = table(a=[1, 2, 3])
    first, other = (
        normal_rows(rows, SECRET, names_of(units_of(*units), SECRET))
        for units in (("x", "y", "z"), ("z", "u", "x"))
    )
    compared = compare_rows(first, other).rows
    assert (compared.rows, compared.both) == ((1, 1), 1)  # the second row of each
    assert first.column_names == ["a", WHOSE]


def test_rows_of_one_person_that_say_the_same_are_one():
    rows = table(a=[value for value in range(40) for _ in range(3)])
    units = units_of(
        *(f"{prefix}{value}" for prefix in "x" for value in range(40) for _ in range(3))
    )
    others = units_of(*(f"y{value}" for value in range(40) for _ in range(3)))
    first, other = (normal_rows(rows, SECRET, names_of(unit, SECRET)) for unit in (units, others))
    assert compare_rows(first, other).rows.both == 40
    once = normal_rows(table(a=list(range(40))), SECRET)
    assert compare_rows(first, once).are_related


def test_a_column_that_no_value_of_both_has_is_left_out():
    rows = [
        table(a=list(range(60)), month=["may"] * 60),
        table(a=list(range(60)), month=["june"] * 60),
    ]
    comparison = compare_rows(*(normal_rows(part, SECRET) for part in rows))
    assert comparison.columns == ("a",)
    assert comparison.are_related
    months = [normal_rows(part.keep([part["month"]]), SECRET) for part in rows]
    assert compare_rows(*months) is None


@pytest.mark.parametrize("rows", [60, 300_000])
def test_a_column_that_changed_for_everybody_is_left_out(rows):
    ids = np.arange(rows)
    first = table(age=ids % 90, place=ids, year=ids % 7)
    other = table(age=(ids + 1) % 90, place=ids, year=ids % 7)
    comparison = compare_rows(*(normal_rows(rows, SECRET) for rows in (first, other)))
    assert comparison.are_related
    assert comparison.columns == ("place", "year")


def test_the_same_values_in_other_columns_are_other_rows():
    first, other = table(a=[1, 2] * 30, b=[2, 1] * 30), table(a=[2, 2] * 30, b=[1, 1] * 30)
    assert not equal(*(normal_rows(rows, SECRET) for rows in (first, other)))


@given(st.data())
def test_units_that_are_renamed_or_gone(data):
    """The names of the rows' people, against one at a time."""
    names = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=20))
    units = data.draw(st.dictionaries(st.integers(1, 35), st.none() | st.integers(40, 60)))
    rows = pa.table({"a": range(len(names)), WHOSE: pa.array(names, pa.uint64())})
    content = with_other_units(_bytes_of(rows), units)
    rows_found = pq.read_table(pa.BufferReader(content)).to_pylist()
    expected = [(place, units.get(name, name)) for place, name in enumerate(names)]
    assert [(row["a"], row[WHOSE]) for row in rows_found] == [
        row for row in expected if row[1] is not None
    ]


def test_rows_in_a_file_are_compared_alike(tmp_path):
    rows = normal_rows(table(a=list(range(40))), SECRET)
    assert read_rows(tmp_path, "0001") is None
    write_rows(tmp_path, "0001", rows)
    assert equal(read_rows(tmp_path, "0001"), rows)


def test_units_are_known_in_another_spelling(tmp_path):
    ours = spell_units("P1", "p2", "P03 ", "x")
    theirs = spell_units("P1", "P2", "P3", "y")
    spellings = spelled_otherwise(ours, theirs)
    assert (spellings.units, sum(count for _, count in spellings.kinds)) == (2, 2)
    assert spellings.in_words == "case: 1, a space at the end and leading zeros: 1"
    assert spelled_otherwise(ours, ours).units == 0
    write_spelled(tmp_path, "0001", ours)
    assert (read_spelled(tmp_path, "0001") == ours).all()


@given(
    st.lists(st.sampled_from(["P1", "p1", "p01", " p1", "P2", "2", "02", "x"]), unique=True),
    st.lists(st.sampled_from(["P1", "p1", "P01", "p2", "2", "+2", "X", "y"]), unique=True),
    st.integers(1, 3),
)
def test_spellings_are_compared_in_blocks_of_any_size(ours, theirs, at_once):
    normal = [normal_form(pa.array(units, pa.string())).to_pylist() for units in (ours, theirs)]
    expected = sum(
        form in normal[1] and unit not in theirs for unit, form in zip(ours, normal[0], strict=True)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelled, "_AT_ONCE", at_once)
        spellings = spelled_otherwise(spell_units(*ours), spell_units(*theirs))
        same = count_in_both(spell_units(*ours), spell_units(*theirs))
    assert same == len({*ours} & {*theirs})
    assert spellings.units == expected == sum(count for _, count in spellings.kinds)


def test_units_in_a_cut_file_are_refused(tmp_path):
    write_spelled(tmp_path, "0001", spell_units("P1", "p2"))
    place = tmp_path / UNITS_NORMAL / "0001"
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(PromiseError, match="cannot be read as the units"):
        read_spelled(tmp_path, "0001")
    write_spelled(tmp_path, "0002", spell_units())
    assert len(read_spelled(tmp_path, "0002")) == 0


def test_numbers_of_any_type_are_the_same_units():
    assert (spell_units("1", "20")["normal"] == spelled_integers(1, 20)).all()
    assert spelled_otherwise(spell_units("001", "020"), spell_units("1", "20")).units == 2


def spelled_integers(*numbers):
    unit = encode("id", "identifier", pa.array(numbers))
    return spelled_units(unit, names_of_values(unit.values, SECRET), SECRET)["normal"]


def test_a_name_without_changes_is_that_of_its_normal_form():
    unit = units_of("p1", "p2")
    names = names_of_values(unit.values, SECRET)
    spellings = spelled_units(unit, names, SECRET)
    assert sorted(spellings["normal"].tolist()) == sorted(names.tolist())
    assert sorted(spellings["name"].tolist()) == sorted(half_of(names).tolist())
    assert not np.any(spellings["steps"])
