"""The next version of a composed line: people shown before stay, newcomers form a cohort.

The presence of people in all groups ever published adds up. Of the presence that (α,β)-privacy
still allows, each cohort takes a share. The distributions that values must follow are those of the
line's first version, over the values of that version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.candidates.anonymized import AnonymizedTable
from sfumato.tasks.candidates.followed import (
    counts_as_followed,
    lasting_columns,
    require_promises_kept,
    slots_as_followed,
)
from sfumato.tasks.continued.cohort import Grouping
from sfumato.tasks.continued.parameters import ComposedVersions, ContinuedVersions, asks_likelihoods
from sfumato.tasks.continued.rows import Drawn
from sfumato.tasks.continued.survivors import LineSoFar, Shape, stack
from sfumato.tasks.forms.composed import VACANCIES, composed_form
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, key
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.partitions.partition import Partition, TargetDistributions, with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.people.followed import FollowedLine
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.slots import LIVE, WITNESS, SlotMap, are_even, presence_ever
from sfumato.tasks.private.people.store import (
    erased_names,
    require_one_table,
    slots_so_far,
)
from sfumato.tasks.private.state import LineState, last_digest, read_state
from sfumato.tasks.terms.terms import Terms

if TYPE_CHECKING:
    from sfumato.tasks.continued.evolve import Evolved, Judge

_PLACES = 30  # of a share of presence, which is rounded down
_GROUP = "/group"


def partition_of_newcomers(
    terms: Terms, strata: Sequence[str], slots: SlotMap, randomness: Randomness
) -> Grouping:
    """Return the function that groups newcomers, beside the slots that the line has.

    If groups are another line's, newcomers wait for that line.
    """
    if line_of(terms.partition) is not None:
        return _everyone_waits
    partition = PARTITIONS[terms.partition.method]

    def group(cohort: Microdata) -> Partition:
        if len(slots):
            _require_known_values(terms, slots, cohort)
        promises = [_with_what_remains(promise, terms, slots) for promise in terms.promises]
        limits = terms.form.grouped_by(promises, terms.partition)
        grouped = partition(cohort, strata, limits, terms.partition, randomness)
        if terms.form.declares and grouped.target_distributions is None:
            grouped = _with_declared_targets(grouped, cohort, strata, promises)
        for promise in promises:
            if promise.judged_jointly:
                _require_share(promise, cohort, grouped)
        return grouped

    return group


def _with_declared_targets(
    grouped: Partition, cohort: Microdata, strata: Sequence[str], promises: Sequence[PrivacyModel]
) -> Partition:
    from sfumato.tasks.partitions.distribution.with_targets import with_declared_targets

    return with_declared_targets(grouped, cohort, strata, promises)


def _everyone_waits(_newcomers: Microdata) -> Partition:
    raise PromiseError("groups: people who are in no group of the other line wait")


def _with_what_remains(promise: PrivacyModel, terms: Terms, slots: SlotMap) -> PrivacyModel:
    """Return a promise across groups, with a cohort's share of what earlier versions left.

    Raises:
        PromiseError: if nothing is left.
    """
    most, wish = promise.most_present, terms.versions
    if most is None or not promise.judged_jointly or not isinstance(wish, ComposedVersions):
        return promise
    remaining = most - presence_ever(slots, promise)
    if remaining <= 0:
        raise PromiseError(
            f"{promise.name}: earlier versions have used all of α, so no later version can "
            "keep the promise"
        )
    return replace(promise, alpha=_rounded_down(wish.share * remaining))  # type: ignore[call-arg]


def _require_share(promise: PrivacyModel, cohort: Microdata, grouped: Partition) -> None:
    """Refuse groups that take more than a cohort's share of the presence that is still allowed.

    A partition may cut for each group's presence, or for none; this is that of all groups together.

    Args:
        promise: the promise, with α as the cohort's share.
        cohort: the newcomers.
        grouped: their groups.

    Raises:
        PromiseError: with both figures; the cohort waits, or there is no first version.
    """
    present = _presence_of(promise, cohort, grouped)
    most = promise.most_present
    if present is None or (most is not None and present > most):
        figure = "cannot be proven" if present is None else f"is {plain(present)}"
        raise PromiseError(
            f"versions.share: the largest presence in the groups of newcomers {figure}, "
            f"and their share of what {promise.name} still allows is {plain(most or 0)}. Use "
            "partition disjoint-cover, which aims at that, or a larger share"
        )


def _presence_of(promise: PrivacyModel, cohort: Microdata, grouped: Partition) -> Fraction | None:
    """Return the largest presence of anybody by some groups; None if it cannot be proven."""
    placed = np.flatnonzero(grouped.group >= 0)
    rows, covered = cohort.take(placed), promise.quasi_identifiers or ()
    number, groups = dense(grouped.group[placed])
    numbers = Column(_GROUP, "insensitive", pa.array(np.arange(groups)), number.astype(np.int32))
    read = {str(promise.sensitive), *covered}
    columns = (*(c for c in rows.columns if c.name in read), numbers)
    seen = groups_of(Microdata(columns, rows.rows), [_GROUP], [str(promise.sensitive)], covered)
    alpha = promise.worst(seen)[0]["alpha"]
    return None if alpha is None else Fraction(alpha)


def _rounded_down(share: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec, context.rounding = _PLACES, ROUND_DOWN
        return Decimal(share.numerator) / Decimal(share.denominator)


def _require_known_values(terms: Terms, slots: SlotMap, cohort: Microdata) -> None:
    """Refuse values that no distribution of the first version has.

    Raises:
        PromiseError: then all newcomers wait together.
    """
    if not terms.form.declares:
        return
    for name in terms.names_with_roles("sensitive"):
        domain = slots.rows[name].values
        values = cohort[name].values
        if not pc.all(pc.is_in(values.cast(domain.type), value_set=domain)).as_py():
            raise PromiseError(
                f"{name}: a value does not occur in the distributions of the first version"
            )


_STRATA, _GROUPS, _DISTRIBUTIONS = "of_stratum", "of_group", "distributions"


def with_frozen_targets(version: Drawn, line: LineSoFar, strata: Sequence[str]) -> Drawn:
    """Return groups that follow the distributions of the first version, over its values.

    Nothing changes if the partition gives no distributions.
    """
    if version.aims is None and not line.slots.targets:
        return version
    targets = line.slots.targets or _first_distributions(version, line, strata)
    name = str(targets["name"])
    places = _first_rows(version)
    of_stratum = {tuple(key): index for key, index in targets[_STRATA]}
    before: list[int] = list(targets[_GROUPS])
    new = range(len(before), int(version.line_group.max()) + 1)
    of_group = before + [of_stratum[_stratum(line, strata, places[group])] for group in new]
    distributions = tuple(tuple(map(Fraction, chances)) for chances in targets[_DISTRIBUTIONS])
    target = np.array(of_group, dtype=np.int64)[version.line_group]
    used, target = np.unique(target, return_inverse=True)
    aims = TargetDistributions(name, target, tuple(distributions[index] for index in used))
    return replace(
        version,
        microdata=_with_domain(version.microdata, name, version.slots.rows[name].values),
        partition=replace(version.partition, target_distributions=aims),
        slots=replace(version.slots, targets={**targets, _GROUPS: of_group}),
    )


def has_strata(line: LineSoFar, strata: Sequence[str], rows: np.ndarray) -> bool:
    """Decide whether the first version had the strata of these rows (int64)."""
    if not line.slots.targets:
        return True
    first_strata = {tuple(key) for key, _ in line.slots.targets[_STRATA]}
    return all(_stratum(line, strata, row) in first_strata for row in rows.tolist())


def _first_distributions(
    version: Drawn, line: LineSoFar, strata: Sequence[str]
) -> Mapping[str, Any]:
    """Return the distributions of the first version, for all later versions."""
    assert version.aims is not None  # noqa: S101 - seen by the caller
    places, target = _first_rows(version), version.aims.target.tolist()
    of_stratum = {_stratum(line, strata, places[g]): target[g] for g in range(len(target))}
    return {
        "name": version.aims.name,
        _STRATA: [[list(key), index] for key, index in of_stratum.items()],
        _GROUPS: target,
        _DISTRIBUTIONS: [
            [str(chance) for chance in chances] for chances in version.aims.distributions
        ],
    }


def _first_rows(version: Drawn) -> dict[int, int]:
    """Return, for each new group of the line, a row of the source that is in it."""
    new = np.flatnonzero(version.line_group[version.partition.group] >= version.first_new)
    groups, first = np.unique(version.line_group[version.partition.group[new]], return_index=True)
    return dict(zip(groups.tolist(), version.source[new[first]].tolist(), strict=True))


def _stratum(line: LineSoFar, strata: Sequence[str], row: int) -> tuple[str, ...]:
    """Return the stratum of a row, as texts."""
    return tuple(_text(line.table[name], row) for name in strata)


def _text(column: Column, row: int) -> str:
    code = int(column.codes[row])
    return "null" if code < 0 else f"= {column.values[code].as_py()}"


def _with_domain(microdata: Microdata, name: str, values: pa.Array) -> Microdata:
    """Return the table with a column over all these values, ascending.

    Values that no row has are included.
    """
    column = microdata[name]
    place = pc.index_in(column.values, value_set=values).to_numpy(zero_copy_only=False)
    whole = replace(
        column, values=values, codes=np.append(place, -1).astype(np.int32)[column.codes]
    )
    return microdata.keep(whole if c.name == name else c for c in microdata.columns)


@dataclass(frozen=True)
class LineContinuation:
    """A composed line to be continued, and the rule for it.

    Attributes:
        line: its private directory.
        wish: what the spec says.
    """

    line: Path
    wish: ContinuedVersions


@dataclass(frozen=True, eq=False)
class SlotsBefore:
    """The slots that a version, or a part of one, continues.

    Attributes:
        slots: that were made so far, None if there are none yet.
        out: the names of people who stay out (S16, sorted).
        predecessor: the digest of the release that is continued, None for none.
        made_after: the digest of the line's last version.
    """

    slots: SlotMap | None
    out: np.ndarray
    predecessor: str | None
    made_after: str | None


def anonymize_continued(
    table: Microdata,
    names: np.ndarray,
    terms: Terms,
    randomness: Randomness,
    continuing: LineContinuation,
    followed: FollowedLine | None = None,
) -> AnonymizedTable:
    """Continue a line's groups with the rows of a table.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        terms: what is declared.
        randomness: what is drawn from.
        continuing: the line, and how it goes on.
        followed: the line whose groups it shows, None if it makes its own.

    Raises:
        PromiseError: if groups cannot go on, or what they were made of is not known here.
    """
    state, erased = read_state(continuing.line), erased_names(continuing.line)
    require_one_table(continuing.line, state)
    before = slots = slots_so_far(continuing.line, state)
    if followed is not None:
        slots = slots_as_followed(table, names, before, followed, lasting_columns(terms), erased)
        require_promises_kept(slots, before, terms.promises, followed.name)
    slots_before = SlotsBefore(slots, erased, last_composed(state), last_digest(state))
    evolved, made = continue_slots(table, names, terms, randomness, continuing.wish, slots_before)
    if followed is None:
        return made
    return replace(made, counts=counts_as_followed(evolved, names, before))


def continue_slots(
    table: Microdata,
    names: np.ndarray,
    terms: Terms,
    randomness: Randomness,
    wish: ContinuedVersions,
    before: SlotsBefore,
) -> "tuple[Evolved, AnonymizedTable]":
    """Continue the groups that slots are in with the rows of a table.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        terms: what is declared.
        randomness: what is drawn from.
        wish: how versions go on.
        before: the slots, and who stays out.

    Raises:
        PromiseError: if groups cannot go on.
    """
    from sfumato.tasks.continued.evolve import evolve  # few lines go on

    line, strata = _line(table, names, terms, before.slots, before.out)
    evolved = evolve(
        line,
        _shape(terms),
        wish,
        strata,
        partition_of_newcomers(terms, strata, line.slots, randomness),
        _judge(terms, _shape(terms)),
        randomness,
    )
    version = with_frozen_targets(evolved.drawn, line, strata)
    form = composed_form(terms.form.method)
    tables, ids = form.compose(version.microdata, version.partition, terms.form, randomness)
    return evolved, AnonymizedTable(
        microdata=version.microdata,
        partition=version.partition,
        tables=tables,
        shown=evolved.shown,
        suppressed=int(evolved.suppressed.sum()),
        slots=_with_ids(version, ids),
        counts=evolved.counts,
        predecessor=before.predecessor,
        made_after=before.made_after,
        absences=evolved.absences,
    )


def last_composed(state: LineState) -> str | None:
    """Return the digest of a line's last version, if it was made to be combined."""
    last = max(state.versions, default=None)
    return last_digest(state) if last is not None and state.versions[last].composed else None


