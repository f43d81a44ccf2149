"""The rows that a release in parts represents, as they were, read part by part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.candidates.remember import file_of_map
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.divided import PartOnDisk, read_parts
from sfumato.tasks.parts.strata import read_rows_of
from sfumato.tasks.private.people.identity import suppressed_rows, without_suppressed
from sfumato.tasks.private.people.maps_of_parts import MapInParts
from sfumato.tasks.private.people.store import has_map, map_in_parts
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.accuracy.truth import OriginalInParts
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.parts import text_of_where
from sfumato.tasks.terms.terms import Declared


@dataclass(frozen=True, eq=False)
class RepresentedPart:
    """The rows of a part that its release represents.

    Attributes:
        part: on disk.
        roles: of the columns that are published.
        suppressed: which rows are not represented, in canonical order (bool); None for none.
    """

    part: PartOnDisk
    roles: Mapping[str, Role]
    suppressed: np.ndarray | None

    def read(self, names: Sequence[str]) -> Microdata:
        """Some columns of them; all are read where some rows are suppressed."""
        if self.suppressed is None:
            return read_rows_of(self.part.strata, {name: self.roles[name] for name in names})
        rows = read_rows_of(self.part.strata, dict(self.roles))
        kept = without_suppressed(rows, self.suppressed)
        return kept.keep(kept[name] for name in names)


@dataclass(frozen=True, eq=False)
class PartInMap:
    """The rows of a part that a composed version represents, as its map has them.

    Attributes:
        known: the map.
        number: the part's place in it.
    """

    known: MapInParts
    number: int

    def read(self, names: Sequence[str]) -> Microdata:
        """Some columns of them."""
        rows = self.known.read(self.number).shown_rows
        return rows.keep(rows[name] for name in names)


def original_of_version(divided: Path, release: Path, line: Line) -> OriginalInParts:
    """The rows that a version in parts represents, of those that were divided as it was.

    Raises:
        InputError: where whom it represents is not known here.
    """
    declared = open_release(release).declared
    if declared.composed:
        known, version = read_state(line.private).versions.get(release.name), release.name
        if known is None or known.map is None or not has_map(line.private, version):
            raise InputError(f"{release}: whom it represents is not known here any more")
        return _in_map(map_in_parts(line.private, version, known.map), declared)
    rows = sum(part.rows for part in read_parts(divided))
    return _original(divided, declared, suppressed_rows(line.private, release.name, rows))


def original_of_candidate(divided: Path, candidate: Path) -> OriginalInParts:
    """The same of a validated candidate."""
    declared, kept = open_release(candidate / RELEASE).declared, candidate / SUPPRESSED
    if declared.composed:
        return _in_map(MapInParts.of(file_of_map(candidate)), declared)
    return _original(divided, declared, np.load(kept) if kept.exists() else None)


def _in_map(known: MapInParts | None, declared: Declared) -> OriginalInParts:
    """The rows that the parts of a composed version represent."""
    numbers = {} if known is None else {part.where: n for n, part in enumerate(known.parts)}
    places = [numbers.get(text_of_where(part.where[0])) for part in declared.made_of]
    if known is None or None in places:
        raise InputError("parts: whom the release represents is not known here")
    return OriginalInParts([PartInMap(known, number) for number in places if number is not None])


def _original(divided: Path, declared: Declared, suppressed: np.ndarray | None) -> OriginalInParts:
    parts = read_parts(divided)
    roles = {name: column.role for name, column in declared.columns.items()}
    ends = np.cumsum([part.rows for part in parts])
    of_parts = [None] * len(parts) if suppressed is None else np.split(suppressed, ends[:-1])
    kept = [
        part.rows - (0 if of is None else int(of.sum()))
        for part, of in zip(parts, of_parts, strict=True)
    ]
    if kept != [part.rows for part in declared.made_of]:
        raise InputError("parts: whom the release represents is not known here")
    return OriginalInParts(
        [
            RepresentedPart(part, roles, of if of is not None and of.any() else None)
            for part, of in zip(parts, of_parts, strict=True)
        ]
    )
