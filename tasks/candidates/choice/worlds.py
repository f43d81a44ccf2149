"""Tables like the one that is to be released, in which nobody's sensitive values are their own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.partitions.distribution.target_distributions import target_distributions

_KEYS = 2.0**64


def dealt_anew(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    randomness: Randomness,
) -> Microdata:
    """A table with other sensitive values in each stratum.

    They are those of its own rows, dealt at random, each row's together. Where p-privacy lets a
    reader learn another distribution than the source's, they are drawn from that: what may be
    chosen then depends on nothing else.

    Args:
        microdata: the table.
        strata: the columns that tell strata apart.
        promises: of the release.
        randomness: what is drawn from.
    """
    stratum, number = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    spread = next((p for p in promises if isinstance(p, PPrivacy) and p.target != "source"), None)
    if spread is not None:
        column = _drawn(microdata, strata, stratum, number, spread, randomness)
        return microdata.keep(column if c.name == column.name else c for c in microdata.columns)
    owners = np.lexsort((randomness(microdata.rows), stratum))
    codes = [column.codes for column in microdata.with_roles("sensitive")]
    source = np.empty(microdata.rows, dtype=np.int64)
    source[owners] = np.lexsort((*codes, stratum))  # in an order that does not tell whose they are
    return microdata.keep(
        replace(c, codes=c.codes[source]) if c.role == "sensitive" else c for c in microdata.columns
    )


def _drawn(
    microdata: Microdata,
    strata: Sequence[str],
    stratum: np.ndarray,
    number: int,
    promise: PPrivacy,
    randomness: Randomness,
) -> Column:
    """The sensitive column with values drawn from the target of each row's stratum."""
    column = microdata[str(promise.sensitive)]
    targets, of = target_distributions(promise, microdata, strata, stratum, number)
    drawn, chance = np.empty(microdata.rows, dtype=np.int32), randomness(microdata.rows) / _KEYS
    for at, weights in enumerate(targets):
        rows = of[stratum] == at
        upper = np.cumsum(np.array(weights, dtype=np.float64))
        drawn[rows] = np.searchsorted(upper, chance[rows] * upper[-1], side="right")
    return replace(column, codes=np.minimum(drawn, len(column.values) - 1).astype(np.int32))
