"""The rules that hold of every release spec."""

from collections.abc import Callable

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.flows.rules.two_tables import APART
from sfumato.tasks.attacks.declared import JUDGED
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.destinations.declared import LONGEST_SCHEMA
from sfumato.tasks.forms.form_parameters import SuppressedParameters
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.aimed.parameters import AimedParameters, fault_of_aims
from sfumato.tasks.partitions.of_line import fault_of_groups
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.query.accuracy.parameters import PeopleWorkload, RangeWorkload, Workload
from sfumato.tasks.schema.columns import ORDERED

_OF_JOINS = ("count", "sum", "avg")


def _scopes(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.promises):
        if fault := _fault_of_scope(spec, promise):
            raise ValueError(f"promises.{i}: {fault}")
    covered = {
        name for promise in spec.scoped_promises() for name in promise.quasi_identifiers or ()
    }
    for name in spec.names_with_roles("quasi-identifier"):
        if name not in covered:
            raise ValueError(
                f"promises: no promise covers the quasi-identifier {name!r}. Leave "
                "quasi-identifiers out of a promise (it then covers all), or add the "
                "column there"
            )
    protected = {promise.sensitive for promise in spec.scoped_promises() if promise.protects}
    for name in spec.names_with_roles("sensitive"):
        if name not in protected and spec.columns[name].unprotected is None:
            raise ValueError(
                f"promises: no promise protects the sensitive column {name!r}. Add a "
                "promise about it, or write why the column needs no promise "
                "(unprotected: REASON)"
            )


