"""A spec read with other keys in place of some, as an alternative to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.expectations.errors import SpecError
from sfumato.flows.overrides import Overrides
from sfumato.flows.rules.candidates import aims_of_workloads
from sfumato.flows.spec import ReleaseSpec, read_alternative, read_spec
from sfumato.tasks.candidates.wished import AUTO
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.terms.terms import Terms

_NOT_COMPARED = {"evaluate": None, "versions": None}
"""What says nothing of one table: some forms are asked more than releases are."""


@dataclass(frozen=True)
class AlternativeReader:
    """Reads a spec with other keys in place of some."""

    path: Path
    overrides: Overrides
    document: Mapping[str, Any]

    @cached_property
    def _aims(self) -> list[dict[str, Any]]:
        """What is aimed at where nothing is named: the workloads, which no alternative has."""
        workloads = read_spec(self.path, self.overrides).evaluate.workloads
        return [aim.model_dump(mode="json") for aim in aims_of_workloads(workloads)]

    def with_aims(self, instead: dict[str, Any]) -> dict[str, Any]:
        """The same keys, with aims where a partition has to name some and names none.

        Raises:
            SpecError: where no workload can be aimed at.
        """
        wish = self._partition(instead)
        if not _has_to_name_aims(wish):
            return instead
        if not self._aims:
            raise SpecError(
                f"partition.aims: {wish['method']} aims at ranges, and evaluate.workloads has "
                "none: name aims"
            )
        return {**instead, "partition": {**wish, "aims": self._aims}}

    def spec(self, instead: Mapping[str, Any]) -> ReleaseSpec:
        """The spec as it would be.

        Raises:
            SpecError: where it is wrong so.
        """
        wish = self._partition(instead)
        if _is_aimless(wish):
            instead = {**instead, "partition": {**wish, "aims": self._aims or None}}
        return read_alternative(self.path, self.overrides, {**instead, **_NOT_COMPARED})

    def terms(self, spec: ReleaseSpec, instead: Mapping[str, Any]) -> Terms:
        """Its terms as a release has them, which may have been chosen before."""
        terms = spec.terms(self.path.absolute().parent)
        if not _is_aimless(self._partition(instead)):
            return terms
        partition = terms.partition.model_copy(update={"aims": None})
        return terms.model_copy(update={"partition": partition})

    def _partition(self, instead: Mapping[str, Any]) -> Mapping[str, Any]:
        return instead.get("partition") or self.document.get("partition") or {}


def _is_aimless(partition: Mapping[str, Any]) -> bool:
    return partition.get("method") == AUTO and not partition.get("aims")


def _has_to_name_aims(partition: Mapping[str, Any]) -> bool:
    """Whether a partition lacks aims that, unlike those of `auto`, a spec has to name."""
    kind = PARTITION_PARAMETERS.get(partition.get("method", ""))
    return kind is not None and issubclass(kind, AimedParameters) and not partition.get("aims")
