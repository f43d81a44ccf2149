"""What a release promised, measured on its published tables through its form."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import Number, PrivacyModel, Verdict, plain
from sfumato.expectations.rules.structure import Rule
from sfumato.expectations.verdicts import examine
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.registry import FORMS

Promised = tuple[PrivacyModel, Groups]
Judgement = tuple[PrivacyModel, Verdict]


def promised(declared: Declared, tables: Tables) -> tuple[Promised, ...]:
    """Every promise with what an adversary sees of the groups that it is about."""
    form, schema = FORMS[declared.form.method], declared.columns
    seen: dict[Any, Groups] = {}
    for promise in declared.promises:
        scope = (promise.adversary_columns, promise.sensitive)
        if scope not in seen:
            sensitive = [promise.sensitive] if promise.sensitive else []
            seen[scope] = form.groups(tables, schema, promise.adversary_columns, sensitive)
    return tuple((p, seen[p.adversary_columns, p.sensitive]) for p in declared.promises)


def judgements(promises: Sequence[Promised]) -> tuple[Judgement, ...]:
    """Every promise with its verdict."""
    return tuple((promise, promise.check(groups)) for promise, groups in promises)


def require(judged: Sequence[Judgement]) -> None:
    """Refuse what breaks a promise.

    Raises:
        PromiseError: naming the first broken promise, what it requires and what was observed.
    """
    for promise, verdict in judged:
        if not verdict.holds:
            raise PromiseError(
                f"{promise.name} is broken in {verdict.failing} of "
                f"{verdict.groups} groups: required {numbers(verdict.required)}, "
                f"observed {numbers(verdict.observed)}"
            )


def structure(declared: Declared, withheld: Sequence[str] = ()) -> Mapping[str, tuple[Rule, ...]]:
    """What must hold of each published table besides the promises; none of `withheld` is in it."""
    form, rows = FORMS[declared.form.method], declared.rows.published
    return form.rules(declared.columns, declared.form, rows, withheld)


def observed(judged: Sequence[Judgement]) -> list[dict[str, Any]]:
    """The verdicts as a manifest holds them."""
    return [
        {
            "promise": promise.parameters(),
            "groups": verdict.groups,
            "observed": {name: plain(value) for name, value in verdict.observed.items()},
        }
        for promise, verdict in judged
    ]


def validation(
    declared: Declared, tables: Tables, promises: Sequence[Promised]
) -> list[dict[str, Any]]:
    """Every expectation with its parameters, whether it passed, and what was observed."""
    return [
        {
            "table": row.table,
            "expectation": row.type,
            "parameters": dict(row.parameters),
            "passed": row.passed,
            "observed": row.observed,
        }
        for row in examine(tables, structure(declared), promises)
    ]


def numbers(values: Mapping[str, Number]) -> str:
    """Parameters or scores as text, `k=5, e=500`."""
    return ", ".join(f"{name}={plain(value)}" for name, value in values.items())
