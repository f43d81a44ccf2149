"""Choose: what a spec leaves to be chosen, once for the line."""

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.expectations.errors import Fault
from sfumato.tasks.candidates.choice.frozen import frozen_choice
from sfumato.tasks.candidates.choice.wished import Choosing, WishedTerms
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.frozen import keep_choice
from sfumato.tasks.stages.stage import CHOICE, read_note, write_note

if TYPE_CHECKING:
    from sfumato.tasks.candidates.choice.choose import Tried


def choose_terms(
    deidentified: Path,
    terms: Terms,
    choosing: Choosing | None,
    line: Path,
    randomness: Randomness,
    *,
    keep: bool = True,
) -> Terms:
    """The terms that a release declares; the stage tells of them from now on.

    Args:
        deidentified: the stage of the table.
        terms: of the spec.
        choosing: what may be chosen, None where nothing is to be.
        line: the line's private directory.
        randomness: what is drawn from.
        keep: whether the line is to keep what is chosen.

    Raises:
        PromiseError: where no candidate keeps the promises.
    """
    if not isinstance(terms, WishedTerms):
        return terms
    if choosing is None:
        raise Fault("terms that are to be chosen come without candidates")
    known = frozen_choice(terms, line)
    if known is None:
        from sfumato.tasks.candidates.choice.choose import choose  # with all that may be tried

        microdata = with_hierarchies(load(deidentified), terms.all_hierarchies)
        best, tried = choose(microdata, terms, choosing, randomness)
        known = best.model_dump(mode="json", by_alias=True)
        write_note(deidentified, CHOICE, [_noted(one) for one in tried])
        known = keep_choice(line, terms.wish, known) if keep else known
    chosen = terms.as_chosen(known)
    identity = read_note(deidentified, "identity")
    write_note(deidentified, "identity", {**identity, "spec": chosen.digest()})
    return chosen


def _noted(tried: "Tried") -> dict[str, object]:
    """A candidate and its score, for the private report."""
    return {**tried.choice.model_dump(mode="json", by_alias=True), "score": tried.score}
