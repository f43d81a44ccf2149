"""Every coding by the key that it has in a spec, in the order in which they act."""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.expectations.entries import Entries
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.codings.declared import CodedColumn

CODINGS: Mapping[str, Callable[[Column, Any, Any], Column]] = Entries(
    "sfumato.tasks.microdata.codings",
    {
        "shift": "shifts:code_shift",
        "bottom": "ends:code_bottom",
        "top": "ends:code_top",
        "round": "rounds:code_round",
        "unite": "texts:code_unite",
        "prefix": "texts:code_prefix",
        "fold": "texts:code_fold",
    },
)
"""A coded column, from the column, what is declared of it, and what was found, if anything is."""

FINDERS: Mapping[str, Callable[[Column, Any], Any]] = Entries(
    "sfumato.tasks.microdata.codings",
    {
        "bottom": "ends:find_bottom",
        "top": "ends:find_top",
        "fold": "texts:find_fold",
    },
)
"""What is computed of a column's rows once, as JSON has it."""


def code_column(
    column: Column, declared: CodedColumn, known: Mapping[str, Any]
) -> tuple[Column, dict[str, Any]]:
    """A column as it is declared to be coded, and what was computed of its rows for that.

    Args:
        column: as it was read.
        declared: its codings.
        known: what was computed before, by the keys of codings; the days of each row under `shift`.

    Raises:
        InputError: where a value cannot be coded.
    """
    found: dict[str, Any] = {}
    for key, wish in declared.codings.items():
        if key in declared.computed:
            found[key] = known[key] if key in known else FINDERS[key](column, wish)
        column = CODINGS[key](column, wish, found.get(key, known.get(key)))
    return column, found
