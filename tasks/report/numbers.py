"""Numbers as all pages write them: counts, decimals, shares, accuracy, ranges, sizes and times.

A page is compared byte by byte with the one made elsewhere, so exact numbers are rounded in exact
arithmetic, halves up. Floats are only shown on private pages, and of the accuracy that a line's
record states.

One notation everywhere: commas between thousands, a point before decimals, a space before `%`,
`to` between the ends of a range, and the same number of decimals down a column.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

import numpy as np

from sfumato.expectations.shared.numbers import plain

NOTHING = "–"
"""Shown in the place of a number that does not exist."""
_DIGITS = 4  # of the largest number of an answer
_TIMES = 10  # from this share on, the text is so many times
_NOTHING_TOLD = 2.0  # a width by its middle: from 0, or below, to twice the middle
_MOST_DECIMALS = 3  # of a percentage in a column
_GLUED = re.compile(r"(?<=\d)%")
_NUMBER = re.compile(r"[±≈<-]? ?[0-9][0-9,.]*(?:/[0-9]+)?(?: %| times)?")
_INSTEAD = (
    *(NOTHING, "exact", "infinite", "too wide to use"),
    *("not measured", "not judged", "not attacked", "skipped"),
)
"""Shown in a column of numbers in the place of one."""
_SIZES = ((9, "GB"), (6, "MB"), (3, "kB"))
_UNITS = {"date": "day", "timestamp": "second"}


def thousands(number: Fraction | int) -> str:
    """Return a number with separators between thousands, exactly.

    >>> thousands(1427), thousands(Fraction(-24693, 2)), thousands(Fraction(1, 3))
    ('1,427', '-12,346.5', '1/3')
    """
    text = str(plain(Fraction(number)))
    if "/" in text:
        return text
    whole, dot, decimals = text.lstrip("-").partition(".")
    return f"{'-' if text.startswith('-') else ''}{int(whole):,}{dot}{decimals}"


def digits(number: Decimal) -> str:
    """Return a number with the digits that a spec wrote, without an exponent.

    >>> digits(Decimal("1e-9")), digits(Decimal("0.050"))
    ('0.000000001', '0.050')
    """
    return f"{number:f}"


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    >>> plural(1, "group"), plural(1200, "group")
    ('1 group', '1,200 groups')
    """
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"


def decimal_text(number: int, decimals: int) -> str:
    """Return a number that is counted in units of the last of its decimals.

    >>> decimal_text(-123456, 2), decimal_text(7, 0)
    ('-1,234.56', '7')
    """
    whole, rest = divmod(abs(number), 10**decimals)
    point = f".{rest:0{decimals}}" if decimals else ""
    return f"{'-' if number < 0 else ''}{whole:,}{point}"


def with_decimals(number: Fraction | float, decimals: int) -> str:
    """Return a number with so many decimals, halves up.

    >>> with_decimals(Fraction(1, 8), 2), with_decimals(1234.5, 1)
    ('0.13', '1,234.5')
    """
    return decimal_text(floor(Fraction(number) * 10**decimals + Fraction(1, 2)), decimals)


def four_decimals(number: Fraction) -> str:
    """Return a number to at most four decimals, halves up.

    >>> four_decimals(Fraction(1, 3)), four_decimals(Fraction(24693, 2)), four_decimals(Fraction(2))
    ('0.3333', '12,346.5', '2')
    """
    return thousands(Fraction(floor(number * 10_000 + Fraction(1, 2)), 10_000))


def rough(number: float) -> str:
    """Return a number to four digits, and a large one as a whole number: never with an exponent.

    >>> rough(0.123456), rough(12.5), rough(1234567.8), rough(0.00001234), rough(float("inf"))
    ('0.1235', '12.5', '1,234,568', '0.00001234', 'infinite')
    """
    if number in (float("inf"), float("-inf")):
        return "infinite" if number > 0 else "-infinite"
    if not number:
        return "0"
    digits = _DIGITS - 1 - floor(log10(abs(number)))
    return _without_zeros(with_decimals(number, max(digits, 0)))


