"""The rules of releases in parts: what needs the whole table does not go with them."""

from collections.abc import Callable

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.arrow import ORDERED, as_number
from sfumato.flows.rules.leaves import narrows_hierarchy
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.schema.hierarchy_rules import HierarchyLevel
from sfumato.tasks.terms.parts import PartsOfTable


def _parts(spec: SpecParts) -> None:
    if fault := _fault(spec):
        raise ValueError(fault)


def _fault(spec: SpecParts) -> str | None:
    """Return which key of a spec does not go with a release in parts, and the rule; or None."""
    parts = spec.parts
    if parts is None:
        return _fault_of_engine(spec)
    if spec.partition.not_in_parts:
        return f"partition: {spec.partition.not_in_parts}"
    if spec.form.tells_labels:
        return "form.label-tables: parts have labels in common: `sfumato load` makes the tables"
    for name, column in spec.columns.items():
        if column.labels is not None and column.code_list != "whole":
            return (
                f"columns.{name}.code-list: no part tells which codes all of them have: say whole"
            )
    return (
        _fault_of_cut(spec, parts)
        or _fault_of_promises(spec)
        or _fault_of_versions(spec)
        or _fault_of_run(spec)
    )


def _fault_of_engine(spec: SpecParts) -> str | None:
    if spec.engine == "local":
        return None
    return f"engine: {spec.engine} makes parts, and the spec asks for none: say parts"


def _fault_of_cut(spec: SpecParts, parts: PartsOfTable) -> str | None:
    if parts.by is None:
        return None
    column = spec.columns.get(parts.by)
    if column is None or column.role != "quasi-identifier":
        return f"parts.by: {parts.by!r} is not a quasi-identifier"
    if column.type not in ORDERED:
        return f"parts.by: {parts.by!r} has no order: leave by and at out"
    try:
        starts = [as_number(text, column.type) for text in parts.at]
    except ValueError:
        return f"parts.at: not values of type {column.type}"
    return None if starts == sorted(set(starts)) else "parts.at: do not ascend"


def _fault_of_promises(spec: SpecParts) -> str | None:
    quasi_identifiers = {name for name, c in spec.columns.items() if c.role == "quasi-identifier"}
    for i, promise in enumerate(spec.scoped_promises()):
        if spec.form.declares and promise.compares_with_all:
            return (
                f"promises.{i}: {promise.name} compares distributions that groups are declared to "
                "have with those of all groups, and a part knows its own: leave it out"
            )
        if isinstance(promise, PPrivacy) and promise.of_groups:
            return (
                f"promises.{i}.target: the nearest to each group's own is found beside the values "
                "of all rows, and a part knows its own: name one target"
            )
        if promise.compares_with_all and spec.partition.chosen_once:
            return (
                f"promises.{i}: {promise.name} compares groups with all rows, and partition "
                f"{spec.partition.method} cannot come closer in one part alone: use mondrian"
            )
        if promise.reference_uri is not None:
            return f"promises.{i}: {promise.name} speaks of a population, which no part is held to"
        if promise.judged_jointly and not quasi_identifiers <= set(promise.quasi_identifiers or ()):
            return (
                f"promises.{i}: {promise.name} is judged over all groups together, and parts keep "
                "it by themselves where it is about all quasi-identifiers, which tell parts apart"
            )
    return None


def _fault_of_versions(spec: SpecParts) -> str | None:
    """Return what does not go with versions of the same people in parts, or None.

    The groups of each part go on by themselves.
    """
    if not isinstance(spec.versions, ContinuedVersions):
        return None
    if spec.form.declares or spec.form.shows == "columns":
        return (
            f"versions: composed, in parts, and form {spec.form.method}: what groups of all parts "
            "and versions tell together is not judged: use permuted, split, generalized or "
            "suppressed"
        )
    if spec.partition.chosen_once:
        return (
            f"versions: composed, in parts, and partition {spec.partition.method}: newcomers of "
            "each part are grouped by themselves, and it chooses once for all: use mondrian"
        )
    for i, promise in enumerate(spec.scoped_promises()):
        if promise.compares_with_all:
            return (
                f"promises.{i}: {promise.name} compares groups with all rows, and parts whose "
                "groups go on cannot come closer to those of a later version: leave it out, or "
                "parts"
            )
    return None


def _fault_of_run(spec: SpecParts) -> str | None:
    """Return which key beside the release's own needs the whole table in memory, or None."""
    units = [name for name, column in spec.columns.items() if column.unit]
    composed = isinstance(spec.versions, ContinuedVersions)
    rules = {
        "source.format: parts are read from Parquet: a file, or a directory of files": (
            spec.source.format != "parquet"
        ),
        "across-lines: what lines tell together is not counted in parts: leave it out": (
            composed and spec.across_lines == "accepted-risk"
        ),
        "groups: those of another line are not known part by part: use a partition": (
            spec.groups is not None
        ),
        "strata: levels of hierarchies are not told apart in parts: use columns or bands": any(
            isinstance(stratum, HierarchyLevel) for stratum in spec.strata
        ),
        "remember: who is in which group is kept in parts only for versions: composed: say "
        "remember: units": (bool(units) and spec.remember != "units" and not composed),
        "evaluate.intervals: are calibrated on the original beside the release: not in parts": (
            spec.evaluate.intervals is not None
        ),
        "stages: encrypted: parts are read and written piece by piece: use plain, on an encrypted "
        "disk": spec.stages == "encrypted",
    }
    for name, column in spec.columns.items():
        rules[
            f"columns.{name}.hierarchy: which labels are published is known when all parts are "
            "made: say {file: …, public: true}, which publishes all leaves"
        ] = narrows_hierarchy(spec, name)
        rules[f"columns.{name}.generated: rows are not numbered in parts"] = bool(column.generated)
        rules[f"columns.{name}.repeat: keep-one needs all rows at once: use refuse"] = (
            column.repeat != "refuse"
        )
    return next((fault for fault, broken in rules.items() if broken), None)


RULES: tuple[Callable[[SpecParts], None], ...] = (_parts,)
