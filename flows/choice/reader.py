"""A spec read with other keys in place of some, one by one or along values of a parameter."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.spec import ReleaseSpec, read_alternative, read_spec
from sfumato.flows.rules.candidates import aims_of_workloads
from sfumato.tasks.candidates.wished import AUTO
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.terms.terms import Terms

_NOT_COMPARED = {"evaluate": None, "versions": None}
"""Keys that say nothing about one table; without them more forms are admitted."""
_MOST = 12
_RANGE = re.compile(r"(?P<low>[0-9.]+?)\.\.(?P<high>[0-9.]+)")


@dataclass(frozen=True)
class AlternativeReader:
    """Reads a spec with other keys in place of some."""

    path: Path
    overrides: Overrides
    document: Mapping[str, Any]

    @cached_property
    def _aims(self) -> list[dict[str, Any]]:
        """Aims if a partition names none: the workloads, which no alternative has."""
        workloads = read_spec(self.path, self.overrides).evaluate.workloads
        return [aim.model_dump(mode="json") for aim in aims_of_workloads(workloads)]

    def with_aims(self, instead: dict[str, Any]) -> dict[str, Any]:
        """Return the same keys, with aims added if the partition has to name some and names none.

        Raises:
            SpecError: where no workload can be aimed at.
        """
        wish = self._partition(instead)
        if not _has_to_name_aims(wish):
            return instead
        if not self._aims:
            raise SpecError(
                f"partition.aims: {wish['method']} chooses by queries over ranges, and "
                "evaluate.workloads has no such queries. Write aims"
            )
        return {**instead, "partition": {**wish, "aims": self._aims}}

    def spec(self, instead: Mapping[str, Any]) -> ReleaseSpec:
        """Return the spec as it would be.

        Raises:
            SpecError: where it is wrong so.
        """
        wish = self._partition(instead)
        if _is_aimless(wish):
            instead = {**instead, "partition": {**wish, "aims": self._aims or None}}
        return read_alternative(self.path, self.overrides, {**instead, **_NOT_COMPARED})

    def terms(self, spec: ReleaseSpec, instead: Mapping[str, Any]) -> Terms:
        """Return the terms of a spec as a release has them, which may have been chosen before."""
        terms = spec.terms(self.path.absolute().parent)
        if not _is_aimless(self._partition(instead)):
            return terms
        partition = terms.partition.model_copy(update={"aims": None})
        return terms.model_copy(update={"partition": partition})

    def without_path(self, error: SpecError) -> str:
        """Return the words of an error about the spec, without the path of its file."""
        return str(error).removeprefix(f"{self.path}: ")

    def _partition(self, instead: Mapping[str, Any]) -> Mapping[str, Any]:
        return instead.get("partition") or self.document.get("partition") or {}


def _is_aimless(partition: Mapping[str, Any]) -> bool:
    return partition.get("method") == AUTO and not partition.get("aims")


def _has_to_name_aims(partition: Mapping[str, Any]) -> bool:
    """Return True if a partition lacks aims that a spec has to name (`auto` need not)."""
    kind = PARTITION_PARAMETERS.get(partition.get("method", ""))
    return kind is not None and issubclass(kind, AimedParameters) and not partition.get("aims")


def read_sweep(text: str) -> tuple[str, list[Any]]:
    """Parse a parameter and its values: `k=2..50`, `alpha=0.05..0.5`, or `l=2,3,5`.

    A range gives at most twelve values, each about as much larger than the one before.

    Raises:
        SpecError: where it is none.

    >>> read_sweep("k=2..50")
    ('k', [2, 3, 4, 5, 6, 9, 12, 16, 21, 28, 37, 50])
    >>> read_sweep("l=2,3,5"), read_sweep("k=2..4")
    (('l', [2, 3, 5]), ('k', [2, 3, 4]))
    """
    name, equals, values = text.partition("=")
    try:
        parsed = _values(values)
    except ValueError:
        parsed = []
    if not (equals and name.isidentifier() and parsed):
        raise SpecError(
            f"--sweep {text}: is not a parameter with values. Write `k=2..50` or `l=2,3,5`"
        )
    return name, parsed


def _values(text: str) -> list[Any]:
    matched = _RANGE.fullmatch(text)
    if matched is None:
        return [_number(value) for value in text.split(",")]
    low, high = _number(matched["low"]), _number(matched["high"])
    if not 0 < low <= high:
        raise ValueError(text)
    steps = (exp(log(low) + n * (log(high) - log(low)) / (_MOST - 1)) for n in range(1, _MOST - 1))
    if isinstance(low, int) and isinstance(high, int):
        whole = range(low, high + 1)
        return list(whole) if len(whole) <= _MOST else _whole(low, high, list(steps))
    return list(dict.fromkeys([low, *(float(f"{step:.3g}") for step in steps), high]))


def _whole(low: int, high: int, steps: list[float]) -> list[int]:
    """Return different integers near the steps, from `low` to `high`."""
    integers = [low]
    for step in steps:
        integers.append(max(round(step), integers[-1] + 1))
    return [*(n for n in integers if n < high), high]


def _number(text: str) -> int | float:
    number = Fraction(text)
    return int(number) if number.denominator == 1 and "." not in text else float(number)
