"""Mondrian: rows cut into boxes at medians, while every part keeps every promise.

Source: LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity (ICDE 2006).

A strict cut is at the median, or otherwise at the value before it. If parts need no more than k
rows, no other cut of the attribute is allowable if these two are not: a cut above the median leaves
fewer rows above it than the median does, and one below the value before leaves fewer rows below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.mondrian import compiled
from sfumato.tasks.partitions.mondrian.cuts import (
    Attribute,
    LeavingChance,
    allowable_sides,
    attribute,
    draw_leaving,
    sides_along,
    tries,
)
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.mondrian.rule import count_rule
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.partitions.shared.thresholds import usual_rows

_WORTH_COMPILING = 200_000


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: MondrianParameters,
    randomness: Randomness,
) -> Partition:
    """Cut each stratum into parts that keep the promises, along the widest quasi-identifier first.

    Quasi-identifiers are tried in descending normalized width. The first one is cut that leaves
    parts which all keep every promise. If parts are left by chance, only the first that sizes allow
    is tried. One with a hierarchy is cut into the children of the part's lowest common ancestor.
    All others are cut in two: `strict` at the median, or otherwise the value before, so that rows
    with equal values stay together; `relaxed` into halves, so that chance decides which rows with
    the median go where.

    Raises:
        PromiseError: if a whole stratum breaks a promise, or parts cannot be judged by it.
    """
    strict = parameters.mode == "strict"
    stratum, number = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    judge = PartJudge.from_microdata(microdata, promises)
    judge.require(stratum, number)
    attributes = [attribute(column) for column in microdata.with_roles("quasi-identifier")]
    order = _order(stratum, strict, randomness)
    least = usual_rows(promises)
    chance = draw_leaving(parameters.leave, least, microdata.rows, randomness)
    settings = CutSettings(attributes, judge, strict, least, chance)
    group = _cut_compiled(settings, stratum, order)
    if group is None:
        group = cut_by_level(settings, stratum, order)
    sizes = np.bincount(group)
    facts = {
        "mode": parameters.mode,
        "groups": len(sizes),
        "smallest_group": int(sizes.min(initial=microdata.rows)),
        "largest_group": int(sizes.max(initial=0)),
    }
    return Partition(group, facts=facts)


def _order(stratum: np.ndarray, strict: bool, randomness: Randomness) -> np.ndarray:
    """Return the rows by stratum, in random order if rows with equal values may be parted."""
    if strict:
        return np.argsort(stratum, kind="stable")
    return np.lexsort((randomness(len(stratum)), stratum))


@dataclass(frozen=True, eq=False)
class CutSettings:
    """The settings and data by which cuts are made.

    Attributes:
        attributes: the quasi-identifiers.
        judge: decides which parts break a promise.
        strict: whether rows with equal values stay together.
        least: rows of a side, where parts are left by chance.
        chance: how parts are left by chance.
    """

    attributes: Sequence[Attribute]
    judge: PartJudge
    strict: bool
    least: int
    chance: LeavingChance


def cut_by_level(settings: CutSettings, stratum: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the final part of each row, cutting all open parts at once, again and again.

    Args:
        settings: the settings and data by which cuts are made.
        stratum: the part of each row to begin with (int64; 0, 1, …, each occurring).
        order: the rows by stratum (int64); rows with equal values are parted in this order.

    Returns:
        int64, one per row; 0, 1, ….
    """
    group = np.empty(len(order), dtype=np.int64)
    children = _children_if_not_left if settings.chance.often else _children
    groups = 0
    rows, part = order, stratum[order]
    while len(rows):
        child = children(settings, rows, part)
        final = child < 0
        number, final_parts = dense(part[final])
        group[rows[final]] = groups + number
        groups += final_parts
        rows, child = rows[~final], child[~final]
        along = np.argsort(child, kind="stable")
        rows, part = rows[along], dense(child[along])[0]
    return group


def _children(settings: CutSettings, rows: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the child of each row (int64, one per row), -1 if its part cannot be cut.

    Rows with equal `part` follow each other, and parts are 0, 1, ….
    """
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    child = np.full(len(rows), -1, dtype=np.int64)
    children, strict = 0, settings.strict
    for choice, lower in tries(settings.attributes, rows, starts, strict):
        open_rows = np.flatnonzero((child < 0) & (choice >= 0)[part])
        side = sides_along(
            settings.attributes, choice, rows[open_rows], part[open_rows], strict, lower
        )
        offered, number = _split_parts(settings.judge, rows[open_rows], part[open_rows], side)
        child[open_rows] = np.where(offered < 0, -1, children + offered)
        children += number
    return child


def _children_if_not_left(settings: CutSettings, rows: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the child of each row, as `_children` does, if parts are left by chance.

    Only one cut is tried.
    """
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    sizes = np.diff(np.append(starts, len(rows)))
    side = allowable_sides(settings.attributes, rows, part, settings.least, settings.strict)
    side[settings.chance.leaves(rows[starts], sizes)[part]] = -1
    return _split_parts(settings.judge, rows, part, side)[0]


def _split_parts(
    judge: PartJudge, rows: np.ndarray, part: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the sides as parts of their own (int64), and their number.

    It is -1 for rows of a part with a side that breaks a promise.

    Args:
        judge: decides which parts break a promise.
        rows: positions of rows (int64).
        part: the part of each (int64).
        side: its side there (int64), -1 where its part is not to be cut.
    """
    child = np.full(len(rows), -1, dtype=np.int64)
    places = np.flatnonzero(side >= 0)
    if not len(places):
        return child, 0
    offered, number = dense(part[places] * (int(side.max()) + 1) + side[places])
    refused = np.zeros(int(part.max()) + 1, dtype=bool)
    refused[part[places[judge.broken(rows[places], offered, number)[offered]]]] = True
    child[places] = np.where(refused[part[places]], -1, offered)
    return child, number


def _cut_compiled(
    settings: CutSettings, stratum: np.ndarray, order: np.ndarray
) -> np.ndarray | None:
    """Return the result of `cut_by_level`, compiled; None if that is impossible or does not pay."""
    judge = settings.judge
    rule = count_rule(judge)
    if rule is None or not settings.attributes or len(order) < _WORTH_COMPILING:
        return None
    if settings.chance.often:
        rule = rule._replace(rows=settings.least)
    sensitive = next((coded.codes for coded in judge.sensitive.values()), None)
    group = compiled.cut_by_part(
        settings.attributes, stratum, order, sensitive, rule, settings.strict, settings.chance
    )
    if judge.broken(np.arange(len(group)), group, int(group.max()) + 1).any():
        raise Fault("compiled Mondrian broke a promise")
    return group
