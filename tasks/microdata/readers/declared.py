"""The source as a steward declares it: its place and its format."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.schema.csv_dialect import CsvDialect
from sfumato.tasks.schema.registered_name import RegisteredName


class Source(BaseModel):
    """The source of the microdata. Paths are relative to the spec; `${NAME}` is environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: Annotated[str, Field(min_length=1, description="a path or file:// address")]
    format: Annotated[str, RegisteredName(READERS)] = "csv"
    csv: CsvDialect = CsvDialect()
    sha256: Annotated[
        str | None, Field(pattern="^[0-9a-f]{64}$", description="digest the file must have")
    ] = None
    where: Annotated[
        str | None, Field(min_length=1, description="SQL predicate: which rows to represent")
    ] = None
