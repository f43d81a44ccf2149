"""Original rows of a release: of a table from its stage, of parts read part by part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.candidates.remember import file_of_map
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.parts.divided import PartOnDisk, is_divided, read_parts
from sfumato.tasks.parts.strata import read_rows_of
from sfumato.tasks.private.people.identity import suppressed_rows, without_suppressed
from sfumato.tasks.private.people.maps_of_parts import MapInParts
from sfumato.tasks.private.people.store import has_map, map_in_parts
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.engines.truth import Original, OriginalInParts
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.parts import text_of_where
from sfumato.tasks.terms.terms import Declared


@dataclass(frozen=True, eq=False)
class RepresentedPart:
    """The rows of a part that its release represents.

    Attributes:
        part: the part on disk.
        roles: the roles of the columns that are published.
        suppressed: marks the suppressed rows, in canonical order (bool); None if there are none.
    """

    part: PartOnDisk
    roles: Mapping[str, Role]
    suppressed: np.ndarray | None

    def read(self, names: Sequence[str]) -> Microdata:
        """Return some columns of the rows; all columns are read if some rows are suppressed."""
        if self.suppressed is None:
            return read_rows_of(self.part.strata, {name: self.roles[name] for name in names})
        rows = read_rows_of(self.part.strata, dict(self.roles))
        represented = without_suppressed(rows, self.suppressed)
        return represented.keep(represented[name] for name in names)


@dataclass(frozen=True, eq=False)
class PartInMap:
    """The rows of a part that a composed version represents, as its map has them.

    Attributes:
        known: the private map of the version, with everyone's values.
        number: the part's position in the map.
    """

    known: MapInParts
    number: int

    def read(self, names: Sequence[str]) -> Microdata:
        """Return some columns of the rows."""
        rows = self.known.read(self.number).shown_rows
        return rows.keep(rows[name] for name in names)


def original_of_version(deidentified: Path, release: Path, line: Line) -> Original:
    """Return the rows that a version was made of; in parts, those that it represents.

    Args:
        deidentified: a stage with the same source, divided as for the version.
        release: the directory of the version.
        line: its line.

    Raises:
        InputError: if whom it represents is not known here.
    """
    if not is_divided(deidentified):
        return load(deidentified)
    declared = open_release(release).declared
    if declared.is_composed:
        entry, version = read_state(line.private).versions.get(release.name), release.name
        if entry is None or entry.map is None or not has_map(line.private, version):
            raise InputError(
                f"{release}: the record of its people is not here any more, so it cannot "
                "be measured"
            )
        return _in_map(map_in_parts(line.private, version, entry.map), declared)
    rows = sum(part.rows for part in read_parts(deidentified))
    return _original(deidentified, declared, suppressed_rows(line.private, release.name, rows))


def original_of_candidate(deidentified: Path, candidate: Path) -> Original:
    """Return the rows that a validated candidate was made of; in parts, those that it represents.

    Raises:
        InputError: if it is not known whom a candidate in parts represents.
    """
    if not is_divided(deidentified):
        return load(deidentified)
    declared, suppressed = open_release(candidate / RELEASE).declared, candidate / SUPPRESSED
    if declared.is_composed:
        return _in_map(MapInParts.open(file_of_map(candidate)), declared)
    return _original(deidentified, declared, np.load(suppressed) if suppressed.exists() else None)


def _in_map(people_map: MapInParts | None, declared: Declared) -> OriginalInParts:
    """Return the rows that the parts of a composed version represent."""
    numbers = (
        {} if people_map is None else {part.where: n for n, part in enumerate(people_map.parts)}
    )
    places = [numbers.get(text_of_where(part.where[0])) for part in declared.made_of]
    if people_map is None or None in places:
        raise InputError("parts: the record of the release's people is not here")
    return OriginalInParts(
        [PartInMap(people_map, number) for number in places if number is not None]
    )


def _original(divided: Path, declared: Declared, suppressed: np.ndarray | None) -> OriginalInParts:
    parts = read_parts(divided)
    roles = {name: column.role for name, column in declared.columns.items()}
    ends = np.cumsum([part.rows for part in parts])
    of_parts = [None] * len(parts) if suppressed is None else np.split(suppressed, ends[:-1])
    represented = [
        part.rows - (0 if is_suppressed is None else int(is_suppressed.sum()))
        for part, is_suppressed in zip(parts, of_parts, strict=True)
    ]
    if represented != [part.rows for part in declared.made_of]:
        raise InputError("parts: the record of the release's people is not here")
    return OriginalInParts(
        [
            RepresentedPart(
                part,
                roles,
                is_suppressed if is_suppressed is not None and is_suppressed.any() else None,
            )
            for part, is_suppressed in zip(parts, of_parts, strict=True)
        ]
    )
