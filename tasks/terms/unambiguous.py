"""What a release must not contain, because readers could understand it in different ways."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.schema.codings import fault_of_codings
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.terms.terms import Declared

_FIRST_YEAR, _LAST_YEAR = 1, 9999


def faults_of_declaration(declared: Declared) -> Iterator[str]:
    """Yield what a declaration says that has no meaning, or two meanings, in its release.

    Vacant values and predecessors are of composed versions only; columns whose files would have
    one name are not told apart; a coding must fit its column.
    """
    shows_vacant = declared.is_composed and VACANCIES[declared.form.method].tells
    if declared.rows.vacant and not shows_vacant:
        yield "counts vacant values, which its tables do not tell"
    if not declared.is_composed and declared.predecessor is not None:
        yield "continues a version, but its versions are not composed"
    times = Counter(map(safe_name, declared.columns))
    for name in declared.columns:
        if times[safe_name(name)] > 1:
            yield f"the files of column {name!r} have the names of those of another column"
    for name, column in declared.columns.items():
        if fault := fault_of_codings(column, column.type):
            yield f"column {name!r}: {fault}"


def require_usual_values(tables: Tables) -> None:
    """Refuse values beyond their types: decimals of more than 38 digits, years beyond 1 to 9999.

    Raises:
        PromiseError: naming the table and the column.
    """
    for table_name, table in tables.items():
        for name in table.column_names:
            if not _are_usual(table[name]):
                raise PromiseError(f"{table_name}: column {name!r} has values beyond its type")


def _are_usual(values: pa.ChunkedArray) -> bool:
    try:
        values.validate(full=True)
        if not pa.types.is_temporal(values.type):
            return True
        ends = pc.min_max(pc.year(values))
    except pa.ArrowInvalid:
        return False
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return first is None or _FIRST_YEAR <= first <= last <= _LAST_YEAR
