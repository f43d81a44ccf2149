"""Choice of rows: the source filter, null policies, and one row per unit."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.tasks.microdata.readers.input_error import FaultsMet, input_error
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType, NullPolicy
from sfumato.tasks.sql.predicate import parse_predicate

_POSITION = "sfumato position"


def without_nulls(
    microdata: Microdata,
    rows: np.ndarray,
    columns: Mapping[str, ColumnSpec],
    default: NullPolicy,
    file: str,
) -> np.ndarray:
    """Return those rows (positions, int64) that the null policies leave, in their order.

    A dropped column matters only if it names a policy itself. Rows without a unit are nobody's:
    they are refused, unless the unit itself declares nulls: drop-row.

    Raises:
        InputError: for a null where nulls are refused.
    """
    met, dropped = FaultsMet(file), np.zeros(len(rows), dtype=bool)
    for name, null in missing_values(microdata, rows, columns, default).items():
        if _policy(columns[name], default) == "refuse" and null.any():
            with met.noting():
                row = int(rows[np.argmax(null)])
                raise input_error(
                    file, f"missing value{_next_step(columns[name])}", row=row, column=name
                )
        dropped |= null
    met.refuse()
    return rows[~dropped]


def missing_values(
    microdata: Microdata,
    rows: np.ndarray,
    columns: Mapping[str, ColumnSpec],
    default: NullPolicy,
) -> dict[str, np.ndarray]:
    """Return which of some rows lack a value (bool), by each column in which that matters."""
    return {
        name: microdata[name].codes[rows] < 0
        for name, column in columns.items()
        if _policy(column, default) != "category"
    }


def one_per_unit(
    microdata: Microdata, rows: np.ndarray, columns: Mapping[str, ColumnSpec], file: str
) -> np.ndarray:
    """Return those rows (positions, int64) that are the first of their unit, in their order.

    Rows without a unit are nobody's: they are refused elsewhere.

    Raises:
        InputError: for a unit that occurs twice, where that is refused.
    """
    for name, column in columns.items():
        if not column.unit or column.repeat == "all":
            continue
        codes = microdata[name].codes[rows]
        first = np.empty(
            len(microdata[name].values) + 1, dtype=np.int64
        )  # the last: of rows without a unit
        first[codes[::-1]] = rows[::-1]
        again = (first[codes] != rows) & (codes >= 0)
        if column.repeat == "refuse" and again.any():
            row = int(np.argmax(again))
            again_ = f"the same unit as in row {first[codes[row]] + 1}"
            rule = (
                f"{again_}. Write `repeat: keep-one` to keep the first row of each, or "
                "`repeat: all` to keep every row"
            )
            raise input_error(file, rule, row=int(rows[row]), column=name)
        rows = rows[~again]
    return rows


def repeated_identifiers(
    microdata: Microdata, columns: Mapping[str, ColumnSpec]
) -> tuple[str, ...]:
    """Return the identifiers that several rows share, if no column identifies units.

    Identifiers are left out if the spec gives the reason why their rows are not one person's
    (`unprotected`).
    """
    if any(column.unit for column in columns.values()):
        return ()
    named = (n for n, c in columns.items() if c.role == "identifier" and c.unprotected is None)
    return tuple(name for name in named if _repeats(microdata[name].codes))


def _repeats(codes: np.ndarray) -> bool:
    times = np.bincount(codes[codes >= 0])
    return bool((times > 1).any())


def _next_step(column: ColumnSpec) -> str:
    """Return what to write where a missing value is refused."""
    if column.unit:
        return " in the unit (nulls: drop-row leaves such rows out)"
    if column.role in ("quasi-identifier", "sensitive", "insensitive"):
        return " (nulls: drop-row leaves such rows out, category makes it a value)"
    return " (nulls: drop-row leaves such rows out)"


def _policy(column: ColumnSpec, default: NullPolicy) -> NullPolicy:
    if column.unit:
        return "drop-row" if column.nulls == "drop-row" else "refuse"
    if column.role == "drop":
        return column.nulls or "category"
    return column.nulls or default


def columns_asked(where: str, types: Mapping[str, ColumnType]) -> set[str]:
    """Return the columns that a predicate names.

    Raises:
        QueryError: if it is not allowed.
    """
    return {column.name for column in parse_predicate(where, types).find_all(exp.Column)}


def rows_where(microdata: Microdata, where: str, types: Mapping[str, ColumnType]) -> np.ndarray:
    """Return the positions of the rows for which the predicate is true (int64, ascending).

    Raises:
        SpecError: if the predicate is not allowed or cannot be evaluated.
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
            positions = connection.execute(query.sql(dialect="duckdb")).fetchnumpy()
    except QueryError as error:
        raise SpecError(f"source.where: {error}") from None
    except (duckdb.Error, RecursionError) as error:
        require_machine(error)
        raise SpecError(
            "source.where: cannot be computed with the columns' values. Check the types of "
            "the columns that it uses"
        ) from None
    return np.asarray(positions[_POSITION], dtype=np.int64)
