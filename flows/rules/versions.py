"""The rules of versions that the same people may be in."""

from collections.abc import Callable

from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.continued.parameters import (
    ContinuedVersions,
    fault_of_consolidation,
    fault_of_vacancies,
)
from sfumato.tasks.microdata.rows import columns_asked


def _versions(spec: SpecParts) -> None:
    if not isinstance(spec.versions, ContinuedVersions):
        return
    if spec.unit == "row":
        raise ValueError(
            "versions: `composed` must recognize each person in later versions. Write "
            "`unit: true` for the identifier of people"
        )
    if spec.remember == "units":
        raise ValueError(
            "remember: `units` does not keep who is in which group, and `versions: "
            "composed` needs it. Write `remember: map`"
        )
    goes_on_whole = spec.versions.vacancies == "keep" and spec.versions.changes != "reinsert"
    for i, promise in enumerate(spec.scoped_promises()):
        if promise.needs_labels:
            raise ValueError(
                f"promises.{i}: {promise.name} is about the labels of one version. Under "
                "`versions: composed`, groups keep theirs while their people change. Write "
                "`versions: disjoint`, or promise k-anonymity"
            )
        if promise.known_columns and not goes_on_whole:
            raise ValueError(
                f"promises.{i}.known: an attacker with this knowledge learns more if "
                "people change places in groups. Write `vacancies: keep`, and "
                "`changes: withhold` or `changes: as-first`"
            )
        if promise.known_columns and spec.groups is not None:
            raise ValueError(
                f"promises.{i}.known: cannot be judged for groups that continue from "
                "another line. Leave known out, or write a partition in place of groups"
            )
    _require_open_filter(spec)
    _require_joint_presence(spec)
    _require_routes(spec, spec.versions)


def _require_open_filter(spec: SpecParts) -> None:
    """Refuse a filter by sensitive values: entering or leaving would give the value away."""
    if spec.source.where is None:
        return
    types = {name: column.type for name, column in spec.columns.items()}
    try:
        columns = columns_asked(spec.source.where, types)
    except QueryError:
        return  # a rule of sources tells it
    for name in spec.names_with_roles("sensitive"):
        if name in columns:
            raise ValueError(
                f"source.where: uses the sensitive column {name!r}. Under `versions: "
                "composed`, a person who enters or leaves would reveal its value; "
                "filter by other columns"
            )


def _require_routes(spec: SpecParts, versions: ContinuedVersions) -> None:
    """Refuse promises that cannot be kept if slots change hands, and forms that cannot show it."""
    if spec.form.declares or spec.form.shows == "columns":
        reason = f"form {spec.form.method} shows each group as it was first made"
        if versions.vacancies != "keep":
            raise ValueError(
                f"versions.vacancies: `{versions.vacancies}` gives new people the "
                f"places of those who left, and {reason}. Write `vacancies: keep`"
            )
        if versions.changes == "reinsert":
            raise ValueError(
                "versions.changes: `reinsert` needs groups that can change, and "
                f"{reason}. Write `changes: withhold`"
            )
    recoded = spec.names_with_roles("sensitive", "insensitive")
    lasting = recoded if spec.form.recodes else spec.names_with_roles("sensitive")
    faults = (
        fault_of_vacancies(versions, spec.scoped_promises(), spec.partition, lasting),
        fault_of_consolidation(versions, spec.partition, lasting, spec.form.recodes),
    )
    if fault := next(filter(None, faults), None):
        raise ValueError(fault)


def _require_joint_presence(spec: SpecParts) -> None:
    """Refuse bounds on presence per group: they do not bound presence over all versions."""
    versions = spec.versions
    bounded = [p for p in spec.promises if p.most_present is not None]
    for promise in bounded:
        if not promise.judged_jointly:
            raise ValueError(
                "promises: a limit on presence in each group does not limit presence over "
                "several versions. Use a promise of presence over all groups (alpha-beta)"
            )
    joint = any(promise.judged_jointly for promise in bounded)
    shared = isinstance(versions, ContinuedVersions) and "share" in versions.model_fields_set
    if shared and not joint:
        raise ValueError(
            "versions.share: is a share of the presence that alpha-beta allows, and no "
            "promise has alpha-beta. Leave share out"
        )


RULES: tuple[Callable[[SpecParts], None], ...] = (_versions,)
