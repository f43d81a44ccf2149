"""The next version of a composed line: who was shown stays, and who came since is a cohort.

What all groups ever published tell together is shared out: of the presence that (α,β)-privacy still
allows each cohort takes a share. Distributions that values are made to follow are those of the
line's first version, and so are the values that they speak of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.candidates.anonymized import Anonymized
from sfumato.tasks.candidates.followed import (
    counts_as_followed,
    lasting_columns,
    require_promises_kept,
    slots_as_followed,
)
from sfumato.tasks.continued.cohort import Grouping
from sfumato.tasks.continued.evolve import Evolved, Judge, evolve
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
from sfumato.tasks.private.people.slots import LIVE, WITNESS, SlotMap, are_even, groups_ever
from sfumato.tasks.private.people.store import (
    erased_names,
    require_one_table,
    slots_so_far,
)
from sfumato.tasks.private.state import LineState, last_digest, read_state
from sfumato.tasks.terms.terms import Terms

_PLACES = 30  # of a share of presence, which is rounded down
_GROUP = "/group"


def partition_of_newcomers(
    terms: Terms, strata: Sequence[str], slots: SlotMap, randomness: Randomness
) -> Grouping:
    """The partition of newcomers, beside the slots that the line has.

    Where groups are another line's there is none: newcomers wait for that line.
    """
    if line_of(terms.partition) is not None:
        return _everybody_waits
    partition = PARTITIONS[terms.partition.method]

    def group(cohort: Microdata) -> Partition:
        if len(slots):
            _require_known_values(terms, slots, cohort)
        promises = [_left_of(promise, terms, slots) for promise in terms.promises]
        return partition(cohort, strata, promises, terms.partition, randomness)

    return group


def _everybody_waits(_newcomers: Microdata) -> Partition:
    raise PromiseError("groups: who is in no group of the other line waits")


def _left_of(promise: PrivacyModel, terms: Terms, slots: SlotMap) -> PrivacyModel:
    """A promise across groups with what earlier versions left of it, and of that a cohort's share.

    Raises:
        PromiseError: where nothing is left.
    """
    most, wish = promise.most_present, terms.versions
    if most is None or not promise.judged_jointly or not isinstance(wish, ComposedVersions):
        return promise
    left = most - presence_so_far(promise, slots)
    if left <= 0:
        raise PromiseError(f"{promise.name}: earlier versions have used all of α")
    return replace(promise, alpha=_rounded_down(wish.share * left))  # type: ignore[call-arg]


def presence_so_far(promise: PrivacyModel, slots: SlotMap) -> Fraction:
    """The largest presence of anybody by all groups that a line ever published."""
    if not len(slots):
        return Fraction(0)
    ever = groups_ever(slots, [str(promise.sensitive)], promise.quasi_identifiers or ())
    return Fraction(promise.worst(ever)[0]["alpha"] or 0)


def _rounded_down(share: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec, context.rounding = _PLACES, ROUND_DOWN
        return Decimal(share.numerator) / Decimal(share.denominator)


def _require_known_values(terms: Terms, slots: SlotMap, cohort: Microdata) -> None:
    """Refuse values that no distribution of the first version speaks of.

    Raises:
        PromiseError: whoever else came since waits with them.
    """
    if not terms.partition.gives_targets:
        return
    for name in terms.named("sensitive"):
        known = slots.rows[name].values
        found = cohort[name].values
        if not pc.all(pc.is_in(found.cast(known.type), value_set=known)).as_py():
            raise PromiseError(f"{name}: a value is outside the domain of the first version")


_STRATA, _GROUPS, _DISTRIBUTIONS = "of_stratum", "of_group", "distributions"


def with_frozen_targets(drawn: Drawn, line: LineSoFar, strata: Sequence[str]) -> Drawn:
    """Groups that follow the distributions of the first version, over the values it had.

    Nothing changes where the partition gives no distributions.
    """
    if drawn.aims is None and not line.slots.targets:
        return drawn
    told = line.slots.targets or _first(drawn, line, strata)
    name = str(told["name"])
    places = _first_rows(drawn)
    of_stratum = {tuple(key): index for key, index in told[_STRATA]}
    before: list[int] = list(told[_GROUPS])
    new = range(len(before), int(drawn.line_group.max()) + 1)
    of_group = before + [of_stratum[_stratum(line, strata, places[group])] for group in new]
    distributions = tuple(tuple(map(Fraction, of)) for of in told[_DISTRIBUTIONS])
    target = np.array(of_group, dtype=np.int64)[drawn.line_group]
    used, target = np.unique(target, return_inverse=True)
    aims = TargetDistributions(name, target, tuple(distributions[at] for at in used))
    return replace(
        drawn,
        microdata=_with_domain(drawn.microdata, name, drawn.slots.rows[name].values),
        partition=replace(drawn.partition, target_distributions=aims),
        slots=replace(drawn.slots, targets={**told, _GROUPS: of_group}),
    )


def has_strata(line: LineSoFar, strata: Sequence[str], rows: np.ndarray) -> bool:
    """Decide whether the first version had the strata of these rows (int64)."""
    if not line.slots.targets:
        return True
    known = {tuple(key) for key, _ in line.slots.targets[_STRATA]}
    return all(_stratum(line, strata, row) in known for row in rows.tolist())


def _first(drawn: Drawn, line: LineSoFar, strata: Sequence[str]) -> Mapping[str, Any]:
    """The distributions of the first version, for all that come."""
    assert drawn.aims is not None  # noqa: S101 - seen by the caller
    places, target = _first_rows(drawn), drawn.aims.target.tolist()
    of_stratum = {_stratum(line, strata, places[g]): target[g] for g in range(len(target))}
    return {
        "name": drawn.aims.name,
        _STRATA: [[list(key), index] for key, index in of_stratum.items()],
        _GROUPS: target,
        _DISTRIBUTIONS: [[str(chance) for chance in of] for of in drawn.aims.distributions],
    }


def _first_rows(drawn: Drawn) -> dict[int, int]:
    """By each new group of the line, a row of the source that is in it."""
    new = np.flatnonzero(drawn.line_group[drawn.partition.group] >= drawn.first_new)
    groups, first = np.unique(drawn.line_group[drawn.partition.group[new]], return_index=True)
    return dict(zip(groups.tolist(), drawn.source[new[first]].tolist(), strict=True))


def _stratum(line: LineSoFar, strata: Sequence[str], row: int) -> tuple[str, ...]:
    """The stratum of a row, as texts."""
    return tuple(_text(line.table[name], row) for name in strata)


def _text(column: Column, row: int) -> str:
    code = int(column.codes[row])
    return "null" if code < 0 else f"= {column.values[code].as_py()}"


def _with_domain(microdata: Microdata, name: str, values: pa.Array) -> Microdata:
    """The table with a column over all these values, ascending, whether or not a row has them."""
    column = microdata[name]
    place = pc.index_in(column.values, value_set=values).to_numpy(zero_copy_only=False)
    whole = replace(
        column, values=values, codes=np.append(place, -1).astype(np.int32)[column.codes]
    )
    return microdata.keep(whole if c.name == name else c for c in microdata.columns)


@dataclass(frozen=True)
class Continuing:
    """What a composed line is continued from, and how.

    Attributes:
        line: its private directory.
        wish: what the spec says.
    """

    line: Path
    wish: ContinuedVersions


@dataclass(frozen=True, eq=False)
class SlotsBefore:
    """What a version, or a part of one, goes on from.

    Attributes:
        slots: that were made so far, None where there are none yet.
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
    continuing: Continuing,
    followed: FollowedLine | None = None,
) -> Anonymized:
    """Continue a line's groups with the rows of a table.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        terms: what is declared.
        randomness: what is drawn from.
        continuing: the line, and how it goes on.
        followed: the line whose groups it shows, None where it makes its own.

    Raises:
        PromiseError: where groups cannot go on, or what they were made of is not known here.
    """
    state, erased = read_state(continuing.line), erased_names(continuing.line)
    require_one_table(continuing.line, state)
    before = slots = slots_so_far(continuing.line, state)
    if followed is not None:
        slots = slots_as_followed(table, names, before, followed, lasting_columns(terms), erased)
        require_promises_kept(slots, before, terms.promises, followed.name)
    known = SlotsBefore(slots, erased, last_composed(state), last_digest(state))
    evolved, made = continue_slots(table, names, terms, randomness, continuing.wish, known)
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
) -> tuple[Evolved, Anonymized]:
    """Continue the groups that slots are in with the rows of a table.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        terms: what is declared.
        randomness: what is drawn from.
        wish: how versions go on.
        before: the slots, and who stays out.

    Raises:
        PromiseError: where groups cannot go on.
    """
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
    drawn = with_frozen_targets(evolved.drawn, line, strata)
    form = composed_form(terms.form.method)
    tables, ids = form.compose(drawn.microdata, drawn.partition, terms.form, randomness)
    return evolved, Anonymized(
        microdata=drawn.microdata,
        partition=drawn.partition,
        tables=tables,
        shown=evolved.shown,
        suppressed=int(evolved.suppressed.sum()),
        slots=_with_ids(drawn, ids),
        counts=evolved.counts,
        predecessor=before.predecessor,
        made_after=before.made_after,
        absences=evolved.absences,
    )


