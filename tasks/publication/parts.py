"""Releases in parts: the whole's view of its parts, and one part beside all others.

A promise that compares a group with all rows is judged with the rows of all other parts as one
further group. That group is no worse than the worst of the groups that it is made of, because its
shares are means of theirs.

Each part is a release of its own below `parts/`. The whole is the release of all parts together:
its declaration, verdicts and pages follow from those of its parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

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
from sfumato.expectations.shared.arrow import add_counts, places_among
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.forms.targets import digest_of_domain, number_of_targets
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.files import regular
from sfumato.tasks.schema.names import TARGETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.assessment import Assessment, SeenGroups, Verdicts
from sfumato.tasks.terms.parts import PublishedPart
from sfumato.tasks.terms.terms import Declared, RowCounts, Terms

if TYPE_CHECKING:
    from sfumato.tasks.terms.kept_policy import PolicyFinding

JudgePromises = Callable[[Sequence[tuple[PrivacyModel, Groups]]], tuple[Finding, ...]]
"""Judges promises by the groups that each is about."""
SUMMED = ("published", "suppressed", "fakes", "vacant", "not_represented_versions")
"""The row counts of the whole that are sums over its parts."""


@dataclass
class Totals:
    """The frequency of each value of a sensitive column in all parts (int64, one per value)."""

    name: str
    values: pa.Array | None = None
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, counts: Counts) -> None:
        """Count the values of a part's groups."""
        self.add_values(labels_of(counts), counts.totals)

    def add_totals(self, other: "Totals") -> None:
        """Count the values that another object counted."""
        if other.values is not None:
            self.add_values(other.values, other.counts)

    def add_values(self, values: pa.Array, counts: np.ndarray) -> None:
        """Count values (each once) with their frequencies (int64)."""
        before = [] if self.values is None else [(self.values, self.counts)]
        self.values, self.counts = add_counts([*before, (values, counts)])

    def write(self, path: Path, *, nulls: bool = True) -> None:
        """Write the values and their counts as Parquet, nulls among them if these are wanted."""
        table = pa.table({"value": self.values, "count": self.counts})
        pq.write_table(table if nulls else table.filter(pc.is_valid(table["value"])), path)

    @classmethod
    def read(cls, path: Path, name: str) -> "Totals":
        """Return the totals of a column that were written to a file."""
        table = pq.ParquetFile(regular(path)).read()
        return cls(name, table["value"].combine_chunks(), table["count"].to_numpy())


def labels_of(counts: Counts) -> pa.Array:
    """Return the values that are counted; as many nulls if they are not known."""
    return pa.nulls(counts.values) if counts.labels is None else counts.labels


def with_rest(groups: Groups, totals: Totals, columns: Mapping[str, DeclaredColumn]) -> Groups:
    """Return the groups of a part, and after them one group of the rows of all other parts.

    There is no further group if other parts have no rows.

    Args:
        groups: the groups of the part.
        totals: the frequency of each value of a sensitive column in all parts.
        columns: the declared columns.
    """
    counts = groups.counts_of(totals.name)
    here = np.zeros(len(totals.counts), dtype=np.int64)
    place = places_among(labels_of(counts), totals.values)
    np.add.at(here, place, counts.totals)
    rest = totals.counts - here
    others = np.flatnonzero(rest)
    whole = _whole(totals, columns[totals.name])
    joined = replace(
        counts,
        group=np.append(counts.group, np.full(len(others), len(groups))),
        value=np.append(place[counts.value], others),
        count=np.append(counts.count, rest[others]),
        values=whole.values,
        numbers=whole.numbers,
        labels=whole.labels,
        ancestors=whole.ancestors,
    )
    sizes = np.append(groups.sizes, rest.sum()) if len(others) else groups.sizes
    return Groups(sizes, {totals.name: joined})


def _whole(totals: Totals, column: DeclaredColumn) -> Coded:
    """Return all values as a counted attribute; sensitive ones contain no nulls."""
    values = pa.array([], pa.null()) if totals.values is None else totals.values
    every = Column(totals.name, "sensitive", values, np.arange(len(values), dtype=np.int32))
    if column.hierarchy is not None:
        every = with_ancestors(every, hierarchy_of(every, column.hierarchy))
    return every.counted_codes()


@dataclass(frozen=True, eq=False)
class SeenPart:
    """The whole's view of one part.

    Attributes:
        columns: the columns that it declares.
        rows: the counts of its rows by what became of them.
        sizes: the sizes of its groups (int64).
        verdicts: the verdict on each promise, in order.
        totals: the frequency of each value, by the sensitive columns of promises that compare
            groups with all rows.
        targets: the number of different distributions that its groups are declared to have.
        domain: a digest of the values that these distributions are over, None without any.
    """

    columns: Mapping[str, DeclaredColumn]
    rows: RowCounts
    sizes: np.ndarray
    verdicts: tuple[Verdict, ...]
    totals: Mapping[str, Totals]
    targets: int = 0
    domain: str | None = None


