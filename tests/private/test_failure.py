"""The border at which foreign exceptions end: what leaves has no trace of them."""

import pytest

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.private.failure import sanitise_errors


def raised(error):
    """What leaves the border when `error` is raised behind it."""
    try:
        with sanitise_errors("ingest"):
            raise error
    except Exception as left:  # noqa: BLE001 - all of it is looked at
        return left


@pytest.mark.parametrize("error", [ValueError("CANARY"), InputError("file: row 1: wrong")])
def test_what_leaves_has_neither_cause_nor_context(error):
    left = raised(error)
    assert left is not error
    assert left.__cause__ is None
    assert left.__context__ is None


def test_a_foreign_exception_is_told_by_its_type_and_place_alone():
    left = raised(ValueError("CANARY"))
    assert isinstance(left, Fault)
    assert "CANARY" not in str(left)
    assert str(left).startswith("ingest: ValueError at ")


def test_an_error_made_to_be_shown_keeps_its_kind_and_its_words():
    left = raised(InputError("file: row 1: wrong"))
    assert (type(left), str(left)) == (InputError, "file: row 1: wrong")
