"""The groups of a validated table: frames of groups, or groups counted by a database.

Keep out code that judges groups.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import groups_of_rows
from sfumato.expectations.rules.verdicts import GROUPS
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.expectations.suites.engine import (
    Carried,
    MetricConfiguration,
    PandasExecutionEngine,
    SqlAlchemyExecutionEngine,
    TableMetricProvider,
    discreet,
    frame_of,
    metric_value,
)

_GROUPS = "sfumato-groups"  # where a frame carries them
_ROWS = "\nrows"  # no column of a table: without its groups, a frame has none to be judged by
_TYPES = "table.column_types"


def to_frame(groups: Groups) -> pd.DataFrame:
    """Return a frame with the rows of each group (int64), which carries the groups as they are."""
    df = pd.DataFrame({_ROWS: groups.sizes})
    df.attrs[_GROUPS] = Carried(groups)
    return df


def carries_groups(df: pd.DataFrame) -> bool:
    """Return True for a frame that `to_frame` made."""
    return _GROUPS in df.attrs or _ROWS in df.columns


def from_frame(df: pd.DataFrame) -> Groups:
    """Return the groups that a frame carries.

    Raises:
        PromiseError: where it carries none, or has lost some of their rows, or an attribute's
            counts leave a group out, so that it cannot be judged.
    """
    carried: Carried[Groups] | None = df.attrs.get(_GROUPS)
    if carried is None or not np.array_equal(df[_ROWS].to_numpy(), carried.content.sizes):
        raise PromiseError("the frame was changed after its groups were counted")
    _require_every_group(carried.content)
    return carried.content


def _require_every_group(groups: Groups) -> None:
    every = np.arange(len(groups))
    if len(groups.live) != len(groups):
        raise PromiseError("some groups have no number of rows")
    for name, counts in groups.sensitive.items():
        if not np.array_equal(counts.group[counts.starts], every):
            raise PromiseError(f"some groups have no counts of {name!r}")
    for name, cover in groups.covers.items():
        if not np.array_equal(distinct(cover.group), every):
            raise PromiseError(f"some groups have no values of {name!r}")
    for name, subdomains in groups.subdomains.items():
        if not np.array_equal(distinct(subdomains.group), every):
            raise PromiseError(f"some groups have no subdomains of {name!r}")


class GroupsOfTable(TableMetricProvider):
    """The groups that columns `by` tell apart, with the values of the attributes `sensitive`.

    A frame that carries groups is judged by these; no other says of which household a row is, which
    is refused where it has to be known (`whose`).
    """

    metric_name = "sfumato.groups"
    value_keys = ("by", "sensitive", "whose", "labelled")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any
    ) -> Groups:
        with discreet(GROUPS):
            df = frame_of(execution_engine, metric_domain_kwargs)
            if carries_groups(df):
                return from_frame(df)
            keys, sensitive = _columns(metric_value_kwargs, list(df.columns))
            return groups_of_rows(
                {name: _array(df, name) for name in keys},
                {name: _array(df, name) for name in sensitive},
            )

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(
        cls,
        execution_engine: Any,
        metric_domain_kwargs: Any,
        metric_value_kwargs: Any,
        metrics: Any,
        **_: Any,
    ) -> Groups:
        from sfumato.expectations.suites.in_database import (
            column_names,
            count_groups,
            typed_column,
        )

        with discreet(GROUPS):
            types = {
                str(column["name"]): column.get("type") for column in metrics.get(_TYPES) or ()
            }
            rows, *_ = execution_engine.get_compute_domain(
                metric_domain_kwargs, domain_type="table"
            )
            with execution_engine.get_connection() as connection:
                names = list(types) or column_names(connection, rows)
                keys, sensitive = _columns(metric_value_kwargs, names)
                return count_groups(
                    connection,
                    rows,
                    [typed_column(name, types.get(name)) for name in keys],
                    [typed_column(name, types.get(name)) for name in sensitive],
                    ranked=bool(metric_value_kwargs.get("labelled")),
                )

    @classmethod
    def _get_evaluation_dependencies(
        cls, metric: Any, *_: Any, execution_engine: Any = None, **__: Any
    ) -> dict[str, Any]:
        """Return the declared types for SQLite, which keeps moments as texts.

        In other databases a type may be unknown.
        """
        if not isinstance(execution_engine, SqlAlchemyExecutionEngine):
            return {}
        if execution_engine.dialect_name != "sqlite":
            return {}
        domain = metric.metric_domain_kwargs
        return {_TYPES: MetricConfiguration(_TYPES, domain, {"include_nested": True})}


def _columns(parameters: Any, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns that form groups and those to count, each in the table exactly once."""
    if parameters.get("whose"):
        raise PromiseError("members: a table does not show households; leave members out")
    keys, sensitive = list(parameters.get("by") or ()), list(parameters.get("sensitive") or ())
    if not keys:
        raise PromiseError("quasi_identifiers: name the columns by which rows are grouped")
    for name in [*keys, *sensitive]:
        if names.count(name) != 1:
            there = "twice" if name in names else "not"
            raise PromiseError(f"column {name!r} is {there} in the table")
    return keys, sensitive


def _array(df: pd.DataFrame, name: str) -> pa.Array:
    with discreet(f"column {name!r}"):
        array = pa.array(df[name])
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
