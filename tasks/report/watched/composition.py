"""How a composed version goes on, as a table for people who watch a run: counts, and no people."""

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "continued": "people who go on",
    "new": "people who are new",
    "refilled": "newcomers in the places of people who left",
    "moved": "people moved to other groups of the same values",
    "vacant": "values of people who left",
    "not_represented_versions": "rows that earlier versions keep out",
    "groups_continued": "groups that go on",
    "groups_new": "groups of newcomers",
    "groups_retired": "groups that are shown no more",
    "route": "route by which versions together keep the promises",
    "worst_posterior": "likeliest value of anybody",
}
_PRIVATE = ("moved", "groups_retired", "route", "worst_posterior")


def composition_rows(
    totals: Mapping[str, int | str | None], *, published_only: bool
) -> list[dict[str, Any]]:
    """One row per count that is known, or per count that the release itself tells."""
    return [
        {"measure": words, "count": totals[name]}
        for name, words in _WORDS.items()
        if totals[name] is not None and not (published_only and name in _PRIVATE)
    ]
