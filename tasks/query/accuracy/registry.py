"""The makers of random queries, by the kind of workload that a spec names.

At most one part of the original is in memory, and of the release only what queries need. Sets of
vectors also keep one number per distinct vector.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.truth import OriginalInParts, Outcome, Queries
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.terms.opened import Release

Drawing = Callable[[Any, Aggregate, Engine, Release, Microdata], Queries]
"""Makes queries of a workload's parameters, on an engine and on the original."""
WORKLOADS: Mapping[str, Drawing] = Entries(
    "sfumato.tasks.query.accuracy",
    {
        "range": "conditions:RangeQueries",
        "arbitrary": "arbitrary:ArbitraryQueries",
        "counts": "conditions:CountsQueries",
    },
)


class QueriesInParts(Protocol):
    """Random queries of a workload, asked part by part."""

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None for a query that cannot be asked."""
        ...


IN_PARTS: Mapping[
    str, Callable[[Any, Aggregate, Engine, Release, OriginalInParts], QueriesInParts]
] = Entries(
    "sfumato.tasks.query.accuracy",
    {
        "range": "in_parts:ranges_in_parts",
        "arbitrary": "in_parts:VectorsInParts",
        "counts": "in_parts:counts_in_parts",
    },
)
