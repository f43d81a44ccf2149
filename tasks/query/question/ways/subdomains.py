"""Exact rows, beside the subdomains in which the sensitive values of their group lie."""

from sfumato.tasks.query.question.ways.way import Way, of_sensitive, sensitive_bundles

subdomains = Way(
    bundles=sensitive_bundles,
    aggregated=of_sensitive,
    scores_estimates=True,
    shows_rows=True,
    calculable=("quasi-identifier", "insensitive"),
)
