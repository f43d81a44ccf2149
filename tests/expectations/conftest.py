from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from expectations.counting import Coded, count, numbers_of
from expectations.groups import Groups

Rows = Sequence[tuple[Hashable, Any]]


def _groups_of(rows: Rows, type_: pa.DataType | None = None, name: str = "s") -> Groups:
    keys = {key: code for code, key in enumerate(dict.fromkeys(key for key, _ in rows))}
    shown = {value for _, value in rows}
    values = [*([None] if None in shown else []), *sorted(shown - {None})]
    codes = {value: code for code, value in enumerate(values)}
    numbers = numbers_of(pa.array(values, type_), None in shown, name)
    key = np.array([keys[key] for key, _ in rows], dtype=np.int64)
    code = np.array([codes[value] for _, value in rows], dtype=np.int64)
    return count(
        key, max(len(keys), 1), {name: Coded(code, len(values), numbers, pa.array(values, type_))}
    )


@pytest.fixture(scope="session")
def groups_of() -> Callable[..., Groups]:
    """Groups, numbered as they first appear, of rows that are pairs of a key and a value."""
    return _groups_of
