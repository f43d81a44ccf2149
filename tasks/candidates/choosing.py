"""The choice of the partition with the least expected width, over tables with values dealt anew.

Candidates may be cut within bands, which are about equal in rows, and within levels of a hierarchy
between its values and its root. The choice depends on quasi-identifiers and on the multiset of
sensitive values, but not on who has which value. So somebody who knows how it was made learns no
more from it than from the same partition named in the spec.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.errors import PromiseError, SfumatoError
from sfumato.expectations.shared.exact import is_number
from sfumato.tasks.candidates.scores import SCORES, Query, draw_queries
from sfumato.tasks.candidates.wished import Choice, Choosing, WishedTerms
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, key
from sfumato.tasks.partitions.aimed.parameters import (
    AimedParameters,
    ContiguousParameters,
    WindowsAim,
)
from sfumato.tasks.partitions.aimed.queries import queries_of
from sfumato.tasks.partitions.distribution.target_distributions import target_distributions
from sfumato.tasks.partitions.partition import with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.schema.hierarchy_rules import Bands, HierarchyLevel

_NUMBERS = (2, 4, 9, 16)
_KEYS = 2.0**64
_WORLDS = ((100_000, 4),)  # of tables of at most so many rows; of larger ones, two


def with_cuts(microdata: Microdata, choosing: Choosing) -> list[Choice]:
    """Return all candidates, and those without cuts of their own also within bands and levels."""
    choices = list(choosing.candidates)
    over = dict.fromkeys(aim.over for aim in choosing.aims if isinstance(aim, WindowsAim))
    plain = [
        choice
        for choice in choosing.candidates
        if choice.partition.method in ("ke", "anatomy") and choice.form.rows_table is not None
    ]
    for cut in (cut for name in over for cut in _cuts(microdata, name)):
        choices += [
            choice.model_copy(update={"strata": (*choice.strata, cut)})
            for choice in plain
            if cut not in choice.strata
        ]
    return choices


def _cuts(microdata: Microdata, name: str) -> Iterator[Bands | HierarchyLevel]:
    """Yield the bands and levels of a column that separate rows."""
    column = microdata[name]
    for number in _NUMBERS:
        bands = _bands(column, number)
        if bands is not None:
            yield bands
    for level in range(1, len(column.levels()) - 1):
        yield HierarchyLevel(column=name, level=level)


def _bands(column: Column, number: int) -> Bands | None:
    """Return so many bands of a column's numbers; None if it has too few, or no numbers."""
    if not is_number(column.values.type):
        return None
    codes = np.sort(column.codes[column.codes >= 0])
    start_codes = (
        [codes[len(codes) * place // number] for place in range(1, number)] if len(codes) else []
    )
    starts = sorted({_number(column.values[int(code)].as_py()) for code in start_codes})
    least = _number(column.values[0].as_py()) if len(column.values) else Decimal(0)
    starts = [start for start in starts if start > least]
    return Bands(column=column.name, bands=tuple(starts)) if starts else None


def _number(value: Any) -> Decimal:
    return Decimal(str(value))


def deal_anew(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    randomness: Randomness,
) -> Microdata:
    """Return a table with other sensitive values in each stratum.

    The values are those of the stratum's own rows, dealt at random, with each row's values
    together. If p-privacy lets a reader learn another distribution than the source's, values are
    drawn from that distribution; the choice then depends on nothing else.

    Args:
        microdata: the table.
        strata: the columns that identify strata.
        promises: of the release.
        randomness: what is drawn from.
    """
    stratum, number = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    spread = next((p for p in promises if isinstance(p, PPrivacy) and p.target != "source"), None)
    if spread is not None:
        column = _draw_column(microdata, strata, stratum, number, spread, randomness)
        return microdata.keep(column if c.name == column.name else c for c in microdata.columns)
    owners = np.lexsort((randomness(microdata.rows), stratum))
    codes = [column.codes for column in microdata.with_roles("sensitive")]
    source = np.empty(microdata.rows, dtype=np.int64)
    source[owners] = np.lexsort((*codes, stratum))  # in an order that hides whose they are
    return microdata.keep(
        replace(c, codes=c.codes[source]) if c.role == "sensitive" else c for c in microdata.columns
    )


def _draw_column(
    microdata: Microdata,
    strata: Sequence[str],
    stratum: np.ndarray,
    number: int,
    promise: PPrivacy,
    randomness: Randomness,
) -> Column:
    """Return the sensitive column with values drawn from the target of each row's stratum."""
    column = microdata[str(promise.sensitive)]
    targets, target_of_stratum = target_distributions(promise, microdata, strata, stratum, number)
    codes, chance = np.empty(microdata.rows, dtype=np.int32), randomness(microdata.rows) / _KEYS
    for index, weights in enumerate(targets):
        rows = target_of_stratum[stratum] == index
        upper = np.cumsum(np.array(weights, dtype=np.float64))
        codes[rows] = np.searchsorted(upper, chance[rows] * upper[-1], side="right")
    return replace(column, codes=np.minimum(codes, len(column.values) - 1).astype(np.int32))


_CUT, _BLIND = 1.02, 1.1
"""Factors by which cuts must narrow answers to be worth it. Cuts that are all made at once, before
the values of a side are known, are not corrected if values depend on quasi-identifiers."""


@dataclass(frozen=True)
class TriedChoice:
    """A candidate and its private score; None if it did not keep all promises."""

    choice: Choice
    score: float | None


def choose(
    microdata: Microdata, terms: WishedTerms, choosing: Choosing, randomness: Randomness
) -> tuple[Choice, list[TriedChoice]]:
    """Return the candidate with the least expected width, and the scores of all.

    All are tried on the same tables and answer the same queries, which are drawn here and used
    nowhere else.

    Args:
        microdata: the table with its hierarchies.
        terms: that are wished.
        choosing: what may be chosen.
        randomness: what is drawn from.

    Raises:
        PromiseError: if no candidate keeps the promises.
    """
    candidates = with_cuts(microdata, choosing)
    queries = queries_of(microdata, choosing.aims)
    totals, broken = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=bool)
    strata = with_strata(microdata, terms.strata)
    for _ in range(_number_of_worlds(microdata.rows)):
        world = deal_anew(*strata, terms.promises, randomness)
        sample = draw_queries(queries, randomness)
        for index, candidate in enumerate(candidates):
            score = None if broken[index] else _score(world, terms, candidate, sample, randomness)
            broken[index] |= score is None
            totals[index] += score or 0.0
    if broken.all():
        raise PromiseError(
            "partition: auto: no partition keeps the promises, even with values in "
            "random order. Promise less"
        )
    handicaps = np.array([_handicap(candidate, terms) for candidate in candidates])
    best = int(np.argmin(np.where(broken, np.inf, totals * handicaps)))
    tried = [
        TriedChoice(candidate, None if lost else float(total))
        for candidate, lost, total in zip(candidates, broken, totals, strict=True)
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
    queries: Sequence[Query],
    randomness: Randomness,
) -> float | None:
    """Return the score of a candidate on one table, None if it does not keep all promises there."""
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
    sensitive = terms.names_with_roles("sensitive")[0]
    return SCORES[form.shows](world, made, tables, sensitive, list(queries))
