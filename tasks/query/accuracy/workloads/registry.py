"""The makers of random queries, by the kind of workload that a spec names."""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.expectations.entries import Entries
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import Queries
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.question.aggregate import Aggregate

Drawing = Callable[[Any, Aggregate, Engine, Release, Microdata], Queries]
"""Makes queries of a workload's parameters, on an engine and on the original."""

WORKLOADS: Mapping[str, Drawing] = Entries(
    "sfumato.tasks.query.accuracy.workloads",
    {
        "range": "range:RangeQueries",
        "arbitrary": "arbitrary:ArbitraryQueries",
        "counts": "counts:CountsQueries",
    },
)
