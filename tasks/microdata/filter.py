"""The source filter: which rows a release represents, decided by DuckDB."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.errors import QueryError, SpecError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.predicate import parse_predicate

_POSITION = "sfumato position"


def columns_asked(where: str, types: Mapping[str, ColumnType]) -> set[str]:
    """The columns that a predicate asks about.

    Raises:
        QueryError: where it is not allowed.
    """
    return {column.name for column in parse_predicate(where, types).find_all(exp.Column)}


def rows_where(microdata: Microdata, where: str, types: Mapping[str, ColumnType]) -> np.ndarray:
    """The positions of the rows for which the predicate is true (int64, ascending).

    Raises:
        SpecError: where the predicate is not allowed or cannot be evaluated.
    """
    import duckdb  # a specification is read without it

    from sfumato.tasks.sql.session import session

    try:
        predicate = parse_predicate(where, types)
        used = {column.name for column in predicate.find_all(exp.Column)}
        columns = {c.name: c.array() for c in microdata.columns if c.name in used}
        numbered = pa.table(columns | {_POSITION: np.arange(microdata.rows)})
        position = exp.column(_POSITION, quoted=True)
        query = exp.select(position).from_("source").where(predicate).order_by(position)
        with session({"source": numbered}) as connection:
            found = connection.execute(query.sql(dialect="duckdb")).fetchnumpy()
    except QueryError as error:
        raise SpecError(f"source.where: {error}") from None
    except (duckdb.Error, RecursionError):
        raise SpecError("source.where: cannot be evaluated on the columns' values") from None
    return np.asarray(found[_POSITION], dtype=np.int64)
