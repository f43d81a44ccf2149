"""Every rule of a table as an expectation."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa

from sfumato.expectations.rules.rule import Rule, Ruling
from sfumato.expectations.suites.engine import (
    Described,
    PandasExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    get_expectation_impl,
    metric_value,
)
from sfumato.expectations.verdicts import Expectation, expectation_of

_RULES = "sfumato-rules"  # where a frame carries the rules of its table
_VALUES = "sfumato-values"  # and the values that the codes of its columns stand for


def frame_with(table: pa.Table, rules: Sequence[Rule]) -> pd.DataFrame:
    """A table as a frame that keeps types, and null apart; dictionary-encoded columns as codes."""
    columns, values = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column
        if pa.types.is_dictionary(column.type):
            whole = column.unify_dictionaries().combine_chunks()
            columns[name], values[name] = whole.indices, whole.dictionary
    coded = pa.Table.from_arrays(list(columns.values()), names=table.column_names)
    df: pd.DataFrame = coded.to_pandas(types_mapper=pd.ArrowDtype)
    df.attrs[_RULES] = tuple(
        rule for rule in rules if issubclass(get_expectation_impl(rule.type), ExpectRule)
    )
    df.attrs[_VALUES] = values
    return df


def _table_of(df: pd.DataFrame) -> pa.Table:
    """The table that `frame_with` made a frame of."""
    table = pa.Table.from_pandas(df, preserve_index=False).replace_schema_metadata(None)
    for name, values in df.attrs[_VALUES].items():
        place = table.column_names.index(name)
        codes = table[name].combine_chunks()
        column = pa.DictionaryArray.from_arrays(codes, values)
        table = table.set_column(place, name, column)
    return table


class RulesOfTable(TableMetricProvider):
    """Judge each rule that a frame carries on its table."""

    metric_name = "sfumato.rules"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any
    ) -> dict[str, Ruling]:
        with discreet("rules"):
            df = frame_of(execution_engine, metric_domain_kwargs)
            table = _table_of(df)
            rules: Sequence[Rule] = df.attrs[_RULES]
            return {expectation_of(r).key: r.judge(table) for r in rules}


class ExpectRule(Described):
    """A table keeps a rule of `expectations.rules.structure`."""

    metric_dependencies: ClassVar = (RulesOfTable.metric_name,)

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        kwargs = self.configuration.kwargs
        asked = {k: v for k, v in kwargs.items() if k in self.success_keys}
        passed, seen = metrics[RulesOfTable.metric_name][
            Expectation(self.expectation_type, asked).key
        ]
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


class ExpectTotalCount(ExpectRule):
    """The counts in a column add up to so many rows."""

    success_keys: ClassVar = ("column", "value")
    column: str
    value: int


class ExpectReadableLabels(ExpectRule):
    """Every label of a recoded column means something."""

    success_keys: ClassVar = ("column",)
    column: str


class ExpectCodedValues(ExpectRule):
    """Every value of a column is one that its codings give."""

    success_keys: ClassVar = ("column", "codings")
    column: str
    codings: list[str]


class ExpectAcceptedValues(ExpectRule):
    """Every value of a column is one of those that the spec accepts."""

    success_keys: ClassVar = ("column", "values")
    column: str
    values: list[str]


class ExpectPositiveValues(ExpectRule):
    """Every value of a column is above 0."""

    success_keys: ClassVar = ("column",)
    column: str


class ExpectValuesInRange(ExpectRule):
    """Every value of a column is between the limits that the spec declares."""

    success_keys: ClassVar = ("column", "minimum", "maximum")
    column: str
    minimum: str | None = None
    maximum: str | None = None
