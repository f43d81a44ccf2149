"""Statements of a page beside promises: guesses, likely intervals, and why answers may be useless.

The queries of a spec's workload and their accuracy are not among the files: the line's page shows
these. This page judges by one selection that anyone can draw.
"""

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.numbers import plain
from sfumato.expectations.shared.sorting import lengths, starts
from sfumato.tasks.attacks.from_files import Guesses
from sfumato.tasks.attacks.shared.attack import Score
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.query.accuracy.usefulness import ONE_GROUP, TRIVIAL, mean_by_range
from sfumato.tasks.query.intervals.shapes import FAMILIES, LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.report.numbers import tenths_of_percent, thousands, whole_percent
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.stated import KeptBar
from sfumato.tasks.terms.terms import Declared

_BY_RANGES = "minimality of ranges"
_WHO: Mapping[str, str] = {
    "homogeneity": "finds a person's group, and guesses its most frequent value",
    "background": "can rule out {values} for a person, the worst for that person",
    "known-people": "knows {people} of the group, the worst for that person",
    "several-rows": "knows which rows are one person's, and guesses what one of them has",
    "small-range": "is content with a range as wide as {width}",
    "similarity": "is content with the kind of a value, at {level} of its hierarchy",
    "skewness": "compares a person's group with all people",
    "minimality": "knows which finer groups were tried, and broke a promise",
    _BY_RANGES: "knows how the ranges, and the targets of groups, were chosen",
    "definetti": "learns from all groups which values go with which quasi-identifiers",
    "subdomains": "takes the declared distribution as the prior, within the ranges of the group",
    "linkage": "has a register of all people, and asks which row belongs to whom",
    "presence": "has a register of all people, and asks who is there",
    "composition": "has all versions about these people that the publisher knows",
    "matches": "looks for records that no other person has",
    "singling-out": "makes conditions that fit one published row",
    "linkability": "has half of the quasi-identifiers in each of two registers",
    "inference": "takes the value of the nearest row",
}
_ANY: Mapping[str, str] = {
    "values": "some values",
    "people": "some others",
    "width": "the one that is named",
    "level": "a level",
}
_NARROW = "a fifth of the promised e, or a twentieth of all numbers"
_LIKELY: Mapping[str, tuple[str, ...]] = {
    "rows": ("count", "sum", "avg"),
    "columns": ("rows", "count"),
    "labels": ("rows", "count", "sum", "avg"),
    "subdomains": ("count", "sum", "avg"),
}
"""The families of likely intervals that the script computes, by the way of showing."""
_BELIEVED: Mapping[str, str] = {
    "small-range": "own number believed in such a range",
    "similarity": "kind of the own value believed",
    "linkage": "own row picked",
    "presence": "believed to be there",
}
_COUNTED: Mapping[str, str] = {
    "skewness": "own value {times} times as likely there, or more",
    "composition": "own value the only one that is left",
    "matches": "own record that no other person has, published as it is",
    "minimality": "groups in which a promise fails for this attacker",
    "singling-out": "conditions that single a person out",
    "linkability": "halves that the nearest row joins",
    "inference": "own value in the nearest row",
}
_SCALE = 200  # the length of the scale on which shares are drawn
_SHOWN = 6  # factors, before `and so on`

MOST_TEXT = 2_000_000
"""The longest text that a page holds, in characters."""
_SAFE = 2**53  # integers below this are numbers in JSON, others are texts
_MOST_BITS = 24  # what the script unpacks at once
Document = dict[str, Any]


@dataclass(frozen=True)
class GuessLine:
    """A guess, the share of rows for which it is right, and the shares to compare with.

    `place` is the share on a scale from 0 to 200.
    """

    words: str
    share: str
    instead: str
    place: int


@dataclass(frozen=True)
class GuessesOfAttack:
    """An attack that needs only the files: the attacker, and what is guessed."""

    attack: str
    who: str
    lines: Sequence[GuessLine]

    @property
    def right(self) -> list[GuessLine]:
        """The guesses that are right for some row."""
        return [line for line in self.lines if line.place]

    @property
    def never_right(self) -> list[GuessLine]:
        """The guesses that are right for no row."""
        return [line for line in self.lines if not line.place]


@dataclass(frozen=True)
class BarLine:
    """A bar: the attacker, what is limited, and the largest share of it that is allowed."""

    attack: str
    who: str
    limit: str
    most: str


def guess_lines(guesses: Guesses, declared: Declared) -> dict[str, Any]:
    """Return the page's lines about guesses; none if nothing can be guessed from the files."""
    stated = () if declared.bars is None else declared.bars.bars
    return {
        "guessed": {name: _guesses_of_column(attacks) for name, attacks in guesses.items()},
        "bars": [_bar_line(bar, declared) for bar in stated],
    }


def _guesses_of_column(attacks: Mapping[str, Sequence[Score]]) -> list[GuessesOfAttack]:
    return [
        GuessesOfAttack(name, _who(name, _ANY), [_guess_line(score) for score in scores])
        for name, scores in attacks.items()
    ]


def _who(attack: str, parameters: Mapping[str, str]) -> str:
    return _WHO.get(attack, "").format(**parameters)


def _guess_line(score: Score) -> GuessLine:
    instead = (f"{words}: {tenths_of_percent(share)}" for words, share in score.references.items())
    place = ceil(score.share * _SCALE)
    return GuessLine(score.measure, tenths_of_percent(score.share), "; ".join(instead), place)


