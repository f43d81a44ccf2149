"""All rules, in the order in which a spec is checked."""

from collections.abc import Callable

from sfumato.flows.rules import (
    codings,
    columns,
    in_parts,
    owned,
    references,
    related,
    release,
    source,
    versions,
)
from sfumato.flows.rules.spec_parts import SpecParts

RULES: tuple[Callable[[SpecParts], None], ...] = (
    *related.RULES,
    *columns.RULES,
    *release.RULES,
    *source.RULES,
    *versions.RULES,
    *in_parts.RULES,
    *owned.RULES,
    *codings.RULES,
    *references.RULES,
)
