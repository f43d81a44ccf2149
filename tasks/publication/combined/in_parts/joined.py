"""What all parts of a version tell together with others: joined from what each part tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.tasks.declaration.exposure import ColumnExposure, FacedPeople, JointExposure
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.publication.combined.composition import Composition, totals_of_counts

_FACED = ("intersection", "newcomers", "leavers")


@dataclass
class JoinedCompositions:
    """What the parts of a version tell, none of which is kept in memory.

    Attributes:
        declared: what the whole declares.
        counts: of people and groups that went on, or did not.
    """

    declared: Declared
    counts: Mapping[str, int]
    _documents: list[dict[str, Any]] = field(default_factory=list)
    _exposures: list[JointExposure] = field(default_factory=list)

    def add(self, part: Composition) -> None:
        """See another part."""
        self._documents.append(part.document())
        self._exposures.append(part.exposed.counts)

    def document(self) -> dict[str, Any]:
        """The private report, as that of one table."""
        found = self._documents
        return {
            **found[0],
            "route": self._route(),
            "atoms": sum(one["atoms"] or 0 for one in found),
            "fewest": {n: min(one["fewest"][n] for one in found) for n in found[0]["fewest"]},
            "likeliest": self._likeliest(),
            "vacancy": {n: sum(one["vacancy"][n] for one in found) for n in found[0]["vacancy"]},
            "refilled": self.counts.get("refilled", 0),
            "moved": self.counts.get("moved", 0),
            "reinserted": self.counts.get("reinserted", 0),
            "withheld": self.counts.get("withheld", 0),
            "waiting": self.counts.get("waiting", 0),
            "retired": self.counts.get("in_retired_groups", 0),
            "exposure": self.exposure().model_dump(mode="json"),
        }

    def totals(self) -> dict[str, int | str | None]:
        """Counts for people who watch a run."""
        known = [Fraction(chance) for chance in self._likeliest().values() if chance is not None]
        worst = str(max(known)) if known else None
        return totals_of_counts(self.counts, self.declared.rows, self._route(), worst)

    def exposure(self) -> JointExposure:
        """The exposure of the people of all parts, each of whom is in one."""
        found = self._exposures
        columns = {c.column: c for one in found for c in one.columns}
        return JointExposure(
            versions=max((one.versions for one in found), default=1),
            lines=1,
            columns=tuple(
                _summed([c for one in found for c in one.columns if c.column == name])
                for name in columns
            ),
        )

    def _route(self) -> str | None:
        """The routes by which parts compose."""
        return ", ".join(sorted({str(one["route"]) for one in self._documents})) or None

    def _likeliest(self) -> dict[str, str | None]:
        """The largest posterior of anybody's value, by sensitive column."""
        found: dict[str, str | None] = {}
        for name in {name for one in self._documents for name in one["likeliest"]}:
            chances = [one["likeliest"].get(name) for one in self._documents]
            known = [Fraction(chance) for chance in chances if chance is not None]
            found[name] = str(max(known)) if len(known) == len(chances) else None
        return found


def _summed(columns: Sequence[ColumnExposure]) -> ColumnExposure:
    faced = {name: _people([getattr(one, name) for one in columns]) for name in _FACED}
    return columns[0].model_copy(update=faced)


def _people(found: Sequence[FacedPeople]) -> FacedPeople:
    sums = {name: sum(getattr(one, name) for one in found) for name in FacedPeople.model_fields}
    return FacedPeople(**sums)
