"""The policy of a spec: every rule that a machine decides must be kept by what the spec says."""

from collections.abc import Iterator

from sfumato.flows.rules.leaves import uses_hierarchy
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.candidates.wished import AutoParameters
from sfumato.tasks.continued.parameters import declaration_of, rule_of
from sfumato.tasks.policies.policy import ChosenPolicy
from sfumato.tasks.policies.rule import NO_ADVICE, DecidedColumn, Labelling, Subject
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes

_WITHHELD = ("identifier", "drop")


def subject_of_spec(spec: SpecParts) -> Subject:
    """Return a spec as the rules of a policy see it."""
    wish = spec.policy
    return Subject(
        of_release=False,
        promises=spec.scoped_promises(),
        quasi_identifiers=spec.names_with_roles("quasi-identifier"),
        form=spec.form.method,
        versions=rule_of(declaration_of(spec.versions)),
        columns={name: _column(spec, name) for name in spec.columns},
        kinds=wish.columns if isinstance(wish, ChosenPolicy) else {},
        year=wish.year if isinstance(wish, ChosenPolicy) else None,
        bars=spec.attacks.kept_bars,
        in_parts=spec.parts is not None,
    )


def _column(spec: SpecParts, name: str) -> DecidedColumn:
    column = spec.columns[name]
    limits = None if column.range is None else (column.range.min, column.range.max)
    return DecidedColumn(
        published=column.role not in _WITHHELD,
        role=column.role,
        type=column.type,
        coded=column,
        hierarchy=_hierarchy(spec, name),
        limits=limits,
    )


def _hierarchy(spec: SpecParts, name: str) -> Labelling | None:
    """Return whether the labels of a column come from a rule or from a file; None from neither."""
    written = spec.columns[name].hierarchy
    if written is None or not uses_hierarchy(spec, name):
        return None
    return "rule" if isinstance(written, Intervals | Dates | Prefixes) else "file"


def policy_faults(spec: SpecParts) -> Iterator[tuple[str, str]]:
    """Yield what a spec breaks of its policy: the kind of the rule, and the fault in words."""
    wish = spec.policy
    if not isinstance(wish, ChosenPolicy):
        return
    subject = subject_of_spec(spec)
    for rule in wish.policy.rules:
        for fault in rule.faults(subject):
            yield rule.rule, fault


def require_policy(spec: SpecParts) -> None:
    """Make sure that a spec keeps every rule of its policy that a machine decides.

    Raises:
        ValueError: with everything that is not kept, and what to write.
    """
    wish = spec.policy
    if not isinstance(wish, ChosenPolicy):
        raise ValueError("policy: was not read. Read the spec from its file")
    if fault := _fault_of_keys(wish) or _fault_of_choice(spec, wish):
        raise ValueError(f"{fault}. {NO_ADVICE}")
    faults = [fault for _, fault in policy_faults(spec)]
    if faults:
        raise ValueError(
            f"policy: {wish.policy.policy} of {wish.policy.date} is not kept. "
            f"{'. '.join(faults)}. {NO_ADVICE}"
        )


def _fault_of_keys(wish: ChosenPolicy) -> str | None:
    """Return the fault of keys that the policy does not ask for, or None."""
    policy = wish.policy
    if wish.columns and policy.rule("columns") is None:
        return f"policy.columns: {policy.policy} has no kinds of columns. Leave columns out"
    names = [statement.name for statement in policy.states]
    for name in wish.states:
        if name not in names:
            way_out = f"Write one of {', '.join(names)}" if names else "Leave states out"
            return f"policy.states.{name}: {policy.policy} does not ask for it. {way_out}"
    return None


def _fault_of_choice(spec: SpecParts, wish: ChosenPolicy) -> str | None:
    """Return the fault of forms that `auto` may choose and the policy does not allow, or None."""
    allowed = getattr(wish.policy.rule("forms"), "allowed", None)
    if allowed is None or not isinstance(spec.partition, AutoParameters):
        return None
    for name in spec.partition.forms:
        if name not in allowed:
            return (
                f"partition.forms: {wish.policy.policy} does not allow {name}. Leave it out "
                f"(allowed: {', '.join(allowed)})"
            )
    return None
