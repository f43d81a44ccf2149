"""Labels in the place of quasi-identifiers, all other values beside them in their row."""

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.ways.way import Bundles, Way, require_never_null
from sfumato.tasks.sql.parse import quote_name


def _nothing_apart(_: Terms) -> Bundles:
    return {}


def _beside_labels(kind: AggregateKind, name: str, declared: Terms) -> str | None:
    if declared.columns[name].role in ("sensitive", "insensitive"):
        return name
    if not kind.counts_rows:
        raise QueryError(
            f"column {quote_name(name)} is recoded: {kind.called} is of columns that are not"
        )
    require_never_null(name, declared)
    return None


labels = Way(
    bundles=_nothing_apart,
    aggregated=_beside_labels,
    groups_by_sensitive=True,
    calculable=("insensitive", "sensitive"),
)
