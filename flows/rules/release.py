"""The rules that hold of every release spec."""

import re
from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
from sfumato.flows.spec_parts import SpecParts
from sfumato.tasks.authorship.secret import KEYS
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.of_line import fault_of_groups
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.publication.destinations.declared import LONGEST_SCHEMA
from sfumato.tasks.query.accuracy.workloads.parameters import RangeWorkload, Workload
from sfumato.tasks.schema.columns import NUMBERS, ORDERED
from sfumato.tasks.schema.names import COUNT, GROUP_ID
from sfumato.tasks.schema.strata import Bands, HierarchyLevel, column_of

_RESERVED = frozenset({GROUP_ID, COUNT, "lower", "upper"})


def _confirmed(spec: SpecParts) -> None:
    if spec.roles == "proposed":
        raise ValueError(
            "roles: are proposed, and nobody has confirmed them: read every column's role and the "
            "reason for it, change what is wrong, and write roles: confirmed"
        )


def _names(spec: SpecParts) -> None:
    for taken, what in ((KEYS, "signing keys"), (PEOPLE, "what is known of people")):
        if spec.name == taken:
            raise ValueError(f"name: {taken} is the directory of {what}: choose another")
    safe: dict[str, str] = {}
    for name in spec.columns:
        if not re.fullmatch(r"[^\x00-\x1f\x7f/\\]{1,128}", name) or name.strip(". ") != name:
            raise ValueError(f"columns.{name!r}: looks like a path, or cannot be a name")
        if name.lower() in _RESERVED:
            raise ValueError(f"columns.{name}: is a reserved name")
        folded = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        if not folded or folded in _RESERVED:
            raise ValueError(f"columns.{name}: has no safe name for files and SQL of its own")
        if folded in safe:
            raise ValueError(f"columns.{name}: collides with {safe[folded]!r} in files and SQL")
        safe[folded] = name


def _roles(spec: SpecParts) -> None:
    for role in ("quasi-identifier", "sensitive"):
        if not spec.named(role):
            raise ValueError(f"columns: none has role {role}")
    for name in spec.named("sensitive"):
        if spec.nulls == "category" and spec.columns[name].nulls is None:
            raise ValueError(f"columns.{name}: needs a null policy of its own, not category")


def _strata(spec: SpecParts) -> None:
    for i, stratum in enumerate(spec.strata):
        name = column_of(stratum)
        if name not in spec.named("quasi-identifier", "insensitive"):
            raise ValueError(f"strata: {name!r} is not a quasi-identifier or insensitive column")
        if isinstance(stratum, Bands) and spec.columns[name].type not in NUMBERS:
            raise ValueError(f"strata.{i}: bands are of numbers, and {name!r} has none")
        if isinstance(stratum, HierarchyLevel) and spec.columns[name].hierarchy is None:
            raise ValueError(f"strata.{i}: a level needs a hierarchy, and {name!r} has none")
        if str(stratum) in spec.columns and not isinstance(stratum, str):
            raise ValueError(f"strata.{i}: a column is called as these bands")


def _unit(spec: SpecParts) -> None:
    units = [name for name, column in spec.columns.items() if column.unit]
    if len(units) > 1:
        raise ValueError(f"columns: {units[0]!r} and {units[1]!r} both have unit: true")
    if spec.unit is None and not units:
        raise ValueError("unit: say `row` where rows are people, or mark an identifier unit: true")
    if spec.unit == "row" and units:
        raise ValueError(f"unit: `row` contradicts unit: true of {units[0]!r}")
    if spec.unit not in (None, "row", *units):
        raise ValueError(
            f"unit: {spec.unit!r} is not an identifier with unit: true (write "
            f"{spec.unit}: {{role: identifier, unit: true}} among the columns)"
        )


def _generated(spec: SpecParts) -> None:
    """A row number is somebody's in one file alone."""
    for name, column in spec.columns.items():
        if column.generated is not None and spec.source.sha256 is None:
            raise ValueError(
                f"columns.{name}.generated: row numbers mean the same people in one file alone: "
                "pin it (source.sha256)"
            )


def _scopes(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.promises):
        if fault := _misplaced(spec, promise):
            raise ValueError(f"promises.{i}: {fault}")
    covered = {name for promise in spec.scoped() for name in promise.quasi_identifiers or ()}
    for name in spec.named("quasi-identifier"):
        if name not in covered:
            raise ValueError(f"promises: no promise covers the quasi-identifier {name!r}")
    protected = {promise.sensitive for promise in spec.scoped() if promise.protects}
    for name in spec.named("sensitive"):
        if name not in protected and spec.columns[name].unprotected is None:
            raise ValueError(
                f"promises: none protects {name!r}, and it gives no `unprotected` reason"
            )


