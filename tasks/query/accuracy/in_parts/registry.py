"""What asks queries of releases in parts, by the kind of workload that a spec names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sfumato.expectations.entries import Entries
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.query.accuracy.original import OriginalInParts
from sfumato.tasks.query.accuracy.random_query import Outcome
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.question.aggregate import Aggregate


class QueriesInParts(Protocol):
    """Random queries of a workload, asked part by part."""

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """The outcomes of a query of each level; None for one that cannot be asked."""
        ...


IN_PARTS: Mapping[
    str, Callable[[Any, Aggregate, Engine, Release, OriginalInParts], QueriesInParts]
] = Entries(
    "sfumato.tasks.query.accuracy.in_parts",
    {
        "range": "conditions:ranges_in_parts",
        "arbitrary": "vectors:VectorsInParts",
        "counts": "conditions:counts_in_parts",
    },
)
