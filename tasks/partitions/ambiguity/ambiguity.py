"""Ambiguity: groups that show which values they have, so that many combinations are possible.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. Each stratum's rows are grouped by the paper's greedy, see `ambiguity_groups`, rows that are
left over join groups, see `ambiguity_residue`, and the rest is left out or refused. The paper takes
each group by itself; see `calibrated` for groups that keep α together.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.covering import covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.ambiguity.calibrated import (
    CalibratedGroups,
    calibrate,
    combined_presence,
    covers_of,
    group_rows,
)
from sfumato.tasks.partitions.ambiguity.groups import Stratum, draw_stratum
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule, covered_names, strictest_rule
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.judging import WithKnownValues
from sfumato.tasks.partitions.shared.merging import GroupJudge
from sfumato.tasks.partitions.shared.thresholds import needed_promises


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: AmbiguityParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows so that every group keeps α and β; rows that fit in none get -1.

    Groups that break another promise are left out as well, since merging them could break α.

    Raises:
        PromiseError: if there is no (α,β) promise, if no group was found, if rows would be
            left out and may not, or if groups do not keep a promised α together.
    """
    rule = strictest_rule(needed_promises(AlphaBeta, promises, parameters), microdata)
    parts = [
        draw_stratum(microdata, rows, rule, randomness) for rows in by_stratum(microdata, strata)
    ]
    if parameters.calibrate:
        grouping, stop = calibrate(microdata, parts, rule, parameters.probes)
    else:
        stop = rule.alpha
        grouping = group_rows(microdata.rows, parts, rule, stop, parameters.probes, repeats=False)
    group = _without_broken(microdata, grouping.group, promises)
    _require_few_losses(microdata, grouping.group, group, parameters)
    facts = _facts(parts, rule, stop, grouping, group)
    return Partition(group, facts=facts | _combined_presence(microdata, group, promises))


def _without_broken(
    microdata: Microdata, group: np.ndarray, promises: Sequence[PrivacyModel]
) -> np.ndarray:
    """Return the groups (int64) without those that break a promise, renumbered, until none does."""
    for promise in promises:
        if promise.reference_uri is not None:
            raise PromiseError(
                f"{promise.name} cannot be kept by ambiguity; leave it out or use another partition"
            )
    knowing = [
        WithKnownValues.from_microdata(promise, microdata)
        for promise in promises
        if promise.known_columns
    ]
    judges: list[GroupJudge] = [*(p for p in promises if not p.known_columns), *knowing]
    while group.max(initial=-1) >= 0:
        groups = _visible_groups(microdata, group, knowing)
        failing = np.any([judge.failing(groups) for judge in judges], axis=0)
        if not failing.any():
            break
        number = np.where(failing, -1, np.cumsum(~failing) - 1)
        group = np.append(number, -1)[group]
    return group


def _visible_groups(
    microdata: Microdata, group: np.ndarray, knowing: Sequence[WithKnownValues]
) -> Groups:
    """Return the groups as published, and as seen by those who know some sensitive values."""
    inside = np.flatnonzero(group >= 0)
    sensitive = {c.name: c.counted_codes() for c in microdata.with_roles("sensitive")}
    sensitive |= {judge.name: judge.pairs for judge in knowing}
    chosen = {name: coded._replace(codes=coded.codes[inside]) for name, coded in sensitive.items()}
    counted = count(group[inside], int(group.max()) + 1, chosen)
    return replace(counted, covers=covers_of(microdata, group).covers)


def _require_few_losses(
    microdata: Microdata, before: np.ndarray, after: np.ndarray, parameters: AmbiguityParameters
) -> None:
    """Refuse to leave out all rows, or any row if the residue may not be suppressed.

    Raises:
        PromiseError: if that would be so.
    """
    unplaced, broken = int((before < 0).sum()), int(((before >= 0) & (after < 0)).sum())
    if unplaced + broken == 0 or (parameters.residue == "suppress" and after.max() >= 0):
        return
    remedy = "raise alpha or beta"
    if parameters.residue == "refuse":
        remedy += ", or accept this with `residue: suppress`"
    raise PromiseError(
        f"ambiguity leaves out {unplaced + broken} of {microdata.rows} rows ({unplaced} fit in no "
        f"group that keeps α and β, {broken} are in groups that break another promise); {remedy}"
    )


def _facts(
    parts: Sequence[Stratum],
    rule: AmbiguityRule,
    stop: Fraction,
    grouping: CalibratedGroups,
    group: np.ndarray,
) -> dict[str, Any]:
    """Return the facts that only the data steward may know.

    `beyond_beta` counts rows that any grouping leaves out, because their value is more frequent
    than β in its stratum.
    """
    beyond = [_excess_rows(part, rule.beta) for part in parts]
    return {
        "l": rule.least,
        "groups": int(group.max(initial=-1)) + 1,
        "placed": grouping.placed,
        "suppressed": int((group < 0).sum()),
        "suppressed_for_other_promises": int(((grouping.group >= 0) & (group < 0)).sum()),
        "strata_beyond_beta": sum(many > 0 for many in beyond),
        "beyond_beta": sum(beyond),
        "stop": plain(stop),
    }


def _excess_rows(part: Stratum, beta: Fraction) -> int:
    """Return the excess rows of the most frequent value: the least x with c - x ≤ β (n - x)."""
    rows, most = len(part.rows), int(np.bincount(part.values).max(initial=0))
    return max(0, ceil((most - beta * rows) / (1 - beta))) if beta < 1 else 0


def _combined_presence(
    microdata: Microdata, group: np.ndarray, promises: Sequence[PrivacyModel]
) -> dict[str, Any]:
    """Return the largest combined presence, if one is promised.

    Raises:
        PromiseError: if it is more than α, or if that could not be decided.
    """
    groups, largest = covers_of(microdata, group), None
    for promise in promises:
        if isinstance(promise, AlphaBeta) and promise.presence == "combined":
            coverage = covering(groups, covered_names(promise, microdata))
            presence = (
                None
                if coverage is None
                else combined_presence(coverage, Fraction(promise.alpha)).exact
            )
            if presence is None:
                raise PromiseError(
                    f"all groups together break α = {plain(promise.alpha)}, or it cannot be proven "
                    "that they keep it; try `calibrate: true` or `method: disjoint-cover`, or "
                    "promise less with `presence: per-group`"
                )
            largest = presence if largest is None else max(largest, presence)
    return {} if largest is None else {"combined": float(largest)}
