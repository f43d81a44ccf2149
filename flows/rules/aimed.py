"""The rules of partitions aimed at a workload."""

from collections.abc import Callable

from sfumato.flows.spec_parts import SpecParts
from sfumato.tasks.partitions.aimed.parameters import AimedParameters, fault_of_aims
from sfumato.tasks.schema.columns import ORDERED


def _aims(spec: SpecParts) -> None:
    if not isinstance(spec.partition, AimedParameters):
        return
    if fault := fault_of_aims(spec, spec.partition, ORDERED - {"timestamp"}):
        raise ValueError(f"partition: {fault}")


RULES: tuple[Callable[[SpecParts], None], ...] = (_aims,)
