"""The spec's declarations about the source, as rules for the table that was read."""

from collections.abc import Mapping

import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.source import (
    AcceptedValues,
    PositiveValues,
    ValueRule,
    ValuesInRange,
    source_rules,
)
from sfumato.tasks.microdata.input_error import FaultsMet, input_error
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.columns import ColumnSpec


def as_table(microdata: Microdata) -> pa.Table:
    """The table with its columns dictionary-encoded: nothing is decoded."""
    return pa.table(
        {
            column.name: pa.DictionaryArray.from_arrays(
                pa.array(column.codes, mask=column.codes < 0), column.values
            )
            for column in microdata.columns
        }
    )


def rules_as_declared(columns: Mapping[str, ColumnSpec], microdata: Microdata) -> tuple[Rule, ...]:
    """The rules of a source with these columns; decimals have the digits that were read."""
    types = [(name, microdata[name].values.type) for name in columns]
    return source_rules(pa.schema(types), value_rules(columns))


def value_rules(columns: Mapping[str, ColumnSpec]) -> tuple[ValueRule, ...]:
    """The accepted values and ranges that the columns declare, and that weights are positive."""
    rules: list[ValueRule] = []
    for name, column in columns.items():
        if column.values is not None:
            rules.append(AcceptedValues(name, column.values))
        if column.range is not None:
            rules.append(ValuesInRange(name, column.range.min, column.range.max))
        if column.role == "weight":
            rules.append(PositiveValues(name))
    return tuple(rules)


def require(columns: Mapping[str, ColumnSpec], table: pa.Table, file: str) -> None:
    """Let no row pass that has another value than declared.

    Raises:
        InputError: with the file, and of each broken rule the first row, the column and the rule.
    """
    met = FaultsMet(file)
    for rule in value_rules(columns):
        row = rule.first(table)
        if row is not None:
            with met.noted():
                raise input_error(file, rule.words(), row=row, column=rule.column)
    met.refuse()
