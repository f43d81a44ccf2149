"""Scores of workloads by level, drawn by Matplotlib."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.tasks.report.accuracy_summary import Level, Spread, Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Score = Literal["error", "width", "estimate"]

_LABELS: Mapping[Score, str] = {
    "error": "relative error",
    "width": "relative width",
    "estimate": "relative error of the estimate",
}


def draw_scores(workload: Workload, score: Score) -> str:
    """Mean over the middle half by level, as SVG; '' where nothing was scored."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    points = [(level.level, _score(level, score)) for level in workload.levels]
    known = [(at, s.mean, s.quartiles) for at, s in points if s.mean is not None and s.quartiles]
    if not known:
        return ""
    levels = [at for at, _, _ in known]
    with rc_context({"svg.hashsalt": f"{workload.title} {score}"}):
        figure = Figure(figsize=(4.6, 2.9), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(levels, *_middle_half(known), color="#e6cfb2", lw=0, label="middle half")
        axes.plot(levels, [m for _, m, _ in known], "o-", color="#8a5524", label="mean")
        axes.plot(levels, [q[1] for _, _, q in known], "--", color="#25675d", label="median")
        axes.set(xlabel=workload.axis, ylabel=_LABELS[score], xticks=levels)
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_ylim(0, 1.1 * max(max(m, q[2]) for _, m, q in known) or 1)
        axes.legend(frameon=False)
        return _svg(figure)


def _middle_half(
    known: Sequence[tuple[int, float, tuple[float, float, float]]],
) -> tuple[list[float], list[float]]:
    return [q[0] for _, _, q in known], [q[2] for _, _, q in known]


def _score(level: Level, score: Score) -> Spread:
    return {"error": level.error, "width": level.width, "estimate": level.estimate}[score]


def _svg(figure: "Figure") -> str:
    """The drawing alone, without the XML prologue that HTML has no place for."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]
