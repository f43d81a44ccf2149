"""Hierarchies that a spec uses, and the leaves of them that its releases publish."""

from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.schema.hierarchy_rules import HierarchyFile, HierarchyLevel, Ordered


def uses_hierarchy(spec: SpecParts, name: str) -> bool:
    """Return True if the published form of a column depends on its hierarchy, if it has one."""
    role = spec.columns[name].role
    recoded = role == "quasi-identifier" and spec.form.shows_hierarchies
    return role == "sensitive" or recoded or name in _by_level(spec)


def _by_level(spec: SpecParts) -> set[str]:
    """Return the columns whose hierarchy levels are strata."""
    return {stratum.column for stratum in spec.strata if isinstance(stratum, HierarchyLevel)}


def narrows_hierarchy(spec: SpecParts, name: str) -> bool:
    """Return True if only the leaves under a published label are published.

    Rules have no leaves of their own. Version 1 published all leaves of a file without more keys.
    """
    written = spec.columns[name].hierarchy
    if not uses_hierarchy(spec, name):
        return False
    if isinstance(written, HierarchyFile):
        return not written.public
    return isinstance(written, str | Ordered) and spec.version > 1
