"""How newcomers of a composed line are grouped: by the spec's partition, within what is left.

What all groups ever published tell together is shared out: of the presence that (α,β)-privacy still
allows each cohort takes a share. Distributions that values are made to follow are those of the
line's first version, and so are the values that they speak of.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction

import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.continued.cohort import Grouping
from sfumato.tasks.partitions.continued.parameters import ComposedVersions
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.private.people.slots import SlotMap, groups_ever

_PLACES = 30  # of a share of presence, which is rounded down


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
