"""One alternative of a comparison: a candidate made of the table, asked and attacked.

Candidates of a comparison are made as any other and never published: what is recommended is drawn
anew. Keep out whatever decides by the truth: a recommendation rests on the candidates' tables.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.errors import SfumatoError
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.candidates.choosing import choose
from sfumato.tasks.candidates.wished import Choosing, WishedTerms
from sfumato.tasks.choose.paired import PairedQuery, pick_from
from sfumato.tasks.choose.trial import Trial, run_trial
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.distribution.parameters import StratumParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.ask import ask_several, engine, files_of_tables, open_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.stages.anonymize import make_candidate_of_part
from sfumato.tasks.terms.terms import Declared, Terms

Pair = tuple[Bounds | None, Bounds]
Cells = Mapping[tuple[Any, ...], tuple[Bounds, ...]]


def mean_of(
    pairs: Sequence[Pair], score: Callable[[Bounds | None, Bounds], float | None]
) -> float | None:
    """The mean over the cells that have a score, None where none has."""
    found = [one for one in (score(*pair) for pair in pairs) if one is not None]
    return sum(found) / len(found) if found else None


def _ends(bounds: Bounds | None) -> tuple[Fraction, Fraction] | None:
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return None
    low, high = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return None if low is None or high is None else (low, high)


def width_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """How far apart bounds are, None where one is missing."""
    ends = _ends(bounds)
    return None if ends is None else float(ends[1] - ends[0])


def relative_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """The same by the middle of the bounds, None where that is 0."""
    ends = _ends(bounds)
    if ends is None or not ends[0] + ends[1]:
        return None
    return float((ends[1] - ends[0]) / abs((ends[0] + ends[1]) / 2))


def error_of(bounds: Bounds | None, truth: Bounds) -> float | None:
    """The distance of the estimate, or of the middle without one, from the truth, by the truth."""
    ends, known = _ends(bounds), _ends(truth)
    if bounds is None or ends is None or known is None or not known[0]:
        return None
    guess = as_fraction(bounds.estimate)
    guess = (ends[0] + ends[1]) / 2 if guess is None else guess
    return float(abs(guess - known[0]) / abs(known[0]))


@dataclass(frozen=True)
class Alternative:
    """What is tried.

    Attributes:
        name: of it.
        terms: that a candidate would declare.
        other_promise: whether they promise something else than the spec does.
        choosing: what a partition is chosen from, None where it is named.
        references: what promises about a population speak of.
    """

    name: str
    terms: Terms
    other_promise: bool = False
    choosing: Choosing | None = None
    references: References = NO_REFERENCES


@dataclass(frozen=True)
class TriedOutcome:
    """What became of an alternative.

    Attributes:
        name: of it.
        refused: why there is no candidate, in one line; empty where there is one.
        groups: of the candidate.
        published: rows.
        suppressed: rows.
        widths: of each query the mean width of its answers, None where it cannot be answered.
        relative: the same by the middle of the bounds.
        errors: of each query the mean distance of its estimates from the truth, by the truth.
        attacks: scores by sensitive column.
        seconds: of processor time.
        chose: the partition, form and strata that `auto` chose, in words; empty where it did not.
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

    def document(self) -> dict[str, Any]:
        """The outcome for JSON."""
        return asdict(self)


class _Captured:
    """A partition that remembers the groups which it made."""

    def __init__(self, method: str) -> None:
        self._make, self.groups = PARTITIONS[method], np.empty(0, dtype=np.int64)

    def __call__(self, *arguments: Any) -> Partition:
        found = self._make(*arguments)
        self.groups = found.group
        return found


def try_alternative(
    alternative: Alternative,
    table: Microdata,
    queries: Sequence[PairedQuery],
    truths: Sequence[Cells],
    place: Path,
    randomness: Randomness,
) -> TriedOutcome:
    """Make a candidate, ask it all queries, and attack it.

    Args:
        alternative: what is tried.
        table: the rows.
        queries: drawn of them.
        truths: their answers over all rows.
        place: private, for this candidate alone.
        randomness: what is drawn from.
    """
    begun = time.process_time()
    try:
        terms, chose = _chosen(alternative, table, randomness)
        partition = _Captured(terms.partition.method)
        references = alternative.references
        trial = run_trial(table, terms, place, randomness, partition, references).require_kept()
    except SfumatoError as error:  # others are tried all the same
        return TriedOutcome(alternative.name, str(error), seconds=time.process_time() - begun)
    declared = trial.release.declared
    files = files_of_tables(trial.release, declared.named("sensitive"))
    with engine(files, declared) as opened:
        asked = _AskedCandidate(opened, declared, files, table, partition.groups)
        scored = list(_scores(asked, queries, truths))
    widths, relative, errors = zip(*scored, strict=True) if scored else ((), (), ())
    rows = trial.release.declared.rows
    return TriedOutcome(
        name=alternative.name,
        groups=len(trial.assessment.groups.of_all()),
        published=rows.published,
        suppressed=rows.suppressed,
        widths=widths,
        relative=relative,
        errors=errors,
        attacks=_scores_of_attacks(trial),
        seconds=time.process_time() - begun,
        chose=chose,
    )


