"""Common parts of private pages, and the page by which reviewers decide.

The page shows counts and widths of the source, as the tables of a run: it is for people who may see
these, and is never published.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.expectations.models.promises import PROMISES
from sfumato.tasks.report.numbers import (
    NOTHING,
    are_numbers,
    exact_percent,
    half_widths,
    percents,
    rough,
    rough_percent,
    thousands,
    with_spaces,
    write_columns,
)
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.utility import accuracy_charts, accuracy_lines
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import RowCounts

_RISKS = {
    "risk": "Re-identification risk of the table as it is",
    "homogeneity": "Rows that the homogeneity attack would reveal in the table as it is",
    "singling-out": "The fewest columns that single people out in the table as it is",
    "people": "Risk of people, by all of their rows in the table as it is",
    "households": "Risk of households in the table as it is",
    "at-stake": "Promises: required, in the table as it is, and at best",
}
_OVER = ("people", "households")
_OF_LIMITS = ("belief", "known", "width", "level", "times")
_ROWS = {
    "read": "read",
    "dropped_by_filter": "removed by the filter",
    "dropped_for_nulls": "removed for missing values",
    "dropped_as_repeats": "removed as repeats",
    "suppressed": "suppressed",
    "not_represented_versions": "kept out by earlier versions",
    "published": "published",
    "vacant": "published for people who left",
    "fakes": "made up",
}
_RELATED_ROWS = {
    **{name: _ROWS[name] for name in ("read", "dropped_by_filter", "dropped_for_nulls")},
    "dropped_as_orphans": "of no person",
    "dropped_with_people": "of people who are left out",
    "published": "published",
}
_MOST_OF_ONE = "at most of one person"
_ACCURACY = "Accuracy: half the width of the bounds, relative to their middle"
_HEADERS = {"of_known": "width by what is known before"}
Table = dict[str, Any]
REVIEW_PAGE = "review.html"


def table_of(caption: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows as a table of texts: a caption, a header, cells, and which columns are numbers.

    >>> table_of("People", [{"town": "Aa", "rows": 1200}, {"town": "Bee"}])["rows"]
    [['Aa', '1,200'], ['Bee', '']]
    """
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[cell(row.get(name, "")) for name in header] for row in rows]
    numeric = [are_numbers([row[place] for row in cells]) for place in range(len(header))]
    return {"caption": caption, "header": header, "rows": cells, "numeric": numeric}


