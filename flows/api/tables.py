"""The tables of a release, and what its columns are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.tasks.terms.opened import Release


@dataclass(frozen=True)
class SchemaColumn:
    """A column that a release tells of.

    Attributes:
        name: as queries call it.
        role: quasi-identifier, insensitive, sensitive or weight.
        type: integer, decimal, float, date, timestamp, string or boolean.
        nulls: whether a missing value is a category.
        description: of its values, as its owner says.
        labels: what its codes mean, by code.
    """

    name: str
    role: str
    type: str
    nulls: bool
    description: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


class PublishedTables(Mapping[str, "pa.Table"]):
    """The published tables by their names, each read when it is asked for."""

    def __init__(self, release: "Release") -> None:
        """Take a release whose files were verified."""
        from sfumato.tasks.query.ask import files_of_tables

        self._files = files_of_tables(release, ())

    def __getitem__(self, name: str) -> "pa.Table":
        from sfumato.tasks.query.engines.engine import read_table

        return read_table(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<published tables: {', '.join(self._files)}>"