def _bar_line(bar: KeptBar, declared: Declared) -> BarLine:
    parameters = {
        "values": "1 other value" if bar.known == 1 else f"{bar.known} other values",
        "people": "1 other person" if bar.known == 1 else f"{bar.known} others",
        "width": _NARROW if bar.width is None else str(plain(bar.width)),
        "level": f"level {bar.level}",
        "times": thousands(Fraction(str(bar.times or 0))),
    }
    return BarLine(
        bar.attack,
        _who(_shown_as(bar.attack, declared), parameters),
        _limit(bar).format(**parameters),
        tenths_of_percent(bar.most),
    )


def _shown_as(attack: str, declared: Declared) -> str:
    """Return the attack of `_WHO` that an attack is in the form of a release."""
    by_ranges = attack == "minimality" and declared.form.shows == "subdomains"
    return _BY_RANGES if by_ranges else attack


def _limit(bar: KeptBar) -> str:
    """Return what a bar limits, with placeholders for its parameters."""
    if bar.limit == "max-share":
        return _COUNTED.get(bar.attack, "")
    if bar.belief is None:
        return "guessed more often than from the group only"
    words = _BELIEVED.get(bar.attack, "own value believed")
    return f"{words} with {tenths_of_percent(bar.belief)} or more"


@dataclass(frozen=True)
class LikelyLine:
    """A family of queries: its aggregate, its column, and the factor that widens intervals."""

    words: str
    column: str
    factor: str


def likely_intervals(declared: Declared) -> dict[str, Any]:
    """Return the page's lines about likely intervals; none if there are no intervals."""
    if declared.intervals is None:
        return {"likely": []}
    factors = declared.intervals.factors
    return {
        "likely": [
            LikelyLine(FAMILIES[family.family].words, family.of, str(family.factor))
            for family in declared.intervals.families
        ],
        "least": {"rows": LEAST_ROWS, "groups": LEAST_GROUPS},
        "grid": ", ".join(map(str, factors[factors.index(Decimal(1)) :][:_SHOWN])),
    }


def little_left(groups: Groups, declared: Declared) -> tuple[str, ...]:
    """Return the reasons why answers may be of little use, in words.

    There are no reasons for forms that declare distributions, or if values of people who left are
    among the others: it is not known how many of those a query selects.
    """
    if declared.form.declares or declared.rows.vacant or not len(groups):
        return ()
    single_group = (ONE_GROUP,) if len(groups) == 1 else ()
    return (*single_group, *_wide_means(groups, declared))


def _wide_means(groups: Groups, declared: Declared) -> Iterator[str]:
    for name in declared.names_with_roles("sensitive"):
        number = declared.columns[name].type in ("integer", "decimal", "float")
        counted = groups.sensitive.get(name) if number else None
        share = None if counted is None else mean_by_range(counted)
        if share is not None and share >= TRIVIAL:
            yield (
                f"the mean of {name} over one in twenty rows of every group is known only within "
                f"{whole_percent(share)} of the range of all its values"
            )


def factors_of_script(declared: Declared) -> dict[str, Any]:
    """Return the stated families of questions with likely intervals that the script computes."""
    stated = declared.intervals
    if stated is None or not tells("asks likely", declared.software):
        return {}
    computed = _LIKELY.get(declared.form.shows, ())
    families = [
        {"family": family.family, "of": family.of, "factor": float(family.factor)}
        for family in stated.families
        if family.family.partition("-")[0] in computed
    ]
    return {"likely": families}


def pack_table(table: pa.Table) -> Document:
    """Return a table's columns.

    Raises:
        ValueError: if they alone would be too long a text; then the other columns are not read.
    """
    columns, length = {}, 0
    for name in table.column_names:
        columns[name] = _column(encode(name, "insensitive", table[name]))
        length += len(columns[name]["codes"]) + 2 * len(columns[name]["values"])  # with commas
        if length > MOST_TEXT:
            raise ValueError(length)
    return {"rows": table.num_rows, "columns": columns}


def _column(column: Column) -> Document:
    """Return a column's values and packed codes; of ascending codes, how often each occurs."""
    values = _plain_values(column.values)
    if len(column.codes) and not column.has_null and (np.diff(column.codes) >= 0).all():
        runs = lengths(starts(column.codes), len(column.codes))
        return {"values": values, "runs": True, **_pack(runs)}
    codes = np.where(column.codes < 0, len(values), column.codes)
    nulls = {"nulls": True} if column.has_null else {}
    return {"values": values, **nulls, **_pack(codes)}


def _pack(numbers: np.ndarray) -> Document:
    """Return numbers in as few bits as the largest needs, the lowest bits first, in base64.

    >>> _pack(np.array([1, 0, 3]))
    {'bits': 2, 'codes': 'MQ=='}

    Raises:
        ValueError: if the largest needs too many bits.
    """
    bits = int(numbers.max(initial=0)).bit_length()
    if bits > _MOST_BITS:
        raise ValueError(bits)
    each = (numbers.astype(np.int64)[:, None] >> np.arange(bits)) & 1
    octets = np.packbits(each.astype(np.uint8).ravel(), bitorder="little")
    return {"bits": bits, "codes": base64.b64encode(octets.tobytes()).decode()}


def _plain_values(values: pa.Array) -> list[str | int | float | bool | None]:
    """Return published values as JSON has them.

    Raises:
        ValueError: if one is not finite.
    """
    listed: list[Any] = values.to_pylist()
    if pa.types.is_string(values.type):
        return listed
    if pa.types.is_integer(values.type):
        low, high = pc.min_max(values).values()
        if not len(values) or -_SAFE < low.as_py() <= high.as_py() < _SAFE:
            return listed
    return [json_value(value) for value in listed]


def json_value(value: Any) -> str | int | float | bool | None:
    """Return a published value as JSON has it; numbers that JSON would round are texts.

    Raises:
        ValueError: if it is not finite.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _SAFE:
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