def with_shares(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose floats are shares in percent, with the same decimals down a column.

    >>> with_shares([{"share": 0.5, "rows": 2}, {"share": 0.125, "rows": 8}])
    [{'share': '50.0 %', 'rows': 2}, {'share': '12.5 %', 'rows': 8}]
    """
    return write_columns(rows, percents)


def accuracy_table(summaries: Sequence[Mapping[str, Any]]) -> Table:
    """Return the accuracy of each workload at each level.

    >>> workload = {"workload": "count(*)", "level": 5, "median": 0.2, "of_known": 0.5}
    >>> accuracy_table([workload])["rows"]
    [['count(*)', '5', '±10.0 %', '50.0 %']]
    """
    shares = write_columns(summaries, percents, only=("of_known",))
    named = [{_HEADERS.get(name, name): value for name, value in row.items()} for row in shares]
    return table_of(_ACCURACY, write_columns(named, half_widths))


def risk_tables(risk: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Table]:
    """Return the tables of the source's risk, by their names."""
    return [table_of(_RISKS[name], rows) for name, rows in risk.items() if rows]


def bar_table(bars: Sequence[Mapping[str, Any]], broken: str = "broken") -> Table | None:
    """Return the bars on attacks beside the observations (shares or lifts), None without bars.

    Args:
        bars: the bars, judged against the truth.
        broken: the outcome of a bar that is not kept, in words.
    """
    if not bars:
        return None
    rows = [
        {
            "attack": bar["attack"],
            "column": bar["column"],
            "limit": _limit(bar),
            "at most": exact_percent(bar["most"]),
            "observed": "not judged" if bar["observed"] is None else rough_percent(bar["observed"]),
            "outcome": broken if (ended := outcome(bar)) == "broken" else ended,
        }
        for bar in bars
    ]
    return table_of("Bars on attacks, judged against the truth", rows)


def outcome(bar: Mapping[str, Any]) -> str:
    """Return the outcome of a bar: kept, broken, or not judged (which is not kept)."""
    if bar["kept"]:
        return "kept"
    return "not judged" if bar["observed"] is None else "broken"


def _limit(bar: Mapping[str, Any]) -> str:
    """Return a limit as the spec writes it: `max-share-above (belief 0.8)`."""
    with_ = [f"{name} {cell(bar[name])}" for name in _OF_LIMITS if bar.get(name) is not None]
    return f"{bar['limit']} ({', '.join(with_)})" if with_ else str(bar["limit"])


def row_counts(rows: RowCounts) -> list[tuple[str, int]]:
    """Return the numbers of rows by what became of them, in words, without zeros."""
    counts = rows.model_dump()
    return [(words, counts[name]) for name, words in _ROWS.items() if counts.get(name)]


def related_row_counts(release: Release) -> dict[str, dict[str, int]]:
    """Return the numbers of rows of a second table, in words and by its name, without zeros.

    The last is the most rows of any one person. All of them are published.
    """
    declared, counts = release.declared, release.declared.related_rows
    table = declared.form.related_table
    if counts is None or table is None:
        return {}
    from sfumato.tasks.forms.related.parameters import GROUPS, MOST

    numbers = counts.model_dump()
    by_outcome = {words: numbers[name] for name, words in _RELATED_ROWS.items() if numbers[name]}
    most = max(release.table(GROUPS)[MOST].to_pylist(), default=0)
    return {table: {**by_outcome, _MOST_OF_ONE: most}}


def count_words(counts: Mapping[str, int]) -> str:
    """Return numbers of rows, each before its words.

    >>> count_words({"read": 1200, "published": 9})
    '1,200 read; 9 published'
    """
    return "; ".join(f"{thousands(number)} {words}" for words, number in counts.items())


def promise_row(observation: Mapping[str, Any]) -> tuple[str, str, str, Any]:
    """Return a promise in words, what it requires, what was observed, and in how many groups."""
    promise, observed = observation["promise"], observation["observed"]
    required = {name: promise[name] for name in observed if name in promise}
    sensitive = promise.get("sensitive") if _protects_values(promise["model"]) else None
    about = sensitive or ", ".join(promise.get("quasi_identifiers") or ())
    words = f"{promise['model']} of {about}" if about else promise["model"]
    over = [
        f"; over {whom} {_numbers(observation[whom])}" for whom in _OVER if observation.get(whom)
    ]
    return words, _numbers(required), _numbers(observed) + "".join(over), observation.get("groups")


def _protects_values(model: str) -> bool:
    """Return whether a promise is about a sensitive column; k-anonymity is about people."""
    return bool(getattr(PROMISES.get(model), "protects", True))


def cell(value: Any) -> str:
    """Return a value as a page shows it."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return thousands(value)
    return rough(value) if isinstance(value, float) else with_spaces(str(value))


def _numbers(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {cell(value)}" for name, value in values.items())


def write_review_page(
    place: Path,
    release: Release,
    risk: Mapping[str, Sequence[Mapping[str, Any]]],
    accuracy: Sequence[Mapping[str, Any]] | None,
    changes: Mapping[str, Any] | None,
    bars: Sequence[Mapping[str, Any]] = (),
    policy: Mapping[str, Any] | None = None,
) -> Path:
    """Write the page into a private directory, two folders beside the release.

    Args:
        place: the directory.
        release: the release that would be published.
        risk: tables of the source's risk, by their names; empty if it was not measured.
        accuracy: widths of bounds by workload, None if these were not measured.
        bars: the bars on attacks, judged against the truth.
        policy: the policy with what was decided and stated, None without one.
        changes: from the current version (`difference`), None without one.
    """
    declared = release.declared
    page = render_private(
        "review.html.j2",
        title=declared.title,
        line=declared.name,
        digest=release.manifest["sfumato"]["digest"],
        rows=row_counts(declared.rows),
        related=related_row_counts(release),
        promises=[
            promise_row(observation) for observation in release.manifest["sfumato"]["observed"]
        ],
        risks=risk_tables(risk),
        accuracy=None if accuracy is None else accuracy_table(accuracy),
        charts=accuracy_charts(accuracy or ()),
        words=accuracy_lines(accuracy or ()),
        changes=None if changes is None else _changes(changes),
        bars=bar_table(bars, "not kept: you decide"),
        broken=[bar for bar in bars if not bar["kept"]],
        measured=(place / "accuracy.html").exists(),
        policy=policy,
    )
    path = place / REVIEW_PAGE
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def _changes(differences: Mapping[str, Any]) -> dict[str, Any]:
    of_tables = {
        "people" if differences["related_rows"] else "rows": differences["rows"],
        **differences["related_rows"],
    }
    rows = [
        {
            "": f"{table} {name}".replace("_", " "),
            "before": pair["before"],
            "now": pair["now"],
        }
        for table, counts in of_tables.items()
        for name, pair in counts.items()
    ]
    rows += [
        {"": f"groups {name}".replace("_", " "), "before": "", "now": number}
        for name, number in (differences["groups"] or {}).items()
    ]
    rows += [
        {"": f"{promise['promise']['model']}: {name}", "before": pair["before"], "now": pair["now"]}
        for promise in differences["promises"]
        for name, pair in promise["observed"].items()
    ]
    before = differences["before"]["version"]
    relation = "continues" if differences["follows"] else "is compared with"
    return table_of(f"This candidate {relation} version {before}", rows)
