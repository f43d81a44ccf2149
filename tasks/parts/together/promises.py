"""What each part is to keep by itself, so that the whole keeps what it promises."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.assessment import numbers
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.together.values import totals_of, totals_of_parts
from sfumato.tasks.publication.parts import (
    Totals,
    compared_columns,
    places,
    terms_of_part,
    with_rest,
)


def terms_of_parts(parts: Sequence[PartOnDisk], terms: Terms) -> list[Terms]:
    """What each part declares by itself, with promises for its groups alone.

    Raises:
        PromiseError: where a part is too unlike the whole for a promise that compares with it.
    """
    names = compared_columns(terms.promises)
    of_parts = {name: [totals_of(part.strata, name) for part in parts] for name in names}
    whole = {name: totals_of_parts(of) for name, of in of_parts.items()}
    declared = []
    for number, part in enumerate(parts):
        called = f"part {number + 1} of {len(parts)}"
        seen = {
            name: with_rest(_as_group(of[number]), whole[name], terms.columns)
            for name, of in of_parts.items()
        }
        promises = tuple(
            _of_part(p, seen[str(p.sensitive)], called) if p.compares_with_all else p
            for p in terms.promises
        )
        own = terms_of_part(terms, part.name, len(parts))
        declared.append(own.model_copy(update={"promises": promises}))
    return declared


def _of_part(promise: PrivacyModel, seen: Groups, called: str) -> PrivacyModel:
    found = promise.for_part(seen)
    if found is None:
        raise PromiseError(
            f"{promise.name} cannot be kept in parts: required {numbers(promise.required())}, and "
            f"{called} as one group is as far from all rows, or farther: cut by a column that "
            "tells less of the sensitive one"
        )
    return found


def _as_group(totals: Totals) -> Groups:
    """All rows of a part as one group."""
    values = totals.values
    number = len(totals.counts)
    counts = Counts(
        np.zeros(number, dtype=np.int64),
        places(values, values),
        totals.counts,
        number,
        None,
        values,
    )
    return Groups(np.array([totals.counts.sum()]), {totals.name: counts})
