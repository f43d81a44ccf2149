"""Divided tables: their parts on disk in a stage, to be taken one after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.strata import StratumOnDisk, read_rows_of
from sfumato.tasks.publication.parts import PlaceOfPart
from sfumato.tasks.stages.stage import read_note, write_note
from sfumato.tasks.terms.parts import PublishedPart, Share, Where
from sfumato.tasks.terms.terms import Terms

_PARTS = "parts"


@dataclass(frozen=True)
class PartOnDisk:
    """A part of a table: strata, or a piece of one.

    Attributes:
        name: the name of its directory in the release.
        strata: the strata in it.
    """

    name: str
    strata: tuple[StratumOnDisk, ...]

    @property
    def where(self) -> tuple[Where, ...]:
        """The cut that defines the part."""
        return tuple(stratum.where for stratum in self.strata)

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return sum(stratum.rows for stratum in self.strata)

    def read(self, terms: Terms) -> Microdata:
        """Return its rows, with the columns that are published."""
        return read_rows_of(self.strata, {name: c.role for name, c in terms.columns.items()})

    def nameless(self) -> "PartOnDisk":
        """Return a copy without the values that distinguish the part from others."""
        return PartOnDisk(self.name, tuple(replace(stratum, where=()) for stratum in self.strata))

    def delete(self) -> None:
        """Delete its files."""
        for stratum in self.strata:
            stratum.delete()

    def declaration(self, rows: int, groups: int, place: PlaceOfPart, digest: str) -> PublishedPart:
        """Return what a release declares about the part."""
        return PublishedPart(
            name=self.name,
            rows=rows,
            groups=groups,
            first_group=place.first_group,
            first_target=place.first_target,
            where=self.where,
            digest=digest,
        )


def pack_parts(strata: Sequence[StratumOnDisk], most: int) -> list[PartOnDisk]:
    """Return parts of at most so many rows, or of one stratum, each of consecutive strata."""
    groups: list[list[StratumOnDisk]] = []
    rows = 0
    for stratum in strata:
        if not groups or rows + stratum.rows > most:
            groups.append([])
            rows = 0
        groups[-1].append(stratum)
        rows += stratum.rows
    return [PartOnDisk(f"{n:04d}", tuple(group)) for n, group in enumerate(groups, start=1)]


def write_parts(stage: Path, parts: Sequence[PartOnDisk]) -> None:
    """Write the description of the parts into a stage."""
    document = [
        {
            "name": part.name,
            "strata": [
                {
                    "where": [share.model_dump(mode="json") for share in stratum.where],
                    "rows": stratum.rows,
                    "files": [path.relative_to(stage).as_posix() for path in stratum.files],
                }
                for stratum in part.strata
            ],
        }
        for part in parts
    ]
    write_note(stage, _PARTS, document)


def is_divided(stage: Path) -> bool:
    """Return whether a stage has parts instead of one table."""
    return (stage / f"{_PARTS}.json").exists()


def read_parts(stage: Path) -> list[PartOnDisk]:
    """Return the parts into which a stage is divided."""
    return [
        PartOnDisk(part["name"], tuple(_stratum(stage, stratum) for stratum in part["strata"]))
        for part in read_note(stage, _PARTS)
    ]


def _stratum(stage: Path, document: Mapping[str, Any]) -> StratumOnDisk:
    where = tuple(Share.model_validate(share) for share in document["where"])
    return StratumOnDisk(where, document["rows"], [stage / name for name in document["files"]])