def four_digits(number: float) -> str:
    """Return a number to four digits, as pages before layout 9 wrote it.

    >>> four_digits(1 / 3), four_digits(1234567.8)
    ('0.3333', '1.235e+06')
    """
    return f"{number:.4g}"


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(number: int) -> str:
    """Return bytes for people, to one decimal.

    >>> size(512), size(7340), size(3_000_000)
    ('512 bytes', '7.3 kB', '3.0 MB')
    """
    for power, unit in _SIZES:
        if number >= 10**power:
            return f"{with_decimals(Fraction(number, 10**power), 1)} {unit}"
    return f"{number} bytes"


def percentage(part: int, whole: int) -> str:
    """Return a share in hundredths, to one decimal, halves up; empty for a part of 0.

    >>> percentage(1, 8), percentage(1, 9999), percentage(5, 10), percentage(0, 3)
    ('12.5', 'fewer than 0.1', '50', '')
    """
    if not part:
        return ""
    tenths = (part * 2000 + whole) // (2 * whole)
    return thousands(Fraction(tenths, 10)) if tenths else "fewer than 0.1"


def percent(share: float) -> str:
    """Return a share in percent for running text: at most three digits, large ones as `times`.

    >>> [percent(share) for share in (0.0714, 0.00042, 1.5, 183.6499)]
    ['7.1 %', '0.042 %', '150 %', '184 times']
    """
    if share >= _TIMES:
        return f"{share:,.0f} times"
    percents = 100 * share
    if percents >= 100:
        return f"{percents:.0f} %"
    return f"{percents:.2g} %" if percents < 10 else f"{percents:.3g} %"


def percents(shares: Sequence[float | Fraction | None]) -> list[str]:
    """Return the shares of a column in percent, all with the same number of decimals.

    One decimal is enough unless the smallest share needs more, of which there are at most three.

    >>> percents([0.105, 1.0, None, 0.0]), percents([0.105, 0.00042])
    (['10.5 %', '100.0 %', '–', '0.0 %'], ['10.50 %', '0.04 %'])
    """
    decimals = _decimals_of_column(shares)
    return [
        NOTHING if share is None else f"{with_decimals(100 * Fraction(share), decimals)} %"
        for share in shares
    ]


def _decimals_of_column(shares: Sequence[float | Fraction | None]) -> int:
    """Return as many decimals of percentages as show that no positive share is 0."""
    positive = [100 * float(share) for share in shares if share]
    if not positive:
        return 1
    return min(max(1, -floor(log10(min(map(abs, positive))))), _MOST_DECIMALS)


def tenths_of_percent(share: float | Fraction) -> str:
    """Return a share in percent to one decimal, as floats are rounded.

    >>> tenths_of_percent(0.1875), tenths_of_percent(1.0)
    ('18.8 %', '100.0 %')
    """
    return f"{100 * float(share):.1f} %"


def exact_percent(share: float) -> str:
    """Return a limit in percent, with all digits that were written.

    >>> exact_percent(0.0125), exact_percent(0), exact_percent(1.0)
    ('1.25 %', '0 %', '100 %')
    """
    return f"{thousands(100 * Fraction(str(share)))} %"


def rough_percent(share: float) -> str:
    """Return a share in percent, to four digits.

    >>> rough_percent(0.34567891), rough_percent(0.0)
    ('34.57 %', '0 %')
    """
    return f"{rough(100 * share)} %"


def whole_percent(share: float | Fraction) -> str:
    """Return a share in whole percent.

    >>> whole_percent(Fraction(95, 100)), whole_percent(1)
    ('95 %', '100 %')
    """
    return f"{float(share):.0%}".replace("%", " %")


def half_width(relative: float | Fraction | None) -> str:
    """Return half the width of bounds, relative to their middle, as `±7 %`.

    >>> half_width(0.14), half_width(0.0), half_width(None)
    ('±7 %', 'exact', '–')
    """
    if relative is None:
        return NOTHING
    return f"±{percent(float(relative / 2))}" if relative else "exact"


def half_widths(relative: Sequence[float | Fraction | None]) -> list[str]:
    """Return half the widths of a column, relative to their middles, with the same decimals.

    >>> half_widths([0.21, 0.14, 0.0, 2.5, None])
    ['±10.5 %', '±7.0 %', 'exact', 'too wide to use', '–']
    """
    narrow = [width / 2 if width and width < _NOTHING_TOLD else None for width in relative]
    return [
        f"±{text}" if share is not None else width_in_words(width) if width is not None else NOTHING
        for width, share, text in zip(relative, narrow, percents(narrow), strict=True)
    ]


