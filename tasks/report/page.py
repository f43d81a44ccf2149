"""The public page of a release: its promises, its uses and limits, and how to ask it.

The page is a pure function of its content, so that anyone who checks a release can render it again
and compare bytes: no time, no randomness, no order that depends on how the content was read, and
nothing that is learned after staging (version number, digest, accuracy).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.attacks.from_files import Guesses
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LineageTotals
from sfumato.tasks.report.answers import shown_answers
from sfumato.tasks.report.codebook import codebook
from sfumato.tasks.report.codings import coding_lines, unmoved_dates
from sfumato.tasks.report.group_plots import Plot, ranges_plot, sizes_plot
from sfumato.tasks.report.line_entries import words_of_line
from sfumato.tasks.report.numbers import percentage
from sfumato.tasks.report.page_data import is_fetched, way_of_script
from sfumato.tasks.report.promises import (
    kind_of,
    remaining_uncertainty,
    state_promise,
    widest_e,
    with_sensitive,
)
from sfumato.tasks.report.rendering import page_script, render, script_sha256
from sfumato.tasks.report.snippets import SNIPPETS, example_query, pandas_snippet, query_command
from sfumato.tasks.report.stated import guess_lines, likely_intervals
from sfumato.tasks.report.utility import SpansFigure, UtilityLine, spans_figure, utility_lines
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.terms.utility import Utility

if TYPE_CHECKING:
    from sfumato.tasks.query.accuracy.spans import Spans
    from sfumato.tasks.query.first_answers import FirstAnswer
    from sfumato.tasks.terms.kept_policy import PolicyFinding

_WIDE = 300
"""Columns, beyond which a page lists them once and shows no counts of their values."""
_ROLES = ("quasi-identifier", "insensitive", "sensitive")


@dataclass(frozen=True)
class PublishedFile:
    """A file of the release, as its path inside the directory, with / between names."""

    path: str
    bytes: int


@dataclass(frozen=True, eq=False)
class PageContent:
    """All that the page is made of.

    Attributes:
        declared: the release as its manifest declares it.
        verdicts: each promise with what was measured on the published tables.
        groups: the groups in the published tables.
        files: the files of the release, without the page itself and the manifest.
        utility: the information that labels lost, if the form recodes.
        formulas: whether a CSV file has texts that a spreadsheet would run as formulas.
        lineage: the groups that continue from the version before, if there is one.
        tables: the published tables, if the page has a codebook.
        guesses: the guesses of each sensitive column by an attacker with only the files.
        over_people: each promise with what its publisher measured over people with several rows.
        answers: the answers that the page shows before anybody asks.
        spans: the accuracy over ranges of a column, if the page draws it.
        data: the published tables as JSON, if the page answers questions itself.
        warnings: reasons in its files why it may be of no use.
        tool: the version of Sfumato that made it, if the page explains how to get it.
        rule_findings: the rules of its policy, each with what was found; none without a policy.
    """

    declared: Declared
    verdicts: tuple[tuple[PrivacyModel, Verdict], ...]
    groups: Groups
    files: tuple[PublishedFile, ...]
    utility: Utility | None = None
    formulas: bool = False
    lineage: LineageTotals | None = None
    tables: Tables | None = None
    over_people: tuple[tuple[PrivacyModel, Verdict], ...] = ()
    guesses: Guesses = field(default_factory=dict)
    answers: "tuple[FirstAnswer, ...]" = ()
    spans: "Spans | None" = None
    data: str | None = None
    tool: str | None = None
    warnings: tuple[str, ...] = ()
    rule_findings: "tuple[PolicyFinding, ...]" = ()


@dataclass(frozen=True)
class _Column:
    name: str
    role: str
    type: str
    nulls: bool
    unprotected: str | None
    free_text: str | None
    shown: str


def page(content: PageContent) -> str:
    """Return the page as HTML, the same bytes (in UTF-8) wherever and whenever it is rendered."""
    view = _promises(content) | _tables(content) | _asking(content.declared)
    view["tool"], view["warnings"] = content.tool, content.warnings
    view["answers"] = shown_answers(content.answers)
    view["spans"] = _spans(content)
    view |= _script(content)
    software = content.declared.software
    view["at_a_glance"] = tells("at a glance", software)
    view["lost"] = _losses(content)
    view["coded"] = coding_lines(content.declared)
    view["unmoved"] = unmoved_dates(content.declared)
    view |= likely_intervals(content.declared)
    view |= guess_lines(content.guesses, content.declared)
    view["policy"] = _policy(content)
    view["said"] = words_of_line(content.declared.words, codebook=content.tables is not None)
    view["wide"] = tells("asks", software) and len(content.declared.columns) > _WIDE
    tables, draws = content.tables, not view["wide"]
    view["codebook"] = {} if tables is None else codebook(content.declared, tables, draws=draws)
    return render("page.html.j2", declared=content.declared, **view)


def _spans(content: PageContent) -> SpansFigure | None:
    units = "people" if content.declared.rows_are_people else "rows"
    return None if content.spans is None else spans_figure(content.spans, units)


def _policy(content: PageContent) -> dict[str, Any] | None:
    """Return the policy with what was decided, None if the release names no policy."""
    policy = content.declared.policy
    if policy is None:
        return None
    from sfumato.tasks.policies.rule import NO_ADVICE  # few releases have a policy

    return {
        "name": policy.name,
        "date": policy.date,
        "sha256": policy.sha256,
        "advice": NO_ADVICE,
        "decided": [
            {"demands": finding.demands, "found": finding.words, "kept": finding.passed}
            for finding in content.rule_findings
        ],
    }


def _script(content: PageContent) -> dict[str, Any]:
    """Return the tables and the script of a page that answers questions; both None otherwise."""
    if content.data is None:
        return {"data": None, "script": None, "script_hash": None}
    shows, fetched = way_of_script(content.declared), is_fetched(content.data)
    return {
        "data": Markup(content.data),  # noqa: S704 -- JSON without markup: see `page_data`
        "script": Markup(page_script(shows, fetched=fetched)),  # noqa: S704 -- a file of ours
        "script_hash": script_sha256(shows, fetched=fetched),
    }


def _losses(content: PageContent) -> list[UtilityLine]:
    if content.utility is None:
        return []
    composed = content.declared.is_composed
    in_percent = tells("separators", content.declared.software)
    return utility_lines(content.utility, composed=composed, in_percent=in_percent)


def _promises(content: PageContent) -> dict[str, Any]:
    declared = content.declared
    promises = [with_sensitive(promise, declared) for promise, _ in content.verdicts]
    verdicts = [verdict for _, verdict in content.verdicts]
    people: list[Verdict | None] = [
        verdict if promise.needs_owners or not declared.has_related_rows else None
        for promise, verdict in content.over_people
    ]
    return {
        "promises": [
            state_promise(p, v, declared, over)
            for p, v, over in zip(promises, verdicts, people or [None] * len(promises), strict=True)
        ],
        "hidden": remaining_uncertainty(promises, declared),
        "plots": _plots(content.groups, declared, promises),
    }


def _tables(content: PageContent) -> dict[str, Any]:
    live = content.groups.live
    return {
        "columns": _columns(content.declared),
        "groups": len(live),
        "smallest": int(live.min()) if len(live) else 0,
        **_vacancies(content.declared),
        "files": sorted(content.files, key=lambda file: file.path),
        "formulas": content.formulas,
        "lineage": content.lineage,
    }


def _vacancies(declared: Declared) -> dict[str, Any]:
    """Return the noun counted in a group, and the percentage of shown values that are nobody's."""
    rows = declared.rows
    nobodys = rows.vacant + rows.fakes
    return {
        "counted": _counted_noun(declared),
        "vacant": percentage(nobodys, rows.published + nobodys),
    }


