"""Every rule of a table as an expectation."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa

from expectations.judged import Expected, expected
from expectations.structure import Rule
from expectations.suites.engine import (
    Described,
    PandasExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    metric_value,
)

RULES = "sfumato-rules"  # where a frame carries the rules of its table


class RulesOfTable(TableMetricProvider):
    """Whether each rule that a frame carries holds of its table, and what it counted."""

    metric_name = "sfumato.rules"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any
    ) -> dict[str, tuple[bool, int | None]]:
        with discreet("rules"):
            df = frame_of(execution_engine, metric_domain_kwargs)
            table = pa.Table.from_pandas(df, preserve_index=False)
            table = table.replace_schema_metadata(None)
            rules: Sequence[Rule] = df.attrs[RULES]
            return {expected(r).key: (r.holds(table), r.observed(table)) for r in rules}


class ExpectRule(Described):
    """A table keeps a rule of `expectations.structure`."""

    metric_dependencies: ClassVar = (RulesOfTable.metric_name,)

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        kwargs = self.configuration.kwargs
        asked = {k: v for k, v in kwargs.items() if k in self.success_keys}
        passed, seen = metrics[RulesOfTable.metric_name][Expected(self.expectation_type, asked).key]
        return {"success": passed, "result": {"observed_value": seen}}


class ExpectColumnTypes(ExpectRule):
    """Each column has the type declared for it."""

    success_keys: ClassVar = ("types",)
    types: dict[str, str]


class ExpectNoForbiddenColumns(ExpectRule):
    """No column is an identifier of the source, or one that was to be dropped."""

    success_keys: ClassVar = ("columns",)
    columns: list[str]


class ExpectNoRowNumber(ExpectRule):
    """No column numbers the rows."""

    success_keys: ClassVar = ("besides", "more_than")
    besides: list[str]
    more_than: int


class ExpectCanonicalOrder(ExpectRule):
    """The rows stand in the one order that their content determines."""
