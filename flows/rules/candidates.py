"""Candidates that `partition: auto` may choose from: all that fit the rest of the spec."""

from collections.abc import Callable, Iterable, Iterator

from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.candidates.wished import AutoParameters, Choice, Choosing
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.parameters import FORM_PARAMETERS, OF_ONE_TABLE
from sfumato.tasks.forms.redistributed_parameters import RedistributedParameters
from sfumato.tasks.partitions.aimed.parameters import (
    Aim,
    ArbitraryAim,
    RangeAim,
    fault_of_columns,
)
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.query.accuracy.parameters import ArbitraryWorkload, RangeWorkload, Workload
from sfumato.tasks.schema.columns import ORDERED

_KEYS: tuple[dict[str, str], ...] = (  # the plainest first
    {"method": "ke", "objective": "sum"},
    {"method": "ke", "objective": "weighted"},
    {"method": "ke", "objective": "max"},
    {"method": "hybrid"},
    {"method": "contiguous"},
    {"method": "anatomy"},
    {"method": "mondrian"},
    {"method": "mondrian", "mode": "relaxed"},
    {"method": "full-domain"},
    {"method": "full-domain", "metric": "discernibility"},
    {"method": "top-down"},
    {"method": "local-suppression"},
    {"method": "stratum"},
    {"method": "exact-qi"},
)
_AIMED = ("hybrid", "contiguous")
_DENOMINATORS = ("exact", 4, 16, 64)
_TREES = ("balanced", "median", "hierarchy")
_FAKES = ("0", "0.05", "0.1")

Rules = tuple[Callable[[SpecParts], None], ...]


def find_candidates(spec: SpecParts, rules: Rules) -> Choosing | None:
    """Return the candidates of a choice, or None if nothing is to be chosen.

    Args:
        spec: a spec that keeps all rules but those of what is chosen.
        rules: that a spec with a candidate in the place of the wish has to keep.

    Raises:
        ValueError: where nothing goes with the spec.
    """
    wish = spec.partition
    if not isinstance(wish, AutoParameters):
        return None
    if spec.form.shows not in ("rows", "subdomains", "labels"):
        raise ValueError(
            f"partition: auto: cannot choose for form {spec.form.method}, because the "
            "width of its answers depends on more than the selected rows. Name a "
            "partition, such as `partition: {method: mondrian}`"
        )
    aims = _aims_of(spec, wish)
    candidates, faults = [], []
    for partition in _partitions(aims):
        for form in _forms(spec, wish):
            tried = spec.model_copy(update={"grouping": partition, "form": form})
            fault = (_fault_of_form(form, aims) or _fault_of_groups(partition, form)) or _fault(
                tried, rules
            )
            if fault is None:
                candidates.append(Choice(partition=partition, strata=spec.strata, form=form))
            else:
                faults.append(fault)
    if not candidates:
        raise ValueError(
            "partition: auto: no partition fits the rest of the spec. The first one that "
            f"was tried fails: {faults[0]}"
        )
    return Choosing(candidates=tuple(candidates), aims=aims)


def _aims_of(spec: SpecParts, wish: AutoParameters) -> tuple[Aim, ...]:
    """Return the aims that the wish names, otherwise those of the workloads."""
    aims = wish.aims or tuple(aims_of_workloads(spec.evaluate.workloads))
    if not aims:
        raise ValueError(
            "partition: auto: chooses by the queries that readers ask, and the spec names "
            "no queries. Write them under partition.aims or evaluate.workloads"
        )
    if fault := fault_of_columns(spec, aims, ORDERED - {"timestamp"}):
        raise ValueError(f"partition: auto: {fault}")
    return aims


def _fault_of_form(form: FormParameters, aims: tuple[Aim, ...]) -> str | None:
    """Return why the width of some aim is not known in a form, or None."""
    unknown = next((aim.kind for aim in aims if form.shows not in aim.shown), None)
    if unknown is None:
        return None
    return (
        f"partition: auto: cannot compute the width of aims of kind {unknown} in form {form.method}"
    )


def _fault_of_groups(partition: PartitionParameters, form: FormParameters) -> str | None:
    """Return why a partition that aims at no promise is not chosen, or None."""
    if not partition.gives_targets or form.declares:
        return None
    return f"partition: auto: groups of {partition.method} aim at no promise in form {form.method}"


def _fault(spec: SpecParts, rules: Rules) -> str | None:
    """Return the message of the first rule that a spec breaks, or None."""
    try:
        for rule in rules:
            rule(spec)
    except ValueError as error:
        return str(error)
    return None


def _partitions(aims: tuple[Aim, ...]) -> Iterator[PartitionParameters]:
    for keys in _KEYS:
        more = {"aims": aims} if keys["method"] in _AIMED else {}
        yield PARTITION_PARAMETERS[keys["method"]].model_validate({**keys, **more})


def _forms(spec: SpecParts, wish: AutoParameters) -> Iterator[FormParameters]:
    for form in (
        spec.form,
        *(_form_named(name) for name in wish.forms if name != spec.form.method),
    ):
        if not isinstance(form, RedistributedParameters):
            yield form
            continue
        for denominator in _DENOMINATORS:
            for tree in _TREES:
                for fakes in _FAKES:
                    keys = {"denominator": denominator, "tree": tree, "fakes": fakes}
                    yield type(form).model_validate({**form.model_dump(by_alias=True), **keys})


def _form_named(name: str) -> FormParameters:
    if name not in OF_ONE_TABLE:
        raise ValueError(
            f"partition: forms: no form {name!r}; choose from {', '.join(OF_ONE_TABLE)}"
        )
    return FORM_PARAMETERS[name].model_validate({"method": name})


def aims_of_workloads(workloads: Iterable[Workload]) -> Iterator[Aim]:
    """Yield aims at the declared workloads, never at a steward's SQL: its literals stay private."""
    for workload in workloads:
        if isinstance(workload, RangeWorkload):
            yield RangeAim(kind="range", over=workload.over, spans=workload.spans)
        elif isinstance(workload, ArbitraryWorkload):
            yield ArbitraryAim(kind="arbitrary", selected=workload.selected)