def _counted_noun(declared: Declared) -> str:
    """Return the noun counted in a group."""
    if declared.has_related_rows:
        return "people"
    return "values" if declared.rows.vacant and not declared.is_recoded else "rows"


def _asking(declared: Declared) -> dict[str, Any]:
    return {
        "command": query_command(example_query(declared)),
        "snippet": pandas_snippet(declared),
        "software": sorted(declared.software.items()),
    }


def _columns(declared: Declared) -> list[_Column]:
    """Return the columns by role and name: their order in a manifest has no meaning."""
    ordered = sorted(
        declared.columns.items(), key=lambda item: (_ROLES.index(item[1].role), item[0])
    )
    return [
        _Column(
            name,
            column.told_role,
            _type(column.type, column.scale),
            column.nulls,
            column.unprotected,
            column.free_text,
            SNIPPETS[declared.form.shows].place_of(name)
            if column.role == "quasi-identifier"
            else "",
        )
        for name, column in ordered
    ]


def _type(name: str, scale: int | None) -> str:
    return name if scale is None else f"{name}, {scale} decimals"


def _plots(groups: Groups, declared: Declared, promises: list[PrivacyModel]) -> list[Plot]:
    if not len(groups):
        return []
    note = ", people who have left included" if declared.rows.vacant else ""
    noun = "person" if declared.has_related_rows else "row"
    plots = [sizes_plot(groups.sizes, f"Size of the groups{note}", noun)]
    counted = groups.sensitive if groups.related is None else groups.related.rows.sensitive
    for name in sorted(counted):
        counts = counted[name]
        plots.append(
            _sensitive_plot(name, kind_of(declared, name), counts, widest_e(promises, name))
        )
    return plots


def _sensitive_plot(name: str, kind: str, counts: Counts, e: Fraction | None) -> Plot:
    numbers: Exact | None = counts.numbers
    if numbers is not None:
        return ranges_plot(name, kind, counts, numbers, e)
    distinct = np.diff(np.append(counts.starts, len(counts.group)))
    return sizes_plot(distinct, f"Different values of {name} in each group", "value")
