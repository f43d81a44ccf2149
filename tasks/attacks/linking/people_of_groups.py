"""Which group of a release each person is in, as quasi-identifiers tell."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.readings import covering_pairs
from sfumato.tasks.attacks.attack import AttackedRelease
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


def group_of_people(target: AttackedRelease) -> np.ndarray | None:
    """The group of each represented person (int64); None where it is not told of everybody."""
    shows = target.declared.form.shows
    found = _BY.get(shows, lambda _: None)(target)
    return None if found is None or (found < 0).any() else found


def _by_rows(target: AttackedRelease) -> np.ndarray | None:
    """By the only group in which somebody's quasi-identifiers stand."""
    table = target.tables[relations(target.declared).rows]
    shown, of_people = target.vectors()
    group = table[GROUP_ID].to_numpy().astype(np.int64)
    of_vector = np.zeros(int(shown.max(initial=-1)) + 2, dtype=np.int64)
    of_vector[shown] = group
    if (of_vector[shown] != group).any():
        return None
    of_vector[-1] = -1
    return np.asarray(of_vector[of_people])


def _by_labels(target: AttackedRelease) -> np.ndarray | None:
    """By the only group whose labels admit them."""
    counts = target.groups()
    if counts is None or len(counts.sizes) * target.people.rows > _MOST:
        return None
    declared, reader_of = target.declared, reader_for(form_of(target.declared))
    scope = declared.columns, reader_of, declared.named("quasi-identifier")
    try:
        return only_groups(target.tables[TABLE], *scope, target.people)
    except PromiseError:
        return None


def _by_columns(target: AttackedRelease) -> np.ndarray | None:
    """By the only group that admits their values in each column."""
    groups, shown = column_covers(target)
    people = target.people
    if shown is None or len(groups) * people.rows > _MOST:
        return None
    columns = [people[name] for name in target.declared.named("quasi-identifier")]
    person, group = covering_pairs(shown, published_codes(target, columns))
    return group if np.array_equal(person, np.arange(people.rows)) else None


_BY = {"rows": _by_rows, "labels": _by_labels, "columns": _by_columns}
