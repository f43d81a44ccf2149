"""The values of the models in one sensitive attribute, which hold of groups as they are."""

from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import DISTANCES, Distance, TCloseness
from sfumato.expectations.numbers import Number

_RANKS = range(2, 11)  # the l for which the recursive measure is reported


def values_of_models(groups: Groups, name: str) -> dict[str, Any]:
    """The `l`, `t`, `delta`, `alpha` and `ke` that the groups have in a sensitive attribute.

    `delta` is None where a group lacks a value that others have.
    """
    anonymity = KEAnonymity(k=1, e=Decimal(0), sensitive=name)
    return {
        "l": diversity(groups, name),
        "t": {
            distance: _closeness(groups, name, distance)
            for distance in DISTANCES
            if distance != "hierarchical" or groups.of(name).ancestors is not None
        },
        "delta": _observed(DeltaDisclosure(delta=Decimal(1), sensitive=name), groups, "delta"),
        "alpha": _observed(AlphaK(alpha=Decimal(1), k=1, sensitive=name), groups, "alpha"),
        "ke": {"k": anonymity.distinct(groups), "e": _observed(anonymity, groups, "e")},
    }


def diversity(groups: Groups, name: str) -> dict[str, Any]:
    """The `l` of groups in a sensitive attribute, in each of the model's readings."""
    distinct = _observed(DistinctLDiversity(l=1, sensitive=name), groups, "l")
    return {
        "distinct": distinct,
        "entropy": _entropy(groups, name),
        "recursive_c": {
            str(rank): _observed(
                RecursiveLDiversity(l=rank, c=Decimal(1), sensitive=name), groups, "c"
            )
            for rank in _RANKS
            if rank <= max(3, distinct or 0)
        },
    }


def _entropy(groups: Groups, name: str) -> float | None:
    """The smallest exp(entropy) of a group, not rounded."""
    scores = EntropyLDiversity(l=Decimal(1), sensitive=name).measure(groups)["l"]
    return float(scores.min()) if len(scores) else None


def _closeness(groups: Groups, name: str, distance: Distance) -> int | float | None:
    return _observed(TCloseness(t=Decimal(1), distance=distance, sensitive=name), groups, "t")


def _observed(model: PrivacyModel, groups: Groups, parameter: str) -> int | float | None:
    """The value of a model's parameter that groups have, as a number of JSON; None if infinite."""
    value: Number = model.check(groups).observed[parameter]
    if value is None or isinstance(value, int):
        return value
    if value == inf:
        return None
    return int(value) if Fraction(value).denominator == 1 else float(value)
