"""What is seen of each group: its size and the counts of its sensitive values.

Groups hold counts, never rows, and every privacy model is computed from them alone. They are
built by counting once: from dictionary codes by `count`, from published tables by a form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from expectations.errors import PromiseError
from expectations.exact import Exact, exact, is_ordered

if TYPE_CHECKING:  # measuring and checking start without pandas
    import pandas as pd

_INT64 = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each group shows each value of one sensitive attribute, sparse.

    `group`, `value` and `count` are parallel, sorted by group and then value, one entry for each
    pair that occurs; `value` numbers the attribute's distinct values in ascending order, the null
    first where there is one. `numbers` are those values as exact integers, None where the
    attribute has no order or holds nulls.
    """

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    values: int
    numbers: Exact | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", np.flatnonzero(np.diff(self.group, prepend=-1)))

    starts: np.ndarray = field(init=False)


@dataclass(frozen=True, eq=False)
class Groups:
    """The sizes of the groups (int64, one per group, in group order) and what they contain."""

    sizes: np.ndarray
    sensitive: Mapping[str, Counts]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Number of rows in all groups."""
        return int(self.sizes.sum())


def pack(codes: Sequence[np.ndarray], cardinalities: Sequence[int]) -> tuple[np.ndarray, int]:
    """One int64 key per row that tells any two different code vectors apart, and its bound.

    `codes` are parallel arrays with values in [0, cardinality). Where the product of the
    cardinalities exceeds 2^63 the key is made dense between columns: it never wraps.
    """
    if not codes:
        raise ValueError("a key needs at least one column")
    key = codes[0].astype(np.int64)
    bound = max(cardinalities[0], 1)
    for column, cardinality in zip(codes[1:], cardinalities[1:], strict=True):
        next_, values = column, max(cardinality, 1)
        if bound * values > _INT64:
            key, bound = dense(key)
        if bound * values > _INT64:
            next_, values = dense(column)
        key = key * values + next_.astype(np.int64)
        bound *= values
    return key, bound


def dense(key: np.ndarray) -> tuple[np.ndarray, int]:
    """Renumber keys as 0, 1, … in ascending order, and say how many there are."""
    ordered = np.sort(key)
    distinct = ordered[_starts(ordered)]
    return np.searchsorted(distinct, key).astype(np.int64), len(distinct)


def count(
    key: np.ndarray, bound: int, sensitive: Mapping[str, tuple[np.ndarray, int, Exact | None]]
) -> Groups:
    """Count rows by group key and sensitive value.

    Args:
        key: one int64 per row in [0, bound): rows with equal keys are one group.
        bound: above every key.
        sensitive: per attribute its codes (in ascending order of value), the number of codes, and
            the values of the codes as exact numbers where they have any.
    """
    sizes = np.diff(np.append(_starts(ordered := np.sort(key)), len(ordered)))
    if not sensitive:
        return Groups(sizes, {})
    keys = ordered[_starts(ordered)]
    return Groups(
        sizes, {name: _counts(key, bound, keys, *rest) for name, rest in sensitive.items()}
    )


def _counts(
    key: np.ndarray,
    bound: int,
    keys: np.ndarray,
    codes: np.ndarray,
    values: int,
    numbers: Exact | None,
) -> Counts:
    if bound * max(values, 1) > _INT64:
        key, keys = np.searchsorted(keys, key).astype(np.int64), np.arange(len(keys))
    pairs = np.sort(key * max(values, 1) + codes)
    starts = _starts(pairs)
    group_key, value = np.divmod(pairs[starts], max(values, 1))
    group = np.cumsum(np.diff(group_key, prepend=group_key[:1]) != 0)
    return Counts(group, value, np.diff(np.append(starts, len(pairs))), values, numbers)


def _starts(ordered: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])


def numbers_of(values: pa.Array, has_null: bool, name: str) -> Exact | None:
    """The distinct values of an attribute as exact numbers, None where they have no order."""
    return None if has_null or not is_ordered(values.type) else exact(values, name)


def to_frame(groups: Groups) -> "pd.DataFrame":
    """Groups as one long table of counts, so that a tool that validates tables can hold them.

    Columns: `attribute` ('' for the sizes), `group`, `value`, `number` (the exact value in units,
    as text; null where there is none), `digits` (of the units; -1 where there are none), `count`.
    """
    import pandas as pd

    sizes = {"group": np.arange(len(groups)), "value": -1, "digits": -1, "count": groups.sizes}
    parts = [pd.DataFrame({"attribute": "", "number": None} | sizes)]
    for name, counts in groups.sensitive.items():
        columns = {"group": counts.group, "value": counts.value, "count": counts.count}
        numbers: dict[str, object] = {"number": None, "digits": -1}
        if counts.numbers is not None:
            texts = np.array([str(unit) for unit in counts.numbers.units.tolist()], dtype=object)
            numbers = {"number": texts[counts.value], "digits": counts.numbers.digits}
        parts.append(pd.DataFrame({"attribute": name} | columns | numbers))
    return pd.concat([part.astype({"number": "str"}) for part in parts], ignore_index=True)


def from_frame(df: "pd.DataFrame") -> Groups:
    """Groups from the table that `to_frame` makes; the order of its rows and its index are free.

    Raises:
        PromiseError: where an attribute's counts leave a group out, so that it cannot be judged.
    """
    attribute = df["attribute"].to_numpy()
    whole = df[attribute == ""].sort_values("group")
    by_attribute = df[attribute != ""].groupby("attribute", dropna=False, observed=True, sort=False)
    sensitive = {
        str(name): _counts_from(part.sort_values(["group", "value"])) for name, part in by_attribute
    }
    every = np.arange(len(whole))
    for name, counts in sensitive.items():
        if not np.array_equal(counts.group[counts.starts], every):
            raise PromiseError(f"the counts of {name!r} are not those of every group")
    return Groups(whole["count"].to_numpy(np.int64), sensitive)


def _counts_from(part: "pd.DataFrame") -> Counts:
    value = part["value"].to_numpy(np.int64)
    occurring, first = np.unique(value, return_index=True)
    values = int(occurring[-1]) + 1
    digits = int(part["digits"].iloc[0])
    numbers = None
    if digits >= 0:
        units = np.zeros(values, dtype=object)
        units[occurring] = [int(text) for text in part["number"].to_numpy()[first]]
        largest = max(abs(unit) for unit in units)
        numbers = Exact(units.astype(np.int64 if 2 * largest <= _INT64 else object), digits)
    return Counts(
        part["group"].to_numpy(np.int64), value, part["count"].to_numpy(np.int64), values, numbers
    )
