"""One alternative of a comparison: a candidate made from the table, queried and attacked.

Candidates of a comparison are made as any other and never published; the recommended one is drawn
again. Keep out decisions by the truth: a recommendation rests on the candidates' tables.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.candidates.choosing import choose
from sfumato.tasks.candidates.wished import Choosing, WishedTerms
from sfumato.tasks.choose.paired import PairedQuery, pick_from
from sfumato.tasks.choose.trial import Trial, run_trial
from sfumato.tasks.choose.two_tables import over_one_table, rows_to_publish, without_limit
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.distribution.parameters import StratumParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.query.ask import ask_several, engine, files_of_tables, open_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.engines.truth import as_fraction
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.stages.anonymize import make_candidate_of_part
from sfumato.tasks.terms.terms import Declared, Terms
from sfumato.tasks.terms.utility import hidden_shares

_EMPTIED = 0.95

Pair = tuple[Bounds | None, Bounds]
Cells = Mapping[tuple[Any, ...], tuple[Bounds, ...]]


def mean_of(
    pairs: Sequence[Pair], score: Callable[[Bounds | None, Bounds], float | None]
) -> float | None:
    """Return the mean over the cells that have a score; None if no cell has one."""
    scores = [value for value in (score(*pair) for pair in pairs) if value is not None]
    return sum(scores) / len(scores) if scores else None


def _ends(bounds: Bounds | None) -> tuple[Fraction, Fraction] | None:
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return None
    low, high = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return None if low is None or high is None else (low, high)


def width_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """Return the width of bounds; None if a bound is missing."""
    ends = _ends(bounds)
    return None if ends is None else float(ends[1] - ends[0])


def relative_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """Return the width of bounds relative to their middle; None if that is 0."""
    ends = _ends(bounds)
    if ends is None or not ends[0] + ends[1]:
        return None
    return float((ends[1] - ends[0]) / abs((ends[0] + ends[1]) / 2))


def error_of(bounds: Bounds | None, truth: Bounds) -> float | None:
    """Return the distance of the estimate, or the middle, from the truth, relative to the truth."""
    ends, truth_ends = _ends(bounds), _ends(truth)
    if bounds is None or ends is None or truth_ends is None or not truth_ends[0]:
        return None
    guess = as_fraction(bounds.estimate)
    guess = (ends[0] + ends[1]) / 2 if guess is None else guess
    return float(abs(guess - truth_ends[0]) / abs(truth_ends[0]))


@dataclass(frozen=True)
class Alternative:
    """The terms of a candidate to be tried.

    Attributes:
        name: the name of the alternative.
        terms: the terms that its candidate would declare.
        other_promise: whether its promises differ from those of the spec.
        choosing: the options that a partition is chosen from; None if the terms name one.
        references: the population tables that promises about a population need.
        joined: of two related tables, the terms of one joined table that is tried in place of both;
            None for others.
    """

    name: str
    terms: Terms
    other_promise: bool = False
    choosing: Choosing | None = None
    references: References = NO_REFERENCES
    joined: Terms | None = None


@dataclass(frozen=True)
class TriedOutcome:
    """The outcome of an alternative.

    Attributes:
        name: the name of the alternative.
        refused: the reason why there is no candidate, in one line; empty if there is one.
        groups: the number of groups of the candidate.
        published: the number of published rows.
        suppressed: the number of suppressed rows.
        widths: for each query the mean width of its answers; None if it cannot be answered.
        relative: for each query the mean width relative to the middle of the bounds.
        errors: for each query the mean distance of its estimates from the truth, relative to the
            truth.
        attacks: scores by sensitive column.
        seconds: processor time.
        chose: the partition, form and strata that `auto` chose, in words; empty without `auto`.
        typical: the median over the topics of the queries' median width relative to the middle;
            None if no query has such a width.
        hidden_shares: the share of the rows, suppressed ones included, whose label of a
            quasi-identifier admits every value that is published, by the column's name; no entry
            for a share of 0.
        positions: the positions of the queries that it was asked, if these were few and it was not
            attacked; None if it was asked all of them. Other queries have no width.
    """

    name: str
    refused: str = ""
    groups: int = 0
    published: int = 0
    suppressed: int = 0
    widths: Sequence[float | None] = ()
    relative: Sequence[float | None] = ()
    errors: Sequence[float | None] = ()
    attacks: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    seconds: float = 0.0
    chose: str = ""
    typical: float | None = None
    hidden_shares: Mapping[str, float] = field(default_factory=dict)
    positions: Sequence[int] | None = None

    @property
    def emptied_columns(self) -> list[str]:
        """The columns that tell almost nothing: hidden in at least 95 % of the rows."""
        return [name for name, share in self.hidden_shares.items() if share >= _EMPTIED]

    def document(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return asdict(self)


class _RememberingPartition:
    """A partition that remembers the groups that it made."""

    def __init__(self, method: str) -> None:
        self._make, self.groups = PARTITIONS[method], np.empty(0, dtype=np.int64)

    def __call__(self, *arguments: Any) -> Partition:
        partition = self._make(*arguments)
        self.groups = partition.group
        return partition


def try_alternative(
    alternative: Alternative,
    table: Microdata,
    queries: Sequence[PairedQuery],
    truths: Sequence[Cells],
    place: Path,
    randomness: Randomness,
    positions: Sequence[int] | None = None,
) -> TriedOutcome:
    """Make a candidate, ask it all queries, and attack it; or ask it a few queries only.

    Args:
        alternative: the alternative to try.
        table: the rows.
        queries: drawn from the rows.
        truths: their answers over all rows.
        place: a private directory for this candidate only.
        randomness: the source of random numbers.
        positions: of the queries to be asked; None for all, and attacks.
    """
    begun = time.process_time()
    try:
        terms, chose = _choose_terms(alternative, table, randomness)
        people, table = table.rows, rows_to_publish(table, terms)
        partition = _RememberingPartition(terms.partition.method)
        references = alternative.references
        trial = run_trial(table, terms, place, randomness, partition, references).require_kept()
    except SfumatoError as error:  # the other alternatives are still tried
        return TriedOutcome(alternative.name, str(error), seconds=time.process_time() - begun)
    declared = trial.release.declared
    files = files_of_tables(trial.release, declared.names_with_roles("sensitive"))
    with engine(files, declared) as opened:
        candidate = _AskedCandidate(
            opened, declared, files, table, partition.groups, _translation(alternative)
        )
        scored = list(_scores(candidate, queries, truths, positions))
    widths, relative, errors = zip(*scored, strict=True) if scored else ((), (), ())
    rows = trial.release.declared.rows
    return TriedOutcome(
        name=alternative.name,
        groups=len(trial.assessment.groups.of_all()),
        published=rows.published,
        suppressed=rows.suppressed + (0 if alternative.joined else people - table.rows),
        widths=widths,
        relative=relative,
        errors=errors,
        attacks=_scores_of_attacks(trial) if positions is None else {},
        seconds=time.process_time() - begun,
        chose=chose,
        typical=typical_width(relative, [query.topic for query in queries]),
        hidden_shares=_hidden_columns(trial),
        positions=positions,
    )


def typical_width(relative: Sequence[float | None], topics: Sequence[str]) -> float | None:
    """Return the median over topics of the median width of their queries; None without any.

    Args:
        relative: for each query the width relative to the middle; None if it has none.
        topics: the topic of each query.
    """
    by_topic: defaultdict[str, list[float]] = defaultdict(list)
    for width, topic in zip(relative, topics, strict=True):
        if width is not None:
            by_topic[topic].append(width)
    return median(map(median, by_topic.values())) if by_topic else None


def _hidden_columns(trial: Trial) -> dict[str, float]:
    shares = hidden_shares(trial.assessment.tables, trial.release.declared)
    return {name: float(share) for name, share in shares.items() if share}


def _choose_terms(
    alternative: Alternative, table: Microdata, randomness: Randomness
) -> tuple[Terms, str]:
    """Return the terms with a partition, and in words the choices that were left open."""
    terms, choosing = alternative.joined or alternative.terms, alternative.choosing
    if choosing is None or not isinstance(terms, WishedTerms):
        return terms, ""
    microdata = with_hierarchies(table, terms.all_hierarchies)
    best, _ = choose(microdata, terms, choosing, randomness)
    keys = best.partition.model_dump(mode="json", exclude_defaults=True, exclude={"aims"})
    words = [f"{key} {value}" for key, value in keys.items() if key != "method"]
    text = f"{best.partition.method} ({', '.join(words)})" if words else best.partition.method
    strata = [f"strata {', '.join(map(str, best.strata))}"] if best.strata else []
    return terms.as_chosen(best), " · ".join([text, best.form.method, *strata])


def _translation(alternative: Alternative) -> Callable[[str], str]:
    """Return how a query is written for the candidate: over one joined table, or as it is."""
    form = alternative.terms.form
    if alternative.joined is None:
        return lambda sql: sql
    return lambda sql: over_one_table(sql, form)


def answers_over_all(
    table: Microdata, terms: Terms, queries: Sequence[PairedQuery], draw: Randomness
) -> list[Cells]:
    """Return the true answers: those of a release in which every row is a group.

    Such a release equals the source, so it is made in memory and not written to disk.

    Args:
        table: the rows.
        terms: declare the columns.
        queries: drawn from the rows.
        draw: a source of random numbers; the answers do not depend on it.
    """
    single_groups = np.arange(table.rows)
    permuted = PermutedParameters(method="permuted")
    parameters = {
        "form": permuted if table.related is None else without_limit(terms.form),
        "partition": StratumParameters(method="stratum"),
        "promises": (),
        "strata": (),
    }
    plain = terms.model_copy(update=parameters)
    declared, tables = make_candidate_of_part(
        table, plain, draw, lambda *_: Partition(single_groups)
    )
    files = {**tables, **build_help_tables(tables, declared)}
    with engine(files, declared) as opened:
        candidate = _AskedCandidate(opened, declared, files, table, single_groups)
        return [candidate.cells(query) for query in queries]


class _AskedCandidate:
    """A candidate that answers paired queries."""

    def __init__(
        self,
        opened: Engine,
        declared: Declared,
        files: Files,
        table: Microdata,
        groups: np.ndarray,
        translate: Callable[[str], str] = str,
    ) -> None:
        self._engine, self._declared, self._files = opened, declared, files
        self._translate = translate
        self._pick = cache(lambda aggregate: pick_from(declared, files, table, groups, aggregate))

    def cells(self, query: PairedQuery) -> Cells:
        """Return the answer: bounds of each aggregate by the values of its group columns."""
        if query.selected is not None:
            aggregate = Aggregate(query.aggregate, query.of, "picked")
            return {(): (Bounds(*self._pick(aggregate)(query.selected), None),)}
        several = read_inquiries(self._translate(query.sql), self._declared)
        rows = ask_several(open_tables(self._files, self._declared, self._engine), several).rows
        return {
            tuple(v for v in row.values() if not isinstance(v, Bounds)): tuple(
                v for v in row.values() if isinstance(v, Bounds)
            )
            for row in rows
        }


def _scores(
    candidate: _AskedCandidate,
    queries: Sequence[PairedQuery],
    truths: Sequence[Cells],
    positions: Sequence[int] | None,
) -> Iterator[tuple[float | None, float | None, float | None]]:
    """Yield each query's width, width relative to the middle, and error of the estimate.

    They are None for a query that is refused, or not to be asked.
    """
    to_ask = set(range(len(queries)) if positions is None else positions)
    for position, (query, truth) in enumerate(zip(queries, truths, strict=True)):
        try:
            cells = candidate.cells(query) if position in to_ask else None
        except SfumatoError:
            cells = None
        if cells is None:
            yield None, None, None
            continue
        pairs = [
            pair
            for place, true_bounds in truth.items()
            for pair in zip(cells.get(place, (None,) * len(true_bounds)), true_bounds, strict=True)
        ]
        yield mean_of(pairs, width_of), mean_of(pairs, relative_of), mean_of(pairs, error_of)


def _scores_of_attacks(trial: Trial) -> dict[str, list[dict[str, Any]]]:
    assessed = trial.assessment
    scores_by_column = attack_release(
        targets_of(trial.release.declared, assessed.tables, trial.represented, assessed.whose)
    )
    return {
        name: [score.document() for score in scores] for name, scores in scores_by_column.items()
    }
