"""Tables for people who watch a run: only names, counts and shares."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from sfumato.expectations.measures.households import HouseholdRisk
from sfumato.expectations.measures.risk import Risk
from sfumato.expectations.rules.verdicts import GROUPS, Finding
from sfumato.tasks.attacks.shared.attack import Score
from sfumato.tasks.microdata.singling_out import SinglingOut
from sfumato.tasks.query.accuracy.usefulness import Usefulness
from sfumato.tasks.report.numbers import (
    half_widths,
    percents,
    rough,
    tenths_of_percent,
    thousands,
    whole_percent,
    with_spaces,
    write_columns,
)
from sfumato.tasks.report.utility import accuracy_lines
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared

_COLUMNS = ("column", "column_A", "column_B", "sensitive", "model")
_OF_VALUES = ("value_set", "regex")  # the owner's: the values in them may be personal
_WORDS = {
    "continued": "people who stayed",
    "new": "new people",
    "refilled": "new people in places of people who left",
    "moved": "people moved to another group with the same values",
    "vacant": "values of people who left",
    "not_represented_versions": "rows left out because of earlier versions",
    "groups_continued": "groups that continue",
    "groups_new": "groups of new people",
    "groups_retired": "groups that are no longer published",
    "route": "rule by which all versions together keep the promises",
    "worst_posterior": "largest probability of a person's value",
}
_PRIVATE = ("moved", "groups_retired", "route", "worst_posterior")


def summary(release: Release, widths: Sequence[dict[str, Any]], useful: Usefulness) -> str:
    """Return a release as a page of Markdown: its accuracy in words, and in widths."""
    declared, sfumato = release.declared, release.manifest["sfumato"]
    rows = declared.rows
    lines = [
        f"# {_text(declared.title)}",
        "",
        f"Version **{release.directory.name}** of `{declared.name}`, digest `{sfumato['digest']}`.",
        "",
        f"{thousands(rows.published)} rows published of {thousands(rows.read)} read: "
        f"{thousands(rows.dropped_by_filter)} removed by the filter, "
        f"{thousands(rows.dropped_for_nulls)} for missing values, "
        f"{thousands(rows.dropped_as_repeats)} as repeats, "
        f"{thousands(rows.suppressed)} suppressed.",
        "",
        *_table(
            ["promise", "required", "observed", "groups"],
            [
                [p["promise"]["model"], _parameters(p), _numbers(p["observed"]), p["groups"]]
                for p in sfumato["observed"]
            ],
        ),
        "",
        *(f"**{_text(warning)}**\n" for warning in (*useful.warnings, useful.missed) if warning),
        *_note_on_codings(declared),
        *(f"- {_text(line)}" for line in accuracy_lines(widths)),
        "",
        "Accuracy: half the width of the bounds, relative to their middle:",
        "",
        *_table(
            list(widths[0]) if widths else ["workload"],
            [list(row.values()) for row in _with_accuracies(widths)],
        ),
    ]
    return "\n".join(lines)


def _with_accuracies(widths: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return relative widths as accuracies, and what is relative to known widths in percent."""
    shares = write_columns(widths, percents, only=("of_known",))
    return write_columns(shares, half_widths)


def _note_on_codings(declared: Declared) -> list[str]:
    names = ", ".join(f"`{_text(name)}`" for name in sorted(declared.codings_by_column))
    return [f"All figures are about coded values of {names}.", ""] if names else []


def _parameters(observation: dict[str, Any]) -> str:
    promise = observation["promise"]
    return _numbers({name: promise[name] for name in observation["observed"] if name in promise})


