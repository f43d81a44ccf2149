"""Workloads: the queries on which the accuracy of a release is measured, as a spec writes them.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose experiments ask range queries and arbitrary ones; the batches of counts are those of Wang,
Ambiguity, and of the papers that it compares itself with.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.schema.names import Part, RegisteredName

AggregateName = Annotated[str, RegisteredName(AGGREGATES, lambda kind: kind.is_measurable)]
_Levels = Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]
_Of = Annotated[
    str | None,
    Field(description="name of the sensitive column; needed where there are several"),
]
_Queries = Annotated[int, Field(gt=0, le=1_000_000, description="number of queries at each level")]


class RangeWorkload(Part):
    """Aggregates over windows [x, x + span] of a quasi-identifier that is a number or a date."""

    kind: Literal["range"]
    aggregate: AggregateName
    over: Annotated[str, Field(description="name of the quasi-identifier")]
    of: _Of = None
    spans: Annotated[_Levels, Field(description="widths of the windows; days for dates")]
    queries: _Queries = 100

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels by which queries are summed up: the spans."""
        return self.spans


class ArbitraryWorkload(Part):
    """Aggregates over random sets of quasi-identifiers' vectors that select enough rows."""

    kind: Literal["arbitrary"]
    aggregate: AggregateName
    of: _Of = None
    selected: Annotated[_Levels, Field(description="least numbers of rows that a query selects")]
    queries: _Queries = 100

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels by which queries are summed up: the numbers of rows selected."""
        return self.selected


class CountsWorkload(Part):
    """Counts of rows with ranges of random quasi-identifiers and one sensitive value.

    A range is a share of the values of its column, alike for all: the ranges together have as many
    of the combinations of the columns' values as the selectivity says.
    """

    kind: Literal["counts"]
    aggregate: Literal["count"] = "count"
    attributes: Annotated[int, Field(ge=1, description="number of quasi-identifiers")] = 3
    of: _Of = None
    selectivity: Annotated[
        tuple[Annotated[int, Field(gt=0, le=100)], ...],
        Field(min_length=1, description="percentages of all combinations of values"),
    ] = (1, 5, 10)
    queries: _Queries = 100

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels by which queries are summed up: the selectivities."""
        return self.selectivity


class PeopleWorkload(Part):
    """Counts of people in windows of a quasi-identifier who have related rows with one value."""

    kind: Literal["people"]
    aggregate: Literal["count"] = "count"
    over: Annotated[str, Field(description="name of the quasi-identifier")]
    of: _Of = None
    span: Annotated[int, Field(gt=0, description="width of the windows; days for dates")]
    times: Annotated[
        _Levels, Field(description="least numbers of rows with the value that a person has")
    ] = (1, 2)
    queries: _Queries = 100

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels by which queries are summed up: the least numbers of rows."""
        return self.times


Workload = Annotated[
    RangeWorkload | ArbitraryWorkload | CountsWorkload | PeopleWorkload,
    Field(discriminator="kind"),
]


class Goal(Part):
    """Goal of accuracy: the largest median width of bounds, and the consequence of missing it.

    Widths are those of the public record; the truth decides nothing.
    """

    median_relative_width: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="0.25: within ±12.5 %")
    ]
    on_failure: Annotated[
        Literal["tell", "refuse"],
        Field(description="refuse: nothing is published, and the exit code is 3"),
    ] = "tell"


class Evaluation(Part):
    """On what the accuracy of a release is measured, and how accurate it has to be."""

    workloads: Annotated[
        tuple[Workload, ...],
        Field(description="kinds of random queries that measure every version"),
    ] = ()
    intervals: Annotated[
        Literal[95] | None,
        Field(
            description=(
                "likely intervals beside bounds, which contain the true answer for 95 % of "
                "random queries. They are calibrated on the original before publication, "
                "with one published factor for each family"
            )
        ),
    ] = None
    require: Goal | None = None

    @model_validator(mode="after")
    def _goal_is_measured(self) -> Self:
        if self.require is not None and not self.workloads:
            raise ValueError(
                "require: needs workloads, because nothing is measured without them. Add "
                "evaluate.workloads"
            )
        return self

    @property
    def refuses(self) -> bool:
        """True if a version that misses the goal must not be published."""
        return self.require is not None and self.require.on_failure == "refuse"
