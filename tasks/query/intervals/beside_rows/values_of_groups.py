"""The values of groups that exact rows stand beside, one by one or counted."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import exact
from sfumato.tasks.query.engines.direct.coded_values import CodedValues
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns


@dataclass(frozen=True, eq=False)
class ValuesOfColumn:
    """The values of groups in a table, and how often each stands there (None: once)."""

    table: PublishedColumns
    column: CodedValues
    times: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """How often each stands there (float64)."""
        if self.times is None:
            return np.ones(len(self.column.codes))
        return self.times.astype(np.float64)

    @property
    def known(self) -> pa.Array:
        """The values by code, without null, which is the last."""
        return self.column.values.drop_null()

    @property
    def there(self) -> np.ndarray:
        """Which are not null (bool)."""
        there: np.ndarray = self.column.codes < len(self.known)
        return there

    def by_code(self, name: str) -> np.ndarray:
        """The values as numbers (float64), without null."""
        known = exact(self.known, name)
        by_code: np.ndarray = known.units.astype(np.float64) / 10**known.digits
        return by_code

    def numbers(self, name: str) -> np.ndarray:
        """Each as a number (float64), 0 where there is none."""
        numbers: np.ndarray = np.append(self.by_code(name), 0.0)[self.column.codes]
        return numbers
