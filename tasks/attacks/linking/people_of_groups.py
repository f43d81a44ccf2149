"""The group of each person in a release, found by quasi-identifiers."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.readings import covering_pairs
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.forms.admitted_people import only_groups
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.accuracy.vectors import codes_as_published
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_MOST = 500_000_000  # pairs of a group and a person


def column_covers(target: AttackedRelease) -> tuple[Groups, Covering | None]:
    """Return the groups, and the values that they admit of each quasi-identifier.

    The second is None if groups do not show each quasi-identifier separately.
    """
    declared, names = target.declared, target.declared.names_with_roles("quasi-identifier")
    form = form_of(declared)
    groups = form.groups(
        target.tables, declared.columns, names, declared.names_with_roles("sensitive")
    )
    return groups, covering(groups, names)


def published_codes(target: AttackedRelease, columns: Sequence[Column]) -> list[np.ndarray]:
    """Return the codes of people's values in the groups' numbering; -1 for values of no group.

    Args:
        target: a release that shows columns apart.
        columns: columns of people, of the release or of a register.

    Returns:
        int64, one array per column, one entry per row of it.
    """
    published = {
        name: table[name] for table in target.tables.values() for name in table.column_names
    }
    return [codes_as_published(column, published[column.name]) for column in columns]


def group_of_people(target: AttackedRelease) -> np.ndarray | None:
    """Return the group of each represented person (int64), or None if someone's is unknown."""
    shows = target.declared.form.shows
    group = _BY.get(shows, lambda _: None)(target)
    return None if group is None or (group < 0).any() else group


def _group_by_rows(target: AttackedRelease) -> np.ndarray | None:
    """Return the only group that contains each person's quasi-identifiers (int64), -1 for none.

    Returns None if two groups contain the same quasi-identifiers.
    """
    table = target.tables[relations(target.declared).rows]
    row_vector, of_people = target.vectors()
    group = table[GROUP_ID].to_numpy().astype(np.int64)
    of_vector = np.zeros(int(row_vector.max(initial=-1)) + 2, dtype=np.int64)
    of_vector[row_vector] = group
    if (of_vector[row_vector] != group).any():
        return None
    of_vector[-1] = -1
    return np.asarray(of_vector[of_people])


def _group_by_labels(target: AttackedRelease) -> np.ndarray | None:
    """Return the only group whose labels admit each person (int64).

    Returns None if groups show no values, there are too many pairs, or `only_groups` finds none.
    """
    counts = target.groups()
    if counts is None or len(counts.sizes) * target.people.rows > _MOST:
        return None
    declared, reader_of = target.declared, reader_for(form_of(target.declared))
    scope = declared.columns, reader_of, declared.names_with_roles("quasi-identifier")
    try:
        return only_groups(target.tables[TABLE], *scope, target.people)
    except PromiseError:
        return None


def _group_by_columns(target: AttackedRelease) -> np.ndarray | None:
    """Return the only group that admits each person's values in all columns (int64).

    Returns None if somebody has no such group or several, or there are too many pairs.
    """
    groups, covers = column_covers(target)
    people = target.people
    if covers is None or len(groups) * people.rows > _MOST:
        return None
    columns = [people[name] for name in target.declared.names_with_roles("quasi-identifier")]
    person, group = covering_pairs(covers, published_codes(target, columns))
    return group if np.array_equal(person, np.arange(people.rows)) else None


_BY = {
    "rows": _group_by_rows,
    "apart": _group_by_rows,
    "labels": _group_by_labels,
    "columns": _group_by_columns,
}
