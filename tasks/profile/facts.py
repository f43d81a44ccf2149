"""Facts about a column's values, in counts, for the private page and for proposals.

Numbers with check digits are recognised by python-stdnum.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from stdnum import iban

from sfumato.expectations.shared.exact import is_ordered
from sfumato.tasks.microdata.codings import is_free_text
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.profile.names import Meaning, is_postal, sense_of
from sfumato.tasks.schema.columns import NUMBERS, ColumnType

_ENOUGH = 5  # different values, below which no pattern is recognised
_LOOKED_AT = 400  # about as many different values are tested
_SHARE = 0.95
_MOST_DIGITS = 15
_EMAIL = r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
_URL = r"(?i)(https?://|www\.)\S+"
_ADDRESS = r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}"
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PHONE = r"(\+|0)[\d ()/.-]{6,20}"
_ICD = r"[A-TV-Z]\d[0-9AB](\.?[0-9A-TV-Z]{1,4})?"
_POSTCODE = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} ?[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|0\d{3,4}"
_NAMES = r"[^\W\d_]\S*,? [^\W\d_](\S*\w)?\.?( [^\W\d_]\S*){0,2}"
_NATIONAL = (
    *("at.vnr", "be.nn", "bg.egn", "br.cpf", "ca.sin", "ch.ssn"),
    *("cn.ric", "cz.rc", "de.idnr", "dk.cpr", "ee.ik", "es.dni"),
    *("es.nie", "fi.hetu", "fr.nir", "gb.nhs", "gr.amka", "hr.oib"),
    *("ie.pps", "in_.aadhaar", "it.codicefiscale", "kr.rrn", "lt.asmens", "mx.curp"),
    *("nl.bsn", "no.fodselsnummer", "nz.ird", "pl.pesel", "pt.cc", "ro.cnp"),
    *("se.personnummer", "si.emso", "tr.tckimlik", "us.ssn", "za.idnr"),
)


@dataclass(frozen=True)
class Pattern:
    """A pattern that values may follow.

    Attributes:
        title: the name of such a value.
        use: the use of such a value: to contact or identify a person, or a code that many share.
        fits: the test that a text follows the pattern.
        own: whether most rows must have a value of their own.
        shared: whether rows must share values, as with codes: two rows or more for each.
    """

    title: str
    use: Literal["contact", "code"]
    fits: Callable[[str], bool]
    own: bool = False
    shared: bool = False


def recognise(column: Column) -> str | None:
    """Return the title of the pattern of a column's values, or None if no pattern is recognised."""
    texts = _sample(column)
    if is_free_text(column):
        return FREE_TEXT
    if len(texts) < _ENOUGH:
        return None
    own = 2 * len(column.values) > int((column.codes >= 0).sum())
    patterns = (p for p in PATTERNS if not (p.shared if own else p.own))
    return next((p.title for p in patterns if _share(p.fits, texts) >= _SHARE), None)


def _sample(column: Column) -> list[str]:
    """Return some different values as texts, spread over their whole order."""
    if not (pa.types.is_string(column.values.type) or pa.types.is_integer(column.values.type)):
        return []
    step = max(1, len(column.values) // _LOOKED_AT)
    picked = column.values.take(pa.array(range(0, len(column.values), step)))
    return [text.strip() for text in pc.cast(picked, pa.string()).to_pylist()]


def _share(fits: Callable[[str], bool], texts: Sequence[str]) -> float:
    return sum(map(fits, texts)) / len(texts)


def _whole(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _stdnum_test(*modules: str, least: int) -> Callable[[str], bool]:
    """Return a test that a text is valid by one of some modules of python-stdnum."""

    def valid(text: str) -> bool:
        digits = sum(map(str.isdigit, text))
        return digits >= least and any(import_module(f"stdnum.{m}").is_valid(text) for m in modules)

    return valid


def _is_phone(text: str) -> bool:
    return _PHONE_LIKE(text) and sum(map(str.isdigit, text)) <= _MOST_DIGITS


def _is_iban(text: str) -> bool:
    """Decide whether a text is an IBAN, without each country's own rules, which change."""
    return bool(iban.is_valid(text, check_country=False))


_PHONE_LIKE = _whole(_PHONE)


FREE_TEXT, POSTCODE, ICD = "free text", "postcode", "ICD code"


PATTERNS: tuple[Pattern, ...] = (
    Pattern("e-mail address", "contact", _whole(_EMAIL)),
    Pattern("web address", "contact", _whole(_URL)),
    Pattern("UUID", "contact", _whole(_UUID)),
    Pattern("IP address", "contact", _whole(_ADDRESS)),
    Pattern("IBAN", "contact", _is_iban),
    Pattern(POSTCODE, "code", _whole(_POSTCODE), shared=True),
    Pattern(ICD, "code", _whole(_ICD), shared=True),
    Pattern("card number", "contact", _stdnum_test("luhn", least=13), own=True),
    *(Pattern("national id", "contact", _stdnum_test(m, least=7), own=True) for m in _NATIONAL),
    Pattern("phone number", "contact", _is_phone, own=True),
    Pattern("person's name", "contact", _whole(_NAMES), own=True),
)


USES: Mapping[str, str] = {p.title: p.use for p in PATTERNS} | {FREE_TEXT: "text"}


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """Facts about a column of the represented rows.

    Attributes:
        column: the column with its values.
        type: the type of its values.
        rows: the number of rows with each value (int64, one per value).
        missing: the number of rows without a value.
        meaning: the meaning of its name; None if it has none.
        look: the title of the pattern of its values; None if none is recognised.
    """

    column: Column
    type: ColumnType
    rows: np.ndarray
    missing: int
    meaning: Meaning | None
    look: str | None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(self.rows)

    @property
    def rows_with_value(self) -> int:
        """The number of rows with a value."""
        return int(self.rows.sum())

    @property
    def alone(self) -> int:
        """The number of values that occur in one row only."""
        return int((self.rows == 1).sum())

    @property
    def largest(self) -> int:
        """The number of rows with the most frequent value."""
        return int(self.rows.max(initial=0))

    @property
    def own(self) -> Fraction:
        """Different values per row with a value: 1 if each row has its own."""
        return Fraction(self.distinct, max(self.rows_with_value, 1))

    @property
    def is_constant(self) -> bool:
        """True if all rows have the same value, or no value."""
        return self.distinct + bool(self.missing) < 2

    @property
    def is_number(self) -> bool:
        """True if values can be added up."""
        return self.type in NUMBERS

    @property
    def is_ordered(self) -> bool:
        """True if values have an order of their own."""
        return is_ordered(self.column.values.type)

    @property
    def use(self) -> str | None:
        """The use of such values to people: contact, code or text; None if not recognised."""
        return None if self.look is None else USES[self.look]


def facts_of(microdata: Microdata, types: dict[str, ColumnType]) -> tuple[ColumnFacts, ...]:
    """Return the facts about each column of a table."""
    return tuple(_facts(column, types[column.name]) for column in microdata.columns)


def _has_postcodes(column: Column) -> bool:
    return is_postal(column.name) and pa.types.is_string(column.values.type)


def _facts(column: Column, type_: ColumnType) -> ColumnFacts:
    counts = np.bincount(column.codes.astype(np.int64) + 1, minlength=len(column.values) + 1)
    return ColumnFacts(
        column=column,
        type=type_,
        rows=counts[1:],
        missing=int(counts[0]),
        meaning=sense_of(column.name),
        look=recognise(column) or (POSTCODE if _has_postcodes(column) else None),
    )