def compared_columns(promises: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """Return the sensitive columns of promises that compare groups with all rows."""
    return tuple(dict.fromkeys(str(p.sensitive) for p in promises if p.compares_with_all))


def see_part(assessment: Assessment, promises: Sequence[PrivacyModel]) -> SeenPart:
    """Return the whole's view of a part that was judged by itself.

    Args:
        assessment: the assessment of the part.
        promises: the promises of the whole.
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
    """The first numbers of a part's groups and of its targets among those of all parts."""

    first_group: int = 0
    first_target: int = 0

    def next_place(self, groups: int, targets: int) -> "PlaceOfPart":
        """Return the place of the next part."""
        return PlaceOfPart(self.first_group + groups, self.first_target + targets)


@dataclass
class SeenParts:
    """The whole's view of all its parts.

    Attributes:
        terms: the terms of the whole.
        columns: the columns that its parts declare.
        rows: the row counts of each part.
        sizes: the sizes of the groups of each part (int64).
        verdicts: for each part, the verdict on each promise.
        totals: the frequency of each value, by the sensitive columns of promises that compare
            groups with all rows.
        targets: the numbers of distributions that the groups of each part are declared to have.
        domains: the digests of the values that these distributions are over; all parts have to have
            the same one, or None.
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
    def compared_promises(self) -> tuple[PrivacyModel, ...]:
        """The promises that compare groups with all rows: each part is judged again for them."""
        return tuple(p for p in self.terms.promises if p.compares_with_all)

    def add(self, part: SeenPart) -> None:
        """Add another part.

        Raises:
            PromiseError: where its columns, or the values that its distributions are over, are not
                those of other parts.
        """
        self.columns = self.columns or dict(part.columns)
        if self.columns != part.columns:
            raise PromiseError("declares other columns than the parts before it")
        self.domains.add(part.domain)
        if len(self.domains) > 1:
            raise PromiseError(f"{TARGETS}: are about other values than in the parts before it")
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
            groups: its groups as they are shown.
            judge: judges them beside one group that all other parts make together.

        Raises:
            PromiseError: where a promise was not judged.
        """
        groups_of_part = [_groups(groups, promise) for promise in self.compared_promises]
        seen = [
            (p, with_rest(part_groups, self.totals[str(p.sensitive)], self.terms.columns))
            for p, part_groups in zip(self.compared_promises, groups_of_part, strict=True)
        ]
        judged = iter(zip(judge(seen) if seen else (), groups_of_part, strict=True))
        for place, promise in enumerate(self.terms.promises):
            if promise.compares_with_all:
                finding, part_groups = next(judged)
                verdict = verdict_of(promise, finding)
                self.verdicts[number][place] = replace(verdict, groups=len(part_groups))

    def all_verdicts(self) -> Verdicts:
        """Return every promise with the verdict on all groups.

        Raises:
            PromiseError: where there is no part.
        """
        if not self.verdicts:
            raise PromiseError("no part was judged")
        columns = zip(*self.verdicts, strict=True)
        pairs = zip(self.terms.promises, columns, strict=True)
        return tuple((promise, promise.together(verdicts)) for promise, verdicts in pairs)

    def declare(
        self,
        parts: Sequence[PublishedPart],
        lost: Mapping[str, int],
        software: dict[str, str],
        away: int = 0,
    ) -> Declared:
        """Return the declaration of the whole.

        Args:
            parts: the parts that it is made of.
            lost: the numbers of rows read from the source, and of rows dropped before there were
                parts, by the names of `RowCounts`.
            software: the versions of the software that made it, by package.
            away: the number of rows in parts that show nobody.
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
    """Return the terms that one of `number` parts declares by itself.

    Promises that compare with all rows are an exception: a part may state them otherwise.
    """
    title = f"{terms.title[:160]} (part {int(name)} of {number})"
    return terms.model_copy(update={"parts": None, "title": title})


def findings_of(verdicts: Verdicts) -> tuple[Finding, ...]:
    """Return verdicts on all groups as findings."""
    findings = []
    for promise, verdict in verdicts:
        expectation = expectation_of(promise)
        seen = observation(verdict)
        findings.append(
            Finding(GROUPS, expectation.type, expectation.parameters, verdict.holds, seen)
        )
    return tuple(findings)


def rule_findings_of_whole(declared: Declared, verdicts: Verdicts) -> "tuple[PolicyFinding, ...]":
    """Return the rules of a policy on all parts as findings; none without a policy."""
    if declared.policy is None:
        return ()
    from sfumato.tasks.terms.kept_policy import policy_findings  # few releases have a policy

    return tuple(policy_findings(declared, verdicts, None))


def observations_of(verdicts: Verdicts) -> list[dict[str, Any]]:
    """Return verdicts as a manifest contains them."""
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
