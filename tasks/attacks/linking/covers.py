"""People in the columns of groups that show each quasi-identifier apart."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.accuracy.arbitrary import codes_as_published
from sfumato.tasks.terms.tables import form_of


def column_covers(target: AttackedRelease) -> tuple[Groups, Covering | None]:
    """The groups with what they show; None where they show no quasi-identifiers apart."""
    declared, names = target.declared, target.declared.named("quasi-identifier")
    form = form_of(declared)
    groups = form.groups(target.tables, declared.columns, names, declared.named("sensitive"))
    return groups, covering(groups, names)


def published_codes(target: AttackedRelease, columns: Sequence[Column]) -> list[np.ndarray]:
    """The codes of people's values as groups number them; -1 for a value that no group shows.

    Args:
        target: a release that shows columns apart.
        columns: of people, whether of the release or not.

    Returns:
        int64, one array per column, one entry per row of it.
    """
    shown = {name: table[name] for table in target.tables.values() for name in table.column_names}
    return [codes_as_published(column, shown[column.name]) for column in columns]
