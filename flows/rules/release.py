"""The rules that hold of every release spec."""

from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.attacks.declared import JUDGED
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.destinations.declared import LONGEST_SCHEMA
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.aimed.parameters import AimedParameters, fault_of_aims
from sfumato.tasks.partitions.of_line import fault_of_groups
from sfumato.tasks.query.accuracy.parameters import RangeWorkload, Workload
from sfumato.tasks.schema.columns import ORDERED


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
    if promise.weighs:
        return _unweighed(spec, promise)
    sensitive = spec.named("sensitive")
    if promise.sensitive is not None and promise.sensitive not in sensitive:
        return f"{promise.sensitive!r} is not a sensitive column"
    if promise.protects and not sensitive:
        return f"{promise.name} is about sensitive values, and no column has role sensitive"
    if promise.protects and promise.sensitive is None and len(sensitive) > 1:
        return "name the `sensitive` column it is about"
    return None


def _unweighed(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """The fault in the column of weights that a promise is about, None where there is none."""
    weights = spec.named("weight")
    if not weights:
        return f"{promise.name} sums weights, and no column has role weight"
    return None if promise.sensitive in (None, *weights) else f"{promise.sensitive!r} is no weight"


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


def _attacks(spec: SpecParts) -> None:
    bars = spec.attacks.root
    guessing = [name for name in bars if JUDGED[name].of_values]
    if guessing and not spec.named("sensitive"):
        raise ValueError(
            f"attacks.{guessing[0]}: guesses sensitive values, and no column has role sensitive"
        )
    form, groups = spec.form, spec.partition.method
    if fault := spec.attacks.fault_in(form.shows, groups, spec.over_people):
        raise ValueError(f"attacks.{fault} ({form.method}, {groups})")
    for name in bars:
        if fault := _fault_of_columns(name, spec) or _fault_of_versions(name, spec):
            raise ValueError(f"attacks.{name}: {fault}")
    if (asking := spec.attacks.attacks_to_review) and spec.reviewed is None:
        raise ValueError(
            f"attacks.{asking[0]}.on-failure: approve needs somebody to decide: say "
            "approval: required"
        )
    if spec.parts is not None or isinstance(spec.versions, ContinuedVersions):
        which = "composed versions" if spec.parts is None else "releases in parts"
        if others := [name for name in bars if not JUDGED[name].by_groups]:
            raise ValueError(f"attacks.{others[0]}: is not judged of {which}: leave it out")


def _fault_of_columns(name: str, spec: SpecParts) -> str | None:
    """Why an attack has no column to guess, or several that one width cannot be meant of."""
    sensitive = [spec.columns[column] for column in spec.named("sensitive")]
    numbers = [column for column in sensitive if column.type in ORDERED]
    if JUDGED[name].about == "hierarchies":
        return None if any(column.hierarchy for column in sensitive) else "needs a hierarchy"
    if JUDGED[name].about == "numbers" and not numbers:
        return "needs a sensitive column of numbers or dates"
    if spec.attacks.root[name].width is not None and len(numbers) > 1:
        return "width: is in the unit of one column, and there are several: leave it out"
    if spec.attacks.root[name].register_ is not None:
        coded = [c for c in spec.named("quasi-identifier") if spec.columns[c].codings]
        return f"register: {coded[0]!r} is coded, and a register is not" if coded else None
    return None


def _fault_of_versions(name: str, spec: SpecParts) -> str | None:
    """Why nothing is known of people in several versions, where an attack is about them."""
    if not JUDGED[name].several_versions:
        return None
    if "accepted-risk" not in (spec.versions, spec.across_lines):
        return "is about people in several versions, which this spec does not accept: leave it out"
    if spec.remember != "map" or spec.unit == "row" or spec.over_people:
        return "needs to be known who is in which group: a unit, and remember: map"
    return None


def _aims(spec: SpecParts) -> None:
    if not isinstance(spec.partition, AimedParameters):
        return
    if fault := fault_of_aims(spec, spec.partition, ORDERED - {"timestamp"}):
        raise ValueError(f"partition: {fault}")


def _grouped_by(spec: SpecParts) -> tuple[PrivacyModel, ...]:
    return spec.form.grouped_by(spec.promises, spec.partition)


def _unmeasurable(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """The reason why a promise can never be measured on what is published, if any."""
    if not spec.form.admits(promise):
        forms = sorted(name for name, kind in FORM_PARAMETERS.items() if kind.admits(promise))
        where = ", ".join(forms)
        return f"{promise.name} means nothing in form {spec.form.method}; it does in {where}"
    column = spec.columns[promise.sensitive] if promise.sensitive else None
    if column is not None and column.nulls == "category" and not promise.counts_nulls:
        return f"{promise.name} needs values, and nulls of {promise.sensitive!r} are a category"
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
        if fault := _unmeasured(spec, workload) or _unanswered(spec, workload):
            raise ValueError(f"evaluate.workloads.{i}: {fault}")


def _unmeasured(spec: SpecParts, workload: Workload) -> str | None:
    """Why a workload cannot be about its sensitive column, where it cannot."""
    sensitive = spec.named("sensitive")
    if not sensitive and workload.of is None:
        asks_none = workload.kind == "range" and workload.aggregate == "count"
        return None if asks_none else "no column has role sensitive: only ranges are counted"
    of = workload.of or sensitive[0]
    if of not in sensitive:
        return f"{of!r} is not a sensitive column"
    if workload.kind == "arbitrary" and spec.columns[of].nulls == "category":
        return f"arbitrary selections are not asked of {of!r}, whose values may be missing"
    if workload.aggregate in ("sum", "avg") and spec.columns[of].type in ("date", "timestamp"):
        return f"no {workload.aggregate} of {of!r}"
    return None


def _unanswered(spec: SpecParts, workload: Workload) -> str | None:
    """Why the queries of a workload cannot be asked of what is published, where they cannot."""
    form = spec.form.method
    if spec.form.counts_alone and workload.aggregate != "count":
        return f"form {form} answers counts, not {workload.aggregate}"
    if workload.kind == "arbitrary" and spec.form.rows_table is None:
        return (
            f"arbitrary selections of rows mean nothing in form {form}: widths of their answers "
            "are published, and would tell of exact rows that are not; sfumato compare asks them "
            "in private of this form beside one of exact rows"
        )
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
    _scopes,
    _combination,
    _partition,
    _form,
    _workloads,
    _stages,
    _database,
    _aims,
    _attacks,
)
