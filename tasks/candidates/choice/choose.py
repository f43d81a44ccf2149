"""The partition with the least expected width, over tables with values dealt anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.errors import PromiseError, SfumatoError
from sfumato.tasks.candidates.choice.cuts import with_cuts
from sfumato.tasks.candidates.choice.drawn import Query, drawn_queries
from sfumato.tasks.candidates.choice.scores import SCORES
from sfumato.tasks.candidates.choice.wished import Choice, Choosing, WishedTerms
from sfumato.tasks.candidates.choice.worlds import dealt_anew
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.aimed.parameters import AimedParameters, ContiguousParameters
from sfumato.tasks.partitions.aimed.queries import queries_of
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.partitions.strata import with_strata

_WORLDS = ((100_000, 4),)  # of tables of at most so many rows; of larger ones, two
_CUT, _BLIND = 1.02, 1.1
"""How many times as narrow cuts must be to be worth it. Those that are all made at once, before the
values of a side are known, are not corrected where values go with quasi-identifiers."""


@dataclass(frozen=True)
class Tried:
    """A candidate and its score, which stays private; None where it kept not all promises."""

    choice: Choice
    score: float | None


def choose(
    microdata: Microdata, terms: WishedTerms, choosing: Choosing, randomness: Randomness
) -> tuple[Choice, list[Tried]]:
    """The candidate with the least expected width, and what became of all.

    Each is tried on the same tables, and asked the same queries, which are drawn here and asked
    nowhere else.

    Args:
        microdata: the table with its hierarchies.
        terms: that are wished.
        choosing: what may be chosen.
        randomness: what is drawn from.

    Raises:
        PromiseError: where no candidate keeps the promises.
    """
    candidates = with_cuts(microdata, choosing)
    queries = queries_of(microdata, choosing.aims)
    totals, broken = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=bool)
    strata = with_strata(microdata, terms.strata)
    for _ in range(_number_of_worlds(microdata.rows)):
        world = dealt_anew(*strata, terms.promises, randomness)
        asked = drawn_queries(queries, randomness)
        for at, candidate in enumerate(candidates):
            score = None if broken[at] else _score(world, terms, candidate, asked, randomness)
            broken[at] |= score is None
            totals[at] += score or 0.0
    if broken.all():
        raise PromiseError(
            "partition: auto: no partition keeps the promises even of values dealt at random"
        )
    handicaps = np.array([_handicap(one, terms) for one in candidates])
    best = int(np.argmin(np.where(broken, np.inf, totals * handicaps)))
    tried = [
        Tried(one, None if lost else float(total))
        for one, lost, total in zip(candidates, broken, totals, strict=True)
    ]
    return candidates[best], tried


def _number_of_worlds(rows: int) -> int:
    return next((number for most, number in _WORLDS if rows <= most), 2)


def _handicap(choice: Choice, terms: WishedTerms) -> float:
    if isinstance(choice.partition, ContiguousParameters) or choice.strata != terms.strata:
        return _BLIND
    return _CUT if isinstance(choice.partition, AimedParameters) else 1.0


def _score(
    world: Microdata,
    terms: WishedTerms,
    choice: Choice,
    asked: Sequence[Query],
    randomness: Randomness,
) -> float | None:
    """The score of a candidate on one table, None where it keeps not all promises there."""
    table, strata = with_strata(world, choice.strata)
    try:
        made = PARTITIONS[choice.partition.method](
            table, strata, terms.promises, choice.partition, randomness
        )
        form = choice.form
        tables: Tables = {}
        if form.declares:
            tables = FORMS[form.method].publish(table, made, form, randomness)
    except SfumatoError:
        return None
    sensitive = terms.named("sensitive")[0]
    return SCORES[form.shows](world, made, tables, sensitive, list(asked))
