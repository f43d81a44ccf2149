"""Exact rows, beside the sensitive values of their group."""

from sfumato.tasks.query.question.ways.way import Way, of_sensitive, sensitive_bundles

rows = Way(bundles=sensitive_bundles, aggregated=of_sensitive, shows_rows=True)
