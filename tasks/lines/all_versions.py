"""Checks of all given versions of a line together: presence, and groups that never grow."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.lines.movement import Movement, movement_between
from sfumato.tasks.lines.shown import ShownVersion, breaches, number_of
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.schema.names import GROUP_ID

_UNKNOWN = np.iinfo(np.int64).max  # stands for any number of people

JointVerdict = tuple[PrivacyModel, Verdict]


def moved_between(places: Sequence[Path], versions: Sequence[ShownVersion]) -> list[Movement]:
    """Return the movement from each of some versions, or of a part of them, to the next.

    Args:
        places: the directory of each version, for messages.
        versions: the versions, in their order.

    Raises:
        PromiseError: where one contradicts the one before it, or groups have grown.
    """
    movements = []
    for place, (before, now) in zip(places[1:], pairwise(versions), strict=True):
        if wrong := list(breaches(before, now)):
            raise refusal_at(place, "; ".join(wrong))
        movements.append(movement_between(before, now))
    if grown := count_grown(versions):
        raise refusal_at(places[-1], f"{number_of(grown)} with more people than ever before")
    return movements


def refusal_at(directory: Path, why: str) -> PromiseError:
    """Return the error of a version that contradicts those before it."""
    return PromiseError(f"{directory}: versions: composed is broken ({why})")


def count_grown(versions: Sequence[ShownVersion]) -> int:
    """Return the number of groups with more people than ever were in them.

    If a form does not show vacant values, a group's people are known from its first version on.
    """
    first = versions[0]
    complete = (first.rows + first.vacant) if first.vacancies.tells else None
    # by group, how many people were ever in it
    ever = np.where(first.previous < 0, first.rows, _UNKNOWN) if complete is None else complete
    wrong = 0
    for _, now in pairwise(versions):
        goes_on = now.previous >= 0
        of_new = now.rows if line_of(now.declared.partition) is None else now.rows + now.vacant
        ever = np.where(goes_on, ever[np.maximum(now.previous, 0)], of_new)
        wrong += int((now.rows > ever).sum())
    return wrong


def joint_verdicts(versions: Sequence[ShownVersion]) -> Iterator[JointVerdict]:
    """Yield the last version's joint promises with their verdicts over the groups of all versions.

    Raises:
        PromiseError: where a version of another form may show whose presence these hide.
    """
    last = versions[-1].declared
    promises = [promise for promise in last.promises if promise.judged_jointly]
    if not promises:
        return
    if others := sum(version.declared.form.shows != last.form.shows for version in versions):
        raise PromiseError(
            "versions: composed is broken: the promises must hide who is in the "
            f"release, but {others} earlier versions in another form may show it. "
            "Publish this form as a line with another name about other people"
        )
    tables = _all_groups(versions)
    for promise in promises:
        sensitive = [promise.sensitive] if promise.sensitive else []
        form = FORMS[last.form.method]
        groups = form.groups(tables, last.columns, promise.adversary_columns, sensitive)
        yield promise, promise.check(groups)


def _all_groups(versions: Sequence[ShownVersion]) -> Tables:
    """Return the tables of all groups that versions show, renumbered, each group once."""
    parts: dict[str, list[pa.Table]] = {}
    taken = 0
    for number, version in enumerate(versions):
        new = np.full(len(version.rows), True) if number == 0 else version.previous < 0
        ids = np.where(new, taken + np.cumsum(new) - 1, -1)
        taken += int(new.sum())
        for name, table in version.tables.items():
            if name != LINEAGE:
                parts.setdefault(name, []).append(_renumber_groups(table, ids))
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


def _renumber_groups(table: pa.Table, ids: np.ndarray) -> pa.Table:
    """Return the rows of the groups that have a new id (int64, one per group), under that id."""
    new = ids[table[GROUP_ID].to_numpy()]
    place = table.schema.get_field_index(GROUP_ID)
    named = table.set_column(place, table.schema.field(place), pa.array(new))
    return named.filter(pa.array(new >= 0))
