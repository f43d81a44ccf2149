"""The measures of utility as people read them."""

from dataclasses import dataclass
from fractions import Fraction

from sfumato.tasks.declaration.utility import Utility
from sfumato.tasks.report.plots.axes import grouped


@dataclass(frozen=True)
class Line:
    """A measure, what it means, and its value."""

    name: str
    meaning: str
    value: str


def lost(utility: Utility) -> list[Line]:
    """The measures of a release, in words."""
    lines = [
        Line("Groups", "different combinations of labels", grouped(utility.classes)),
        Line("Average group", "rows", rounded(utility.average_class_size)),
    ]
    if utility.c_avg is not None:
        lines.append(
            Line("C_avg", "average group by the promised k; 1 is the best", rounded(utility.c_avg))
        )
    return [
        *lines,
        Line(
            "Discernibility",
            "each row counts the rows that look like it, a suppressed one all rows",
            grouped(utility.discernibility),
        ),
        Line("Height", "sum of the highest levels of the hierarchies", grouped(utility.height)),
        Line(
            "Imprecision",
            "mean level of a cell by the height of its hierarchy; 0 nothing is lost, 1 everything",
            rounded(utility.imprecision),
        ),
        Line(
            "NCP",
            "mean share of its domain that a label stands for; 0 nothing is lost, 1 everything",
            rounded(utility.ncp),
        ),
        Line("Stars", "share of the cells that tell nothing", rounded(utility.starred_cells)),
        Line("Rows of stars", "published without any label", grouped(utility.starred_rows)),
        Line("Suppressed rows", "not published", grouped(utility.suppressed_rows)),
    ]


def rounded(number: Fraction) -> str:
    """To four decimals, halves up: the same on every machine.

    >>> rounded(Fraction(1, 3)), rounded(Fraction(24693, 2)), rounded(Fraction(2))
    ('0.3333', '12,346.5', '2')
    """
    return grouped(Fraction((number * 10_000 + Fraction(1, 2)).__floor__(), 10_000))
