"""Releases in parts: what the whole shows of its parts, and of one part beside all others.

What compares a group with all rows sees all rows so. The one group is no worse than the worst of
those that it is made of: shares in it are means of theirs.

Each part is a release of its own below `parts/`; the whole has what follows from all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.rules.verdicts import (
    GROUPS,
    Finding,
    expectation_of,
    observation,
    verdict_of,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.forms.targets import digest_of_domain, number_of_targets
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.names import TARGETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.assessment import Assessment, SeenGroups, Verdicts
from sfumato.tasks.terms.parts import PublishedPart
from sfumato.tasks.terms.terms import Declared, RowCounts, Terms

JudgePromises = Callable[[Sequence[tuple[PrivacyModel, Groups]]], tuple[Finding, ...]]
"""Judges promises by the groups that each is about."""
SUMMED = ("published", "suppressed", "fakes", "vacant", "not_represented_versions")
"""Counts of rows that are those of all parts together."""


@dataclass
class Totals:
    """How often each value of a sensitive column occurs in all parts (int64, one per value)."""

    name: str
    values: pa.Array | None = None
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, counts: Counts) -> None:
        """Count the values of a part's groups."""
        self.add_values(labels_of(counts), counts.totals)

    def add_totals(self, other: "Totals") -> None:
        """Count what others counted."""
        if other.values is not None:
            self.add_values(other.values, other.counts)

    def add_values(self, values: pa.Array, counts: np.ndarray) -> None:
        """Count values (each once), so many of each (int64)."""
        if self.values is None:
            self.values = values.slice(0, 0)
        known = self.values.cast(values.type)
        every = pc.unique(pa.concat_arrays([known, values]))
        every = every.take(pc.sort_indices(every))
        summed = np.zeros(len(every), dtype=np.int64)
        for of, number in ((known, self.counts), (values, counts)):
            np.add.at(summed, places(of, every), number)
        self.values, self.counts = every, summed


def labels_of(counts: Counts) -> pa.Array:
    """The values that counts are of."""
    return pa.nulls(counts.values) if counts.labels is None else counts.labels


def places(values: pa.Array, among: pa.Array) -> np.ndarray:
    """Where values stand among others that have all of them (int64)."""
    found = pc.index_in(values, value_set=among)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def with_rest(groups: Groups, totals: Totals, columns: Mapping[str, DeclaredColumn]) -> Groups:
    """The groups of a part, and after them one of the rows of all others."""
    counts = groups.counts_of(totals.name)
    here = np.zeros(len(totals.counts), dtype=np.int64)
    place = places(labels_of(counts), totals.values)
    np.add.at(here, place, counts.totals)
    left = totals.counts - here
    others = np.flatnonzero(left)
    whole = _whole(totals, columns[totals.name])
    joined = replace(
        counts,
        group=np.append(counts.group, np.full(len(others), len(groups))),
        value=np.append(place[counts.value], others),
        count=np.append(counts.count, left[others]),
        values=whole.values,
        numbers=whole.numbers,
        labels=whole.labels,
        ancestors=whole.ancestors,
    )
    sizes = np.append(groups.sizes, left.sum()) if len(others) else groups.sizes
    return Groups(sizes, {totals.name: joined})


def _whole(totals: Totals, column: DeclaredColumn) -> Coded:
    """All values as an attribute that is counted; there are no nulls among sensitive ones."""
    values = pa.array([], pa.null()) if totals.values is None else totals.values
    every = Column(totals.name, "sensitive", values, np.arange(len(values), dtype=np.int32))
    if column.hierarchy is not None:
        every = with_ancestors(every, hierarchy_of(every, column.hierarchy))
    return every.coded()


@dataclass(frozen=True, eq=False)
class SeenPart:
    """What the whole needs to know of a part.

    Attributes:
        columns: as it declares them.
        rows: what became of its rows.
        sizes: of its groups (int64).
        verdicts: on each promise, in order.
        totals: how often each value occurs, by the sensitive columns of promises that compare
            groups with all rows.
        targets: how many distributions its groups are declared to have.
        domain: a digest of the values that these are over, None where there are none.
    """

    columns: Mapping[str, DeclaredColumn]
    rows: RowCounts
    sizes: np.ndarray
    verdicts: tuple[Verdict, ...]
    totals: Mapping[str, Totals]
    targets: int = 0
    domain: str | None = None


