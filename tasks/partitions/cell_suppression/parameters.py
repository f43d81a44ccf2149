"""The parameters of partitions for cell suppression as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.partitions.declared import Need, PartitionParameters

_K = Need((KAnonymity,), "a k-anonymity promise to read k from")


class ForestParameters(PartitionParameters):
    """Groups of rows that differ in few cells: within O(k) of the fewest suppressed cells."""

    needs: ClassVar[Need] = _K
    over_people: ClassVar[bool] = True

    method: Literal["forest"]


class FactorsParameters(PartitionParameters):
    """Groups of rows that differ in few cells: for k = 2 or 3, by minimum-weight factors."""

    needs: ClassVar[Need] = _K
    method: Literal["factors"]

    def fault_of(self, promise: PrivacyModel) -> str | None:
        """Refuse k-anonymity with any k but 2 and 3."""
        if isinstance(promise, KAnonymity) and promise.k not in (2, 3):
            return "k: partition factors needs k = 2 or 3; for another k use forest"
        return None

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part."""
        return "factors needs all rows in memory at once; use forest, which keeps the same promise"
