"""Groups in an order in which neighbours are alike, merged until every promise holds."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import count, merge
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.shared.background_knowledge import WithKnownValues, known_columns
from sfumato.tasks.partitions.shared.merging import GroupJudge, merge_until_kept


def merge_in_order(
    microdata: Microdata,
    group: np.ndarray,
    stratum: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> np.ndarray:
    """Merge groups that break a promise with the next of their stratum, until all are kept.

    A promise about some of the quasi-identifiers, or about each value of a sensitive attribute that
    an adversary knows, is kept where every group keeps it: what an adversary tells apart is unions
    of groups.

    Args:
        microdata: the table.
        group: the group of each row (int64), 0, 1, …; neighbours are alike.
        stratum: the stratum of each group (int64), ascending.
        promises: what must hold.

    Returns:
        The group of each row (int64), 0, 1, ….

    Raises:
        PromiseError: where a promise may break by merging, is judged on more than the groups'
            sensitive values, or breaks in a whole stratum.
    """
    for promise in promises:
        if not promise.monotone or promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(f"{promise.name} cannot be kept by merging groups")
    knowing = [
        WithKnownValues.of(promise, microdata) for promise in promises if known_columns(promise)
    ]
    seen = {column.name: column.coded() for column in microdata.with_roles("sensitive")}
    seen |= {one.name: one.pairs for one in knowing}
    groups = count(group, max(len(stratum), 1), seen)
    judges: list[GroupJudge] = [*(p for p in promises if not known_columns(p)), *knowing]
    into = merge_until_kept(groups, stratum, judges)
    whole = merge(groups, into)
    for judge in judges:
        if judge.failing(whole).any():
            raise PromiseError(f"{judge.name} cannot be kept: a whole stratum breaks it")
    merged: np.ndarray = into[group]
    return merged
