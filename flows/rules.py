"""What must fit together in a release spec: each rule raises ValueError with the path of a key."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import Normal, PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.forms.parameters import RedistributedParameters, SuppressedParameters
from sfumato.tasks.partitions.parameters import FactorsParameters
from sfumato.tasks.query.accuracy.workloads.parameters import RangeWorkload, Workload
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.strata import Bands, column_of

if TYPE_CHECKING:
    from sfumato.flows.spec import ReleaseSpec

_DIVERSE = (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity)
_AMBIGUOUS = "an alpha-beta promise to read alpha and beta from"
_DISTRIBUTED = "a p-privacy promise to read the target distribution from"
_NEEDED: Mapping[str, tuple[tuple[type[PrivacyModel], ...], str]] = {
    "ke": ((KEAnonymity,), "a ke-anonymity promise to read k and e from"),
    "forest": ((KAnonymity,), "a k-anonymity promise to read k from"),
    "factors": ((KAnonymity,), "a k-anonymity promise to read k from"),
    "anatomy": (_DIVERSE, "an l-diversity promise to read l from"),
    "ambiguity": ((AlphaBeta,), _AMBIGUOUS),
    "disjoint-cover": ((AlphaBeta,), _AMBIGUOUS),
    "stratum": ((PPrivacy,), _DISTRIBUTED),
    "exact-qi": ((PPrivacy,), _DISTRIBUTED),
}
_WITHOUT_INSENSITIVE = ("ambiguous", "redistributed")
_NUMBERS = ("integer", "decimal", "float")
_RESERVED = frozenset({"group_id", "count", "lower", "upper"})


def _names(spec: "ReleaseSpec") -> None:
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


def _roles(spec: "ReleaseSpec") -> None:
    for role in ("quasi-identifier", "sensitive"):
        if not spec.named(role):
            raise ValueError(f"columns: none has role {role}")
    for name in spec.named("sensitive"):
        if spec.nulls == "category" and spec.columns[name].nulls is None:
            raise ValueError(f"columns.{name}: needs a null policy of its own, not category")


def _strata(spec: "ReleaseSpec") -> None:
    for i, stratum in enumerate(spec.strata):
        name = column_of(stratum)
        if name not in spec.named("quasi-identifier", "insensitive"):
            raise ValueError(f"strata: {name!r} is no quasi-identifier or insensitive column")
        if isinstance(stratum, Bands) and spec.columns[name].type not in _NUMBERS:
            raise ValueError(f"strata.{i}: bands are of numbers, and {name!r} has none")
        if str(stratum) in spec.columns and isinstance(stratum, Bands):
            raise ValueError(f"strata.{i}: a column is called as these bands")


def _unit(spec: "ReleaseSpec") -> None:
    units = [name for name, column in spec.columns.items() if column.unit]
    if len(units) > 1:
        raise ValueError(f"columns: {units[0]!r} and {units[1]!r} both have unit: true")
    if spec.unit is None and not units:
        raise ValueError("unit: say `row` where rows are people, or mark an identifier unit: true")
    if spec.unit == "row" and units:
        raise ValueError(f"unit: `row` contradicts unit: true of {units[0]!r}")
    if spec.unit not in (None, "row", *units):
        raise ValueError(f"unit: {spec.unit!r} is no identifier with unit: true")


def _scopes(spec: "ReleaseSpec") -> None:
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


def _misplaced(spec: "ReleaseSpec", promise: PrivacyModel) -> str | None:
    """What is wrong with the columns that a promise is about."""
    for name in promise.quasi_identifiers or ():
        if name not in spec.named("quasi-identifier"):
            return f"{name!r} is no quasi-identifier"
    sensitive = spec.named("sensitive")
    if promise.sensitive is not None and promise.sensitive not in sensitive:
        return f"{promise.sensitive!r} is no sensitive column"
    if promise.protects and promise.sensitive is None and len(sensitive) > 1:
        return "say which `sensitive` column it is about"
    return None


def _combination(spec: "ReleaseSpec") -> None:
    for i, promise in enumerate(spec.scoped()):
        if fault := _unmeasurable(spec, promise):
            raise ValueError(f"promises.{i}: {fault}")
    if spec.form.method in _WITHOUT_INSENSITIVE:
        for name in spec.named("insensitive"):
            raise ValueError(f"columns.{name}: form {spec.form.method} shows no insensitive column")
    if isinstance(spec.form, SuppressedParameters):
        for name in (name for linked in spec.form.linked for name in linked):
            if name not in spec.named("quasi-identifier"):
                raise ValueError(f"form.linked: {name!r} is no quasi-identifier")


def _redistributed(spec: "ReleaseSpec") -> None:
    """A form that needs to know of each group which distribution may be learned."""
    if not isinstance(spec.form, RedistributedParameters):
        return
    if spec.partition.method not in ("stratum", "exact-qi"):
        raise ValueError("form: redistributed needs partition stratum or exact-qi")
    if len(spec.named("sensitive")) > 1:
        raise ValueError("form: redistributed shows one sensitive column, and there are several")
    (name,) = spec.named("sensitive")
    if spec.form.tree == "hierarchy" and spec.columns[name].hierarchy is None:
        raise ValueError(f"form.tree: {name!r} has no hierarchy")
    if spec.partition.method == "exact-qi" and spec.form.fakes >= 1:
        raise ValueError("form.fakes: with partition exact-qi a share of each group, not a number")
    if sum(isinstance(promise, PPrivacy) for promise in spec.promises) > 1:
        raise ValueError("promises: one p-privacy promise says what may be learned")


def _partition(spec: "ReleaseSpec") -> None:
    method = spec.partition.method
    models, needed = _NEEDED.get(method, ((PrivacyModel,), ""))
    if not any(isinstance(promise, models) for promise in spec.scoped()):
        raise ValueError(f"partition: {method} needs {needed}")
    if not isinstance(spec.partition, FactorsParameters):
        return
    for i, promise in enumerate(spec.promises):
        if isinstance(promise, KAnonymity) and promise.k not in (2, 3):
            raise ValueError(
                f"promises.{i}.k: partition factors makes groups for k = 2 and 3 alone"
            )


def _unmeasurable(spec: "ReleaseSpec", promise: PrivacyModel) -> str | None:
    """Why a promise can never be measured on what is published, where it cannot."""
    form = spec.form.method
    if form not in promise.forms:
        where = ", ".join(sorted(promise.forms))
        return f"{promise.name} means nothing in form {form}; it does in {where}"
    if promise.drawn_from is not None:
        return f"{promise.name}: this version cannot check a release against a population"
    column = spec.columns[promise.sensitive] if promise.sensitive else None
    kind = column.type if column else ""
    ordered = isinstance(promise, KEAnonymity)
    aim = promise.target if isinstance(promise, PPrivacy) else None
    if isinstance(aim, Normal) and kind not in _NUMBERS:
        return f"target: type {kind} has no normal distribution"
    if isinstance(promise, TCloseness):
        if promise.distance == "hierarchical" and (column is None or column.hierarchy is None):
            return f"distance: {promise.sensitive!r} has no hierarchy"
        ordered = promise.distance == "ordered"
    if ordered and kind not in ORDERED:
        return f"{promise.name} needs ordered values, not type {kind}"
    return _unknowable(spec, promise)


def _unknowable(spec: "ReleaseSpec", promise: PrivacyModel) -> str | None:
    """What is wrong with the sensitive columns that an adversary is said to know."""
    known = promise.told_apart_by[len(promise.quasi_identifiers or ()) :]
    for name in known:
        if name == promise.sensitive or name not in spec.named("sensitive"):
            return f"known: {name!r} is no other sensitive column"
    if known and not spec.form.together:
        return (
            f"known: form {spec.form.method} does not show which sensitive values belong together, "
            f"unless it says `sensitive: together`"
        )
    return None


def _workloads(spec: "ReleaseSpec") -> None:
    for i, workload in enumerate(spec.evaluate.workloads):
        of = workload.of or spec.named("sensitive")[0]
        if of not in spec.named("sensitive"):
            raise ValueError(f"evaluate.workloads.{i}: {of!r} is no sensitive column")
        if workload.aggregate in ("sum", "avg") and spec.columns[of].type in ("date", "timestamp"):
            raise ValueError(f"evaluate.workloads.{i}: no {workload.aggregate} of {of!r}")
        if fault := _unanswered(spec, workload):
            raise ValueError(f"evaluate.workloads.{i}: {fault}")


def _unanswered(spec: "ReleaseSpec", workload: Workload) -> str | None:
    """Why the queries of a workload cannot be asked of what is published, where they cannot."""
    form = spec.form.method
    if spec.form.shows == "columns" and workload.aggregate != "count":
        return f"form {form} answers counts, not {workload.aggregate}"
    if workload.kind == "arbitrary" and spec.form.shows != "rows":
        return f"arbitrary selections of rows mean nothing in form {form}"
    if not isinstance(workload, RangeWorkload):
        return None
    if workload.over not in spec.named("quasi-identifier"):
        return f"{workload.over!r} is no quasi-identifier"
    if spec.columns[workload.over].type not in ORDERED - {"timestamp"}:
        return f"{workload.over!r} has no ranges"
    return None


def _not_yet(spec: "ReleaseSpec") -> None:
    if spec.approval == "required":
        raise ValueError("approval: this version has no step at which a release is approved")


RULES: tuple[Callable[["ReleaseSpec"], None], ...] = (
    _names,
    _roles,
    _strata,
    _unit,
    _scopes,
    _combination,
    _partition,
    _redistributed,
    _workloads,
    _not_yet,
)
