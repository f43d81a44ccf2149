"""Risk against width of alternatives, drawn by Matplotlib."""

import io
from collections.abc import Sequence


def draw_pareto(points: Sequence[tuple[str, float, float]], chosen: str | None) -> str:
    """Alternatives as points, as SVG.

    Args:
        points: the mark of each, its width and its risk, both shares.
        chosen: the mark of the one that is recommended.
    """
    from matplotlib import rc_context  # takes a while to import, and few pages are drawn on
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    with rc_context({"svg.hashsalt": "pareto", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.subplots()
        for mark, width, risk in points:
            best = mark == chosen
            axes.plot(width, risk, "o", ms=8 if best else 5, color="#25675d" if best else "#8a5524")
            axes.annotate(mark, (width, risk), (4, 4), textcoords="offset points", fontsize=8)
        front = _front(points)
        axes.plot(*zip(*front, strict=True), "-", lw=1, color="#b9a68c", zorder=0)
        axes.set(xlabel="mean width of answers, by the widest", ylabel="values that are guessed")
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _front(points: Sequence[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """Those points of which no other has both a smaller width and a smaller risk, by width."""
    front: list[tuple[float, float]] = []
    for _, width, risk in sorted(points, key=lambda point: point[1:]):
        if not front or risk < front[-1][1]:
            front.append((width, risk))
    return front
