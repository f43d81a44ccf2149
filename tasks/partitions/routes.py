"""What can be promised of versions in which slots change hands.

Every value of a group stays possible for everybody who ever was in it. How likely each is follows
only where all values of a group differ (see the theorems of slots and of signatures in
`expectations.composition`).
"""

from collections.abc import Sequence

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.partitions.continued.parameters import ComposedVersions
from sfumato.tasks.partitions.declared import PartitionParameters


def asks_likelihoods(promise: PrivacyModel) -> bool:
    """True where versions must keep how likely values are, not only which are possible."""
    asked = promise.over_versions
    return asked is not None and not asked.by_candidates


def fault_of_vacancies(
    versions: ComposedVersions,
    promises: Sequence[PrivacyModel],
    partition: PartitionParameters,
    lasting: Sequence[str],
) -> str | None:
    """Name the promise that cannot be kept where slots change hands; None where all can.

    Args:
        versions: what a spec says of how versions go on.
        promises: what it promises.
        partition: who is grouped with whom.
        lasting: the columns whose values stay with a group.
    """
    if versions.vacancies == "keep" or (partition.distinct_values and len(lasting) == 1):
        return None
    for i, promise in enumerate(promises):
        if asks_likelihoods(promise):
            return (
                f"versions.vacancies: {versions.vacancies} leaves every value of a group possible, "
                f"and not as likely as before, which promises.{i} ({promise.name}) asks: use keep, "
                "or partition anatomy with one sensitive column and no insensitive one"
            )
    return None


def fault_of_consolidation(
    versions: ComposedVersions,
    partition: PartitionParameters,
    lasting: Sequence[str],
    recodes: bool,
) -> str | None:
    """Say why nobody can be moved to another group without telling more; None where some can.

    Args:
        versions: what a spec says of how versions go on.
        partition: who is grouped with whom.
        lasting: the columns whose values stay with a group.
        recodes: whether groups have labels, which would have to cover who is moved.
    """
    if not versions.consolidate:
        return None
    if versions.vacancies == "keep":
        return "versions.consolidate: gives vacant slots away: use vacancies: paired or refill"
    if partition.distinct_values and len(lasting) == 1 and not recodes:
        return None
    return (
        "versions.consolidate: moves people between groups whose values all differ: use partition "
        "anatomy with one sensitive column, in a form that shows exact rows, or leave it out"
    )
