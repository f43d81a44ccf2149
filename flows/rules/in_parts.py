"""The rules of releases in parts: what needs the whole table does not go with them."""

from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
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
        return (
            "form.label-tables: is not for releases in parts, because parts share their "
            "labels. Leave it out; `sfumato load` makes the tables"
        )
    for name, column in spec.columns.items():
        if column.labels is not None and column.code_list != "whole":
            return (
                f"columns.{name}.code-list: no part knows which codes occur in all "
                "parts. Write `code-list: whole`"
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
    return (
        f"engine: {spec.engine} makes releases in parts, and the spec has no parts. Write "
        "parts, or leave engine out"
    )


def _fault_of_cut(spec: SpecParts, parts: PartsOfTable) -> str | None:
    if parts.by is None:
        return None
    column = spec.columns.get(parts.by)
    if column is None or column.role != "quasi-identifier":
        return f"parts.by: {parts.by!r} is not a column with role quasi-identifier. Name one"
    if column.type not in ORDERED:
        return (
            f"parts.by: the values of {parts.by!r} have no order. Name a column of numbers "
            "or dates, or leave by and at out"
        )
    try:
        starts = [as_number(text, column.type) for text in parts.at]
    except ValueError:
        return (
            f"parts.at: has a value that is not of type {column.type}, which parts.by has. "
            "Write values of that type"
        )
    return (
        None
        if starts == sorted(set(starts))
        else "parts.at: the values do not ascend. Write each once, the smallest first"
    )


def _fault_of_promises(spec: SpecParts) -> str | None:
    for i, promise in enumerate(spec.scoped_promises()):
        if fault := _fault_of_whole_table(spec, promise) or _fault_of_other_rows(spec, promise):
            return f"promises.{i}{fault}"
    return None


def _fault_of_whole_table(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why a promise is about more than parts, or None."""
    quasi_identifiers = set(spec.names_with_roles("quasi-identifier"))
    if promise.reference_uri is not None:
        return (
            f": {promise.name} is about a population, and a part cannot be "
            "compared with it. Leave this promise out, or leave parts out"
        )
    if promise.needs_labels:
        return (
            f": {promise.name} is about labels of the whole table, and a part "
            "knows only its own. Leave this promise out, or leave parts out"
        )
    if promise.judged_jointly and not quasi_identifiers <= set(promise.quasi_identifiers or ()):
        return (
            f": {promise.name} is judged over all groups together. "
            "Parts can keep it only if it is about all quasi-identifiers, because "
            "these separate the parts. Leave quasi-identifiers out of the promise"
        )
    return None


def _fault_of_other_rows(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why a promise needs the values of all rows, or None."""
    if spec.form.declares and promise.compares_with_all:
        return (
            f": {promise.name} compares the declared distribution of "
            "each group with those of all groups, and a part knows only its own "
            "groups. Leave this promise out, or leave parts out"
        )
    if isinstance(promise, PPrivacy) and promise.of_groups:
        return (
            ".target: the nearest target of each group is found with "
            "the values of all rows, and a part knows only its own rows. Name one "
            "target"
        )
    if promise.compares_with_all and spec.partition.chosen_once:
        return (
            f": {promise.name} compares groups with all rows, and "
            f"partition {spec.partition.method} cannot make one part more similar "
            "to all rows. Use mondrian"
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
            "versions: `composed` does not work in parts with form "
            f"{spec.form.method}: what the groups of all parts and versions reveal "
            "together is not judged. Use form permuted, split, generalized or "
            "suppressed"
        )
    if spec.partition.chosen_once:
        return (
            "versions: `composed` does not work in parts with partition "
            f"{spec.partition.method}: new people are grouped in each part, and this "
            "partition chooses once for all parts. Use mondrian"
        )
    for i, promise in enumerate(spec.scoped_promises()):
        if promise.compares_with_all:
            return (
                f"promises.{i}: {promise.name} compares groups with all rows. Under "
                "`versions: composed`, the groups of a part continue and cannot follow "
                "the rows of a later version. Leave this promise out, or leave parts "
                "out"
            )
    return None


def _fault_of_run(spec: SpecParts) -> str | None:
    """Return which key beside the release's own needs the whole table in memory, or None."""
    units = [name for name, column in spec.columns.items() if column.unit]
    composed = isinstance(spec.versions, ContinuedVersions)
    rules = {
        "source.format: a release in parts reads Parquet only. Convert the source to a Parquet "
        "file or a directory of Parquet files": spec.source.format != "parquet",
        "across-lines: what several lines reveal together is not counted in parts. Leave "
        "across-lines out": composed and spec.across_lines == "accepted-risk",
        "groups: a release in parts cannot use the groups of another line. Write a partition in "
        "place of groups": spec.groups is not None,
        "strata: a release in parts cannot use levels of hierarchies as strata. Use columns or "
        "bands": any(isinstance(stratum, HierarchyLevel) for stratum in spec.strata),
        "remember: a release in parts keeps who is in which group only for `versions: composed`. "
        "Write `remember: units`": bool(units) and spec.remember != "units" and not composed,
        "evaluate.intervals: a release in parts cannot calibrate intervals, which needs the "
        "original table and the release together. Leave intervals out": (
            spec.evaluate.intervals is not None
        ),
        "stages: `encrypted` does not work in parts, which are read and written piece by piece. "
        "Write `stages: plain`, and use an encrypted disk": spec.stages == "encrypted",
    }
    for name in spec.columns:
        rules |= _rules_of_column(spec, name)
    return next((fault for fault, broken in rules.items() if broken), None)


def _rules_of_column(spec: SpecParts, name: str) -> dict[str, bool]:
    column = spec.columns[name]
    return {
        f"columns.{name}.hierarchy: a release in parts must publish all leaves, because the "
        "published labels are known only at the end. Write `{file: FILE, public: true}`": (
            narrows_hierarchy(spec, name)
        ),
        f"columns.{name}.generated: a release in parts does not number rows. Leave generated out": (
            bool(column.generated)
        ),
        f"columns.{name}.repeat: finding repeated rows needs all rows at once, which parts do not "
        "have. Use refuse": column.repeat != "refuse",
    }


RULES: tuple[Callable[[SpecParts], None], ...] = (_parts,)
