"""Groups as one long table, so that a tool that validates tables can hold them, and back again.

Columns: `part` is the kind of a row, `attribute` the column that it is about; `group`, `value`,
`detail` and `count` are whole numbers whose meaning the part gives (-1 where it has none); `label`
and `number` are a sensitive value as text and as exact units, `digits` the decimals of these.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import INT64_MAX, Exact
from sfumato.expectations.groups.groups import (
    Counts,
    Cover,
    Groups,
    Joint,
    Population,
    Subdomains,
    Target,
)

_WHOLE = {"group": -1, "value": -1, "detail": -1, "digits": -1, "count": -1}
_TEXT = {"part": "", "attribute": "", "label": None, "number": None}


def to_frame(groups: Groups) -> pd.DataFrame:
    """Groups as one table of counts."""
    parts = [
        pd.DataFrame({**_TEXT, **_WHOLE, **part}).astype(dict.fromkeys(_TEXT, "str"))
        for part in _parts(groups)
    ]
    return pd.concat(parts, ignore_index=True)


def _parts(groups: Groups) -> Iterator[dict[str, Any]]:
    every = np.arange(len(groups))
    yield {"part": "size", "group": every, "count": groups.sizes}
    if groups.live is not groups.sizes:
        yield {"part": "live", "group": every, "count": groups.live}
    for name, counts in groups.sensitive.items():
        yield from _sensitive(name, counts)
    for name, cover in groups.covers.items():
        yield {"part": "cover", "attribute": name, "group": cover.group, "value": cover.value}
        yield {"part": "admissible", "attribute": name, "count": [cover.values]}
    if (population := groups.population) is not None:
        yield {"part": "population", "group": every, "count": population.sizes}
        yield {"part": "elsewhere", "count": [population.elsewhere]}
        for name, joint in population.joint.items():
            whole = {"group": joint.group, "value": joint.value, "detail": joint.cell}
            yield {"part": "joint", "attribute": name, "count": joint.count, **whole}
    for name, shown in groups.subdomains.items():
        whole = {"group": shown.group, "value": shown.node, "count": shown.count}
        yield {"part": "subdomain", "attribute": name, **whole}
        aim = {"group": every, "value": shown.target, "digits": 0 if shown.ordered else -1}
        yield {"part": "aim", "attribute": name, **aim}
        yield from _ancestors("leaf", name, shown.ancestors)
        for number, target in enumerate(shown.targets):
            whole = {"value": np.arange(len(target.parent)), "detail": target.parent}
            whole |= {"group": np.full(len(target.parent), number), "count": target.weight}
            yield {"part": "target", "attribute": name, **whole}


def _sensitive(name: str, counts: Counts) -> Iterator[dict[str, Any]]:
    part: dict[str, Any] = {"part": "sensitive", "attribute": name}
    part |= {"group": counts.group, "value": counts.value, "count": counts.count}
    if counts.labels is not None:
        labels = pc.cast(counts.labels, pa.string()).to_numpy(zero_copy_only=False)
        part["label"] = labels[counts.value]
    if counts.numbers is not None:
        texts = np.array([str(unit) for unit in counts.numbers.units.tolist()], dtype=object)
        part |= {"number": texts[counts.value], "digits": counts.numbers.digits}
    yield part
    yield from _ancestors("ancestor", name, counts.ancestors)


def _ancestors(part: str, name: str, ancestors: np.ndarray | None) -> Iterator[dict[str, Any]]:
    for level, nodes in enumerate([] if ancestors is None else ancestors):
        whole = {"value": np.arange(len(nodes)), "detail": np.full(len(nodes), level)}
        yield {"part": part, "attribute": name, "count": nodes, **whole}


def from_frame(df: pd.DataFrame) -> Groups:
    """Groups from the table that `to_frame` makes; the order of its rows and its index are free.

    Raises:
        PromiseError: where an attribute's counts leave a group out, so that it cannot be judged.
    """
    order = ["part", "attribute", "group", "detail", "value"]
    by_part = df.sort_values(order).groupby("part", observed=True, sort=False)
    parts = {str(name): part for name, part in by_part}
    admissible = {
        name: int(part["count"].iloc[0]) for name, part in _named(parts, "admissible").items()
    }
    sizes = _whole(parts.get("size", df.iloc[:0]), "count")
    groups = Groups(
        sizes,
        {
            name: _counts(part, _named(parts, "ancestor").get(name))
            for name, part in _named(parts, "sensitive").items()
        },
        {
            name: Cover(_whole(part, "group"), _whole(part, "value"), admissible[name])
            for name, part in _named(parts, "cover").items()
        },
        _population(parts),
        {name: _subdomains(parts, name) for name in _named(parts, "subdomain")},
        _whole(parts["live"], "count") if "live" in parts else sizes,
    )
    _require_every_group(groups)
    return groups


def _named(parts: dict[str, pd.DataFrame], kind: str) -> dict[str, pd.DataFrame]:
    if kind not in parts:
        return {}
    return {str(name): part for name, part in parts[kind].groupby("attribute", sort=False)}


def _columns(part: pd.DataFrame, *names: str) -> list[np.ndarray]:
    return [_whole(part, name) for name in names]


def _whole(part: pd.DataFrame, name: str) -> np.ndarray:
    return part[name].to_numpy(np.int64)


def _counts(part: pd.DataFrame, above: pd.DataFrame | None) -> Counts:
    group, value, count = _columns(part.sort_values(["group", "value"]), "group", "value", "count")
    described = part.drop_duplicates("value").sort_values("value")
    occurring = _whole(described, "value")
    ancestors = None
    values = int(occurring[-1]) + 1
    if above is not None:
        ancestors = _levels(above)
        values = ancestors.shape[1]
    numbers = None
    if (digits := int(part["digits"].iloc[0])) >= 0:
        units = np.zeros(values, dtype=object)
        units[occurring] = [int(text) for text in described["number"]]
        largest = max(abs(unit) for unit in units)
        numbers = Exact(units.astype(np.int64 if 2 * largest <= INT64_MAX else object), digits)
    labels = None
    if described["label"].notna().any():
        texts = np.full(values, None, dtype=object)
        texts[occurring] = [None if pd.isna(text) else text for text in described["label"]]
        labels = pa.array(texts, pa.string())
    return Counts(group, value, count, values, numbers, labels, ancestors)


def _levels(above: pd.DataFrame) -> np.ndarray:
    return _whole(above, "count").reshape(int(above["detail"].max()) + 1, -1)


def _population(parts: dict[str, pd.DataFrame]) -> Population | None:
    if "population" not in parts:
        return None
    joint = {
        name: Joint(*_columns(part, "group", "detail", "value", "count"))
        for name, part in _named(parts, "joint").items()
    }
    elsewhere = int(parts["elsewhere"]["count"].iloc[0])
    return Population(_whole(parts["population"], "count"), elsewhere, joint)


def _subdomains(parts: dict[str, pd.DataFrame], name: str) -> Subdomains:
    group, node, count = _columns(_named(parts, "subdomain")[name], "group", "value", "count")
    described = _named(parts, "target")[name].groupby("group", sort=True)
    targets = [
        Target(*_columns(nodes.sort_values("value"), "detail", "count")) for _, nodes in described
    ]
    aims = _named(parts, "aim")[name]
    above = _named(parts, "leaf").get(name)
    ancestors = None if above is None else _levels(above)
    ordered = bool((aims["digits"] == 0).all())
    of = _whole(aims, "value")
    return Subdomains(group, node, count, of, tuple(targets), ordered, ancestors)


def _require_every_group(groups: Groups) -> None:
    every = np.arange(len(groups))
    if len(groups.live) != len(groups):
        raise PromiseError("the rows that stand for people are not those of every group")
    for name, counts in groups.sensitive.items():
        if not np.array_equal(counts.group[counts.starts], every):
            raise PromiseError(f"the counts of {name!r} are not those of every group")
    for name, cover in groups.covers.items():
        if not np.array_equal(np.unique(cover.group), every):
            raise PromiseError(f"the values of {name!r} are not those of every group")
    for name, shown in groups.subdomains.items():
        if not np.array_equal(np.unique(shown.group), every):
            raise PromiseError(f"the subdomains of {name!r} are not those of every group")
