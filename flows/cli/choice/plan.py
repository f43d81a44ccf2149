"""`sfumato plan`: draft the next version in private, and show what it would be."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.show import echo

_SHOWN = 2  # attacks on each column of related rows


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--keep",
    "hours",
    type=click.IntRange(1, 24 * 366),
    metavar="HOURS",
    help="how many hours the draft is kept; by default what the spec retains, or a day",
)
@click.option(
    "--sweep",
    metavar="NAME=VALUES",
    help=(
        "compute what each value of a promise's parameter costs: k=2..50, alpha=0.05..0.5, l=2,3,5"
    ),
)
@with_settings
@with_format
def plan(
    spec: Path, hours: int | None, sweep: str | None, settings: tuple[str, ...], format_: str
) -> None:
    """Draft the next version of a line, and show what would be published; nothing is published.

    The last line of output is the private page about it. A release makes new random choices.
    """
    if sweep is not None:
        _sweep(spec, sweep, hours, settings, format_)
        return
    from sfumato.flows.choice.advice import advise
    from sfumato.flows.choice.draft import draft
    from sfumato.tasks.private.failure import listening

    with show.stages() as listen, listening(listen):
        drafted = draft(spec, overrides(settings), hours, advise)
    if format_ == "json":
        show.document({**drafted.summary, "page": str(drafted.page)}, "json")
        return
    for name, text in _lines(drafted.summary):
        echo(f"{name:<9} {text}")
    echo(str(drafted.page))


def _sweep(
    spec: Path, text: str, hours: int | None, settings: tuple[str, ...], format_: str
) -> None:
    """Draft the version for each value of a parameter, and compare."""
    from sfumato.flows.choice.compare import KEPT_HOURS, AskedComparison, compare_alternatives
    from sfumato.flows.choice.reader import read_sweep
    from sfumato.flows.cli.choice.compare import tell

    name, values = read_sweep(text)
    request = AskedComparison(
        {"promises": {name: values}},
        processes=os.cpu_count() or 1,
        hours=hours or KEPT_HOURS,
        sweep=name,
    )
    comparison = compare_alternatives(spec, overrides(settings), request, tell)
    if format_ == "json":
        show.document(comparison.document(), "json")
        return
    for alternative in comparison.ranked:
        lost = (
            f"{alternative.outcome.suppressed:,} suppressed, {alternative.outcome.groups:,} groups"
        )
        echo(
            f"{alternative.outcome.name}: width {alternative.width:.1%}, "
            f"guessed {alternative.guessed:.1%}, {lost}"
        )
    echo(str(comparison.page))


def _policy_lines(policy: dict[str, Any] | None) -> list[str]:
    """Return what the draft keeps of the spec's policy, and what a person has to state."""
    if policy is None:
        return []
    lines = [f"{policy['name']}: {finding}" for finding in policy["found"]]
    if policy["not_stated"]:
        names = ", ".join(policy["not_stated"])
        lines.append(f"before a release, a person has to state {names} (policy.states)")
    return [*lines, policy["note"]]


def _attack_lines(summary: dict[str, Any]) -> list[str]:
    """Return of how many people attackers are certain, for two related tables; empty otherwise."""
    if not summary.get("related_rows"):
        return []
    return [
        f"{name}: {score['number']:,} of {score['of']:,} {score['measure']}"
        for name, scores in summary["attacks"].items()
        for score in _strongest(scores)
    ]


def _strongest(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the scores of the attackers who are certain of most people; the page has all."""
    certain = [s for s in scores if s.get("number") and "is certain" in s["measure"]]
    of_one_row = [score for score in certain if not score["measure"].endswith("of all rows")]
    return sorted(of_one_row, key=lambda score: -score["number"])[:_SHOWN]


def _lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from sfumato.tasks.report.steward.tables import count_words, promise_row
    from sfumato.tasks.report.utility import accuracy_lines

    rows = summary["rows"]
    read = f"{rows.get('published', 0):,} of {rows['read']:,} would be published"
    lines = [
        (
            "stands",
            (
                f"version {summary['stands']}: nothing changed, so a release would make no new "
                "version"
            ),
        )
    ]
    lines = lines if summary["stands"] else []
    lines += [("rows", read), *(("", f"{n:,} {why}") for why, n in summary["left_out"].items())]
    related = summary.get("related_rows", {})
    lines += [("related", f"{name}: {count_words(counts)}") for name, counts in related.items()]
    for promise in summary["promises"]:
        words, required, observed, groups = promise_row(promise)
        lines.append(
            ("promise", f"{words}: required {required}, observed {observed}; {groups} groups")
        )
    lines += [("at best", line) for line in summary.get("at_best", ())]
    lines += [("attack", line) for line in _attack_lines(summary)]
    lines += [("policy", line) for line in _policy_lines(summary.get("policy"))]
    lines += [("accuracy", line) for line in accuracy_lines(summary["accuracy"])]
    lines += [("warning", line) for line in summary["warnings"]]
    return lines + [("advice", line) for line in summary.get("advice", ())]
