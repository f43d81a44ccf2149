"""The set-up of another tool, fitted to the columns of a table, for a draft.

What the table does not have, or what does not fit its values, becomes an omission with its reason.
Without a table the draft has the columns of the set-up, and no facts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, inf, isinf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.input_error import nearest
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.other_tools.setup import (
    OTHERS_MAY_KNOW,
    Cut,
    ForeignColumn,
    ForeignSetup,
    Omission,
    Rows,
)
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.method import ProposedMethod, propose_diversity, propose_promises
from sfumato.tasks.profile.roles import ProposedRole
from sfumato.tasks.profile.skeletons import Skeleton
from sfumato.tasks.profile.table import FoundTable
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.schema.codings import TYPES as CODED
from sfumato.tasks.schema.columns import NUMBERS, Role
from sfumato.tasks.schema.hierarchy import ROOT
from sfumato.tasks.schema.names import CsvDialect

_LEAVES = 2_000
_TEN = 10
_USUAL_ROWS = 100  # for which k = 5 is proposed
_NO_DATA = (
    "no data was read: write the path of the table under uri, and how it is written, or draft "
    "again with --data FILE"
)
_NO_ROLE = f"has no role there, {OTHERS_MAY_KNOW}"
_NO_PERSON = (
    "promises over households need a column that identifies each person (unit: true), and the "
    "draft has no such column with one row for each. With one, write `household: COLUMN`"
)
_KEPT = "Promises, partition and form are those of the {tool}, as far as they exist here."
_PROPOSED = "The {tool} has no promise that can be kept here: these are proposals."


def options_of_setup(setup: ForeignSetup, options: DraftOptions) -> DraftOptions:
    """Return the options with how the set-up says that the data are written.

    Options that the steward chose count more.
    """
    settings: dict[str, Any] = dict(setup.settings)
    if setup.widths:
        settings = {"columns": tuple(setup.widths), "widths": tuple(setup.widths.values())}
    fresh = {key: value for key, value in settings.items() if getattr(options, key) is None}
    return replace(options, **fresh)


def table_of_setup(setup: ForeignSetup, options: DraftOptions) -> FoundTable:
    """Return a table without rows that has the columns of a set-up."""
    names = tuple(setup.columns)
    dialect = CsvDialect(
        header=names if options.widths or options.columns else None,
        widths=options.widths,
        delimiter=options.delimiter or ",",
        encoding=options.encoding or "utf-8",
    )
    ending = "txt" if options.widths else "csv"
    formats = {
        name: column.date_format
        for name, column in setup.columns.items()
        if column.date_format is not None and column.type in ("date", "timestamp")
    }
    source = Source(uri=f"WRITE-THE-PATH.{ending}", csv=dialect, seen=names)
    source = source.model_copy(update={"date_formats": formats})
    empty = pa.array([], pa.string())
    columns = tuple(
        Column(name, "insensitive", empty, np.zeros(0, np.int32)) for name in setup.columns
    )
    types = {
        name: "integer" if column.cut is not None else column.type or "string"
        for name, column in setup.columns.items()
    }
    return FoundTable(source, types, Microdata(columns, 0), notes=(_NO_DATA,))


def facts_of_setup(table: FoundTable) -> tuple[ColumnFacts, ...]:
    """Return facts about the columns of a table without rows: only their types."""
    rows = np.zeros(0, np.int64)
    return tuple(
        ColumnFacts(column, table.types[column.name], rows, 0, None, None)
        for column in table.microdata.columns
    )


def fit_setup(
    setup: ForeignSetup, facts: Sequence[ColumnFacts], options: DraftOptions
) -> ForeignSetup:
    """Return the part of a set-up that fits the columns of a table, with the rest as omissions.

    Args:
        setup: the set-up.
        facts: the facts about the columns of all rows.
        options: the steward's; their roles count more than the set-up's.

    Raises:
        SpecError: if the table has none of its columns.
    """
    by_name = {column.name: column for column in facts}
    omissions: list[Omission] = list(setup.omissions)
    columns: dict[str, ForeignColumn] = {}
    for name, column in setup.columns.items():
        if name in by_name:
            if column.role is None and not by_name[name].distinct:
                column = replace(column, role="quasi-identifier", reason=_NO_ROLE)
            columns[name] = _fit_column(name, column, by_name[name], omissions)
        else:
            why = f"the data have no such column{nearest(name, by_name)}"
            omissions.append(Omission(f"column {name!r}", why))
    if not columns:
        raise SpecError(
            f"no column of the {setup.tool} is in the data ({len(setup.columns)} columns). "
            "Name the table that it was made for (--data FILE)"
        )
    roles = {name: options.roles.get(name, column.role) for name, column in columns.items()}
    promises = []
    for promise in setup.promises:
        about = promise.get("sensitive")
        if about is None or roles.get(about) == "sensitive":
            promises.append(promise)
        else:
            omissions.append(
                Omission(f"{promise['model']} of {about!r}", "the column is not sensitive")
            )
    return replace(
        setup,
        columns=columns,
        promises=tuple(promises),
        strata=tuple(name for name in setup.strata if name in columns),
        omissions=tuple(dict.fromkeys(omissions)),
    )


def _fit_column(
    name: str, column: ForeignColumn, facts: ColumnFacts, omissions: list[Omission]
) -> ForeignColumn:
    """Return a column with what fits its values."""
    has_values = bool(facts.distinct)
    alike = (None, "string", facts.type, *(NUMBERS if facts.type in NUMBERS else ()))
    if has_values and column.type not in alike:
        omissions.append(
            Omission(f"type {column.type} of {name!r}", f"its values have type {facts.type}")
        )
    if has_values and column.role == "sensitive" and facts.is_constant:
        why = "all rows have the same value, which no table can hide. It is dropped"
        omissions.append(Omission(f"role sensitive of {name!r}", why))
        column = replace(column, role="drop")
    if column.cut is not None:
        rows, fault = rows_of_cut(column.cut, facts)
        if rows is None:
            omissions.append(Omission(f"the intervals of {name!r}", fault))
        column = replace(column, rows=rows, cut=None, type="integer")
    return _fit_values(name, column, facts, omissions)


def _fit_values(
    name: str, column: ForeignColumn, facts: ColumnFacts, omissions: list[Omission]
) -> ForeignColumn:
    """Return a column with the codings that its type can have."""
    if facts.distinct and column.rows is not None and _lacks_leaves(column.rows, facts):
        omissions.append(
            Omission(
                f"values of {name!r} that its hierarchy does not have",
                "a release names how many there are, and refuses them. Add a row for each",
            )
        )
    type_ = facts.type if facts.distinct else column.type or "string"
    unfit = [key for key in column.keys if key in CODED and type_ not in CODED[key]]
    why = f"its values have type {type_}, which has no order"
    omissions += [Omission(f"{key} of {name!r}", why) for key in unfit]
    fitting = {key: value for key, value in column.keys.items() if key not in unfit}
    return replace(column, keys=fitting)


def _lacks_leaves(rows: Rows, facts: ColumnFacts) -> bool:
    texts = pc.cast(facts.column.values, pa.string())
    leaves = pa.array([row[0] for row in rows], pa.string())
    return not pc.all(pc.is_in(texts, value_set=leaves)).as_py()


def rows_of_cut(cut: Cut, facts: ColumnFacts) -> tuple[Rows | None, str]:
    """Return cut points as the rows of a hierarchy of whole numbers, or None and the reason.

    Every whole number within the cut points is a leaf, whether a row has it or not. Where the first
    or last cut point is infinite, leaves begin and end at tens beyond the data.
    """
    numbers = facts.column.values.to_pylist() if facts.type == "integer" else []
    if facts.distinct and not numbers:
        return None, f"its values have type {facts.type}, and only whole numbers can be listed"
    breaks = list(cut.breaks)
    if any(map(isinf, breaks)) and not numbers:
        return (
            None,
            "a cut point is infinite, and only data can show where values end (--data FILE)",
        )
    if breaks[0] == -inf:
        lowest = floor(min(numbers) / _TEN) * _TEN - 1
        breaks[0] = min(lowest, ceil(breaks[1]) - 1) if len(breaks) > 2 else lowest
    if breaks[-1] == inf:
        highest = ceil((max(numbers) + 1) / _TEN) * _TEN
        breaks[-1] = max(highest, floor(breaks[-2]) + 1)
    if breaks[-1] - breaks[0] > _LEAVES:
        return None, f"they have more than {_LEAVES:,} whole numbers. Write a hierarchy by hand"
    labels = cut.labels or _labels(cut.breaks)
    rows = tuple(
        (str(number), label, ROOT)
        for label, low, high in zip(labels, breaks, breaks[1:], strict=False)
        for number in range(floor(low) + 1, floor(high) + 1)
    )
    return (rows, "") if rows else (None, "they have no whole number")


def _labels(breaks: Sequence[float]) -> tuple[str, ...]:
    """Return the intervals between cut points as R writes them."""
    texts = ["Inf" if b == inf else "-Inf" if b == -inf else f"{b:.8g}" for b in breaks]
    return tuple(f"({low},{high}]" for low, high in pairwise(texts))


def with_roles(options: DraftOptions, setup: ForeignSetup) -> DraftOptions:
    """Return options with the roles of a set-up and their reasons; those chosen count more."""
    roles: dict[str, Role] = {
        name: column.role
        for name, column in setup.columns.items()
        if column.role is not None and name not in options.roles
    }
    reasons = {name: setup.columns[name].reason for name in roles}
    return replace(options, roles={**options.roles, **roles}, reasons=reasons)


def skeletons_of_setup(
    setup: ForeignSetup, proposed: Mapping[str, Skeleton]
) -> dict[str, Skeleton]:
    """Return the hierarchies of a set-up, and those that are proposed where it has none.

    A column that the tool gave no hierarchy gets none.
    """
    skeletons = dict(proposed)
    for name, column in setup.columns.items():
        if column.rows is not None:
            skeletons[name] = Skeleton({}, column.rows, column.words)
        elif column.bare:
            skeletons.pop(name, None)
    return skeletons


def unit_of_setup(
    setup: ForeignSetup, unit: FoundUnit | None, roles: Mapping[str, ProposedRole]
) -> tuple[FoundUnit | None, ForeignSetup]:
    """Return the unit with the household of the set-up; without a unit that is an omission."""
    name = setup.household
    if name is None or name not in roles or roles[name].role != "identifier":
        return unit, setup
    if unit is not None and not unit.repeats and unit.name != name:
        changes = (*setup.changes, f"promises over the households of {name!r}")
        return replace(unit, household=name), replace(setup, changes=changes)
    omission = Omission(f"the households of {name!r}", _NO_PERSON)
    return unit, replace(setup, omissions=(*setup.omissions, omission))


def method_of_setup(
    setup: ForeignSetup, sensitive: Sequence[ColumnFacts], rows: int
) -> ProposedMethod | None:
    """Return the method of a set-up, with a promise for each sensitive column; None for none."""
    promises: list[Mapping[str, Any]] = list(setup.promises)
    if setup.partition is None and not promises:
        return None
    words = _KEPT.format(tool=setup.tool)
    if not promises:
        promises = [*propose_promises([], rows or _USUAL_ROWS)]
        words = _PROPOSED.format(tool=setup.tool)
    covered = {promise.get("sensitive") for promise in promises}
    promises += [
        propose_diversity(column, sensitive) for column in sensitive if column.name not in covered
    ]
    partition = dict(setup.partition or {"method": "mondrian"})
    form = dict(setup.form or {"method": "generalized"})
    if sensitive:
        form.pop("protects", None)
    else:
        form["protects"] = "identities"
    return ProposedMethod(
        words, promises, partition.pop("method"), form.pop("method"), partition, form
    )


def words_on_setup(setup: ForeignSetup) -> str:
    """Return what a draft says of the set-up that it came from."""
    parts = [f"Taken over from the {setup.tool}:", *(f"- {words}" for words in setup.changes)]
    if setup.omissions:
        parts += ["Not taken over, and why:", *(f"- {omission}" for omission in setup.omissions)]
    return "\n".join(parts)