def _misplaced(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """The fault in the columns that a promise is about, None where there is none."""
    for name in promise.quasi_identifiers or ():
        if name not in spec.named("quasi-identifier"):
            return f"{name!r} is not a quasi-identifier"
    sensitive = spec.named("sensitive")
    if promise.sensitive is not None and promise.sensitive not in sensitive:
        return f"{promise.sensitive!r} is not a sensitive column"
    if promise.protects and promise.sensitive is None and len(sensitive) > 1:
        return "name the `sensitive` column it is about"
    return None


def _combination(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.scoped()):
        if fault := _unmeasurable(spec, promise):
            raise ValueError(f"promises.{i}: {fault}")
    if not spec.form.shows_insensitive:
        for name in spec.named("insensitive"):
            raise ValueError(f"columns.{name}: form {spec.form.method} shows no insensitive column")


def _form(spec: SpecParts) -> None:
    if spec.groups is not None and (spec.form.declares or spec.form.shows == "columns"):
        raise ValueError(
            f"form: {spec.form.method} tells of groups what another line's do not: show them as "
            "generalized, suppressed, permuted or split"
        )
    if fault := spec.form.fault_in(spec):
        raise ValueError(fault)


def _partition(spec: SpecParts) -> None:
    if fault := fault_of_groups(spec, spec.grouping is not None):
        raise ValueError(fault)
    need = spec.partition.needs
    if need and not any(isinstance(promise, need.models) for promise in _grouped_by(spec)):
        raise ValueError(f"partition: {spec.partition.method} needs {need.words}")
    for i, promise in enumerate(spec.promises):
        if fault := spec.partition.fault_of(promise):
            raise ValueError(f"promises.{i}.{fault}")


def _grouped_by(spec: SpecParts) -> tuple[PrivacyModel, ...]:
    return spec.form.grouped_by(spec.promises, spec.partition)


def _unmeasurable(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """The reason why a promise can never be measured on what is published, if any."""
    if not spec.form.admits(promise):
        forms = sorted(name for name, kind in FORM_PARAMETERS.items() if kind.admits(promise))
        where = ", ".join(forms)
        return f"{promise.name} means nothing in form {spec.form.method}; it does in {where}"
    column = spec.columns[promise.sensitive] if promise.sensitive else None
    return promise.unmeasurable(column) or _unknowable(spec, promise)


def _unknowable(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """The fault in the sensitive columns that an adversary is said to know, if any."""
    for name in promise.known_columns:
        if name == promise.sensitive or name not in spec.named("sensitive"):
            return f"known: {name!r} is not another sensitive column"
    if promise.known_columns and not spec.form.together:
        return (
            f"known: form {spec.form.method} does not show which sensitive values belong together, "
            f"unless it says `sensitive: together`"
        )
    return None


def _workloads(spec: SpecParts) -> None:
    for i, workload in enumerate(spec.evaluate.workloads):
        of = workload.of or spec.named("sensitive")[0]
        if of not in spec.named("sensitive"):
            raise ValueError(f"evaluate.workloads.{i}: {of!r} is not a sensitive column")
        if workload.aggregate in ("sum", "avg") and spec.columns[of].type in ("date", "timestamp"):
            raise ValueError(f"evaluate.workloads.{i}: no {workload.aggregate} of {of!r}")
        if fault := _unanswered(spec, workload):
            raise ValueError(f"evaluate.workloads.{i}: {fault}")


def _unanswered(spec: SpecParts, workload: Workload) -> str | None:
    """Why the queries of a workload cannot be asked of what is published, where they cannot."""
    form = spec.form.method
    if spec.form.counts_alone and workload.aggregate != "count":
        return f"form {form} answers counts, not {workload.aggregate}"
    if workload.kind == "arbitrary" and spec.form.rows_table is None:
        return f"arbitrary selections of rows mean nothing in form {form}"
    if not isinstance(workload, RangeWorkload):
        return None
    if workload.over not in spec.named("quasi-identifier"):
        return f"{workload.over!r} is not a quasi-identifier"
    if spec.columns[workload.over].type not in ORDERED - {"timestamp"}:
        return f"{workload.over!r} has no ranges"
    return None


def _database(spec: SpecParts) -> None:
    """Names of schemas hold the line's, and PostgreSQL cuts longer ones off."""
    database = spec.publish.database
    if database is not None and len(database.schema_of(spec.name)) > LONGEST_SCHEMA:
        raise ValueError(
            f"publish.database: the line's name makes names of schemas that are longer than "
            f"{LONGEST_SCHEMA}: name one (publish.database.schema)"
        )


def _stages(spec: SpecParts) -> None:
    if spec.stages == "encrypted" and (spec.retain or spec.reviewed):
        which = "retain" if spec.retain else "approval"
        raise ValueError(
            f"{which}: needs stages that a later run can read, and those of stages: encrypted "
            "nobody can"
        )


RULES: tuple[Callable[[SpecParts], None], ...] = (
    _confirmed,
    _names,
    _roles,
    _strata,
    _unit,
    _generated,
    _scopes,
    _combination,
    _partition,
    _form,
    _workloads,
    _stages,
    _database,
)
