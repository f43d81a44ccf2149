"""What all rules of tables have in common."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa


class Ruling(NamedTuple):
    """Whether a table keeps a rule, and the count that decided, None where nothing is counted."""

    holds: bool
    observed: int | None


class Rule(Protocol):
    """Something that must hold of a table; it tells how much is wrong, never which value."""

    type: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """The rule's parameters, ready for JSON."""

    def judge(self, table: pa.Table) -> Ruling:
        """Decide whether the table keeps the rule, counting once."""

    def holds(self, table: pa.Table) -> bool:
        """True where the table keeps the rule."""


class CountingRule(ABC):
    """A rule that a count decides."""

    @abstractmethod
    def observed(self, table: pa.Table) -> int | None:
        """The count."""

    def allows(self, count: int | None) -> bool:
        """Decide by the count; by default nothing may be wrong."""
        return count == 0

    def judge(self, table: pa.Table) -> Ruling:
        """Decide whether the table keeps the rule, counting once."""
        count = self.observed(table)
        return Ruling(self.allows(count), count)

    def holds(self, table: pa.Table) -> bool:
        """True where the table keeps the rule."""
        return self.judge(table).holds
