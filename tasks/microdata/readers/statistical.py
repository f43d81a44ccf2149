"""Reader of files of Stata and SPSS, with pyreadstat: codes where a column has a number's type.

A column of coded values that is declared a string contains the codes' labels. What the file defines
as missing is missing, and so is an empty text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.tasks.microdata.notation.spelling import AS_ISO, FileDialect, ValueSpelling
from sfumato.tasks.microdata.readers.cells import CellColumn, cells, convert_cells
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.input_error import (
    input_error,
    require_distinct_names,
)
from sfumato.tasks.schema.columns import ColumnType


@dataclass(frozen=True)
class Labelled:
    """A column with the labels of its codes; empty without coded values."""

    cells: CellColumn
    labels: Mapping[Any, str]


@dataclass(frozen=True)
class StatisticalReader:
    """Reader of the files of one program.

    Attributes:
        extra: the package's extra that installs the library.
        title: the program.
        functions: pyreadstat's functions by the endings of files; the first reads other files.
        ENDINGS: the endings of such files' names.
        IS_TEXT: such files have types of their own.
    """

    extra: str
    title: str
    functions: Mapping[str, str]
    IS_TEXT: bool = False

    @property
    def ENDINGS(self) -> tuple[str, ...]:
        """The endings of such files' names."""
        return tuple(self.functions)

    def read(self, path: Path, file: str, _dialect: FileDialect) -> dict[str, Labelled]:
        """Read a file of the program.

        Raises:
            InputError: if it is empty, or no such file.
        """
        if path.stat().st_size == 0:
            raise input_error(file, "is empty")
        library = import_extra("pyreadstat", self.extra, file)
        function: Callable[..., Any] = getattr(library, self._function(path))
        try:
            columns, about = function(str(path), output_format="dict")
        except (library.ReadstatError, library.PyreadstatError, ArithmeticError, ValueError):
            raise input_error(
                file,
                (
                    f"cannot be read as {self.title} to its end. The file may be incomplete; "
                    "copy it again"
                ),
            ) from None
        require_distinct_names(about.column_names, file)
        if not any(len(values) for values in columns.values()):
            raise input_error(file, "has no rows")
        labels = about.variable_value_labels
        return {
            name: Labelled(cells([_value(v) for v in values]), labels.get(name, {}))
            for name, values in columns.items()
        }

    def convert(
        self,
        values: Labelled,
        type_: ColumnType,
        file: str,
        name: str,
        spelling: ValueSpelling = AS_ISO,
    ) -> Distinct:
        """Convert a column's values, or its labels if it is declared a string, to a type.

        Raises:
            InputError: with the first row whose value is no such value, or has no label.
        """
        column = values.cells
        if type_ == "string" and values.labels:
            column = CellColumn([values.labels.get(v, v) for v in column.values], column.codes)
        return convert_cells(column, type_, file, name, spelling)

    def _function(self, path: Path) -> str:
        return self.functions.get(path.suffix.lower(), next(iter(self.functions.values())))


def _value(value: Any) -> Any:
    missing = value == "" or value != value
    return None if missing else value


stata = StatisticalReader("stata", "Stata's format", {".dta": "read_dta"})
spss = StatisticalReader(
    "spss",
    "SPSS's format",
    {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"},
)
