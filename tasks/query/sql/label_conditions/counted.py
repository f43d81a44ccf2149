"""How many rows count in each cell, and how many copies of each value, as queries.

The rows that a question surely means count, and any of the others may. Where people have left, of a
group with v vacant rows as many as v of the former may not count, and no more than its people do:
which of them, is what is best for each bound (see `tasks.query.engines.labels.attendance`).
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sfumato.tasks.query.question.relations import GROUP_ID
from sfumato.tasks.query.sql.conditions.sensitive_values import sizes_with_vacant
from sfumato.tasks.query.sql.conditions.trees import (
    CHOSEN,
    VALUED,
    Part,
    alias,
    join,
    own,
    same,
    select,
    tree,
    trees,
)

_SIZES = "sizes"


def rows_of_cells(keys: Sequence[exp.Column], valued: int, *, composed: bool) -> list[Part]:
    """The parts up to `counted`: the number of rows of each cell, and those with a value.

    Args:
        keys: the group columns.
        valued: how many columns values are asked of.
        composed: whether people have left.
    """
    ends = ["", *(f"_{number}" for number in range(valued))]
    sums = [_where_known(of, end) for end in ends for of in ("must", "1")]
    names = [f"{side}{end}" for end in ends for side in ("m", "n")]
    rows = [alias(exp.Sum(this=of), name) for of, name in zip(sums, names, strict=True)]
    if not composed:
        counts = [exp.Sum(this=of.copy()) for of in sums]
        return [("counted", _by_cell(keys, counts, ends, CHOSEN))]
    cells = _cell(keys)
    ranged = select([*cells, own(GROUP_ID), *rows], CHOSEN, by=[*_keys(keys), own(GROUP_ID)])
    limits = [tree(of.format(end=end)) for end in ends for of in _LIMITS]
    counted = _by_cell(keys, [exp.Sum(this=of) for of in limits], ends, "ranged")
    join(counted, _SIZES, same(GROUP_ID, _SIZES, "ranged"))
    return [(_SIZES, sizes_with_vacant()), ("ranged", ranged), ("counted", counted)]


def copies_of_values(number: int, *, composed: bool) -> Iterator[Part]:
    """The parts up to `of_value_…`: how many copies of each value count in each cell."""
    source, result = f"{VALUED}{number}", f"of_value_{number}"
    shown = [own("cell"), alias(own(f"v{number}"), "v"), own("must")]
    known = tree(f"NOT v{number} IS NULL")
    if not composed:
        yield source, select(shown, CHOSEN, where=[known])
        yield result, select(trees(*_COPIES), source, by=trees("cell", "v"))
        return
    yield source, select([*shown, own(GROUP_ID)], CHOSEN, where=[known])
    by = trees("cell", "group_id", "v")
    counts = trees("SUM(must) AS m", "COUNT(*) AS n")
    yield f"copies_{number}", select([*by, *counts], source, by=trees("cell", "group_id", "v"))
    yield f"ranked_{number}", select(trees(*_RANKED), f"copies_{number}")
    limited = select(trees(*_LIMITED), exp.table_(f"ranked_{number}", alias="r"))
    join(limited, _SIZES, same(GROUP_ID, _SIZES, "r"))
    yield f"limited_{number}", limited
    yield f"sure_{number}", select(trees(*_SURE), f"limited_{number}")
    yield result, select(trees(*_COUNTED), f"sure_{number}", by=trees("cell", "v"))


def _by_cell(
    keys: Sequence[exp.Column], sums: Sequence[exp.Expr], ends: Sequence[str], source: str
) -> exp.Select:
    """The query of the sums by cell, 0 over no rows."""
    names = [f"count_{side}{end}" for end in ends for side in "lu"]
    columns = [
        alias(exp.Coalesce(this=of, expressions=[exp.Literal.number(0)]), name)
        for of, name in zip(sums, names, strict=True)
    ]
    return select([*_cell(keys), *columns], source, by=_keys(keys))


def _cell(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    return _keys(keys) or [tree("1 AS cell")]


def _keys(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    return [own("cell"), *(key.copy() for key in keys)] if keys else []


def _where_known(number: str, end: str) -> exp.Expr:
    found: exp.Expr = tree(
        f"CASE WHEN v{end[1:]} IS NULL THEN 0 ELSE {number} END" if end else number
    )
    return found


_LIMITS = (
    "CASE WHEN m{end} > vacancies THEN m{end} - vacancies ELSE 0 END",
    "CASE WHEN n{end} < live THEN n{end} ELSE live END",
)

_COPIES = (
    "cell",
    "v",
    "SUM(must) AS low_sure",
    "SUM(1 - must) AS low_maybe",
    "SUM(must) AS high_sure",
    "SUM(1 - must) AS high_maybe",
)

_SO_FAR = "OVER (PARTITION BY cell, group_id ORDER BY v "
_SO_FAR += "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_RANKED = (
    "cell",
    "group_id",
    "v",
    "m",
    "n",
    "SUM(m) OVER (PARTITION BY cell, group_id) AS must",
    "SUM(n) OVER (PARTITION BY cell, group_id) AS every",
    f"SUM(m) {_SO_FAR} - m AS m_below",
    f"SUM(n) {_SO_FAR} - n AS n_below",
)

_LIMITED = (
    "r.cell",
    "r.v",
    "r.m",
    "r.n",
    "r.m_below",
    "r.n_below",
    "r.must - r.m_below - r.m AS m_above",
    "r.every - r.n_below - r.n AS n_above",
    "CASE WHEN r.must > vacancies THEN r.must - vacancies ELSE 0 END AS a",
    "CASE WHEN r.every < live THEN r.every ELSE live END AS b",
)
"""Values, beside how many of their group's rows count at least, a, and at most, b."""

_SURE = (
    "cell",
    "v",
    "n",
    *(
        part.format(at=at, side=side)
        for side, at in (("low", "below"), ("high", "above"))
        for part in (
            "CASE WHEN a <= m_{at} THEN 0 WHEN a - m_{at} < m THEN a - m_{at} ELSE m END "
            "AS {side}_sure",
            "b - a - n_{at} + CASE WHEN a < m_{at} THEN a ELSE m_{at} END AS {side}_left",
        )
    ),
)
"""The first a of the rows that are surely meant count; of the others, what these leave to be."""

_COUNTED = (
    "cell",
    "v",
    *(
        part.format(side=side)
        for side in ("low", "high")
        for part in (
            "SUM({side}_sure) AS {side}_sure",
            "SUM(CASE WHEN {side}_left <= 0 THEN 0 WHEN {side}_left < n - {side}_sure "
            "THEN {side}_left ELSE n - {side}_sure END) AS {side}_maybe",
        )
    ),
)
