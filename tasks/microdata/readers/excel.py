"""Reader of workbooks' sheets (xlsx, xls, xlsb, ods), with calamine: a header, then cells.

A formula has the value that was last computed; a cell that shows an error is a missing one.
"""

from pathlib import Path
from typing import Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers.cells import CellColumn, cells, convert_cells
from sfumato.tasks.microdata.readers.input_error import (
    input_error,
    require_distinct_names,
)

ENDINGS: tuple[str, ...] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
IS_TEXT = False


def read(path: Path, file: str, dialect: FileDialect) -> dict[str, CellColumn]:
    """Read the declared or the only sheet of a workbook, without blank rows.

    Args:
        path: the workbook.
        file: its name in errors.
        dialect: contains the name of the sheet.

    Raises:
        InputError: if it is empty or no workbook, or there is no such sheet, header or row.
    """
    if path.stat().st_size == 0:
        raise input_error(file, "is empty")
    first, *others = _rows(path, file, dialect.sheet) or [[]]
    if not first:
        raise input_error(file, "the sheet is empty")
    for number, name in enumerate(first, start=1):
        if not (isinstance(name, str) and name):
            raise input_error(
                file, f"column {number} has no name. Write a text into its cell in the first row"
            )
    require_distinct_names(first, file)
    full = [row for row in others if any(value is not None for value in row)]
    if not full:
        raise input_error(file, "has no rows")
    return {name: cells([row[place] for row in full]) for place, name in enumerate(first)}


convert = convert_cells


def only_sheet(path: Path, file: str) -> str:
    """Return the name of a workbook's only sheet.

    Raises:
        InputError: if it is no workbook, or has several sheets.
    """
    calamine = import_extra("python_calamine", "excel", file)
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as workbook:
            return _sheet(workbook.sheet_names, file, None)
    except (calamine.CalamineError, OSError, ValueError):
        raise input_error(file, "cannot be read as a workbook") from None


def _rows(path: Path, file: str, sheet: str | None) -> list[list[Any]]:
    """Return the rows of the sheet from its first cell with content; None for an empty cell."""
    calamine = import_extra("python_calamine", "excel", file)
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as workbook:
            named = _sheet(workbook.sheet_names, file, sheet)
            rows = workbook.get_sheet_by_name(named).to_python(skip_empty_area=True)
    except (calamine.CalamineError, OSError, ValueError):
        raise input_error(file, "cannot be read as a workbook") from None
    return [[None if value == "" else value for value in row] for row in rows]


def _sheet(sheets: list[str], file: str, sheet: str | None) -> str:
    if sheet is None and len(sheets) == 1:
        return sheets[0]
    if sheet is None:
        raise input_error(file, f"has {len(sheets)} sheets. Name one (source.sheet)")
    if sheet not in sheets:
        raise input_error(file, f"has no sheet {sheet!r}. Correct source.sheet")
    return sheet
