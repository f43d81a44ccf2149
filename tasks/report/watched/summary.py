"""The summary of a release that people read where runs are watched: counts and widths alone."""

from collections.abc import Sequence
from typing import Any

from sfumato.tasks.query.accuracy.usefulness import Usefulness
from sfumato.tasks.report.accuracy_words import accuracy_lines
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared


def summary(release: Release, widths: Sequence[dict[str, Any]], useful: Usefulness) -> str:
    """A release in a page of Markdown: how accurate it is in words, and in widths."""
    declared, sfumato = release.declared, release.manifest["sfumato"]
    rows = declared.rows
    lines = [
        f"# {_text(declared.title)}",
        "",
        f"Version **{release.directory.name}** of `{declared.name}`, digest `{sfumato['digest']}`.",
        "",
        f"{rows.published:,} rows published of {rows.read:,} read: "
        f"{rows.dropped_by_filter:,} removed by the filter, "
        f"{rows.dropped_for_nulls:,} for missing values, "
        f"{rows.dropped_as_repeats:,} as repeats, {rows.suppressed:,} suppressed.",
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
        *_coded(declared),
        *(f"- {_text(line)}" for line in accuracy_lines(widths)),
        "",
        "Relative widths of the bounds, (upper − lower) / ((upper + lower) / 2):",
        "",
        *_table(
            list(widths[0]) if widths else ["workload"],
            [list(row.values()) for row in widths],
        ),
    ]
    return "\n".join(lines)


def _coded(declared: Declared) -> list[str]:
    names = ", ".join(f"`{_text(name)}`" for name in sorted(declared.coded))
    return [f"Everything is about coded values: of {names}.", ""] if names else []


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
    return f"{value:.4g}" if isinstance(value, float) else _text(str(value))


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
