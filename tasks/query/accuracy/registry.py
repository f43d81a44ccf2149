"""The makers of random queries, by the kind of workload that a spec names.

At most one part of the original is in memory, and of the release only what queries need. Sets of
vectors also keep one number per distinct vector.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.accuracy.joined import AskedTables
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.truth import OriginalInParts, Queries
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared

Drawing = Callable[[Any, Aggregate, Engine, Release, OriginalInParts], Queries]
"""Makes queries of a workload's parameters, on an engine and on the original."""
WORKLOADS: Mapping[str, Drawing] = Entries(
    "sfumato.tasks.query.accuracy",
    {
        "range": "conditions:range_queries",
        "arbitrary": "arbitrary:VectorQueries",
        "counts": "conditions:counts_queries",
        "people": "related:people_queries",
    },
)
Preparing = Callable[[Engine, Declared, OriginalInParts], AskedTables]
"""Returns the tables that workloads ask, of an engine and of the original."""
TABLES: Mapping[str, Preparing] = Entries(
    "sfumato.tasks.query.accuracy", {"apart": "related:joined_tables"}
)
"""The tables that workloads ask, by how a form shows people, where these are not its own."""
