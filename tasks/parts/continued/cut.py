"""The cut of a composed line, which stays: each stratum, or piece of one, is a part for ever."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.errors import InputError
from sfumato.tasks.declaration.cuts import PartsOfTable, Where, where_of_text
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.parts.cuts import Cuts, cuts_of_document, read_cuts
from sfumato.tasks.private.people.store import last_in_parts
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.parts_read import are_apart

CUTS = "cuts"
"""The cuts of the line, in the stage of a divided table."""


@dataclass(frozen=True)
class CutOfLine:
    """How a line was cut.

    Attributes:
        cuts: the pieces of every stratum that is cut.
        fixed: the strata and pieces whose groups go on, by what tells them from others.
    """

    cuts: Cuts
    fixed: frozenset[str] = frozenset()

    def require_kept(self, found: Sequence[Where], terms: Terms) -> None:
        """Refuse strata or pieces that have rows of several parts of the line, or of half of one.

        Raises:
            InputError: with the rule.
        """
        known = {where_of_text(text) for text in self.fixed}
        if known and not are_apart(list(known | set(found)), terms.columns):
            raise InputError(
                "parts: the line was cut otherwise, and groups of composed versions go on in their "
                "parts: leave strata, and parts.by and at, as they were"
            )


def cut_so_far(line: Path, parts: PartsOfTable, *, composed: bool) -> CutOfLine:
    """How a line was cut; a composed one stays so, however many rows a part may have now.

    Args:
        line: its private directory.
        parts: how its spec wants it.
        composed: whether its versions are.

    Raises:
        PromiseError: where what its last version was made of is not known here, or was no table in
            parts.
    """
    known = last_in_parts(line, read_state(line)) if composed else None
    if known is None:
        return CutOfLine(read_cuts(line, parts))
    return CutOfLine(cuts_of_document(known.cuts), frozenset(part.where for part in known.parts))
