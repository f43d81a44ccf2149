"""All alternatives of a comparison, one after the other or several at once, each kept when made."""

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
        place: its private directory, in which queries and outcomes are kept.
        table: the stage with the rows.
        scratch: the private directory in which candidates are made: unlike the comparison, it is
            kept by nobody, whatever ends the process.
        more: queries of the steward's own, as SQL.
    """

    place: Path
    table: Path
    scratch: Path
    more: tuple[str, ...] = ()

    def queries(self, workloads: Sequence[Workload]) -> list[PairedQuery]:
        """The queries: those that were drawn before, or drawn now and kept."""
        place = self.place / _QUERIES
        if not has_queries(place):
            drawn = draw_queries(load(self.table), workloads, operating_system)
            own = [PairedQuery("the steward's own queries", sql) for sql in self.more]
            save_queries([*drawn, *own], private_directory(place))
        return load_queries(place)


def compare(
    comparison: KeptComparison,
    alternatives: Sequence[Alternative],
    workloads: Sequence[Workload],
    processes: int,
    progress: Callable[[TriedOutcome, int, int], None],
) -> list[TriedOutcome]:
    """Try all alternatives on the same queries, and keep what became of each.

    What was tried before is not tried again: an alternative is known by its terms, and by the
    software.

    Args:
        comparison: where it is.
        alternatives: what is tried.
        workloads: by which queries are drawn.
        processes: how many are tried at once.
        progress: hears of each outcome, how many there are, and of how many.

    Returns:
        The outcomes, in the order of the alternatives.
    """
    comparison.queries(workloads)
    kept = private_directory(comparison.place / _OUTCOMES)
    places = [kept / f"{_digest(one)}.json" for one in alternatives]
    missing = [pair for pair in zip(alternatives, places, strict=True) if not pair[1].exists()]
    done = len(alternatives) - len(missing)
    for number, found in enumerate(_tried(comparison, missing, processes), start=done + 1):
        progress(found, number, len(alternatives))
    return [_read(place, one.name) for one, place in zip(alternatives, places, strict=True)]


def _tried(
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
    """Try an alternative, and keep what became of it; its tables go."""
    table, queries = load(comparison.table), load_queries(comparison.place / _QUERIES)
    truths = _truths(table, alternative, queries, comparison.place)
    own = private_directory(comparison.scratch / token_hex(8))
    try:
        found = try_alternative(alternative, table, queries, truths, own, operating_system)
    finally:
        rmtree(own)
    write_atomically(place, json.dumps(found.document(), default=_plain).encode())
    return found


_known: dict[bytes, list[Cells]] = {}


def _truths(
    table: Microdata, alternative: Alternative, queries: Sequence[PairedQuery], place: Path
) -> list[Cells]:
    """The true answers, found once in each process."""
    drawn = hashlib.sha256("\n".join(query.sql for query in queries).encode())
    drawn.update(str(place).encode())
    at = drawn.digest()
    if at not in _known:
        _known[at] = answers_over_all(table, alternative.terms, queries, operating_system)
    return _known[at]


def _digest(alternative: Alternative) -> str:
    known = json.dumps([alternative.terms.digest(), sorted(software().items())])
    return hashlib.sha256(known.encode()).hexdigest()


def _read(place: Path, name: str) -> TriedOutcome:
    return TriedOutcome(**{**read_json(place, None), "name": name})


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)
