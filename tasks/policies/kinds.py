"""Kinds of columns: what each may publish, decided by its role and codings, and by its texts.

A person states of which kind a column is: no machine knows what a column really contains. Given
that, a machine decides by the declaration, and again by every published text. Texts are those of
the release format: values as they are written in CSV files, or labels in place of them.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.shared.registered import Entries, Registered
from sfumato.tasks.policies.rule import DecidedColumn, Subject
from sfumato.tasks.schema.names import Part
from sfumato.tasks.schema.stated import OneLine

_FIRST_YEAR, _LAST_YEAR = 1800, 2199
_YEAR = r"(?:1[89]|2[01])[0-9]{2}"
_OF_YEARS = re.compile(
    rf"(?:{_YEAR}|(?:1[89]|2[01])[0-9]\*|(?:1[89]|2[01])\*\*|[12]\*\*\*"
    rf"|{_YEAR}-{_YEAR}|\[{_YEAR}, {_YEAR}\]|\{{{_YEAR}(?:, {_YEAR})*\}})(?: or null)?"
)
"""A year, a code whose last digits are hidden, an interval, a range, or a set of years."""
_NUMBER = r"(?:0|[1-9][0-9]*)"
_OF_NUMBERS = re.compile(
    rf"(?P<value>{_NUMBER})|(?P<low>{_NUMBER})-{_NUMBER}|\[(?P<first>{_NUMBER}), {_NUMBER}\]"
    rf"|\{{(?P<members>{_NUMBER}(?:, {_NUMBER})*)\}}"
)
_OR_NULL = " or null"
_BY_FILE = (
    "has labels from a file, and a machine cannot read their meaning. Write a hierarchy by a rule, "
    "or leave it out"
)


class ColumnKind(Part):
    """A kind of columns, and what may be published of them."""

    example: ClassVar[Mapping[str, Any]]

    shown: str
    meaning: Annotated[OneLine, Field(description="what such a column contains, for people")]

    @abstractmethod
    def demand(self) -> str:
        """Return what may be published, as a clause without a full stop."""

    @abstractmethod
    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:
        """Return why a column of this kind breaks the policy, and what to write; None if not."""

    def fits(self, text: str, subject: Subject) -> bool:  # noqa: ARG002 - of most kinds
        """Decide whether a published text, which is no star, is one that the kind allows."""
        return True


class WithheldKind(ColumnKind):
    """Columns that no published table may have."""

    example: ClassVar[Mapping[str, Any]] = {"shown": "withheld", "meaning": "names"}

    shown: Literal["withheld"]

    def demand(self) -> str:
        """Return what may be published."""
        return "in no published table"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:  # noqa: ARG002
        """Return the fault of a published column."""
        if not column.published:
            return None
        return f"is published with role {column.role}. Write `role: drop`"

    def fits(self, text: str, subject: Subject) -> bool:  # noqa: ARG002
        """Decide that no text may be published."""
        return False


class AnyKind(ColumnKind):
    """Columns that a machine demands nothing of."""

    example: ClassVar[Mapping[str, Any]] = {"shown": "any", "meaning": "everything that is left"}

    shown: Literal["any"]

    def demand(self) -> str:
        """Return what may be published."""
        return "anything: a person states what it contains"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:  # noqa: ARG002
        """Return None: nothing is demanded."""
        return None


class YearsKind(ColumnKind):
    """Dates, of which only years may be published."""

    example: ClassVar[Mapping[str, Any]] = {"shown": "years", "meaning": "dates"}

    shown: Literal["years"]

    def demand(self) -> str:
        """Return what may be published."""
        return f"years from {_FIRST_YEAR} to {_LAST_YEAR}, or periods of whole years"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:
        """Return the fault of a column that may show more than years."""
        return _fault_of_years(column, subject) if column.published else None

    def fits(self, text: str, subject: Subject) -> bool:  # noqa: ARG002
        """Decide whether a text is a year or a period of whole years."""
        return _OF_YEARS.fullmatch(text) is not None


class BirthsKind(ColumnKind):
    """Years of birth, of which those that show an age above a limit are together."""

    example: ClassVar[Mapping[str, Any]] = {
        "shown": "births",
        "at-most": 89,
        "meaning": "years of birth",
    }

    shown: Literal["births"]
    at_most: Annotated[int, Field(ge=1, le=150, description="the highest age that may be seen")]

    def demand(self) -> str:
        """Return what may be published."""
        return f"years of birth; those that show an age above {self.at_most} are one value"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:
        """Return the fault of a column that may show the birth years of very old people."""
        if not column.published:
            return None
        if column.type != "integer":
            return "must be a whole number: read only the year of birth, with `type: integer`"
        if subject.year is None:
            return (
                "needs the last year that the rows are about. Write `year: YEAR` under policy, "
                "such as `year: 2026`"
            )
        least = subject.year - self.at_most - 1
        bottom = _threshold(column.coded.bottom)
        if bottom is None or bottom < least:
            return (
                f"shows people older than {self.at_most} in {subject.year} by their year of birth. "
                f'Write `bottom: "{least}"`'
            )
        return _fault_of_years(column, subject)

    def fits(self, text: str, subject: Subject) -> bool:
        """Decide whether a text is a year, or a period, that reaches the first of these years."""
        if subject.year is None or _OF_YEARS.fullmatch(text) is None:
            return False
        numbers = [int(number) for number in re.findall(_YEAR, text)]
        first = subject.year - self.at_most - 1
        members = numbers if text.startswith("{") else numbers[-1:]
        return all(number >= first for number in members)


class AgesKind(ColumnKind):
    """Ages, of which those above a limit are together."""

    example: ClassVar[Mapping[str, Any]] = {"shown": "ages", "at-most": 89, "meaning": "ages"}

    shown: Literal["ages"]
    at_most: Annotated[int, Field(ge=1, le=150, description="the highest age that may be seen")]

    def demand(self) -> str:
        """Return what may be published."""
        return f"ages; those above {self.at_most} are one value"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:  # noqa: ARG002
        """Return the fault of a column that may show the ages of very old people."""
        if not column.published:
            return None
        if column.type != "integer":
            return "must be a whole number of years. Write `type: integer`"
        if column.hierarchy == "file":
            return _BY_FILE
        top = _threshold(column.coded.top)
        if top is None or top > self.at_most + 1:
            return f'shows ages above {self.at_most}. Write `top: "{self.at_most + 1}"`'
        return None

    def fits(self, text: str, subject: Subject) -> bool:  # noqa: ARG002
        """Decide whether a text is an age, or a range of ages, that begins below the limit."""
        match = _OF_NUMBERS.fullmatch(text.removesuffix(_OR_NULL))
        if match is None:
            return False
        parts = [part for part in match.group("value", "low", "first") if part is not None]
        members = parts or match["members"].split(", ")
        return all(int(member) <= self.at_most + 1 for member in members)


class AreasKind(ColumnKind):
    """Codes of areas, cut to their first digits, without areas that have too few people."""

    example: ClassVar[Mapping[str, Any]] = {
        "shown": "areas",
        "digits": 3,
        "small": ["036"],
        "meaning": "ZIP codes",
    }

    shown: Literal["areas"]
    digits: Annotated[int, Field(ge=1, le=20, description="how many digits may be published")]
    small: Annotated[
        tuple[Annotated[str, Field(pattern="^[0-9]{1,20}$")], ...],
        Field(description="codes with too few people, which the source must replace"),
    ] = ()

    def demand(self) -> str:
        """Return what may be published."""
        return f"the first {self.digits} digits, without the {len(self.small)} listed small areas"

    def fault(self, column: DecidedColumn, subject: Subject) -> str | None:  # noqa: ARG002
        """Return the fault of a column that may show more digits."""
        if not column.published:
            return None
        if column.type != "string":
            return "must be a text, so that zeros at the beginning stay. Write `type: string`"
        if column.hierarchy == "file":
            return _BY_FILE
        if column.coded.prefix is None or column.coded.prefix > self.digits:
            return f"shows more than {self.digits} digits. Write `prefix: {self.digits}`"
        return None

    def fits(self, text: str, subject: Subject) -> bool:  # noqa: ARG002
        """Decide whether a text is a code, or a set of codes, none of them a small area."""
        body = text.removesuffix(_OR_NULL)
        members = body[1:-1].split(", ") if body.startswith("{") and body.endswith("}") else [body]
        code = re.compile(rf"[0-9]{{{self.digits}}}|[0-9]{{0,{self.digits - 1}}}\*+")
        return all(code.fullmatch(member) and member not in self.small for member in members)


KINDS: Mapping[str, type[ColumnKind]] = Entries(
    "sfumato.tasks.policies",
    {
        "withheld": "kinds:WithheldKind",
        "any": "kinds:AnyKind",
        "years": "kinds:YearsKind",
        "births": "kinds:BirthsKind",
        "ages": "kinds:AgesKind",
        "areas": "kinds:AreasKind",
    },
)
Kind = Annotated[ColumnKind, Registered("shown", KINDS)]
"""A kind of columns as a policy writes it."""


def _threshold(written: object) -> Fraction | None:
    """Return a threshold that is written as a value; None for a share, which is computed."""
    return Fraction(written) if isinstance(written, str) else None


def _fault_of_years(column: DecidedColumn, subject: Subject) -> str | None:
    """Return why more than years may be published, and what to write; None if only years are."""
    if column.hierarchy == "file":
        return _BY_FILE
    if column.type == "string":
        if column.coded.prefix is None or column.coded.prefix > len("2026"):
            return "shows more of dates than the year. Write `prefix: 4`"
        return None
    if column.type != "integer":
        return (
            f"has type {column.type}, and labels can show days. Read it as a text that begins "
            "with the year, and write `type: string` and `prefix: 4`"
        )
    if not subject.of_release and not _are_years(column.limits):
        return (
            "may have other numbers than years. Write "
            f"`range: {{min: {_FIRST_YEAR}, max: {_LAST_YEAR}}}`"
        )
    return None


def _are_years(limits: Sequence[str | None] | None) -> bool:
    """Decide whether all values within limits are years."""
    if limits is None or None in limits:
        return False
    low, high = (Fraction(str(limit)) for limit in limits)
    return low >= _FIRST_YEAR and high <= _LAST_YEAR