def _line(
    table: Microdata, names: np.ndarray, terms: Terms, before: SlotMap | None, erased: np.ndarray
) -> tuple[LineSoFar, tuple[str, ...]]:
    slots = before or _no_slots(table)
    stacked = with_hierarchies(stack(table, slots.rows), terms.hierarchies)
    whole, strata = with_strata(stacked, terms.strata)
    out = np.union1d(erased, slots.past.key[slots.past.key != b""])
    return LineSoFar(whole, table.rows, names, slots, out), strata


def _no_slots(table: Microdata) -> SlotMap:
    none = np.array([], dtype=np.int64)
    rows = table.take(none)
    return SlotMap(
        none.astype(NAME), none, none, none, none.astype(np.int8), none.astype(bool), rows
    )


def _shape(terms: Terms) -> Shape:
    """Return which columns stay as they were: values, and columns beside them, if those stay."""
    vacancies = VACANCIES[terms.form.method]
    compared = terms.names_with_roles("sensitive", *(["insensitive"] if terms.is_recoded else []))
    frozen = terms.columns if vacancies.as_at_entry else compared
    by_likelihood = any(map(asks_likelihoods, terms.promises))
    return Shape(frozenset(frozen), tuple(compared), vacancies.covers, by_likelihood)


def _judge(terms: Terms, shape: Shape) -> "Judge":
    """Return a function that marks the groups that break a promise.

    Vacant values count, but k counts only people. Groups that show distributions or covers are as
    they were; the gate judges them.
    """
    judged = [p for p in terms.promises if not (terms.form.declares or p.needs_covers)]

    def judge(version: Drawn) -> np.ndarray:
        broken = _of_unknown_likelihood(shape, version)
        for promise in judged:
            broken |= _breaks(promise, version)
        return broken

    return judge


