"""The census stand-in as microdata: quasi-identifiers as whole numbers, in the order of values."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.experiments.data.census import census
from sfumato.tasks.microdata.table import Microdata, encode

KNOWN = ("age", "country", "education", "work-class", "marital")
OCCUPATION, SALARY = "occupation", "salary-class"


def census_people(
    rows: int,
    seed: int,
    known: Sequence[str] = KNOWN,
    sensitive: str = OCCUPATION,
    density: int = 1,
) -> Microdata:
    """People of the stand-in, by some of its columns; see `census` for the density."""
    table = census(rows, seed, density)
    columns = [encode(name, "quasi-identifier", _numbers(table[name])) for name in known]
    return Microdata((*columns, encode(sensitive, "sensitive", table[sensitive])), rows)


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The number that ends each label; numbers as they are."""
    if pa.types.is_integer(column.type):
        return column
    return pc.cast(pc.utf8_slice_codeunits(column, -2), pa.int64())
