"""Promises that judge the parts of a table, also against attackers who know some values.

A part is judged by its own rows. If a promise is about fewer quasi-identifiers than are cut, or if
parts look alike when published, the groups of the release are unions of parts. Parts that keep a
monotone promise keep it together, too; other promises are not accepted. Of promises about presence
only each part's own is judged here, and the gate judges all parts together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import Coded, count, count_people, cover, dense, pack
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, OwnedRows, key

Category = tuple[np.ndarray, int]
"""The value of each row (int64), and the number of values."""


@dataclass(frozen=True, eq=False)
class PartJudge:
    """Promises, the sensitive attributes that they are about, and the number of all rows.

    `person` is the number of each row's person, if promises are to be kept over people, too.
    `totals` are the counts of each attribute's values in all rows, if all rows are more than those
    in `sensitive`. `admitted` are the quasi-identifiers of promises about presence: a part admits
    the values that its rows have, and is judged as one group by itself. `related` has the rows of
    a second table that belong to the people of parts.
    """

    promises: Sequence[PrivacyModel]
    sensitive: Mapping[str, Coded]
    rows: int
    person: np.ndarray | None = None
    totals: Mapping[str, np.ndarray] | None = None
    admitted: Mapping[str, Category] = field(default_factory=dict)
    related: OwnedRows | None = None

    @classmethod
    def from_microdata(cls, microdata: Microdata, promises: Sequence[PrivacyModel]) -> "PartJudge":
        """Return a judge of the rows of a table.

        Raises:
            PromiseError: if parts cannot be judged only by their rows.
        """
        for number, promise in enumerate(promises):
            why = _unjudgeable(promise)
            if why is not None:
                raise PromiseError(
                    f"promises.{number}: parts cannot be cut for {promise.name}, because {why}; "
                    "leave it out, or use another partition"
                )
        named = {promise.sensitive for promise in promises if promise.sensitive}
        named |= {name for promise in promises for name in promise.known_columns}
        own = sorted(name for name in named if microdata.has(name))
        coded = {name: microdata[name].counted_codes() for name in own}
        covered = {n for p in promises if p.needs_covers for n in p.quasi_identifiers or ()}
        admitted = {name: microdata[name].category() for name in sorted(covered)}
        return cls(
            promises,
            coded,
            microdata.rows,
            microdata.person,
            admitted=admitted,
            related=microdata.related,
        )

    def require(self, part: np.ndarray, parts: int) -> None:
        """Make sure that the strata, which are the first parts, keep every promise.

        `part` is the part of each row of the table (int64), below `parts`.

        Raises:
            PromiseError: if one breaks a promise.
        """
        for number, promise in enumerate(self.promises):
            broken = replace(self, promises=[promise]).broken(np.arange(len(part)), part, parts)
            if broken.any():
                raise PromiseError(
                    f"promises.{number}: {promise.name} cannot be kept: {int(broken.sum())} of "
                    f"{parts} strata break it even as one group. Promise less, or use fewer strata"
                )

    def broken(self, rows: np.ndarray, part: np.ndarray, parts: int) -> np.ndarray:
        """Mark the parts that break a promise (bool, one per part).

        Args:
            rows: positions of rows (int64).
            part: the part of each of them (int64; 0, 1, …, each occurring).
            parts: the number of parts.
        """
        broken = np.zeros(parts, dtype=bool)
        of_related = [promise for promise in self.promises if self._is_about_related(promise)]
        if of_related:
            groups = self._with_related(of_related, rows, part, parts)
            broken |= np.any([promise.failing(groups) for promise in of_related], axis=0)
        for promise in self.promises:
            if self._is_about_related(promise):
                continue
            groups, owner = self._groups(promise, rows, part, parts)
            broken[owner[promise.failing(groups)[: len(owner)]]] = True
            if self.person is not None:
                broken |= self._broken_over_people(promise, rows, part, parts)
        return broken

    def _is_about_related(self, promise: PrivacyModel) -> bool:
        """Return True if a promise is about people and rows of a second table here."""
        return promise.of_related and (self.related is not None or "rows" not in promise.ways)

    def _with_related(
        self, promises: Sequence[PrivacyModel], rows: np.ndarray, part: np.ndarray, parts: int
    ) -> Groups:
        """Return parts as groups of people, with what promises count of their related rows.

        Raises:
            PromiseError: if the table has no related rows.
        """
        from sfumato.expectations.groups.related import count_related  # few tables have such rows

        if self.related is None:
            raise PromiseError(f"{promises[0].name}: the table has no related rows")
        part_of_person = np.full(self.rows, -1, dtype=np.int64)
        part_of_person[rows] = part
        inside = np.flatnonzero(part_of_person[self.related.owner] >= 0)
        owner, named = self.related.owner[inside], {p.sensitive for p in promises if p.sensitive}
        coded = {name: self._related_codes[name] for name in sorted(named)}
        counted = count_related(
            part_of_person[owner],
            owner,
            {name: column._replace(codes=column.codes[inside]) for name, column in coded.items()},
            owners=any(promise.counts_owners for promise in promises),
        )
        return Groups(np.bincount(part, minlength=parts), {}, related=counted)

    @cached_property
    def _related_codes(self) -> Mapping[str, Coded]:
        columns = () if self.related is None else self.related.table.columns
        return {column.name: column.counted_codes() for column in columns}

    def _broken_over_people(
        self, promise: PrivacyModel, rows: np.ndarray, part: np.ndarray, parts: int
    ) -> np.ndarray:
        """Mark the parts that break a promise over people (bool, one per part)."""
        person, group = np.asarray(self.person), part
        if promise.compares_with_all:
            group = np.full(self.rows, parts)
            group[rows], rows = part, np.arange(self.rows)
        named = [promise.sensitive] if promise.sensitive else []
        coded = {n: self.sensitive[n]._replace(codes=self.sensitive[n].codes[rows]) for n in named}
        groups = count(group, parts + 1, coded)
        codes = {name: column.codes for name, column in coded.items()}
        people = count_people(group, person[rows], groups, codes)
        return promise.failing_over_people(people)[:parts]

    def _groups(
        self, promise: PrivacyModel, rows: np.ndarray, part: np.ndarray, parts: int
    ) -> tuple[Groups, np.ndarray]:
        """Return the groups that an adversary can separate, and the part of each group.

        If there are other rows, these are one more group at the end, without a part.
        """
        owner, known_values = (
            np.arange(parts),
            [self.sensitive[name] for name in promise.known_columns],
        )
        if known_values:
            codes = [part, *(other.codes[rows] for other in known_values)]
            group, groups = dense(
                pack(codes, [parts, *(other.values for other in known_values)])[0]
            )
            owner = np.empty(groups, dtype=np.int64)
            owner[group] = part
            part = group
        sizes = np.bincount(part, minlength=len(owner))
        counted = {}
        if (name := promise.sensitive) is not None:
            coded = self.sensitive[name]
            coded = coded._replace(codes=coded.codes[rows])
            counted = dict(count(part, len(owner), {name: coded}).sensitive)
        if promise.needs_covers:
            covers = {
                name: cover(part, codes[rows], values)
                for name, (codes, values) in self.admitted.items()
                if name in (promise.quasi_identifiers or ())
            }
            return Groups(sizes, counted, covers), owner
        if (others := self.rows - len(rows)) > 0:
            sizes = np.append(sizes, others)
            counted = {name: self._with_others(name, c, len(owner)) for name, c in counted.items()}
        return Groups(sizes, counted), owner

    def _with_others(self, name: str, counts: Counts, group: int) -> Counts:
        """Return the counts with those of one more group, which has all other rows.

        Promises that compare a group with all rows need it; it makes no difference to others.
        """
        others = self._totals[name] - counts.totals
        value = np.flatnonzero(others)
        return replace(
            counts,
            group=np.append(counts.group, np.full(len(value), group)),
            value=np.append(counts.value, value),
            count=np.append(counts.count, others[value]),
        )

    @cached_property
    def _totals(self) -> Mapping[str, np.ndarray]:
        if self.totals is not None:
            return self.totals
        return {n: np.bincount(c.codes, minlength=c.values) for n, c in self.sensitive.items()}


def _unjudgeable(promise: PrivacyModel) -> str | None:
    if promise.reference_uri is not None:
        return "it is about a population"
    if promise.of_whole_people:
        return "it is about the members of households together, who are in several parts"
    if promise.monotone or promise.needs_covers:
        return None
    return "parts that keep it may break it together"


@dataclass(frozen=True, eq=False)
class WithKnownValues:
    """A promise that must hold in each group for every value of known attributes.

    A pair has the known values of a row, numbered as one, and its sensitive value.

    Attributes:
        promise: the promise.
        name: the name under which groups count the pairs, also in errors.
        pairs: the pair of each row, coded.
        known: the number of the known values of each pair (int64, one per pair).
        value: the sensitive value of each pair (int64, one per pair).
        sensitive: the protected attribute of each row, coded.
    """

    promise: PrivacyModel
    name: str
    pairs: Coded
    known: np.ndarray
    value: np.ndarray
    sensitive: Coded

    @classmethod
    def from_microdata(cls, promise: PrivacyModel, microdata: Microdata) -> "WithKnownValues":
        """Return a promise with the pairs that occur in a table."""
        sensitive = microdata[str(promise.sensitive)].counted_codes()
        known_codes, _ = dense(
            key([microdata[name] for name in promise.known_columns], microdata.rows)[0]
        )
        values = max(sensitive.values, 1)
        distinct, codes = np.unique(known_codes * values + sensitive.codes, return_inverse=True)
        name = f"{promise.name} of {promise.sensitive!r} knowing {', '.join(promise.known_columns)}"
        return cls(
            promise, name, Coded(codes, len(distinct)), *np.divmod(distinct, values), sensitive
        )

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break the promise for some known value (bool, one per group)."""
        pairs = groups.counts_of(self.name)
        part, parts = dense(pairs.group * (int(self.known.max()) + 1) + self.known[pairs.value])
        sizes = np.bincount(part, pairs.count, parts).astype(np.int64)
        coded, value = self.sensitive, self.value[pairs.value]
        counts = Counts(
            part, value, pairs.count, coded.values, coded.numbers, coded.labels, coded.ancestors
        )
        known_groups = Groups(sizes, {str(self.promise.sensitive): counts})
        of_part = np.empty(parts, dtype=np.int64)
        of_part[part] = pairs.group
        failing = np.zeros(len(groups), dtype=bool)
        failing[of_part[self.promise.failing(known_groups)]] = True
        return failing
