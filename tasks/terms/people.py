"""Owners of the rows of a release, for people who have several rows; no file shows them."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import count, count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.grouping import related_rows
from sfumato.tasks.microdata.table import Microdata, OwnedRows


@dataclass(frozen=True, eq=False)
class WhoseRows:
    """The rows of a release, each with its owner and its group.

    Attributes:
        group: of each row (int64), as the published tables number groups: by group id, or in the
            order of labels.
        rows: the sensitive attributes, each row's own, and whose they are.
    """

    group: np.ndarray
    rows: Microdata

    def in_groups(self, promise: PrivacyModel, seen: Groups) -> Groups:
        """Return the groups in which a promise is judged over people.

        Neither the files nor this is believed by itself.

        Args:
            promise: about all quasi-identifiers.
            seen: the groups of the published tables.

        Raises:
            PromiseError: where the groups are not those of the published tables.
        """
        if self.rows.related is not None:
            return self._with_owners(self.rows.related, promise, seen)
        counted = promise.counts_values() and promise.sensitive is not None
        named = [str(promise.sensitive)] if counted else []
        coded = {name: self.rows[name].counted_codes() for name in named}
        groups = count(self.group, int(self.group.max(initial=-1)) + 1, coded)
        if self.rows.person is None or not _alike(groups, seen):
            raise _other_groups()
        codes = {name: column.codes for name, column in coded.items()}
        people = count_people(self.group, self.rows.person, seen, codes)
        return replace(seen, people=people)

    def _with_owners(self, related: OwnedRows, promise: PrivacyModel, seen: Groups) -> Groups:
        """Return the groups with the owners of their related rows.

        Raises:
            PromiseError: where these are not the groups of the published tables.
        """
        named = [promise.sensitive] if promise.sensitive and promise.of_related else []
        counted = related_rows(related, self.group, named)
        people = np.bincount(self.group, minlength=len(seen))
        if seen.related is None or not np.array_equal(people, seen.sizes):
            raise _other_groups()
        same = (
            np.array_equal(counted.group, seen.related.group)
            and np.array_equal(counted.most, seen.related.most)
            and _alike(counted.rows, seen.related.rows)
        )
        if not same:
            raise _other_groups()
        return replace(seen, related=counted)


def _other_groups() -> PromiseError:
    return PromiseError(
        "the record of which rows belong to which people is about other groups than the published "
        "ones"
    )


def _alike(groups: Groups, seen: Groups) -> bool:
    """Return True if both have the same rows with the same values in the same groups."""
    pairs = ((counts, seen.sensitive.get(name)) for name, counts in groups.sensitive.items())
    return np.array_equal(groups.sizes, seen.sizes) and all(
        other is not None and _equal(counts, other) for counts, other in pairs
    )


def _equal(counts: Counts, other: Counts) -> bool:
    same = (
        np.array_equal(getattr(counts, part), getattr(other, part))
        for part in ("group", "value", "count")
    )
    if counts.labels is None or other.labels is None or not all(same):
        return False
    return bool(counts.labels.cast(other.labels.type).equals(other.labels))


class Identifiers(NamedTuple):
    """The columns that identify a row's person and household; None if there is no such column."""

    unit: str | None
    household: str | None = None

    @property
    def counted_column(self) -> str | None:
        """The column over whose values promises are kept, or None if they are kept over rows."""
        return self.household or self.unit
