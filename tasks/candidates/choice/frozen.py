"""What was chosen once for a line, in the place of the wish."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.tasks.candidates.choice.wished import WishedTerms
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.private.frozen import read_choice


def frozen_terms(terms: Terms, line: Path) -> Terms:
    """The terms as the line's state has them chosen; as they are where nothing is to be chosen.

    Args:
        terms: of a spec.
        line: the line's private directory.
    """
    if not isinstance(terms, WishedTerms):
        return terms
    known = frozen_choice(terms, line)
    return terms if known is None else terms.as_chosen(known)


def frozen_choice(terms: WishedTerms, line: Path) -> Mapping[str, Any] | None:
    """What the line's state has chosen for a wish, None where nothing was.

    Earlier software kept it by the digest of all terms, their title among them.
    """
    known = read_choice(line, terms.wish)
    return read_choice(line, terms.digest()) if known is None else known