def _chosen(
    alternative: Alternative, table: Microdata, randomness: Randomness
) -> tuple[Terms, str]:
    """The terms with a partition, and in words what was chosen where that was left open."""
    terms, choosing = alternative.terms, alternative.choosing
    if choosing is None or not isinstance(terms, WishedTerms):
        return terms, ""
    microdata = with_hierarchies(table, terms.all_hierarchies)
    best, _ = choose(microdata, terms, choosing, randomness)
    keys = best.partition.model_dump(mode="json", exclude_defaults=True, exclude={"aims"})
    words = [f"{key} {value}" for key, value in keys.items() if key != "method"]
    said = f"{best.partition.method} ({', '.join(words)})" if words else best.partition.method
    strata = [f"strata {', '.join(map(str, best.strata))}"] if best.strata else []
    return terms.as_chosen(best), " · ".join([said, best.form.method, *strata])


def answers_over_all(
    table: Microdata, terms: Terms, queries: Sequence[PairedQuery], draw: Randomness
) -> list[Cells]:
    """The true answers: those of a release in which everybody is a group.

    Such a release is the source as it is, so it is made in memory and written nowhere.

    Args:
        table: the rows.
        terms: whose columns are asked.
        queries: drawn of the rows.
        draw: what is drawn from; nothing depends on it.
    """
    alone = np.arange(table.rows)
    shown = {
        "form": PermutedParameters(method="permuted"),
        "partition": StratumParameters(method="stratum"),
        "promises": (),
        "strata": (),
    }
    plain = terms.model_copy(update=shown)
    declared, tables = make_candidate_of_part(table, plain, draw, lambda *_: Partition(alone))
    files = {**tables, **build_help_tables(tables, declared)}
    with engine(files, declared) as opened:
        asked = _AskedCandidate(opened, declared, files, table, alone)
        return [asked.cells(query) for query in queries]


class _AskedCandidate:
    """A candidate that answers paired queries."""

    def __init__(
        self, opened: Engine, declared: Declared, files: Files, table: Microdata, groups: np.ndarray
    ) -> None:
        self._engine, self._declared, self._files = opened, declared, files
        self._pick = cache(lambda one: pick_from(declared, files, table, groups, one))

    def cells(self, query: PairedQuery) -> Cells:
        """The answer: bounds of each aggregate by the values of its group columns."""
        if query.selected is not None:
            aggregate = Aggregate(query.aggregate, query.of, "picked")
            return {(): (Bounds(*self._pick(aggregate)(query.selected), None),)}
        several = read_inquiries(query.sql, self._declared)
        rows = ask_several(open_tables(self._files, self._declared, self._engine), several).rows
        return {
            tuple(v for v in row.values() if not isinstance(v, Bounds)): tuple(
                v for v in row.values() if isinstance(v, Bounds)
            )
            for row in rows
        }


def _scores(
    asked: _AskedCandidate, queries: Sequence[PairedQuery], truths: Sequence[Cells]
) -> Iterator[tuple[float | None, float | None, float | None]]:
    """Of each query the width, the width by the middle, and the error of the estimate."""
    for query, truth in zip(queries, truths, strict=True):
        try:
            found = asked.cells(query)
        except SfumatoError:
            yield None, None, None
            continue
        pairs = [
            pair
            for place, known in truth.items()
            for pair in zip(found.get(place, (None,) * len(known)), known, strict=True)
        ]
        yield mean_of(pairs, width_of), mean_of(pairs, relative_of), mean_of(pairs, error_of)


def _scores_of_attacks(trial: Trial) -> dict[str, list[dict[str, Any]]]:
    assessed = trial.assessment
    found = attack_release(
        targets_of(trial.release.declared, assessed.tables, trial.represented, assessed.whose)
    )
    return {name: [score.document() for score in scores] for name, scores in found.items()}
