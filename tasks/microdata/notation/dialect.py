"""How the files of a source are written, as a steward declares it, whatever their format."""

from typing import Annotated

from pydantic import Field

from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.schema.csv_dialect import CsvDialect


class FileDialect(ValueSpelling):
    """What a file does not tell of itself: the dialect of CSV, the sheet of a workbook."""

    csv: CsvDialect = CsvDialect()
    sheet: Annotated[
        str | None, Field(min_length=1, description="the sheet of a workbook, by its name")
    ] = None


AS_USUAL = FileDialect()
