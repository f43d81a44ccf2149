"""Faults at a database, described only by their codes: messages of servers quote rows."""

from collections.abc import Mapping

from sfumato.expectations.shared.errors import SfumatoError, TransientFault
from sfumato.tasks.microdata.readers.input_error import input_error

_TRANSIENT = ("08", "40", "53", "57")
_RULES: Mapping[str, str] = {
    "42P01": "the query names a table that does not exist",
    "42S02": "the query names a table that does not exist",
    "42703": "the query names a column that does not exist",
    "42S22": "the query names a column that does not exist",
    "42501": "the user may not read the tables of the query",
    "25006": "the query tries to write, and it may only read",
    "3D000": "the database does not exist",
}
_CLASSES: Mapping[str, str] = {
    "22": "the query fails on a value, such as a text that is not a number",
    "23": "the query tries to write, and it may only read",
    "25": "the query cannot run in a transaction that only reads",
    "28": "the server refuses the user or the password",
    "42": "the query is not one that the database understands",
}
REFUSED = "the server refuses the connection. Check the user, the password and the database's name"


def fault_of_state(uri: str, sqlstate: str) -> SfumatoError:
    """Return the error of a SQLSTATE: one that another attempt may not meet, or a refusal.

    >>> print(fault_of_state("${DSN}", "42P01"))
    ${DSN}: the query names a table that does not exist (SQLSTATE 42P01)
    """
    if sqlstate.startswith(_TRANSIENT):
        return unreachable(uri, f"SQLSTATE {sqlstate}")
    rule = _RULES.get(sqlstate) or _CLASSES.get(sqlstate[:2], "the database refuses the query")
    return input_error(uri, f"{rule} (SQLSTATE {sqlstate})")


def unreachable(uri: str, code: object) -> TransientFault:
    """Return the error of a server that cannot be reached, or breaks off."""
    return TransientFault(
        f"{uri}: the server cannot be reached, or broke the connection off ({code})"
    )
