"""Which group of a release each person is in, as their quasi-identifiers tell."""

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.measures.readings import covering_pairs
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.linking.covers import column_covers, published_codes
from sfumato.tasks.forms.admitted_people import only_groups
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_MOST = 500_000_000  # pairs of a group and a person


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
