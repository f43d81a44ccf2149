"""Promises that hold even for adversaries who know some sensitive values of a person."""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.counting import Coded, dense
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, key


def known_columns(promise: PrivacyModel) -> tuple[str, ...]:
    """The sensitive columns that an adversary is assumed to know."""
    return promise.known_columns


@dataclass(frozen=True, eq=False)
class WithKnownValues:
    """A promise that must hold for every value, in each group, of attributes that are known.

    `pairs` are the known values and the sensitive one of each row, coded together; `known` and
    `value` are the two of each pair (int64, one per pair); `sensitive` is the protected attribute.
    """

    promise: PrivacyModel
    name: str
    pairs: Coded
    known: np.ndarray
    value: np.ndarray
    sensitive: Coded

    @classmethod
    def of(cls, promise: PrivacyModel, microdata: Microdata) -> "WithKnownValues":
        """A promise with the pairs that occur in a table."""
        sensitive = microdata[str(promise.sensitive)].coded()
        known, _ = dense(
            key([microdata[name] for name in known_columns(promise)], microdata.rows)[0]
        )
        values = max(sensitive.values, 1)
        distinct, codes = np.unique(known * values + sensitive.codes, return_inverse=True)
        name = (
            f"{promise.name} of {promise.sensitive!r} knowing {', '.join(known_columns(promise))}"
        )
        return cls(
            promise, name, Coded(codes, len(distinct)), *np.divmod(distinct, values), sensitive
        )

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break the promise for some known value (bool, one per group)."""
        pairs = groups.of(self.name)
        part, parts = dense(pairs.group * (int(self.known.max()) + 1) + self.known[pairs.value])
        sizes = np.bincount(part, pairs.count, parts).astype(np.int64)
        of, value = self.sensitive, self.value[pairs.value]
        counts = Counts(part, value, pairs.count, of.values, of.numbers, of.labels, of.ancestors)
        told = Groups(sizes, {str(self.promise.sensitive): counts})
        of_part = np.empty(parts, dtype=np.int64)
        of_part[part] = pairs.group
        failing = np.zeros(len(groups), dtype=bool)
        failing[of_part[self.promise.failing(told)]] = True
        return failing
