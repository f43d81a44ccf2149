"""Interface of readers of source files: one module per format offers these functions."""

from pathlib import Path
from typing import Any, Protocol

from sfumato.tasks.microdata.notation.spelling import FileDialect, ValueSpelling
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.schema.columns import ColumnType


class Reader(Protocol):
    """A reader of whole files, and then column by column as values of declared types."""

    @property
    def ENDINGS(self) -> tuple[str, ...]:
        """The endings of such files' names."""
        ...

    @property
    def IS_TEXT(self) -> bool:
        """True if every value is text in the file, and has the type that it is given."""
        ...

    def read(self, path: Path, file: str, dialect: FileDialect) -> dict[str, Any]:
        """Read the columns of a file by name, in the reader's own representation.

        Args:
            path: the file.
            file: its name in errors.
            dialect: the declared dialect, if the file does not state it.

        Raises:
            InputError: if it is no such file.
        """
        ...

    def convert(
        self, values: Any, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
    ) -> Distinct:
        """Convert a column that was read to values of a type.

        Raises:
            InputError: with the first row whose value is no such value.
        """
        ...