def _of_unknown_likelihood(shape: Shape, version: Drawn) -> np.ndarray:
    """Mark groups that others held, too, and that show values unequally often (bool).

    If the likelihood of values is promised, nothing is known of it for such groups.
    """
    changed = np.isin(version.line_group, version.slots.past.group)
    if shape.by_likelihood and changed.any():
        changed &= ~are_even(version.slots, shape.compared)[version.line_group]
        return changed
    return np.zeros(version.groups, dtype=bool)


def _breaks(promise: PrivacyModel, version: Drawn) -> np.ndarray:
    """Mark the groups that break a promise (bool, one per group)."""
    visible = np.flatnonzero(version.kind != WITNESS)
    group, live = version.partition.group[visible], version.kind[visible] == LIVE
    sensitive = [promise.sensitive] if promise.sensitive else []
    read = {*sensitive, *promise.known_columns}
    columns_read = version.microdata.keep(
        c for c in version.microdata.columns if c.name in read
    ).take(visible)
    ids = pa.array(np.arange(version.groups))
    numbers = Column(_GROUP, "insensitive", ids, group.astype(np.int32))
    rows = replace(columns_read, columns=(*columns_read.columns, numbers))
    columns = [_GROUP, *promise.known_columns]
    seen = groups_of(rows, columns, sensitive)
    place, number = dense(key([rows[name] for name in columns], rows.rows)[0])
    first = np.empty(number, dtype=np.int64)
    first[place] = np.arange(len(place))
    people = np.bincount(place[live], minlength=number).astype(np.int64)
    failing = promise.failing(replace(seen, live=people))
    broken = np.zeros(version.groups, dtype=bool)
    broken[group[first[failing]]] = True
    return broken


def _with_ids(version: Drawn, ids: np.ndarray) -> SlotMap:
    """Return the slots with their groups' ids in this version (int64, one per group)."""
    published = np.full(len(version.slots), -1, dtype=np.int64)
    published[: len(version.partition.group)] = ids[version.partition.group]
    return replace(version.slots, published=published)
