"""The owner's own rules as suites of Great Expectations' own expectations, and what they see."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import RowCount


def rules_by_table(
    rules: Sequence[OwnedRule], tables: Mapping[str, pa.Table], rows_in: Sequence[str]
) -> dict[str, list[OwnedRule]]:
    """The rules that each table is judged by: those whose columns it has.

    Args:
        rules: the owner's.
        tables: by their names.
        rows_in: the tables that have a row for each person; the first is judged by rules about
            tables.

    Raises:
        PromiseError: where no table can be judged by a rule.
    """
    found: dict[str, list[OwnedRule]] = {name: [] for name in tables}
    for rule in rules:
        columns = set(rule.asked.columns)
        judged = [n for n, table in tables.items() if columns <= set(table.column_names)]
        judged = judged if columns else list(rows_in[:1])
        if not judged:
            what = ", ".join(sorted(map(repr, columns))) or "a row for each person"
            raise PromiseError(f"{rule.type}: no published table has {what}")
        for name in judged:
            if rule not in found[name]:
                found[name].append(rule)
    return {name: of for name, of in found.items() if of}


def tables_of_rows(structure: Mapping[str, Sequence[Rule]]) -> list[str]:
    """The published tables that are known to have a row for each person, in their order."""
    return [n for n, rules in structure.items() if any(isinstance(r, RowCount) for r in rules)]


def frame_of_values(table: pa.Table, rules: Sequence[OwnedRule]) -> pd.DataFrame:
    """A table as Great Expectations' own expectations see it: the columns they name as values.

    The others are there by their names alone. Decimals are the nearest floats, as the numbers
    of a spec are; integers are compared with these exactly, one by one.
    """
    named = {name for rule in rules for name in rule.asked.columns}
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