def last_composed(state: LineState) -> str | None:
    """The digest of a line's last version, where it was made to be combined."""
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
    """Values stay as they were; so does whatever stands beside them in a row, where they do."""
    vacancies = VACANCIES[terms.form.method]
    compared = terms.named("sensitive", *(["insensitive"] if terms.recoded else []))
    frozen = terms.columns if vacancies.as_at_entry else compared
    by_likelihood = any(map(asks_likelihoods, terms.promises))
    return Shape(frozenset(frozen), tuple(compared), vacancies.covers, by_likelihood)


def _judge(terms: Terms, shape: Shape) -> Judge:
    """Which groups break a promise, vacant values counted, and k counted of people alone.

    Groups that show distributions or covers are as they were; the gate judges them.
    """
    judged = [p for p in terms.promises if not (terms.form.declares or p.needs_covers)]

    def judge(drawn: Drawn) -> np.ndarray:
        broken = _of_unknown_likelihood(shape, drawn)
        for promise in judged:
            broken |= _breaks(promise, drawn)
        return broken

    return judge


def _of_unknown_likelihood(shape: Shape, drawn: Drawn) -> np.ndarray:
    """Which groups were held by others, too, and show values unequally often (bool, one per group).

    Of such groups nothing is known of how likely each value is, where that is promised.
    """
    changed = np.isin(drawn.line_group, drawn.slots.past.group)
    if shape.by_likelihood and changed.any():
        changed &= ~are_even(drawn.slots, shape.compared)[drawn.line_group]
        return changed
    return np.zeros(drawn.groups, dtype=bool)


