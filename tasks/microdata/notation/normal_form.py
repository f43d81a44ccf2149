"""Texts without the marks of how they were typed, and other spellings that they may have.

Left out are, in this order: spaces and invisible characters, the Unicode form (NFKC; digits of
other scripts and all dashes as ASCII has them), case, the format of numbers (signs, thousands,
decimals, exponents), and zeros before whole numbers.

    >>> import pyarrow as pa
    >>> normal_form(pa.array(["HIV ", "hiv", "P00017", "p 17", "1,200.50", None])).to_pylist()
    ['hiv', 'hiv', 'p17', 'p17', '1200.5', None]

Two values can have the same normal form and mean different things, such as the code `01` and the
number `1`: it says what may be the same, not what is.

Sources are not read in this way: a steward declares how a source is spelled.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.spelling import ValueSpelling, iso_texts, without_thousands
from sfumato.tasks.schema.columns import NUMBERS, ColumnType

_BLANK = r"[\s\p{Z}\p{Cc}\p{Cf}]+"
_ZEROS = r"(^|[^0-9.,'])0+([0-9])"
_NUMBER = r"^[+-]?[0-9.,']*[0-9][.]?(e[+-]0*[0-9]{1,2})?$"
_WHOLE_NUMBER = r"^[0-9]+$"
_THOUSANDS: Mapping[str, re.Pattern[str]] = {
    ",": re.compile(r"[+-]?0*[1-9]\d{0,2}(,\d{3})+(\.\d*)?"),
    "'": re.compile(r"[+-]?0*[1-9]\d{0,2}('\d{3})+(\.\d*)?"),
    ".": re.compile(r"[+-]?0*[1-9]\d{0,2}(\.\d{3})+,\d+|[+-]?0*[1-9]\d{0,2}(\.\d{3}){2,}"),
}
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]0*\d{1,2})?")
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"), "-")
_DAYS: Sequence[str] = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
)
_DIGITS: Sequence[str] = ("%Y%m%d", "%d%m%Y", "%m%d%Y")
_CLOCKS: Sequence[str] = ("", " %H:%M", " %H:%M:%S")
_COMMA = ValueSpelling(decimal=",")
_PLAIN_NUMBER = r"\A[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\z"


def normal_form(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the normal form of each text (string, one per value); nulls stay null."""
    texts = _texts(values)
    if not pa.types.is_integer(values.type):
        for step in _STEPS.values():
            texts = step(texts)
    return texts


