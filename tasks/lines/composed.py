"""The composition gate: decides whether a staged version may appear beside all earlier ones.

It compares two things, neither of which is trusted by itself: the values of each group in the
staged files, and the people of each group in the private map. Anything missing or contradictory is
refused.

A *slot* is a row of a published version with its group; the map has the holder of each slot (see
`private.people.slots`). An *atom* is a set of people of whose values all versions together reveal
one multiset (see `expectations.composition.state`).

Source: the theorems of atoms, signatures and slots (see `expectations.composition.gate`).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.state import (
    Atoms,
    Refused,
    Shown,
    number,
    with_former_holders,
)
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.continued.parameters import ComposedVersions
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, PREVIOUS, rows_of, vacant_of
from sfumato.tasks.forms.vacancies import TUPLE, tuples_shown
from sfumato.tasks.lines.kept import release_before
from sfumato.tasks.lines.line import Candidate, Line
from sfumato.tasks.lines.shown import ShownVersion, breaches, in_common, judged_promises
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.private.people.members import Members, count_strays, members_of
from sfumato.tasks.private.people.slots import (
    LEFT,
    LIVE,
    VACANT,
    WITNESS,
    SlotMap,
    from_table,
    groups_ever,
    groups_ever_covered,
    presence_ever,
    with_tuples,
)
from sfumato.tasks.private.people.store import slots_so_far
from sfumato.tasks.private.state import LineState, last_digest, read_state
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import form_of, read_tables
from sfumato.tasks.terms.terms import Declared

_GROUP = "/group"


def require_composed(line: Line, candidate: Candidate, staging: Path) -> Passed | None:
    """Refuse a staged version that reveals more together with earlier ones than it promises.

    Returns:
        The gate's verdict, or None if the version's groups show no values.

    Raises:
        PromiseError: with the rule, and only counts of groups.
    """
    state = read_state(line.private)
    declared = open_release(staging).declared
    require_latest(candidate, state, declared)
    if candidate.map is None:
        raise refusal("the map of the new version is missing. Release again")
    tables = read_tables(declared, staging / "data")
    before, now = (
        slots_so_far(line.private, state),
        from_table(candidate.map.read(), "the candidate's map"),
    )
    verdict = require_kept_together(before, now, declared, tables)
    if declared.predecessor is not None:
        with release_before(line, max(state.versions)) as release:
            last = ShownVersion.read(release)
        require_succession(last, before, ShownVersion(declared, tables))
    return verdict


def require_latest(candidate: Candidate, state: LineState, declared: Declared) -> None:
    """Refuse a version that was not made from the state after the line's last version.

    Raises:
        PromiseError: with the rule.
    """
    if candidate.made_after != last_digest(state):
        raise PromiseError(
            "another version of the line was published in the meantime. Run the command again"
        )
    if declared.predecessor not in (None, last_digest(state)):
        raise refusal("the version continues another version than the last one. Release again")


def require_kept_together(
    before: SlotMap | None, now: SlotMap, declared: Declared, tables: Tables
) -> Passed | None:
    """Return the gate's verdict on a version, or a part of one, together with those before it.

    Args:
        before: the map of the version before, None if there is none.
        now: the map of the version.
        declared: the terms that the version declares.
        tables: the tables that it publishes.

    Returns:
        The verdict, or None if its groups show no values.

    Raises:
        PromiseError: where it reveals more than promised, with the rule, and only counts.
    """
    verdict = _verdict_of_gate(before, now, declared, tables)
    if isinstance(verdict, Refused):
        raise refusal(str(verdict))
    return verdict


def require_succession(last: ShownVersion, before: SlotMap | None, now: ShownVersion) -> None:
    """Refuse groups that do not show what they showed in the version before.

    Also refuse a map of that version that lacks some of its groups and values.

    Raises:
        PromiseError: with the rule, and only counts of groups.
    """
    if before is None or not _knows_all(before, last):
        raise refusal(
            "the map of the last version does not match its groups. If it is in a backup, "
            "restore it (sfumato line restore)"
        )
    if contradictions := list(breaches(last, now)):
        raise refusal("; ".join(contradictions))


def _knows_all(before: SlotMap, last: ShownVersion) -> bool:
    """Decide whether a map has as many people, and vacant values, in each group as a version."""
    lineage = last.tables[LINEAGE]
    is_published = before.published >= 0
    live, vacant = (
        np.bincount(
            before.published[is_published & np.isin(before.kind, kinds)], minlength=lineage.num_rows
        )
        for kinds in ((LIVE,), (VACANT, LEFT))
    )
    tells = VACANCIES[last.declared.form.method].tells
    return np.array_equal(live, rows_of(lineage)) and (
        not tells or np.array_equal(vacant, vacant_of(lineage))
    )


def refusal(why: str) -> PromiseError:
    """Return the error of versions that do not compose."""
    return PromiseError(f"versions: composed is broken: {why}")


def _verdict_of_gate(
    before: SlotMap | None, now: SlotMap, declared: Declared, tables: Tables
) -> Passed | Refused | None:
    """Return the verdict on a version, with the values of groups that the published tables show.

    Returns None if the groups show no values: what they show instead is compared with the version
    before.
    """
    columns = lasting_columns(declared)
    members = members_of(before, now, columns)
    if members.lost:
        return Refused(
            f"{number(members.lost, 'slot')} of earlier versions given to other people", 0, 0
        )
    # presence first: promises about it are judged on all groups ever published
    if refused := _too_present(before, now, declared):
        return refused
    previous = tables[LINEAGE][PREVIOUS].fill_null(-1).to_numpy()
    movable = columns if getattr(declared.versions, "consolidate", False) else []
    if before is not None and (people := count_strays(before, now, members, previous, movable)):
        return Refused(f"{number(people, 'person')} in another group than before", 0, people)
    if declared.form.declares:
        return None
    shown_groups = form_of(declared).groups(tables, declared.columns, (), columns)
    groups = Groups(shown_groups.sizes, dict(shown_groups.sensitive))
    if declared.form.together and len(columns) > 1:
        form = declared.form
        tuples, types = tuples_shown(
            VACANCIES[form.method], tables, declared.columns, form, columns
        )
        # columns that are shown together are judged as one more column, of their tuples
        groups = Groups(shown_groups.sizes, {**shown_groups.sensitive, TUPLE: tuples})
        before = before and with_tuples(before, TUPLE, types)
    promises = judged_promises(declared.promises)
    return _without_tuples(verdict_on(before, now, members, groups, promises), now, declared)


def _without_tuples(
    verdict: Passed | Refused, now: SlotMap, declared: Declared
) -> Passed | Refused:
    """Return the verdict on columns, without that on tuples.

    An attacker who knows other values of a person learns no more from all versions than from one
    group if each group is an atom: then each release keeps the promise by itself.
    """
    if isinstance(verdict, Refused):
        return verdict
    groups = len(distinct(now.group[now.kind != WITNESS]))
    whole = verdict.route == "A" and len(verdict.atoms) == groups  # each group is an atom
    if not whole and any(promise.known_columns for promise in declared.promises):
        return Refused(
            "a promise assumes that attackers know other values, and people are in groups "
            "that changed",
            0,
            0,
        )
    return replace(
        verdict,
        fewest={name: fewest for name, fewest in verdict.fewest.items() if name != TUPLE},
        likeliest={name: chance for name, chance in verdict.likeliest.items() if name != TUPLE},
    )


def verdict_on(
    before: SlotMap | None,
    now: SlotMap,
    members: Members,
    groups: Groups,
    promises: Sequence[PrivacyModel],
) -> Passed | Refused:
    """Return the gate's verdict on a version, by its map and that of all versions before it.

    Args:
        before: the map of the version before, None if there is none.
        now: the map of the version.
        members: the matched members of both maps.
        groups: the groups as the version shows them.
        promises: the promises about values.
    """
    of_now, atoms = groups, None
    if before is not None:
        of_before, of_now = in_common(groups_ever(before, list(groups.sensitive)), groups)
        earlier = _atoms_before(before, members, of_before)
        if isinstance(earlier, Refused):
            return earlier
        atoms = earlier
    here = now.published[members.is_] >= 0
    rows = members.is_[here]
    version = Shown(
        members.of_is[here],
        now.published[rows],
        of_now,
        now.kind[rows] == LIVE,
        members.slot[here],
    )
    return gate(atoms, version, promises, members.units)


def _atoms_before(before: SlotMap, members: Members, groups: Groups) -> Atoms | Refused:
    """Return the atoms of all earlier versions by their map: its groups, with former holders.

    Returns a refusal if the gate refuses these groups by themselves.
    """
    group, _ = dense(before.group[members.was])
    everybody = np.ones(len(group), dtype=bool)
    slots = np.arange(len(group))
    verdict = gate(None, Shown(members.of_was, group, groups, everybody, slots), [])
    if isinstance(verdict, Refused) or not len(before.past):
        return verdict if isinstance(verdict, Refused) else verdict.atoms
    # by group of the line, its number among the groups that have members
    numbers = np.full(int(before.group.max()) + 1, -1, dtype=np.int64)
    numbers[before.group[members.was]] = group
    return with_former_holders(verdict.atoms, members.of_past, numbers[before.past.group])


def lasting_columns(declared: Declared) -> list[str]:
    """Return the columns whose values stay with a group.

    These are the sensitive columns; in recoded forms the insensitive ones, too.
    """
    return declared.names_with_roles("sensitive", *(["insensitive"] if declared.is_recoded else []))


def _too_present(before: SlotMap | None, now: SlotMap, declared: Declared) -> Refused | None:
    """Refuse if all groups ever published reveal more of anyone's presence than promised.

    Also refuse new groups that take more than a cohort's share of what the earlier ones left.
    Returns None if they do not.
    """
    for promise in declared.promises:
        if promise.judged_jointly:
            verdict = promise.check(groups_ever_covered(now, promise))
            if not verdict.holds:
                # a presence without a figure was not proven
                unproven = None in verdict.observed.values()
                broken = "cannot be proven to keep" if unproven else "break"
                reason = f"all versions together {broken} {promise.title}"
                return Refused(reason, verdict.failing, 0)
            if refused := _over_share(before, now, promise, declared):
                return refused
    return None


def _over_share(
    before: SlotMap | None, now: SlotMap, promise: PrivacyModel, declared: Declared
) -> Refused | None:
    """Refuse new groups above their share of presence; groups of another line have no share."""
    versions, most = declared.versions, promise.most_present
    if not isinstance(versions, ComposedVersions) or most is None or line_of(declared.partition):
        return None
    is_new = np.full(len(now), True) if before is None else ~np.isin(now.group, before.group)
    is_new &= now.kind != WITNESS
    if not is_new.any():
        return None
    # slots that are nobody's are in no group
    new = replace(now, kind=np.where(is_new, now.kind, WITNESS))
    used = Fraction(0) if before is None else presence_ever(before, promise)
    if presence_ever(new, promise) <= versions.share * (most - used):
        return None
    groups = len(distinct(now.group[is_new]))
    return Refused(f"new groups take more than versions.share of {promise.title}", groups, 0)