def compared_columns(promises: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """The sensitive columns of promises that compare groups with all rows."""
    return tuple(dict.fromkeys(str(p.sensitive) for p in promises if p.compares_with_all))


def see_part(assessment: Assessment, promises: Sequence[PrivacyModel]) -> SeenPart:
    """What is seen of a part that was judged by itself.

    Args:
        assessment: of the part.
        promises: of the whole.
    """
    totals = dict[str, Totals]()
    for promise in promises:
        name = str(promise.sensitive)
        if promise.compares_with_all and name not in totals:
            totals[name] = Totals(name)
            totals[name].add(_groups(assessment.groups, promise).counts_of(name))
    return SeenPart(
        columns=dict(assessment.declared.columns),
        rows=assessment.declared.rows,
        sizes=assessment.groups.of_all().live,
        verdicts=tuple(verdict for _, verdict in assessment.verdicts),
        totals=totals,
        targets=number_of_targets(assessment.tables),
        domain=digest_of_domain(assessment.tables),
    )


@dataclass(frozen=True)
class PlaceOfPart:
    """Where the numbers of a part's groups and of its targets begin among those of all parts."""

    first_group: int = 0
    first_target: int = 0

    def after(self, groups: int, targets: int) -> "PlaceOfPart":
        """Where those of the next part begin."""
        return PlaceOfPart(self.first_group + groups, self.first_target + targets)


@dataclass
class SeenParts:
    """All that the whole needs to know of its parts.

    Attributes:
        terms: what is declared of the whole.
        columns: as its parts declare them.
        rows: what became of the rows of all parts.
        sizes: of the groups of each part (int64).
        verdicts: of each promise the one on each part.
        totals: how often each value occurs, by the sensitive columns of promises that compare
            groups with all rows.
        targets: how many distributions the groups of each part are declared to have.
        domains: digests of the values that these are over: one, or none.
    """

    terms: Terms
    columns: dict[str, DeclaredColumn] = field(default_factory=dict)
    rows: list[RowCounts] = field(default_factory=list)
    sizes: list[np.ndarray] = field(default_factory=list)
    verdicts: list[list[Verdict]] = field(default_factory=list)
    totals: dict[str, Totals] = field(default_factory=dict)
    targets: list[int] = field(default_factory=list)
    domains: set[str | None] = field(default_factory=set)

    @property
    def compared(self) -> tuple[PrivacyModel, ...]:
        """The promises that compare groups with all rows: each part is judged again for them."""
        return tuple(p for p in self.terms.promises if p.compares_with_all)

    def add(self, part: SeenPart) -> None:
        """See another part.

        Raises:
            PromiseError: where its columns, or the values that its distributions are over, are not
                those of other parts.
        """
        self.columns = self.columns or dict(part.columns)
        if self.columns != part.columns:
            raise PromiseError("declares other columns than the parts before it")
        self.domains.add(part.domain)
        if len(self.domains) > 1:
            raise PromiseError(f"{TARGETS}: are over other values than in the parts before it")
        self.targets.append(part.targets)
        self.rows.append(part.rows)
        self.sizes.append(part.sizes)
        self.verdicts.append(list(part.verdicts))
        for name, totals in part.totals.items():
            self.totals.setdefault(name, Totals(name)).add_totals(totals)

    def compare(self, number: int, groups: SeenGroups, judge: JudgePromises) -> None:
        """Judge a part's groups by the promises that compare them with all rows.

        Args:
            number: of the part, from 0; every part was added before.
            groups: what is seen of it.
            judge: judges them beside one group that all other parts make together.

        Raises:
            PromiseError: where a promise was not judged.
        """
        alone = [_groups(groups, promise) for promise in self.compared]
        seen = [
            (p, with_rest(of, self.totals[str(p.sensitive)], self.terms.columns))
            for p, of in zip(self.compared, alone, strict=True)
        ]
        found = iter(zip(judge(seen) if seen else (), alone, strict=True))
        for place, promise in enumerate(self.terms.promises):
            if promise.compares_with_all:
                finding, of = next(found)
                verdict = verdict_of(promise, finding)
                self.verdicts[number][place] = replace(verdict, groups=len(of))

    def all_verdicts(self) -> Verdicts:
        """Every promise with the verdict on all groups.

        Raises:
            PromiseError: where there is no part.
        """
        if not self.verdicts:
            raise PromiseError("nothing was judged")
        columns = zip(*self.verdicts, strict=True)
        pairs = zip(self.terms.promises, columns, strict=True)
        return tuple((promise, promise.together(verdicts)) for promise, verdicts in pairs)

    def declared(
        self,
        parts: Sequence[PublishedPart],
        lost: Mapping[str, int],
        software: dict[str, str],
        away: int = 0,
    ) -> Declared:
        """What the whole declares.

        Args:
            parts: of which it is made.
            lost: rows read from the source, and those that no part has, by the names of counts.
            software: that made it.
            away: rows of people in parts of which nobody is shown.
        """
        summed = {name: sum(getattr(rows, name) for rows in self.rows) for name in SUMMED}
        summed["not_represented_versions"] += away
        terms = {name: getattr(self.terms, name) for name in Terms.model_fields}
        rows = RowCounts(**lost, **summed)
        terms["columns"] = self.columns
        return Declared(**terms, rows=rows, software=software, made_of=tuple(parts))

    @property
    def all_sizes(self) -> np.ndarray:
        """The rows of every group (int64)."""
        return np.concatenate(self.sizes)


def terms_of_part(terms: Terms, name: str, number: int) -> Terms:
    """What one of so many parts declares by itself, but for promises that compare with all rows."""
    title = f"{terms.title[:160]} (part {int(name)} of {number})"
    return terms.model_copy(update={"parts": None, "title": title})


def findings_of(verdicts: Verdicts) -> tuple[Finding, ...]:
    """Verdicts on all groups as findings."""
    found = []
    for promise, verdict in verdicts:
        wanted = expectation_of(promise)
        seen = observation(verdict)
        found.append(Finding(GROUPS, wanted.type, wanted.parameters, verdict.holds, seen))
    return tuple(found)


def observations_of(verdicts: Verdicts) -> list[dict[str, Any]]:
    """Verdicts as a manifest holds them."""
    return [
        {
            "promise": promise.parameters(),
            "groups": verdict.groups,
            "observed": {name: plain(value) for name, value in verdict.observed.items()},
        }
        for promise, verdict in verdicts
    ]


def _groups(groups: SeenGroups, promise: PrivacyModel) -> Groups:
    return groups.told_by(promise.adversary_columns, (str(promise.sensitive),))
