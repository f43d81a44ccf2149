"""A plot as geometry: paths, ticks and words, for the page's template to draw.

Coordinates are user units of an SVG that is `WIDTH` by `HEIGHT`, rounded exactly.
"""

from dataclasses import dataclass
from fractions import Fraction

from sfumato.tasks.report.axes import Axis, thousands

WIDTH, HEIGHT = 440, 290
TOP, BOTTOM, RIGHT = 34, HEIGHT - 50, WIDTH - 30  # the edges of what is inside the axes
CHARACTER = 8  # width of a tick's character, generously
_ROOM = 28  # characters above a plot


@dataclass(frozen=True)
class Tick:
    """A tick at a coordinate, and what is written there."""

    at: str
    label: str


@dataclass(frozen=True)
class Words:
    """The words of a plot: its heading, its text alternative, and the titles of its axes."""

    title: str
    summary: str
    x_title: str
    y_title: str


@dataclass(frozen=True)
class Plot:
    """Geometry and words that the template needs to draw and describe a plot.

    Attributes:
        words: its texts.
        left: the left edge of what is inside the axes.
        y_ticks: the ticks of the vertical axis.
        body: the filled boxes.
        edges: the hard lines at their ends.
        x_ticks: the ticks of the horizontal axis.
        inner: the filled boxes within those of `body`.
        ruler: a length to compare with, and its label.
        bundle: the number of groups in a box.
        table: the numbers shown, as a label and a number each.
    """

    words: Words
    left: int
    y_ticks: tuple[Tick, ...]
    body: str
    edges: str
    x_ticks: tuple[Tick, ...] = ()
    inner: str = ""
    ruler: tuple[str, str] | None = None
    bundle: int = 1
    table: tuple[tuple[str, str], ...] = ()

    width, height, top, bottom, right = WIDTH, HEIGHT, TOP, BOTTOM, RIGHT


@dataclass(frozen=True)
class Slots:
    """Places for so many boxes side by side, right of a vertical axis."""

    scale: Axis
    number: int

    @property
    def left_edge(self) -> int:
        """The left edge of the first place, after the labels of the axis."""
        return 14 + CHARACTER * max(len(label) for _, label in self.scale.ticks)

    @property
    def width(self) -> Fraction:
        """The width of a place."""
        return Fraction(RIGHT - self.left_edge, self.number)

    @property
    def half(self) -> Fraction:
        """Half the width of a box."""
        return min(self.width * Fraction(2, 5), Fraction(22))

    def start(self, position: int) -> Fraction:
        """Return the left edge of a place."""
        return self.left_edge + self.width * position

    def box(self, position: int, low: Fraction, high: Fraction) -> str:
        """Return a filled box from one value to another, always high enough to be visible."""
        bottom, top = self._y(low), self._y(high)
        if bottom - top < 1:
            bottom, top = bottom + Fraction(1, 2), top - Fraction(1, 2)
        edges = coordinate(bottom), coordinate(top)
        return f"M{self._x(position)} {edges[0]}V{edges[1]}h{self._box_width()}V{edges[0]}z"

    def edge(self, position: int, value: Fraction) -> str:
        """Return a line across a place."""
        return f"M{self._x(position)} {coordinate(self._y(value))}h{self._box_width()}"

    def ticks(self) -> tuple[Tick, ...]:
        """Return the vertical axis' ticks."""
        return tuple(Tick(coordinate(self._y(v)), label) for v, label in self.scale.ticks)

    def ruler(self, length: Fraction) -> str:
        """Return a measure of some length beside the boxes, in the middle of their height."""
        middle = (self.scale.low + self.scale.high) / 2
        low, high = (coordinate(self._y(middle + sign * length / 2)) for sign in (-1, 1))
        return f"M{RIGHT + 11} {low}h10m-5 0V{high}m-5 0h10"

    def _x(self, position: int) -> str:
        return coordinate(self.start(position) + self.width / 2 - self.half)

    def _box_width(self) -> str:
        return coordinate(2 * self.half)

    def _y(self, value: Fraction) -> Fraction:
        return BOTTOM - self.scale.place(value) * (BOTTOM - TOP)


def coordinate(number: Fraction) -> str:
    """Return a coordinate with at most two decimals.

    >>> coordinate(Fraction(10, 3)), coordinate(Fraction(-1, 2)), coordinate(Fraction(7))
    ('3.33', '-0.5', '7')
    """
    hundredths = round(number * 100)
    text = f"{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if hundredths < 0 else text


def text_above_axis(name: str, scale: Axis) -> str:
    """Return the text above a vertical axis, cut to fit; wide letters count twice."""
    text = f"{name} {scale.factor}".strip()
    room = _ROOM
    for position, letter in enumerate(text):
        room -= 1 if letter.isascii() else 2
        if room < 0:
            return f"{text[:position]}… {scale.factor}".strip()
    return text


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    >>> plural(1, "group"), plural(1200, "group")
    ('1 group', '1,200 groups')
    """
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"
