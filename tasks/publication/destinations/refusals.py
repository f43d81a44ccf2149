"""What PostgreSQL refuses, in a line of ours: its own words may quote values."""

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.expectations.errors import InputError, TransientFault
from sfumato.tasks.sql.dialects.dialect import Dialect

_RULES = {
    "2BP01": "others' tables or views need what is to be replaced: drop these first",
    "3F000": "there is no such schema",
    "42501": "the user may not do this there (it needs CREATE on the database, and to own schemas "
    "that are there)",
    "53100": "the disk of the database is full",
    "55P03": "somebody reads the line there for too long: deliver again",
}
_BROKEN = ("08", "40", "57")
"""What codes begin with where a connection or a transaction broke."""


@contextmanager
def translate_errors(place: str, dialect: Dialect) -> Iterator[None]:
    """Say what failed in a rule of ours, with the SQLSTATE alone.

    Raises:
        InputError: where the database refuses.
        TransientFault: where the connection broke.
    """
    try:
        yield
    except dialect.access.errors() as error:
        code = str(dialect.access.code(error) or "")
        rule = _RULES.get(code, "the database refuses")
        said = f"{place}: {rule} ({code or type(error).__name__})"
        broken = not code or code.startswith(_BROKEN)
        raise (TransientFault if broken else InputError)(said) from None
