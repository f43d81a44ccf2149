"""The measures of utility as people read them."""

from dataclasses import dataclass
from fractions import Fraction

from sfumato.tasks.report.plots.axes import thousands
from sfumato.tasks.terms.utility import Utility


@dataclass(frozen=True)
class UtilityLine:
    """A measure, what it means, and its value."""

    name: str
    meaning: str
    value: str


def utility_lines(utility: Utility, *, composed: bool = False) -> list[UtilityLine]:
    """The measures of a release, in words; of a `composed` one they are of people who are here."""
    told_by = "told apart by their group_id" if composed else "different combinations of labels"
    lines = [
        UtilityLine("Groups", told_by, thousands(utility.classes)),
        UtilityLine("Average group", "rows", four_decimals(utility.average_class_size)),
    ]
    if utility.c_avg is not None:
        lines.append(
            UtilityLine(
                "C_avg",
                "average group by the promised k; 1 is the best",
                four_decimals(utility.c_avg),
            )
        )
    return [
        *lines,
        UtilityLine(
            "Discernibility",
            "each row counts the rows that look like it, a suppressed one all rows",
            thousands(utility.discernibility),
        ),
        UtilityLine(
            "Height", "sum of the highest levels of the hierarchies", thousands(utility.height)
        ),
        UtilityLine(
            "Imprecision",
            "mean level of a cell by the height of its hierarchy; 0 nothing is lost, 1 everything",
            four_decimals(utility.imprecision),
        ),
        UtilityLine(
            "NCP",
            "mean share of its domain that a label stands for; 0 nothing is lost, 1 everything",
            four_decimals(utility.ncp),
        ),
        UtilityLine(
            "Stars", "share of the cells that tell nothing", four_decimals(utility.starred_cells)
        ),
        UtilityLine(
            "Rows of stars", "published without any label", thousands(utility.starred_rows)
        ),
        UtilityLine("Suppressed rows", "not published", thousands(utility.suppressed_rows)),
    ]


def four_decimals(number: Fraction) -> str:
    """To four decimals, halves up: the same on every machine.

    >>> four_decimals(Fraction(1, 3)), four_decimals(Fraction(24693, 2)), four_decimals(Fraction(2))
    ('0.3333', '12,346.5', '2')
    """
    return thousands(Fraction((number * 10_000 + Fraction(1, 2)).__floor__(), 10_000))


def percentage(part: int, whole: int) -> str:
    """A share in hundredths, to one decimal, halves up; empty where there is none.

    >>> percentage(1, 8), percentage(1, 9999), percentage(5, 10), percentage(0, 3)
    ('12.5', 'fewer than 0.1', '50', '')
    """
    if not part:
        return ""
    tenths = (part * 2000 + whole) // (2 * whole)
    return thousands(Fraction(tenths, 10)) if tenths else "fewer than 0.1"
