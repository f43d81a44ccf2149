"""Promises, partition, form and workloads that will work on a table, given its columns' roles."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sfumato.tasks.profile.facts import ColumnFacts
from sfumato.tasks.profile.skeletons import round_up
from sfumato.tasks.schema.columns import ORDERED

_L = 3
_K = ((100, 5), (30, 3), (0, 2))  # from so many rows on
_SPANS = (20, 10, 4, 2)  # parts of a column's range
_MOST = 2  # quasi-identifiers over which ranges are asked
_OPPOSED = 2  # quasi-identifiers of which counts are asked together


def propose_promises(sensitive: Sequence[ColumnFacts], rows: int) -> list[dict[str, Any]]:
    """k-anonymity, and different values of each sensitive column in every group.

    The whole table keeps them, and so a partition that merges what does not can keep them.
    """
    k = next(k for least, k in _K if rows >= least)
    promises: list[dict[str, Any]] = [{"model": "k-anonymity", "k": k}]
    for one in sensitive:
        different = max(2, min(_L, one.distinct + bool(one.missing)))
        promise: dict[str, Any] = {"model": "l-diversity", "variant": "distinct", "l": different}
        promises.append(promise | ({"sensitive": one.name} if len(sensitive) > 1 else {}))
    return promises


def propose_workloads(
    known: Sequence[ColumnFacts], sensitive: Sequence[ColumnFacts]
) -> list[dict[str, Any]]:
    """Counts and averages over ranges of quasi-identifiers, and counts of several together."""
    return list(_workloads(known, sensitive))


def _workloads(
    known: Sequence[ColumnFacts], sensitive: Sequence[ColumnFacts]
) -> Iterator[dict[str, Any]]:
    if not sensitive or not known:
        return
    several = len(sensitive) > 1
    ranged = [(one, spans) for one in known if (spans := _spans(one))]
    for one, spans in ranged[:_MOST]:
        over = {"over": one.name, "spans": spans}
        first = {"of": sensitive[0].name} if several else {}
        yield {"kind": "range", "aggregate": "count", **over, **first}
        for number in (s for s in sensitive if s.is_number):
            of = {"of": number.name} if several else {}
            yield {"kind": "range", "aggregate": "avg", **over, **of}
    for one in sensitive:
        of = {"of": one.name} if several else {}
        yield {"kind": "counts", "attributes": min(_OPPOSED, len(known)), **of}


def _spans(one: ColumnFacts) -> list[int]:
    """Round widths that are parts of a column's range; none where it has no ranges."""
    if one.type not in ORDERED or one.type == "timestamp" or one.distinct < _SPANS[-2]:
        return []
    length = _length(one.column.values[0].as_py(), one.column.values[-1].as_py())
    return sorted({round_up(length / part) for part in _SPANS if length / part >= 1})


def _length(first: Any, last: Any) -> float:
    if isinstance(first, date | datetime):
        return float((last - first).days)
    return float(last - first)


def propose_nulls(one: ColumnFacts) -> Mapping[str, str]:
    """A null policy for a column that has nulls: their rows stay."""
    return {"nulls": "category"} if one.missing else {}
