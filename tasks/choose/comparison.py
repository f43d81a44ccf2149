"""All alternatives of a comparison, tried one after the other or several at once."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

import numpy as np

from sfumato.tasks.choose.alternative import (
    Alternative,
    Cells,
    TriedOutcome,
    answers_over_all,
    try_alternative,
)
from sfumato.tasks.choose.paired import (
    PairedQuery,
    draw_queries,
    has_queries,
    load_queries,
    save_queries,
)
from sfumato.tasks.choose.recommend import rank
from sfumato.tasks.choose.trial import worker_processes
from sfumato.tasks.choose.two_tables import draw_queries_of_two
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.microdata.table import Microdata, load, operating_system
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.accuracy.parameters import Workload
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.schema.formats import software

_OUTCOMES, _QUERIES = "outcomes", "queries"
_FIRST_QUERIES = 48  # of the first pass
_OTHERS = 3  # finalists with other promises than the spec's: shown, never recommended
_OWN = "the steward's own queries"


@dataclass(frozen=True)
class KeptComparison:
    """A comparison on disk.

    Attributes:
        place: its private directory, in which queries and outcomes are saved.
        table: the stage with the rows.
        scratch: the private directory in which candidates are made. Unlike the comparison it is
            always removed, however the process ends.
        more: the steward's own queries, as SQL.
        by_values: whether each aggregate is also asked by each short column.
        both: the form of two related tables, which queries join; None for one table.
    """

    place: Path
    table: Path
    scratch: Path
    more: tuple[str, ...] = ()
    by_values: bool = True
    both: ApartParameters | None = None

    def queries(self, workloads: Sequence[Workload]) -> list[PairedQuery]:
        """Return the queries, which are drawn and saved at the first call."""
        place = self.place / _QUERIES
        if not has_queries(place):
            table = load(self.table)
            draw = draw_queries if self.both is None else partial(draw_queries_of_two, self.both)
            queries = draw(table, workloads, operating_system, by_values=self.by_values)
            own = [PairedQuery(_OWN, _OWN, sql) for sql in self.more]
            save_queries([*queries, *own], private_directory(place))
        return load_queries(place)


def compare(
    comparison: KeptComparison,
    alternatives: Sequence[Alternative],
    workloads: Sequence[Workload],
    processes: int,
    progress: Callable[[TriedOutcome, int, int], None],
    finalists: int | None = None,
) -> list[TriedOutcome]:
    """Try all alternatives on the same queries, and save the outcome of each.

    Where there are more alternatives than finalists, all are asked a few queries first, and the
    best of them all queries; finalists alone are attacked, which takes longest.

    Alternatives that were tried before are not tried again: an alternative is identified by its
    terms, and by the software.

    Args:
        comparison: the comparison on disk.
        alternatives: the alternatives to try.
        workloads: the workloads that queries are drawn from.
        processes: the number of alternatives that are tried at once.
        progress: called with each outcome, the number done, and the total.
        finalists: the number of alternatives with the spec's own promises that are asked all
            queries; a few with other promises are, too. None for all alternatives.

    Returns:
        The outcomes, in the order of the alternatives.
    """
    queries = comparison.queries(workloads)
    if finalists is None or len(alternatives) <= finalists:
        return list(_outcomes(comparison, alternatives, processes, progress, None).values())
    outcomes = ask_few(comparison, alternatives, workloads, processes, progress)
    topics = [query.topic for query in queries]
    ranked = rank(list(outcomes.values()), topics)
    best = [entry.outcome.name for entry in ranked if not entry.outcome.emptied_columns]
    final = _finalists(alternatives, best, finalists)
    outcomes |= _outcomes(comparison, final, processes, progress, None)
    return [outcomes[alternative.name] for alternative in alternatives]


def ask_few(
    comparison: KeptComparison,
    alternatives: Sequence[Alternative],
    workloads: Sequence[Workload],
    processes: int,
    progress: Callable[[TriedOutcome, int, int], None],
) -> dict[str, TriedOutcome]:
    """Return the outcomes of all alternatives by name, each asked a few queries and not attacked.

    Arguments are those of `compare`.
    """
    topics = [query.topic for query in comparison.queries(workloads)]
    positions = few_of_each(topics, _FIRST_QUERIES)
    return _outcomes(comparison, alternatives, processes, progress, positions)


def _finalists(
    alternatives: Sequence[Alternative], best: Sequence[str], number: int
) -> list[Alternative]:
    """Return the best alternatives with the spec's own promises, and a few of the best others.

    Args:
        alternatives: all of them.
        best: the names of useful ones, the narrowest first.
        number: of alternatives with the spec's own promises.
    """
    others = {alternative.name for alternative in alternatives if alternative.other_promise}
    names = [name for name in best if name not in others][:number]
    names += [name for name in best if name in others][:_OTHERS]
    return [alternative for alternative in alternatives if alternative.name in names]


def few_of_each(topics: Sequence[str], number: int) -> tuple[int, ...]:
    """Return the positions of some queries, about as many of each topic, evenly spread over it.

    >>> few_of_each(["a"] * 8 + ["b"] * 2, 4)
    (0, 4, 8, 9)
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for position, topic in enumerate(topics):
        places[topic].append(position)
    each = max(1, number // max(len(places), 1))
    chosen = (own[:: -(-len(own) // each)] for own in places.values())
    return tuple(sorted(chain.from_iterable(chosen)))


def _outcomes(
    comparison: KeptComparison,
    alternatives: Sequence[Alternative],
    processes: int,
    progress: Callable[[TriedOutcome, int, int], None],
    positions: tuple[int, ...] | None,
) -> dict[str, TriedOutcome]:
    """Return the outcomes by name; those that are saved are not made again."""
    directory = private_directory(comparison.place / _OUTCOMES)
    ending = ".json" if positions is None else ".first.json"
    places = [directory / f"{_digest(alternative)}{ending}" for alternative in alternatives]
    missing = [pair for pair in zip(alternatives, places, strict=True) if not pair[1].exists()]
    done = len(alternatives) - len(missing)
    tried = _try_all(comparison, missing, processes, positions)
    for number, outcome in enumerate(tried, start=done + 1):
        progress(outcome, number, len(alternatives))
    return {
        alternative.name: _read(place, alternative.name)
        for alternative, place in zip(alternatives, places, strict=True)
    }


def _try_all(
    comparison: KeptComparison,
    missing: Sequence[tuple[Alternative, Path]],
    processes: int,
    positions: tuple[int, ...] | None,
) -> Iterable[TriedOutcome]:
    if processes <= 1 or len(missing) <= 1:
        for alternative, place in missing:
            yield _try(comparison, alternative, place, positions)
        return
    number = min(processes, len(missing))
    with worker_processes(number) as pool:
        running = [pool.submit(_try, comparison, *pair, positions) for pair in missing]
        for ended in as_completed(running):
            yield ended.result()


def _try(
    comparison: KeptComparison,
    alternative: Alternative,
    place: Path,
    positions: tuple[int, ...] | None,
) -> TriedOutcome:
    """Try an alternative, save its outcome, and remove its tables."""
    table, queries = load(comparison.table), load_queries(comparison.place / _QUERIES)
    truths = _truths(table, alternative, queries, comparison.place, positions)
    own = private_directory(comparison.scratch / token_hex(8))
    try:
        outcome = try_alternative(
            alternative, table, queries, truths, own, operating_system, positions
        )
    finally:
        rmtree(own)
    write_atomically(place, json.dumps(outcome.document(), default=_plain).encode())
    return outcome


_truths_by_digest: dict[bytes, list[Cells]] = {}


def _truths(
    table: Microdata,
    alternative: Alternative,
    queries: Sequence[PairedQuery],
    place: Path,
    positions: tuple[int, ...] | None,
) -> list[Cells]:
    """Return the true answers, computed once in each process; none to what is not to be asked."""
    places = range(len(queries)) if positions is None else positions
    queries_to_ask = [queries[position] for position in places]
    digest = hashlib.sha256("\n".join(query.sql for query in queries_to_ask).encode())
    digest.update(str(place).encode())
    key = digest.digest()
    if key not in _truths_by_digest:
        _truths_by_digest[key] = answers_over_all(
            table, alternative.terms, queries_to_ask, operating_system
        )
    answers = dict(zip(places, _truths_by_digest[key], strict=True))
    return [answers.get(position, {}) for position in range(len(queries))]


def _digest(alternative: Alternative) -> str:
    terms = [alternative.terms, *([alternative.joined] if alternative.joined else [])]
    content = json.dumps([*(part.digest() for part in terms), sorted(software().items())])
    return hashlib.sha256(content.encode()).hexdigest()


def _read(place: Path, name: str) -> TriedOutcome:
    return TriedOutcome(**{**read_json(place, None), "name": name})


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)
