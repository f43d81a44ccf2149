"""Every rule of a table as an expectation, and the owner's own rules as suites."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa

from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.rule import Rule, Ruling
from sfumato.expectations.rules.structure import RowCount
from sfumato.expectations.rules.verdicts import Expectation, expectation_of
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.suites.engine import (
    Carried,
    Described,
    PandasExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    get_expectation_impl,
    metric_value,
)

_RULES = "sfumato-rules"  # where a frame carries the rules of its table
_VALUES = "sfumato-values"  # and the values that the codes of its columns stand for, by name


def frame_with(table: pa.Table, rules: Sequence[Rule]) -> pd.DataFrame:
    """Return a table as a frame that keeps types and nulls; dictionaries become codes."""
    columns, values = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column
        if pa.types.is_dictionary(column.type):
            whole = column.unify_dictionaries().combine_chunks()
            columns[name], values[name] = whole.indices, whole.dictionary
    coded = pa.Table.from_arrays(list(columns.values()), names=table.column_names)
    df: pd.DataFrame = coded.to_pandas(types_mapper=pd.ArrowDtype)
    of_table = (r for r in rules if issubclass(get_expectation_impl(r.type), ExpectRule))
    df.attrs[_RULES] = Carried(tuple(of_table))
    df.attrs[_VALUES] = Carried(values)
    return df


def _table_of(df: pd.DataFrame) -> pa.Table:
    """Return the table from which `frame_with` made a frame."""
    table = pa.Table.from_pandas(df, preserve_index=False).replace_schema_metadata(None)
    values: Mapping[str, pa.Array] = df.attrs[_VALUES].content
    columns = {
        name: pa.DictionaryArray.from_arrays(codes.combine_chunks(), values[name])
        if name in values
        else codes
        for name, codes in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


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
            rules: Sequence[Rule] = df.attrs[_RULES].content
            return {expectation_of(r).key: r.judge(table) for r in rules}


class ExpectRule(Described):
    """A table keeps a rule of `expectations.rules.structure`."""

    metric_dependencies: ClassVar = (RulesOfTable.metric_name,)

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        kwargs = self.configuration.kwargs
        parameters = {k: v for k, v in kwargs.items() if k in self.success_keys}
        passed, seen = metrics[RulesOfTable.metric_name][
            Expectation(self.expectation_type, parameters).key
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


def rules_by_table(
    rules: Sequence[OwnedRule], tables: Mapping[str, pa.Table], rows_in: Sequence[str]
) -> dict[str, list[OwnedRule]]:
    """Return the rules that each table is judged by: those whose columns it has.

    Args:
        rules: the owner's.
        tables: by their names.
        rows_in: the tables that have a row for each person; the first is judged by rules about
            tables.

    Raises:
        PromiseError: where no table can be judged by a rule.
    """
    by_table: dict[str, list[OwnedRule]] = {name: [] for name in tables}
    for rule in rules:
        columns = set(rule.arguments.columns)
        judged = [n for n, table in tables.items() if columns <= set(table.column_names)]
        judged = judged if columns else list(rows_in[:1])
        if not judged:
            what = ", ".join(sorted(map(repr, columns))) or "a row for each person"
            raise PromiseError(f"{rule.type}: no published table has {what}; leave this rule out")
        for name in judged:
            if rule not in by_table[name]:
                by_table[name].append(rule)
    return {name: chosen for name, chosen in by_table.items() if chosen}


def tables_of_rows(structure: Mapping[str, Sequence[Rule]]) -> list[str]:
    """Return the published tables that are known to have a row for each person, in their order."""
    return [n for n, rules in structure.items() if any(isinstance(r, RowCount) for r in rules)]


def frame_of_values(table: pa.Table, rules: Sequence[OwnedRule]) -> pd.DataFrame:
    """Return a table as Great Expectations' own expectations see it: named columns as values.

    Other columns have only their names, and nulls. Decimals are the nearest floats, as the numbers
    of a spec are; integers are compared with these exactly, one by one.
    """
    named = {name for rule in rules for name in rule.arguments.columns}
    columns = dict(_columns(table, named))
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))


def _columns(table: pa.Table, named: set[str]) -> Iterator[tuple[str, pd.Series]]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column if name in named else pa.chunked_array([pa.nulls(table.num_rows)])
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.string()).cast(pa.float64())  # else not the nearest
        plain = values.null_count == 0 and pa.types.is_floating(values.type)
        yield name, values.to_pandas(types_mapper=None if plain else pd.ArrowDtype)
