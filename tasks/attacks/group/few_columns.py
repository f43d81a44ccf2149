"""Few columns: an attacker who knows as many quasi-identifiers as a promise says, or one more.

kᵐ-anonymity and LKC-privacy hold against who knows at most so many quasi-identifiers of a person,
whichever. Here the attacker knows the best ones of so many, and then of one more: each row is
scored by the combination of labels of these columns that tells most about it.

Sources: Mohammed, Fung, Hung, Lee (KDD 2009); Terrovitis, Mamoulis, Kalnis (PVLDB 2008).
"""

from collections.abc import Iterator
from math import comb

import numpy as np

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.combinations import (
    combinations,
    count_rows,
    most_of_one_value,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.terms.assessment import SeenGroups

_MOST = 2_000  # sets of columns that are gone through


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Score who knows a few quasi-identifiers of each person, for each such promise.

    Releases without such a promise have no score.
    """
    seen = target.seen or SeenGroups(target.declared, target.tables)
    return tuple(
        score
        for promise, groups in seen.of_promises()
        if promise.needs_labels and promise.sensitive in (None, target.sensitive)
        for score in _scores(promise, groups)
    )


def _scores(promise: PrivacyModel, groups: Groups) -> Iterator[Score]:
    """Yield the scores of as many columns as are promised, and of one more."""
    least, columns = getattr(promise, "k", 1), len(groups.labels)
    knowledge: int = getattr(promise, "knowledge", columns)
    for number in (knowledge, knowledge + 1):
        words = f"found among fewer than {least} rows by the best {number} quasi-identifiers"
        if number > columns:
            continue
        if comb(columns, number) > _MOST:
            yield Score(words, 0.0, skipped=f"more than {_MOST:,} sets of columns")
            continue
        few, certain = _told_most(groups, number, least, promise.sensitive)
        people = max(groups.rows, 1)
        yield Score(words, int(groups.sizes[few].sum()) / people)
        if promise.sensitive is not None:
            surely = f"own value surely known by the best {number} quasi-identifiers"
            yield Score(surely, int(groups.sizes[certain].sum()) / people)


def _told_most(
    groups: Groups, number: int, least: int, sensitive: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the groups that some columns show among few rows, or with one value (bool, one each)."""
    few, certain = (np.zeros(len(groups), dtype=bool) for _ in range(2))
    counts = None if sensitive is None else groups.counts_of(sensitive)
    for seen in combinations(list(groups.labels.values()), number):
        rows = count_rows(seen, groups.sizes)
        few |= (rows < least)[seen.key]
        if counts is not None:
            most = most_of_one_value(seen, counts.group, counts.value, counts.count)
            certain |= (most == rows)[seen.key]
    return few, certain
