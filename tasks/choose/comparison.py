"""All alternatives of a comparison, tried one after the other or several at once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
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
from sfumato.tasks.choose.trial import worker_processes
from sfumato.tasks.microdata.table import Microdata, load, operating_system
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.query.accuracy.parameters import Workload
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.schema.formats import software

_OUTCOMES, _QUERIES = "outcomes", "queries"


@dataclass(frozen=True)
class KeptComparison:
    """A comparison on disk.

    Attributes:
        place: its private directory, in which queries and outcomes are saved.
        table: the stage with the rows.
        scratch: the private directory in which candidates are made. Unlike the comparison it is
            always removed, however the process ends.
        more: the steward's own queries, as SQL.
    """

    place: Path
    table: Path
    scratch: Path
    more: tuple[str, ...] = ()

    def queries(self, workloads: Sequence[Workload]) -> list[PairedQuery]:
        """Return the queries, which are drawn and saved at the first call."""
        place = self.place / _QUERIES
        if not has_queries(place):
            queries = draw_queries(load(self.table), workloads, operating_system)
            own = [PairedQuery("the steward's own queries", sql) for sql in self.more]
            save_queries([*queries, *own], private_directory(place))
        return load_queries(place)


def compare(
    comparison: KeptComparison,
    alternatives: Sequence[Alternative],
    workloads: Sequence[Workload],
    processes: int,
    progress: Callable[[TriedOutcome, int, int], None],
) -> list[TriedOutcome]:
    """Try all alternatives on the same queries, and save the outcome of each.

    Alternatives that were tried before are not tried again: an alternative is identified by its
    terms, and by the software.

    Args:
        comparison: the comparison on disk.
        alternatives: the alternatives to try.
        workloads: the workloads that queries are drawn from.
        processes: the number of alternatives that are tried at once.
        progress: called with each outcome, the number done, and the total.

    Returns:
        The outcomes, in the order of the alternatives.
    """
    comparison.queries(workloads)
    directory = private_directory(comparison.place / _OUTCOMES)
    places = [directory / f"{_digest(alternative)}.json" for alternative in alternatives]
    missing = [pair for pair in zip(alternatives, places, strict=True) if not pair[1].exists()]
    done = len(alternatives) - len(missing)
    for number, outcome in enumerate(_try_all(comparison, missing, processes), start=done + 1):
        progress(outcome, number, len(alternatives))
    return [
        _read(place, alternative.name)
        for alternative, place in zip(alternatives, places, strict=True)
    ]


def _try_all(
    comparison: KeptComparison, missing: Sequence[tuple[Alternative, Path]], processes: int
) -> Iterable[TriedOutcome]:
    if processes <= 1 or len(missing) <= 1:
        for alternative, place in missing:
            yield _try(comparison, alternative, place)
        return
    number = min(processes, len(missing))
    with worker_processes(number) as pool:
        running = [pool.submit(_try, comparison, *pair) for pair in missing]
        for ended in as_completed(running):
            yield ended.result()


def _try(comparison: KeptComparison, alternative: Alternative, place: Path) -> TriedOutcome:
    """Try an alternative, save its outcome, and remove its tables."""
    table, queries = load(comparison.table), load_queries(comparison.place / _QUERIES)
    truths = _truths(table, alternative, queries, comparison.place)
    own = private_directory(comparison.scratch / token_hex(8))
    try:
        outcome = try_alternative(alternative, table, queries, truths, own, operating_system)
    finally:
        rmtree(own)
    write_atomically(place, json.dumps(outcome.document(), default=_plain).encode())
    return outcome


_truths_by_digest: dict[bytes, list[Cells]] = {}


def _truths(
    table: Microdata, alternative: Alternative, queries: Sequence[PairedQuery], place: Path
) -> list[Cells]:
    """Return the true answers, computed once in each process."""
    digest = hashlib.sha256("\n".join(query.sql for query in queries).encode())
    digest.update(str(place).encode())
    key = digest.digest()
    if key not in _truths_by_digest:
        _truths_by_digest[key] = answers_over_all(
            table, alternative.terms, queries, operating_system
        )
    return _truths_by_digest[key]


def _digest(alternative: Alternative) -> str:
    content = json.dumps([alternative.terms.digest(), sorted(software().items())])
    return hashlib.sha256(content.encode()).hexdigest()


def _read(place: Path, name: str) -> TriedOutcome:
    return TriedOutcome(**{**read_json(place, None), "name": name})


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)
