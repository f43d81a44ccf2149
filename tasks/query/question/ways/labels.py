"""Labels in the place of quasi-identifiers, all other values beside them in their row."""

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.ways.way import Bundles, Way


def _nothing_apart(_: Terms) -> Bundles:
    return {}


def _beside_labels(_: AggregateKind, name: str, __: Terms) -> str | None:
    return name


labels = Way(bundles=_nothing_apart, aggregated=_beside_labels, groups_by_sensitive=True)