def width_in_words(median: float | Fraction | None) -> str:
    """Return the median width of bounds in words; None if no answer had a middle other than 0.

    >>> width_in_words(0.14), width_in_words(2.5), width_in_words(None)
    ('±7 %', 'too wide to use', 'not measured')
    """
    if median is None:
        return "not measured"
    return "too wide to use" if median >= _NOTHING_TOLD else half_width(median)


def bounds_in_words(lower: Fraction, upper: Fraction, decimals: int) -> str:
    """Return bounds in words, rounded outward; an exact answer is one number.

    >>> bounds_in_words(Fraction(9198232, 47), Fraction(9610823, 47), 0)
    '195,707 to 204,486'
    >>> bounds_in_words(Fraction(1, 3), Fraction(1, 3), 4)
    '0.3333'
    >>> bounds_in_words(Fraction(-1, 3), Fraction(2), 2)
    '-0.34 to 2.00'
    """
    if lower == upper:
        return decimal_text(round(lower * 10**decimals), decimals)
    below, above = floor(lower * 10**decimals), ceil(upper * 10**decimals)
    return f"{decimal_text(below, decimals)} to {decimal_text(above, decimals)}"


def decimals_of(numbers: Collection[Fraction]) -> int:
    """Return the decimals that numbers are shown with: four digits of the largest in all.

    >>> decimals_of([Fraction(1, 3), Fraction(31, 2)]), decimals_of([Fraction(15), Fraction(7)])
    (2, 0)
    """
    if all(number.denominator == 1 for number in numbers):
        return 0  # also where there are none
    whole = int(max(map(abs, numbers)))
    return max(0, _DIGITS - len(str(whole))) if whole else _DIGITS


def value_text(value: Fraction, kind: str) -> str:
    """Return a value of a column type as people write it.

    >>> value_text(Fraction(2), "date"), value_text(Fraction(90), "timestamp")
    ('1970-01-03', '1970-01-01 00:01:30')
    >>> value_text(Fraction(5), "float")
    '5'
    """
    if kind == "date":
        return str(np.datetime64(int(value // 1), "D"))
    if kind == "timestamp":
        return str(np.datetime64(int(value // 1), "s")).replace("T", " ")
    return thousands(value)


def distance_text(distance: Fraction, kind: str) -> str:
    """Return a difference of two values of a column type, with its unit if it has one.

    >>> distance_text(Fraction(500), "integer"), distance_text(Fraction(1), "date")
    ('500', '1 day')
    """
    unit = _UNITS.get(kind)
    if unit is None:
        return thousands(distance)
    return f"{thousands(distance)} {unit}{'' if distance == 1 else 's'}"


def range_text(low: str, high: str) -> str:
    """Return a range by its ends, or the only value that it has.

    >>> range_text("10", "19"), range_text("7", "7")
    ('10 to 19', '7')
    """
    return low if low == high else f"{low} to {high}"


def write_columns(
    rows: Sequence[Mapping[str, Any]],
    write: Callable[[Sequence[float]], list[str]],
    only: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Return rows whose floats are written column by column, and whose other values stay.

    >>> write_columns([{"rows": 2, "share": 0.5}, {"rows": 8, "share": 0.125}], percents)
    [{'rows': 2, 'share': '50.0 %'}, {'rows': 8, 'share': '12.5 %'}]

    Args:
        rows: rows by the names of their columns.
        write: the notation of a column.
        only: the columns that are written; None for all.
    """
    made = [dict(row) for row in rows]
    for name in dict.fromkeys(name for row in rows for name in row if only is None or name in only):
        floats = [row for row in made if isinstance(row.get(name), float)]
        for row, text in zip(floats, write([row[name] for row in floats]), strict=True):
            row[name] = text
    return made


def are_numbers(texts: Sequence[str]) -> bool:
    """Decide whether a column has numbers, which stand below each other, and no other words.

    >>> are_numbers(["±7 %", "exact"]), are_numbers(["1,200", ""]), are_numbers(["exact", "12 b"])
    (True, True, False)
    """
    return any(map(_NUMBER.fullmatch, texts)) and all(
        not text or text in _INSTEAD or _NUMBER.fullmatch(text) for text in texts
    )


def with_spaces(words: str) -> str:
    """Return words in which a space stands before each `%`.

    >>> with_spaces("own value believed with 80% or more")
    'own value believed with 80 % or more'
    """
    return _GLUED.sub(" %", words)
