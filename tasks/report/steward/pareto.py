"""Risk against width of alternatives, as geometry for a template."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.tasks.report.plots.axes import Axis, number_axis
from sfumato.tasks.report.plots.plot import BOTTOM, CHARACTER, HEIGHT, TOP, WIDTH, Tick, coordinate

_RIGHT = WIDTH - 40  # what is written beside the last point stands right of it
_NAMED = 3  # marks beside a place, at most
_HIGH, _BESIDE = 15, 7  # height of a text, and how far it is from its point
_POINT = 4  # radius of a point
_PERCENT = 100

_Place = tuple[Fraction, Fraction]
_Box = tuple[Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class ParetoPoint:
    """A place in the plot: the marks of the alternatives there, and as much as there is room for.

    Attributes:
        x: coordinate.
        y: coordinate.
        marks: of all that are there.
        label: what is written beside it, '' where another's is in the way.
        chosen: whether the one that is recommended is there.
    """

    x: str
    y: str
    marks: tuple[str, ...]
    label: str
    chosen: bool


@dataclass(frozen=True)
class ParetoPlot:
    """All that the template needs to draw the plot, and to say what it shows.

    Attributes:
        left: edge of what is inside the axes.
        x_ticks: of the widths.
        y_ticks: of the risks.
        points: the alternatives.
        front: a line through those to which no other is better in both.
        best: the marks of these.
    """

    left: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    points: tuple[ParetoPoint, ...]
    front: str
    best: tuple[str, ...]

    width, height, top, bottom, right = WIDTH, HEIGHT, TOP, BOTTOM, _RIGHT


def plot_pareto(points: Sequence[tuple[str, float, float]], chosen: str | None) -> ParetoPlot:
    """Alternatives as points.

    Args:
        points: the mark of each, its width and its risk, both shares, the best first.
        chosen: the mark of the one that is recommended.
    """
    widths = _axis([width for _, width, _ in points])
    risks = _axis([risk for _, _, risk in points])
    left = 14 + CHARACTER * max(len(label) for _, label in risks.ticks)
    frame = _Frame(widths, risks, left)
    marks: dict[_Place, list[str]] = {}
    for mark, width, risk in points:
        marks.setdefault(frame.place(width, risk), []).append(mark)
    front = _front(points)
    line = "L".join(_at(frame.place(width, risk)) for _, width, risk in front)
    return ParetoPlot(
        left=left,
        x_ticks=tuple(Tick(coordinate(frame.x(value)), label) for value, label in widths.ticks),
        y_ticks=tuple(Tick(coordinate(frame.y(value)), label) for value, label in risks.ticks),
        points=tuple(_labelled(marks, chosen)),
        front=f"M{line}",
        best=tuple(mark for mark, _, _ in front),
    )


@dataclass(frozen=True)
class _Frame:
    """Where widths and risks are."""

    widths: Axis
    risks: Axis
    left: int

    def x(self, percent: Fraction) -> Fraction:
        return self.left + self.widths.at(percent) * (_RIGHT - self.left)

    def y(self, percent: Fraction) -> Fraction:
        return BOTTOM - self.risks.at(percent) * (BOTTOM - TOP)

    def place(self, width: float, risk: float) -> _Place:
        """A place to half a unit: points that are nearer are one."""
        x, y = self.x(Fraction(width) * _PERCENT), self.y(Fraction(risk) * _PERCENT)
        return Fraction(round(2 * x), 2), Fraction(round(2 * y), 2)


def _axis(shares: Sequence[float]) -> Axis:
    return number_axis(Fraction(0), max(map(Fraction, shares)) * _PERCENT, whole=False)


def _at(place: _Place) -> str:
    return " ".join(map(coordinate, place))


def _labelled(marks: dict[_Place, list[str]], chosen: str | None) -> list[ParetoPoint]:
    """The points, the one that is recommended on top of the others and labelled before them."""
    order = sorted(marks, key=lambda place: chosen not in marks[place])
    taken: list[_Box] = []
    points = []
    for place in order:
        best, named = chosen in marks[place], marks[place]
        label = ", ".join(named[:_NAMED]) + "…" * (len(named) > _NAMED)
        box = _box(place, CHARACTER * len(label))
        others = [other for other in order if other != place]
        free = _is_free(box, taken, others)
        if free:
            taken.append(box)
        x, y = map(coordinate, place)
        points.append(ParetoPoint(x, y, tuple(named), label if free else "", best))
    return points[::-1]


def _box(place: _Place, width: int) -> _Box:
    """Left, right, top and bottom of what is written beside a point."""
    left, bottom = place[0] + _BESIDE, place[1] - 2
    return left, left + width, bottom - _HIGH, bottom


def _is_free(box: _Box, taken: Sequence[_Box], points: Sequence[_Place]) -> bool:
    """Whether a box meets no other box and no point."""
    left, right, top, bottom = box
    boxes = [*taken, *((x - _POINT, x + _POINT, y - _POINT, y + _POINT) for x, y in points)]
    return not any(
        left < end and start < right and top < lower and upper < bottom
        for start, end, upper, lower in boxes
    )


def _front(points: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Those points of which no other has both a smaller width and a smaller risk, by width."""
    front: list[tuple[str, float, float]] = []
    for point in sorted(points, key=lambda point: point[1:]):
        if not front or point[2] < front[-1][2]:
            front.append(point)
    return front