def _breaks(promise: PrivacyModel, drawn: Drawn) -> np.ndarray:
    """Which groups break a promise (bool, one per group)."""
    kept = np.flatnonzero(drawn.kind != WITNESS)
    group, live = drawn.partition.group[kept], drawn.kind[kept] == LIVE
    told = [promise.sensitive] if promise.sensitive else []
    read = {*told, *promise.known_columns}
    shown = drawn.microdata.keep(c for c in drawn.microdata.columns if c.name in read).take(kept)
    ids = pa.array(np.arange(drawn.groups))
    numbers = Column(_GROUP, "insensitive", ids, group.astype(np.int32))
    rows = replace(shown, columns=(*shown.columns, numbers))
    by = [_GROUP, *promise.known_columns]
    seen = groups_of(rows, by, told)
    place, number = dense(key([rows[name] for name in by], rows.rows)[0])
    first = np.empty(number, dtype=np.int64)
    first[place] = np.arange(len(place))
    people = np.bincount(place[live], minlength=number).astype(np.int64)
    failing = promise.failing(replace(seen, live=people))
    broken = np.zeros(drawn.groups, dtype=bool)
    broken[group[first[failing]]] = True
    return broken


def _with_ids(drawn: Drawn, ids: np.ndarray) -> SlotMap:
    """The slots with the ids that their groups have in this version (int64, one per group)."""
    published = np.full(len(drawn.slots), -1, dtype=np.int64)
    published[: len(drawn.partition.group)] = ids[drawn.partition.group]
    return replace(drawn.slots, published=published)
