"""The values of groups from two places by one dictionary, and what promises say of values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import encode

_BROKEN = "versions: composed is broken: "


def in_common(one: Groups, other: Groups) -> tuple[Groups, Groups]:
    """Groups whose values are numbered by one dictionary.

    Raises:
        PromiseError: where they do not show the same columns.
    """
    pairs = {
        name: _renumbered(counts, other.sensitive[name])
        for name, counts in one.sensitive.items()
        if name in other.sensitive
    }
    if pairs.keys() != one.sensitive.keys() | other.sensitive.keys():
        raise PromiseError(_BROKEN + "what earlier versions were made of is not known here")
    return (
        replace(one, sensitive={name: pair[0] for name, pair in pairs.items()}),
        replace(other, sensitive={name: pair[1] for name, pair in pairs.items()}),
    )


def _renumbered(one: Counts, other: Counts) -> tuple[Counts, Counts]:
    """Counts of one column with values of both, in ascending order, a null first."""
    labels, others = one.labels, other.labels
    if labels is None or others is None:
        raise PromiseError(_BROKEN + "the values of groups are not known here")
    both = pa.concat_arrays([labels.cast(others.type), others])
    coded = encode("value", "sensitive", both).coded()
    codes = coded.codes.astype(np.int64)
    like = replace(
        one, values=coded.values, numbers=coded.numbers, labels=coded.labels, ancestors=None
    )
    return (
        replace(like, value=codes[: len(labels)][one.value]),
        replace(
            like, group=other.group, value=codes[len(labels) :][other.value], count=other.count
        ),
    )


def by_values(promise: PrivacyModel) -> PrivacyModel | None:
    """What a promise says of the values of a group, None where it says nothing of them."""
    return promise.over_versions if promise.judged_jointly or promise.needs_covers else promise


def judged_promises(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """What promises say of the values that groups of several versions have.

    What is promised against somebody who knows other values of a person is judged in each version,
    whose groups have to be those of all (see `composed`).
    """
    asked = [by_values(promise) for promise in promises if not promise.known_columns]
    return [promise for promise in asked if promise is not None]