def normal_steps(values: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the normal form of each text, and which steps changed it (uint8, a bit for each).

    `kinds_of` names the difference of two spellings of one value by these bits.
    """
    texts = _texts(values)
    steps = np.zeros(len(texts), dtype=np.uint8)
    if pa.types.is_integer(values.type):
        return texts, steps
    for bit, step in enumerate(_STEPS.values()):
        before, texts = texts, step(texts)
        changed = pc.fill_null(pc.not_equal(before, texts), fill_value=False)
        steps |= np.asarray(changed.to_numpy(zero_copy_only=False), dtype=np.uint8) << bit
    return texts, steps


def kind_of_difference(first: str, second: str) -> str:
    """Name the kind of difference between two spellings of the same normal form.

    >>> kind_of_difference("HIV", "HIV ")
    'a space at the end'
    >>> kind_of_difference("hiv", "HIV")
    'case'
    >>> kind_of_difference("P00017", "p17")
    'case and leading zeros'
    """
    steps = normal_steps(pa.array([first, second]))[1]
    return kinds_of(int(steps[0]), int(steps[1]))


def kinds_of(first_steps: int, second_steps: int) -> str:
    """Name the kinds of difference between two spellings, by the steps that changed each.

    >>> kinds_of(0b1, 0b0), kinds_of(0b10000, 0b10000)
    ('a space at the end', 'case')
    """
    differing = (first_steps ^ second_steps) or (first_steps | second_steps)
    kinds = [kind for bit, kind in enumerate(_STEPS) if differing >> bit & 1]
    return " and ".join(kinds) or "nothing that the normal form leaves out"


def _texts(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return whole.cast(pa.string())


def _replacing_step(pattern: str, replacement: str) -> Callable[[pa.Array], pa.Array]:
    def replace(texts: pa.Array) -> pa.Array:
        return pc.replace_substring_regex(texts, pattern=pattern, replacement=replacement)

    return replace


def _changed_where(
    chosen: Callable[[pa.Array], pa.Array], change: Callable[[str], str]
) -> Callable[[pa.Array], pa.Array]:
    """Return a step that changes the chosen texts one by one: they are few as a rule."""

    def change_chosen(texts: pa.Array) -> pa.Array:
        mask = pc.fill_null(chosen(texts), fill_value=False)
        some = [change(text) for text in texts.filter(mask).to_pylist()]
        return pc.replace_with_mask(texts, mask, pa.array(some, pa.string())) if some else texts

    return change_chosen


def _not_ascii(texts: pa.Array) -> pa.Array:
    return pc.invert(pc.string_is_ascii(texts))


def _is_written_as_number(texts: pa.Array) -> pa.Array:
    number = pc.match_substring_regex(texts, _NUMBER)
    return pc.and_not(number, pc.match_substring_regex(texts, _WHOLE_NUMBER))


def _compose(text: str) -> str:
    """Return the NFKC of a text without blanks, with digits and dashes in ASCII."""
    folded = unicodedata.normalize("NFKC", text).translate(_DASHES)
    return "".join(_character(c) for c in folded if not _is_blank(c))


def _character(character: str) -> str:
    number = unicodedata.decimal(character, None)
    return character if number is None else str(number)


def _is_blank(character: str) -> bool:
    return unicodedata.category(character) in {"Zs", "Zl", "Zp", "Cc", "Cf"}


def _without_case(text: str) -> str:
    """Return the text without case, folded until neither case nor Unicode form changes it."""
    while (folded := _compose(text.casefold())) != text:
        text = folded
    return text


def _lower(texts: pa.Array) -> pa.Array:
    return _fold(pc.ascii_lower(texts))


def _plain_number(text: str) -> str:
    """Return a number without sign, thousands, exponent and redundant zeros; otherwise the text."""
    for mark, pattern in _THOUSANDS.items():
        if pattern.fullmatch(text):
            text = text.replace(mark, "")
    point = text.replace(",", ".") if text.count(",") == 1 else text
    if not _DECIMAL.fullmatch(point):
        return text
    digits = format(Decimal(point), "f").lstrip("+")
    plain = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if plain == "-0" else plain


_fold = _changed_where(_not_ascii, _without_case)


_STEPS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "a space at the end": _replacing_step(f"{_BLANK}$", ""),
    "a space at the beginning": _replacing_step(f"^{_BLANK}", ""),
    "spaces": _replacing_step(_BLANK, ""),
    "the Unicode form": _changed_where(_not_ascii, _compose),
    "case": _lower,
    "the format of numbers": _changed_where(_is_written_as_number, _plain_number),
    "leading zeros": _replacing_step(_ZEROS, r"\1\2"),
}


def date_formats_of(texts: pa.Array) -> list[tuple[str, ColumnType]]:
    """Return the formats, other than ISO 8601, by which all texts are dates or timestamps.

    >>> date_formats_of(pa.array(["31.1.2024", "1.2.2024"]))
    [('%d.%m.%Y', 'date')]
    >>> [format_ for format_, _ in date_formats_of(pa.array(["1/2/2024"]))]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    formats: list[tuple[str, ColumnType]] = []
    for clock in _CLOCKS:
        type_: ColumnType = "timestamp" if clock else "date"
        target = pa.timestamp("us") if clock else pa.date32()
        for day in _DAYS:
            spelling = ValueSpelling(date_formats={"": day + clock})
            iso = iso_texts(texts, type_, "", spelling)
            if len(texts) and not iso.null_count and _are(iso, target):
                formats.append((day + clock, type_))
    return formats


def digit_date_formats_of(texts: pa.Array) -> list[str]:
    """Return the formats in digits alone by which all texts are days of the years 1850 to 2099.

    >>> digit_date_formats_of(pa.array(["20240320", "19991231"]))
    ['%Y%m%d']
    """
    formats: list[str] = []
    for day in _DIGITS:
        iso = iso_texts(texts, "date", "", ValueSpelling(date_formats={"": day}))
        if len(texts) and not iso.null_count and _are(iso, pa.date32()):
            usual = pc.match_substring_regex(iso, r"\A(18[5-9]|19[0-9]|20[0-9])")
            formats += [day] * bool(pc.all(usual).as_py())
    return formats


def thousands_of(texts: pa.Array, decimal: str) -> list[str]:
    """Return the marks by which all texts are numbers, some with marks between thousands.

    >>> thousands_of(pa.array(["1,200.5", "7"]), "."), thousands_of(pa.array(["1.5"]), ".")
    ([','], [])
    """
    marks: list[str] = []
    for mark in (",", ".", "'", " "):
        if mark != decimal and len(texts):
            plain = without_thousands(texts, mark, decimal)
            marks += [mark] * (not plain.null_count and not plain.equals(texts))
    return marks


def have_decimal_commas(texts: pa.Array) -> bool:
    """Return whether all texts are numbers with decimal commas, and some do have commas.

    >>> have_decimal_commas(pa.array(["1,5", "2"])), have_decimal_commas(pa.array(["1", "2"]))
    (True, False)
    """
    some = pc.any(pc.match_substring(texts, ",")).as_py()
    points = iso_texts(texts, "decimal", "", _COMMA)
    fits = pc.fill_null(pc.match_substring_regex(points, _PLAIN_NUMBER), fill_value=False)
    return bool(some) and bool(pc.all(fits).as_py())


def hint_of(texts: pa.Array, type_: ColumnType, spelling: ValueSpelling, name: str) -> str:
    """Return what a source may have to declare so that texts fit a type, empty if unknown."""
    if type_ in ("decimal", "float") and spelling.decimal == "." and have_decimal_commas(texts):
        return " (source.decimal: ','?)"
    if type_ in NUMBERS and spelling.thousands_mark is None:
        marks = thousands_of(texts, spelling.decimal)
        if marks:
            return f" (source.csv.thousands: {marks[0]!r}?)"
    if type_ in ("date", "timestamp") and name not in spelling.date_formats:
        formats = [format_ for format_, kind in date_formats_of(texts) if kind == type_]
        formats = formats or (digit_date_formats_of(texts) if type_ == "date" else [])
        if formats:
            return f" (source.date-formats: {' or '.join(formats)}?)"
    return ""


def _are(texts: pa.Array, target: pa.DataType) -> bool:
    try:
        pc.cast(texts, target)
    except pa.ArrowInvalid:
        return False
    return True
