"""Strata by columns and by bands of numbers."""

from decimal import Decimal

import pyarrow as pa
import pytest
from pydantic import TypeAdapter, ValidationError

from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.partitions.partition import by_stratum, with_strata
from sfumato.tasks.schema.hierarchy_rules import Bands, Stratum, column_of

STRATA = TypeAdapter(tuple[Stratum, ...])


def table():
    price = pa.array([None, *map(Decimal, ("0.1", "0.3", "0.5"))], pa.decimal128(38, 1))
    columns = {
        "age": pa.array([17, 30, 29, 50]),
        "price": price,
        "weight": pa.array([0.1, float("nan"), 0.3, 2.0]),
        "sex": pa.array(["f", "m", "f", "m"]),
    }
    encoded = (encode(name, "quasi-identifier", values) for name, values in columns.items())
    return Microdata(tuple(encoded), 4)


def strata(*written):
    microdata, names = with_strata(table(), STRATA.validate_python(written))
    return sorted(rows.tolist() for rows in by_stratum(microdata, names))


def test_a_band_holds_its_first_number():
    assert strata({"column": "age", "bands": [30, 50]}) == [[0, 2], [1], [3]]


def test_bands_are_compared_exactly_and_nulls_are_a_stratum():
    assert strata({"column": "price", "bands": [0.3]}) == [[0], [1], [2, 3]]
    assert strata({"column": "weight", "bands": [0.3]}) == [[0], [1], [2, 3]]


def test_bands_and_columns_together():
    assert strata("sex", {"column": "age", "bands": [18]}) == [[0], [1, 3], [2]]
    assert strata() == [[0, 1, 2, 3]]


def test_bands_are_never_published():
    microdata, names = with_strata(
        table(), STRATA.validate_python([{"column": "age", "bands": [3]}])
    )
    assert names == ("age in bands from 3",)
    assert microdata[names[0]].role == "drop"


def test_written_and_read():
    written = [{"column": "age", "bands": ["0.5", "7"]}, "sex"]
    read = STRATA.validate_python(written)
    assert STRATA.validate_json(STRATA.dump_json(read)) == read
    assert [column_of(stratum) for stratum in read] == ["age", "sex"]
    assert str(read[0]) == "age in bands from 0.5, 7"


@pytest.mark.parametrize("bands", [[], [2, 1], [1, 1], ["x"]])
def test_bands_ascend(bands):
    with pytest.raises(ValidationError):
        Bands(column="age", bands=bands)