def _fault_of_scope(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return the fault in the columns that a promise is about, or None."""
    for name in promise.quasi_identifiers or ():
        if name not in spec.names_with_roles("quasi-identifier"):
            return f"{name!r} is not a column with role quasi-identifier"
    if promise.weighs:
        return _fault_of_weight(spec, promise)
    sensitive = spec.names_with_roles("sensitive")
    if promise.sensitive is not None and promise.sensitive not in sensitive:
        return f"{promise.sensitive!r} is not a column with role sensitive"
    if promise.protects and not sensitive:
        return (
            f"{promise.name} is about sensitive values, and no column has role sensitive. "
            "Give a column this role, or leave the promise out"
        )
    if promise.protects and promise.sensitive is None and len(sensitive) > 1:
        return (
            "there are several sensitive columns. Name the one that it is about: "
            "`sensitive: COLUMN`"
        )
    return None


def _fault_of_weight(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return the fault in the column of weights that a promise is about, or None."""
    weights = spec.names_with_roles("weight")
    if not weights:
        return (
            f"{promise.name} sums weights, and no column has role weight. Give a column "
            "this role, or leave the promise out"
        )
    return (
        None
        if promise.sensitive in (None, *weights)
        else f"{promise.sensitive!r} is not a column with role weight"
    )


def _combination(spec: SpecParts) -> None:
    for i, promise in enumerate(spec.scoped_promises()):
        if fault := _unmeasurable(spec, promise):
            raise ValueError(f"promises.{i}: {fault}")
    if not spec.form.shows_insensitive:
        for name in spec.names_with_roles("insensitive"):
            raise ValueError(
                f"columns.{name}: form {spec.form.method} cannot show insensitive columns. "
                "Give the column role drop, or use another form"
            )


def _form(spec: SpecParts) -> None:
    if spec.groups is not None and (spec.form.declares or spec.form.shows == "columns"):
        raise ValueError(
            f"form: {spec.form.method} shows things about groups that the groups of "
            "another line do not keep. Use form generalized, suppressed, permuted or "
            "split"
        )
    if fault := spec.form.fault_in(spec) or _fault_of_marginals(spec):
        raise ValueError(fault)


def _fault_of_marginals(spec: SpecParts) -> str | None:
    """Return what does not go with published marginals, or None.

    They are judged with the groups of one version. Whoever has those of several versions or lines
    about the same people can subtract one from another.
    """
    if not spec.form.counted_columns:
        return None
    faults = {
        "versions: `composed` is not judged beside marginals. Write `versions: disjoint`": (
            isinstance(spec.versions, ContinuedVersions)
        ),
        "versions: marginals of versions about the same people can be subtracted from one another. "
        "Write `versions: disjoint`": spec.versions == "accepted-risk",
        "across-lines: marginals of lines about the same people can be subtracted from one "
        "another. Leave across-lines out": spec.across_lines == "accepted-risk",
        "people: marginals are judged with the groups of one line, and people is for several lines "
        "about the same people. Leave people out": spec.people is not None,
        "parts: the marginals of all parts are not judged together. Leave parts out": (
            spec.parts is not None
        ),
    }
    fault = next((fault for fault, broken in faults.items() if broken), None)
    return None if fault is None else f"{fault}, or leave form.marginals out"


def _partition(spec: SpecParts) -> None:
    if fault := fault_of_groups(spec, spec.grouping is not None):
        raise ValueError(fault)
    need = spec.partition.needs
    if need and not any(isinstance(promise, need.models) for promise in _grouped_by(spec)):
        raise ValueError(f"partition: {spec.partition.method} needs {need.words}")
    for i, promise in enumerate(spec.promises):
        if fault := spec.partition.fault_of(promise) or _fault_of_labels(spec, promise):
            raise ValueError(f"promises.{i}.{fault}")


def _fault_of_labels(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why a promise about labels does not go with the partition and form, or None."""
    chosen, form = spec.partition.judges_labels, spec.form
    if not promise.needs_labels:
        return None
    if chosen is None:
        able = [name for name, kind in PARTITION_PARAMETERS.items() if kind.judges_labels]
        return (
            f"model: {promise.name} is about the labels of all groups together, and partition "
            f"{spec.partition.method} does not judge them. Use one of {', '.join(able)}"
        )
    if chosen == "nodes" and not form.shows_hierarchies:
        return (
            f"model: {promise.name} is about labels, and form {form.method} does not show those "
            f"that partition {spec.partition.method} chooses. Use form generalized, or partition "
            "local-suppression"
        )
    if isinstance(form, SuppressedParameters) and form.linked:
        return (
            f"model: {promise.name} is about labels, and `form.linked` changes those that the "
            "partition chooses. Leave linked out"
        )
    return None


def _attacks(spec: SpecParts) -> None:
    bars = spec.attacks.root
    guessing = [name for name in bars if JUDGED[name].of_values]
    if guessing and not spec.names_with_roles("sensitive"):
        raise ValueError(
            f"attacks.{guessing[0]}: guesses sensitive values, and no column has role "
            "sensitive. Leave this attack out"
        )
    form, groups = spec.form, spec.partition.method
    own = any(isinstance(p, PPrivacy) and p.of_groups for p in spec.promises)
    if fault := spec.attacks.fault_in(form.shows, groups, spec.over_people, own):
        raise ValueError(f"attacks.{fault} ({form.method}, {groups})")
    for name in bars:
        if fault := _fault_of_columns(name, spec) or _fault_of_versions(name, spec):
            raise ValueError(f"attacks.{name}: {fault}")
    if (asking := spec.attacks.attacks_to_review) and spec.approval_wish is None:
        raise ValueError(
            f"attacks.{asking[0]}.on-failure: `approve` needs a reviewer who decides. "
            "Write `approval: required`"
        )
    if spec.parts is not None or isinstance(spec.versions, ContinuedVersions):
        which = "composed versions" if spec.parts is None else "releases in parts"
        if others := [name for name in bars if not JUDGED[name].by_groups]:
            raise ValueError(
                f"attacks.{others[0]}: cannot be judged for {which}. Leave this attack out"
            )


def _fault_of_columns(name: str, spec: SpecParts) -> str | None:
    """Return why an attack has no column to guess, or too many for one width, or None."""
    sensitive = [spec.columns[column] for column in spec.names_with_roles("sensitive")]
    numbers = [column for column in sensitive if column.type in ORDERED]
    if JUDGED[name].about == "hierarchies":
        return (
            None
            if any(column.hierarchy for column in sensitive)
            else "needs a sensitive column with a hierarchy. Write one, or leave this attack out"
        )
    if JUDGED[name].about == "numbers" and not numbers:
        return (
            "needs a sensitive column of numbers or dates, and there is no such column. "
            "Leave this attack out"
        )
    if spec.attacks.root[name].width is not None and len(numbers) > 1:
        return (
            "width: is measured in the unit of one column, and there are several sensitive "
            "columns. Leave width out"
        )
    if spec.attacks.root[name].register_ is not None:
        coded = [c for c in spec.names_with_roles("quasi-identifier") if spec.columns[c].codings]
        return (
            (
                f"register: {coded[0]!r} is coded in the release and not in the register, so "
                "the two cannot be compared. Leave register out"
            )
            if coded
            else None
        )
    return None


def _fault_of_versions(name: str, spec: SpecParts) -> str | None:
    """Return why an attack on people in several versions cannot be judged, or None."""
    if not JUDGED[name].several_versions:
        return None
    if "accepted-risk" not in (spec.versions, spec.across_lines):
        return (
            "is about people in several versions, which this spec does not accept. Leave "
            "this attack out"
        )
    if spec.remember != "map" or spec.unit == "row" or spec.over_people:
        return (
            "needs to know who is in which group. Name a unit, write `remember: map`, and "
            "keep one row of each person"
        )
    return None


def _aims(spec: SpecParts) -> None:
    if not isinstance(spec.partition, AimedParameters):
        return
    if fault := fault_of_aims(spec, spec.partition, ORDERED - {"timestamp"}):
        raise ValueError(f"partition: {fault}")


def _grouped_by(spec: SpecParts) -> tuple[PrivacyModel, ...]:
    return spec.form.grouped_by(spec.promises, spec.partition)


def _fault_of_people(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return why k people mean nothing in one table, or None; also of any other promise."""
    if promise.name != "people" or spec.related is not None:
        return None
    if spec.form.recodes:
        return f"people is about exact rows. In form {spec.form.method}, promise k-anonymity"
    if promise.needs_owners:
        return (
            "people: numbers: known leaves out people without rows, and everyone in one table has "
            "a row. Leave numbers out"
        )
    if isinstance(spec.versions, ContinuedVersions):
        return (
            "people is about one version: groups of later ones keep values of people who have "
            "left. Write `versions: disjoint`, or leave the promise out"
        )
    return None


def _unmeasurable(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return the reason why a promise can never be measured on what is published, or None."""
    if fault := _fault_of_people(spec, promise):
        return fault
    if not spec.form.admits(promise):
        forms = {name: kind for name, kind in FORM_PARAMETERS.items() if kind.admits(promise)}
        of_one = sorted(name for name, kind in forms.items() if kind.shows != APART)
        where = ", ".join(of_one or sorted(forms))
        return (
            f"{promise.name} cannot be measured in form {spec.form.method}. Use one of the "
            f"forms {where}"
        )
    column = spec.columns[promise.sensitive] if promise.sensitive else None
    if column is not None and column.nulls == "category" and not promise.counts_nulls:
        return (
            f"{promise.name} needs values, and {promise.sensitive!r} keeps missing values "
            "(nulls: category). Use `nulls: drop-row` there"
        )
    return promise.unmeasurable(column) or _unknowable(spec, promise)


def _unknowable(spec: SpecParts, promise: PrivacyModel) -> str | None:
    """Return the fault in the sensitive columns that an adversary is said to know, or None."""
    for name in promise.known_columns:
        if name == promise.sensitive or name not in spec.names_with_roles("sensitive"):
            return (
                f"known: {name!r} is not a sensitive column other than the one that the "
                "promise protects"
            )
    if promise.known_columns and not spec.form.together:
        return (
            f"known: form {spec.form.method} does not show which sensitive values "
            "belong to one person. Write `sensitive: together` under form"
        )
    return None


def _workloads(spec: SpecParts) -> None:
    for i, workload in enumerate(spec.evaluate.workloads):
        if fault := _fault_of_subject(spec, workload) or _fault_of_queries(spec, workload):
            raise ValueError(f"evaluate.workloads.{i}: {fault}")


def _fault_of_subject(spec: SpecParts, workload: Workload) -> str | None:
    """Return why a workload cannot be about its sensitive column, or None."""
    sensitive = spec.names_with_roles("sensitive")
    if not sensitive and workload.of is None:
        asks_none = workload.kind == "range" and workload.aggregate == "count"
        return (
            None
            if asks_none
            else (
                "no column has role sensitive, so queries can only count rows by ranges. Use "
                "`kind: range` with `aggregate: count`"
            )
        )
    of_rows = [name for name in sensitive if name in spec.form.related_columns]
    column = workload.of or (of_rows or sensitive)[0]
    if column not in sensitive:
        return f"{column!r} is not a column with role sensitive"
    if workload.kind == "arbitrary" and spec.columns[column].nulls == "category":
        return (
            f"{column!r} may have missing values, so arbitrary selections cannot be asked "
            "of it. Use `kind: range`"
        )
    if workload.aggregate in ("sum", "avg") and spec.columns[column].type in ("date", "timestamp"):
        return (
            f"{workload.aggregate} cannot be computed for {column!r}, which has dates. Use "
            "another aggregate, such as count"
        )
    return None


def _fault_of_tables(workload: Workload, *, of_two: bool, of_fact: bool) -> str | None:
    """Return why a workload is not about the one table, or the two, of a spec; None if it is."""
    if of_fact and isinstance(workload, PeopleWorkload):
        return (
            f"kind people is about rows with a value, and {workload.of} is a fact of people. Use "
            "`kind: range` or `kind: counts`"
        )
    if of_fact and workload.kind != "arbitrary":
        return None
    if isinstance(workload, PeopleWorkload) and not of_two:
        return "kind people is about people and their rows in a second table. Use `kind: counts`"
    if of_two and workload.kind == "arbitrary":
        return (
            "arbitrary selections are not asked of two tables. Use `kind: range`, `kind: counts` "
            "or `kind: people`"
        )
    if of_two and workload.aggregate not in _OF_JOINS:
        return f"of two tables, {workload.aggregate} has no bounds. Use {', '.join(_OF_JOINS)}"
    return None


def _fault_of_queries(spec: SpecParts, workload: Workload) -> str | None:
    """Return why the queries of a workload cannot be answered from what is published, or None."""
    form, of_two = spec.form.method, spec.related is not None
    of_fact = workload.of in spec.facts
    if (fault := _fault_of_tables(workload, of_two=of_two, of_fact=of_fact)) is not None:
        return fault
    if spec.form.counts_alone and workload.aggregate != "count":
        return (
            f"form {form} answers only counts, and not {workload.aggregate}. Use `aggregate: count`"
        )
    if workload.kind == "arbitrary" and spec.form.rows_table is None:
        return (
            f"form {form} has no answers to arbitrary selections of rows. The widths "
            "of such answers are published, and would reveal exact rows that are not. "
            "Use `kind: range`; `sfumato compare` asks arbitrary selections in private"
        )
    if not isinstance(workload, RangeWorkload | PeopleWorkload):
        return None
    if workload.over not in spec.names_with_roles("quasi-identifier"):
        return f"{workload.over!r} is not a column with role quasi-identifier"
    if spec.columns[workload.over].type not in ORDERED - {"timestamp"}:
        return (
            f"the values of {workload.over!r} have no ranges. Name a quasi-identifier of "
            "numbers or dates"
        )
    return None


def _database(spec: SpecParts) -> None:
    """Refuse names of schemas that are too long: PostgreSQL would cut them off."""
    database = spec.publish.database
    if database is not None and len(database.schema_of(spec.name)) > LONGEST_SCHEMA:
        raise ValueError(
            "publish.database: the line's name is too long for schemas: PostgreSQL "
            f"cuts their names, and the line may use {LONGEST_SCHEMA} characters. "
            "Write a shorter name (publish.database.schema)"
        )


def _stages(spec: SpecParts) -> None:
    if spec.stages == "encrypted" and (spec.retain or spec.approval_wish):
        which = "retain" if spec.retain else "approval"
        raise ValueError(
            f"{which}: needs stages that a later run can read, and `stages: encrypted` "
            "makes them unreadable after the run. Write `stages: plain`, or leave "
            f"{which} out"
        )


def _policy(spec: SpecParts) -> None:
    """Hold the spec to its policy, if it names one."""
    if spec.policy is not None:
        from sfumato.flows.rules.policies import require_policy  # few specs have a policy

        require_policy(spec)


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
    _policy,
)
