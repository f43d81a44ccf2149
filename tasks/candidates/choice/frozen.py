"""What was chosen once for a line, in the place of the wish."""

from pathlib import Path

from sfumato.tasks.candidates.choice.wished import WishedTerms
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.private.coded.choices import read_choice


def frozen_terms(terms: Terms, line: Path) -> Terms:
    """The terms as the line's state has them chosen; as they are where nothing is to be chosen.

    Args:
        terms: of a spec.
        line: the line's private directory.
    """
    if not isinstance(terms, WishedTerms):
        return terms
    known = read_choice(line, terms.digest())
    return terms if known is None else terms.as_chosen(known)