def _numbers(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _table(header: list[str], rows: list[list[Any]]) -> list[str]:
    return [
        _row(header),
        _row(["---"] * len(header)),
        *(_row([_cell(value) for value in row]) for row in rows),
    ]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return rough(value) if isinstance(value, float) else _text(str(value))


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def risk_rows(narrow: Risk, wide: Risk) -> list[dict[str, Any]]:
    """Return each measure by the quasi-identifiers only, and with the insensitive columns."""
    pairs = [
        ("rows", narrow.rows, wide.rows),
        ("rows that are unique", narrow.alone, wide.alone),
        *(
            (f"rows in groups of fewer than {size}", narrow.smaller[size], wide.smaller[size])
            for size in narrow.smaller
        ),
        (
            "prosecutor risk, highest",
            tenths_of_percent(narrow.highest),
            tenths_of_percent(wide.highest),
        ),
        (
            "prosecutor risk, average",
            tenths_of_percent(narrow.average),
            tenths_of_percent(wide.average),
        ),
        ("marketer risk", tenths_of_percent(narrow.average), tenths_of_percent(wide.average)),
    ]
    return [
        {
            "measure": what,
            "quasi-identifiers": by_quasi_identifiers,
            "with insensitive columns": by_all,
        }
        for what, by_quasi_identifiers, by_all in pairs
    ]


def whole_rows(
    risk: HouseholdRisk, counted: Literal["people", "households"]
) -> list[dict[str, Any]]:
    """Return the risk of households by their members, or of people by their rows, as a table."""
    whole, part = {"people": ("person", "row"), "households": ("household", "member")}[counted]
    measures = [
        (counted, risk.households),
        (
            f"highest risk of a {whole} ({part}s independent)",
            tenths_of_percent(risk.highest),
        ),
        (
            f"average risk of a {whole} ({part}s independent)",
            tenths_of_percent(risk.average),
        ),
        (
            f"average of the largest risk of a {part}",
            tenths_of_percent(float(risk.by_member)),
        ),
        (f"fewest {counted} in a group", risk.least),
        (f"fewest {counted} alike in all {part}s", risk.least_alike),
        (f"unique {counted}", risk.alone),
    ]
    return [{"measure": what, "by quasi-identifiers": value} for what, value in measures]


def homogeneity_rows(risk: Risk) -> list[dict[str, Any]]:
    """Return, by sensitive attribute, the groups in which nearly all rows have one value."""
    return [
        {
            "attribute": name,
            "share of one value": "all"
            if value_share.share == 1
            else f"{whole_percent(value_share.share)} or more",
            "groups": value_share.groups,
            "rows": value_share.rows,
            "rows with that value": value_share.revealed,
        }
        for name, shares in risk.homogeneity.items()
        for value_share in shares
    ]


def singling_out_rows(result: SinglingOut) -> list[dict[str, Any]]:
    """Return the smallest sets of columns on which some row is unique."""
    rows: list[dict[str, Any]] = [
        {"columns": ", ".join(subset.columns), "unique rows": subset.rows}
        for subset in result.minimal
    ]
    what = f"no set of up to {result.complete_up_to} columns"
    return rows or [{"columns": what, "unique rows": 0}]


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return one row per expectation: promises first, and broken expectations before others.

    What an expectation is about comes last: lists of columns are wide, and the verdict should be
    seen beside them.
    """
    ordered = sorted(findings, key=lambda finding: (finding.table != GROUPS, finding.passed))
    return [_row_of_verdicts(finding) for finding in ordered]


def _row_of_verdicts(finding: Finding) -> dict[str, Any]:
    parameters = {
        name: value for name, value in finding.parameters.items() if name not in _OF_VALUES
    }
    about = {name: value for name, value in parameters.items() if _names_columns(name, value)}
    required = {name: value for name, value in parameters.items() if name not in about}
    return {
        "expectation": finding.type,
        "required": _in_words(required),
        "observed": _in_words(finding.observed),
        "holds": finding.passed,
        "table": finding.table,
        "about": _in_words(about),
    }


def _names_columns(name: str, value: object) -> bool:
    return name in _COLUMNS or isinstance(value, list | tuple | Mapping)


def _in_words(value: Any) -> Any:
    """Short text: `k 5, groups 1120`.

    >>> _in_words({"k": 5, "quasi_identifiers": ("age", "sex")})
    'k 5, quasi_identifiers age sex'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(item)}".rstrip() for name, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value


def composition_rows(
    totals: Mapping[str, int | str | None], *, published_only: bool
) -> list[dict[str, Any]]:
    """Return one row per count that is known, or that the release itself publishes."""
    return [
        {"measure": words, "count": totals[name]}
        for name, words in _WORDS.items()
        if totals[name] is not None and not (published_only and name in _PRIVATE)
    ]


def guess_rows(scores: Mapping[str, Sequence[Score]]) -> list[dict[str, Any]]:
    """Return one row per score, with what is guessed without the attack in words."""
    return [
        _row_of_guesses(column, score)
        for column, column_scores in scores.items()
        for score in column_scores
    ]


def _row_of_guesses(column: str, score: Score) -> dict[str, Any]:
    return {
        "column": column,
        "guessed": score.measure,
        "share": "skipped" if score.skipped else tenths_of_percent(score.share),
        "beside": with_spaces(score.skipped or score.context),
    }
