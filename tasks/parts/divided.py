"""A divided table: its parts as they lie in a stage, to be taken one after the other."""

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
        name: of its directory in the release.
        strata: what it is made of.
    """

    name: str
    strata: tuple[StratumOnDisk, ...]

    @property
    def where(self) -> tuple[Where, ...]:
        """The cut that defines the part."""
        return tuple(one.where for one in self.strata)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(one.rows for one in self.strata)

    def read(self, terms: Terms) -> Microdata:
        """Its rows, with the columns that are published."""
        return read_rows_of(self.strata, {name: c.role for name, c in terms.columns.items()})

    def nameless(self) -> "PartOnDisk":
        """Its files alone, without the values that tell it from others."""
        return PartOnDisk(self.name, tuple(replace(one, where=()) for one in self.strata))

    def delete(self) -> None:
        """Its rows are needed no more."""
        for one in self.strata:
            one.delete()

    def published(self, rows: int, groups: int, at: PlaceOfPart, digest: str) -> PublishedPart:
        """What a release declares of it."""
        return PublishedPart(
            name=self.name,
            rows=rows,
            groups=groups,
            first_group=at.first_group,
            first_target=at.first_target,
            where=self.where,
            digest=digest,
        )


def pack_parts(strata: Sequence[StratumOnDisk], most: int) -> list[PartOnDisk]:
    """Parts of at most so many rows, or of one stratum, each of strata that follow one another."""
    found: list[list[StratumOnDisk]] = []
    rows = 0
    for one in strata:
        if not found or rows + one.rows > most:
            found.append([])
            rows = 0
        found[-1].append(one)
        rows += one.rows
    return [PartOnDisk(f"{n:04d}", tuple(of)) for n, of in enumerate(found, start=1)]


def write_parts(stage: Path, parts: Sequence[PartOnDisk]) -> None:
    """Leave in a stage what it is divided into."""
    document = [
        {
            "name": part.name,
            "strata": [
                {
                    "where": [share.model_dump(mode="json") for share in one.where],
                    "rows": one.rows,
                    "files": [path.relative_to(stage).as_posix() for path in one.files],
                }
                for one in part.strata
            ],
        }
        for part in parts
    ]
    write_note(stage, _PARTS, document)


def is_divided(stage: Path) -> bool:
    """Decide whether a stage has parts, where others have one table."""
    return (stage / f"{_PARTS}.json").exists()


def read_parts(stage: Path) -> list[PartOnDisk]:
    """The parts that a stage is divided into."""
    return [
        PartOnDisk(part["name"], tuple(_stratum(stage, one) for one in part["strata"]))
        for part in read_note(stage, _PARTS)
    ]


def _stratum(stage: Path, one: Mapping[str, Any]) -> StratumOnDisk:
    where = tuple(Share.model_validate(share) for share in one["where"])
    return StratumOnDisk(where, one["rows"], [stage / name for name in one["files"]])
