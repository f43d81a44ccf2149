"""Every quasi-identifier by itself, with the values that a group admits: counts alone."""

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.ways.way import (
    Way,
    require_never_null,
    sensitive_bundles,
)
from sfumato.tasks.schema.published import DeclaredColumn, DerivedColumn


def _bundles(declared: Terms) -> dict[str, tuple[str, ...]]:
    """Return each quasi-identifier by itself, first, with the columns that are joined by it."""
    alone: dict[str, tuple[str, ...]] = {}
    for name in declared.named("quasi-identifier"):
        joined = (of for of, column in declared.columns.items() if _is_beside(column, name))
        bundle = (name, *joined)
        alone |= dict.fromkeys(bundle, bundle)
    return alone | sensitive_bundles(declared)


def _is_beside(column: DeclaredColumn, name: str) -> bool:
    return isinstance(column, DerivedColumn) and column.of == (name,)


def _counted(kind: AggregateKind, name: str, declared: Terms) -> None:
    if not kind.counts_rows:
        raise QueryError(
            f"a release in form {declared.form.method} answers COUNT, not {kind.called}: who "
            "has which value is not published. Ask for counts of a condition on each column: "
            "COUNT(*) FILTER (WHERE …)"
        )
    require_never_null(name, declared)


columns = Way(
    bundles=_bundles,
    aggregated=_counted,
    sides=("lower", "upper", "estimate"),
    without_rows=True,
    scores_estimates=True,
    calculable=("sensitive",),
)
