"""Mondrian: rows cut into boxes at medians, for as long as every part keeps every promise.

Source: LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity (ICDE 2006).

A strict cut is at the median, or else at the value before it. Where parts need no more than k rows
no other cut of the attribute is allowable if these two are not: a cut above the median leaves fewer
rows above it than the median does, and one below the value before leaves fewer rows below it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.errors import Fault
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.partitions.mondrian import compiled
from sfumato.tasks.partitions.mondrian.cuts import Attribute, attribute
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.mondrian.rule import count_rule
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.judging import PartJudge

_WORTH_COMPILING = 200_000


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: MondrianParameters,
    randomness: Randomness,
) -> Partition:
    """Cut each stratum into parts that keep the promises, along the widest quasi-identifier first.

    Of all quasi-identifiers in descending normalized width the first is cut that leaves parts which
    all keep every promise. One with a hierarchy is cut into the children of the part's lowest
    common ancestor. All others are cut in two: `strict` at the median, or else the value before,
    so that rows with equal values stay together; `relaxed` into halves, where chance decides which
    rows with the median go where.

    Raises:
        PromiseError: where a whole stratum breaks a promise, or parts cannot be judged by it.
    """
    strict = parameters.mode == "strict"
    stratum, number = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    judge = PartJudge.of(microdata, promises)
    judge.require(stratum, number)
    attributes = [attribute(column) for column in microdata.with_roles("quasi-identifier")]
    order = _order(stratum, strict, randomness)
    group = _cut_compiled(attributes, stratum, order, judge, strict)
    if group is None:
        group = cut_by_level(attributes, stratum, order, judge, strict)
    sizes = np.bincount(group)
    facts = {
        "mode": parameters.mode,
        "groups": len(sizes),
        "smallest_group": int(sizes.min(initial=microdata.rows)),
        "largest_group": int(sizes.max(initial=0)),
    }
    return Partition(group, facts=facts)


def _order(stratum: np.ndarray, strict: bool, randomness: Randomness) -> np.ndarray:
    """The rows by stratum, in random order where rows with equal values may be parted."""
    if strict:
        return np.argsort(stratum, kind="stable")
    return np.lexsort((randomness(len(stratum)), stratum))


def cut_by_level(
    attributes: Sequence[Attribute],
    stratum: np.ndarray,
    order: np.ndarray,
    judge: PartJudge,
    strict: bool,
) -> np.ndarray:
    """The final part of each row, cutting all open parts at once, again and again.

    Args:
        attributes: the quasi-identifiers.
        stratum: the part of each row to begin with (int64; 0, 1, …, each occurring).
        order: the rows by stratum (int64); rows with equal values are parted in this order.
        judge: tells which parts break a promise.
        strict: whether rows with equal values stay together.

    Returns:
        int64, one per row; 0, 1, ….
    """
    group = np.empty(len(order), dtype=np.int64)
    groups = 0
    rows, part = order, stratum[order]
    while len(rows):
        child = _children(attributes, rows, part, judge, strict)
        final = child < 0
        number, found = dense(part[final])
        group[rows[final]] = groups + number
        groups += found
        rows, child = rows[~final], child[~final]
        along = np.argsort(child, kind="stable")
        rows, part = rows[along], dense(child[along])[0]
    return group


def _children(
    attributes: Sequence[Attribute],
    rows: np.ndarray,
    part: np.ndarray,
    judge: PartJudge,
    strict: bool,
) -> np.ndarray:
    """The child that each row goes to (int64, one per row), -1 where its part cannot be cut.

    Rows with equal `part` follow each other, and parts are 0, 1, ….
    """
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    widths = np.array([one.widths(rows, starts, strict) for one in attributes])
    widths = widths.reshape(len(attributes), len(starts))
    child = np.full(len(rows), -1, dtype=np.int64)
    children = 0
    for choice, lower in _tries(widths, strict):
        at = np.flatnonzero((child < 0) & (choice >= 0)[part])
        side = _sides(attributes, choice, rows[at], part[at], strict, lower)
        at, side = at[side >= 0], side[side >= 0]
        if not len(at):
            continue
        offered, number = dense(part[at] * (int(side.max()) + 1) + side)
        broken = judge.broken(rows[at], offered, number)
        refused = np.zeros(len(starts), dtype=bool)
        refused[part[at[broken[offered]]]] = True
        kept = ~refused[part[at]]
        child[at[kept]] = children + offered[kept]
        children += number
    return child


def _tries(widths: np.ndarray, strict: bool) -> Iterator[tuple[np.ndarray, bool]]:
    """The attribute to cut each part along (int64, -1: none), and whether below the median.

    One try after the other, by descending width (attributes x parts, negative: no cut).
    """
    for choice in np.argsort(-widths, axis=0, kind="stable"):
        possible = widths[choice, np.arange(len(choice))] >= 0
        for lower in [False, True] if strict else [False]:
            yield np.where(possible, choice, -1), lower


def _sides(
    attributes: Sequence[Attribute],
    choice: np.ndarray,
    rows: np.ndarray,
    part: np.ndarray,
    strict: bool,
    lower: bool,
) -> np.ndarray:
    """The side of each row (int64) where each part is cut along the attribute of its choice."""
    side = np.full(len(rows), -1, dtype=np.int64)
    for number, one in enumerate(attributes):
        along = np.flatnonzero(choice[part] == number)
        if len(along):
            side[along] = one.sides(rows[along], part[along], strict, lower)
    return side


def _cut_compiled(
    attributes: Sequence[Attribute],
    stratum: np.ndarray,
    order: np.ndarray,
    judge: PartJudge,
    strict: bool,
) -> np.ndarray | None:
    """The result of `cut_by_level`, compiled; None where that is impossible or does not pay."""
    rule = count_rule(judge)
    if rule is None or not attributes or len(order) < _WORTH_COMPILING:
        return None
    sensitive = next((coded.codes for coded in judge.sensitive.values()), None)
    group = compiled.cut_by_part(attributes, stratum, order, sensitive, rule, strict)
    if judge.broken(np.arange(len(group)), group, int(group.max()) + 1).any():
        raise Fault("compiled Mondrian broke a promise")
    return group
