"""No help tables: bounds of two related tables need only the numbers of groups and their rows."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.terms.terms import Terms


def _names(_declared: Terms, _columns: Sequence[str]) -> Sequence[str]:
    return ()


def _build(_tables: Mapping[str, pa.Table], _declared: Terms) -> dict[str, pa.Table]:
    return {}


APART = HelpTables(_names, _build)
