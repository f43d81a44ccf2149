"""The strictest thresholds that promises ask for, read in one place for all partitions."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TypeVar

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.partitions.declared import PartitionParameters

M = TypeVar("M", bound=PrivacyModel)


def needed_promises(
    kinds: type[M] | tuple[type[M], ...],
    promises: Iterable[PrivacyModel],
    parameters: PartitionParameters,
) -> list[M]:
    """Return the promises of some kinds, in their order.

    Raises:
        PromiseError: if there is none, with what the partition would read from it.
    """
    needed = [promise for promise in promises if isinstance(promise, kinds)]
    if not needed and parameters.needs is not None:
        raise PromiseError(f"{parameters.method} needs {parameters.needs.words}")
    return needed


def about_the_first(promises: Sequence[M]) -> list[M]:
    """Return the promises about the sensitive attribute of the first one.

    >>> [p.k for p in about_the_first([KAnonymity(k=2), KAnonymity(k=3)])]
    [2, 3]
    """
    return [promise for promise in promises if promise.sensitive == promises[0].sensitive]


def largest_k(promises: Iterable[PrivacyModel]) -> int:
    """Return the largest k that k-anonymity and (α,k)-anonymity ask for; 1 if none does."""
    return max((p.k for p in promises if isinstance(p, KAnonymity | AlphaK)), default=1)


def largest_l(promises: Iterable[PrivacyModel]) -> int:
    """Return the largest l that any l-diversity asks for, rounded up; 1 if none does."""
    variants = DistinctLDiversity | EntropyLDiversity | RecursiveLDiversity
    return max((ceil(p.l) for p in promises if isinstance(p, variants)), default=1)


def strictest_ke(promises: Sequence[KEAnonymity]) -> KEAnonymity:
    """Combine (k,e)-promises about the sensitive attribute of the first one: largest k and e."""
    alike = about_the_first(promises)
    k, e = max(promise.k for promise in alike), max(promise.e for promise in alike)
    return KEAnonymity(k=k, e=e, sensitive=promises[0].sensitive)


def smallest_alpha(promises: Iterable[PrivacyModel]) -> Decimal:
    """Return the smallest α that (α,β)-privacy and (α,k)-anonymity ask for; 1 if none does."""
    return min((p.alpha for p in promises if isinstance(p, AlphaBeta | AlphaK)), default=Decimal(1))


def usual_rows(promises: Sequence[PrivacyModel]) -> int:
    """Return the rows of a group that just keeps these promises, if its values allow that.

    >>> usual_rows([KAnonymity(k=2), AlphaK(alpha="0.3", k=1, sensitive="s")])
    4
    """
    k = max((p.k for p in promises if isinstance(p, KEAnonymity)), default=1)
    share = Fraction(smallest_alpha(promises))
    return max(largest_k(promises), largest_l(promises), k, ceil(1 / share))


def smallest_beta(promises: Iterable[AlphaBeta]) -> Decimal:
    """Return the smallest β that (α,β)-privacy asks for; 1 if there is no such promise."""
    return min((promise.beta for promise in promises), default=Decimal(1))
