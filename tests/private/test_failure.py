"""The border at which foreign exceptions end: what leaves has no trace of them."""

import pytest

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.private.failure import sanitise_errors


def error_leaving(error):
    """Return the exception that leaves the border when `error` is raised behind it."""
    try:
        with sanitise_errors("ingest"):
            raise error
    except Exception as left:  # noqa: BLE001 - all of it is looked at
        return left


@pytest.mark.parametrize("error", [ValueError("CANARY"), InputError("file: row 1: wrong")])
def test_what_leaves_has_neither_cause_nor_context(error):
    error_raised = error_leaving(error)
    assert error_raised is not error
    assert error_raised.__cause__ is None
    assert error_raised.__context__ is None


def test_a_foreign_exception_is_told_by_its_type_and_place_alone():
    error_raised = error_leaving(ValueError("CANARY"))
    assert isinstance(error_raised, Fault)
    assert "CANARY" not in str(error_raised)
    assert str(error_raised).startswith("ingest: ValueError at ")


def test_an_error_made_to_be_shown_keeps_its_kind_and_its_words():
    error_raised = error_leaving(InputError("file: row 1: wrong"))
    assert (type(error_raised), str(error_raised)) == (InputError, "file: row 1: wrong")
