"""The attacker who knows everyone's number of rows, and reads the facts published of a group.

A fact of a person is computed from the person's rows, and shuffled among the people of the group.
So of all ways to give the rows of a group to its people, each with the own number, only those are
left that give the published facts: of costs 5,000, 100 and 200, totals 5,000 and 300 leave one way.
Whoever has a value in all that are left surely has it.

The ways are counted out, in groups that have few. Facts that are computed from columns which are
not published rule nothing out here, because others do not know these columns. Nor do coded facts.

Source: this project (the guide's page on related tables).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np

from sfumato.expectations.shared.errors import InputError, QueryError, SpecError
from sfumato.tasks.attacks.group.related_rows import RelatedTruth, truth_of
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Proportion, Score
from sfumato.tasks.microdata.derived import compute_fact
from sfumato.tasks.microdata.table import OwnedRows
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.of_person import PersonSql, parse_of_person

_MOST_ROWS = 8
"""The most rows of a group whose ways are counted out: each set of them has facts of its own."""
_MOST_WAYS = 1_000
_MOST_GROUPS = 300


def by_facts(target: AttackedRelease) -> tuple[Score, ...]:
    """Score who knows all numbers of rows, and facts, by what they are sure of in small groups."""
    facts, truth = _telling_facts(target), truth_of(target)
    if not facts or truth is None:
        return ()
    try:
        certain = certain_by_facts(truth, facts, together=target.declared.form.facts_together)
    except (InputError, SpecError):  # SQL cannot compute it for all other rows than their own
        return ()
    if not certain:
        return ()
    by_numbers = dict(zip(truth.people.person.tolist(), truth.by_numbers.tolist(), strict=True))
    counted, sure = len(certain), sum(certain.values())
    alone = sum(by_numbers[person] for person in certain)
    return (
        Score(
            f"people with rows in {target.declared.form.related_table}, in groups of few rows, of "
            "whom a value is certain, by everyone's number of rows and the facts of the group",
            sure / counted,
            {"by everyone's number of rows": alone / counted},
            tally=Proportion(sure, counted),
        ),
    )


def certain_by_facts(
    truth: RelatedTruth, facts: Mapping[str, "TellingFact"], *, together: bool
) -> dict[int, bool]:
    """Return the people with rows in small groups, each with whether a value of theirs is certain.

    Args:
        truth: the rows of a release with their owners.
        facts: what facts are computed by, by name.
        together: whether the facts of a person stand together.

    Raises:
        InputError: if a fact cannot be computed for some rows.
    """
    groups = list(_small_groups(truth))
    outcomes = _facts_of_sets(truth, groups, facts)
    certain: dict[int, bool] = {}
    for group, of_sets in zip(groups, outcomes, strict=True):
        surely = _Ways(group, of_sets, together=together).common_values()
        certain |= {
            person: bool(values) for person, values in zip(group.people, surely, strict=True)
        }
    return certain


@dataclass(frozen=True)
class TellingFact:
    """A fact that is computed from published columns: its column, and its SQL."""

    column: DeclaredColumn
    sql: PersonSql


def _telling_facts(target: AttackedRelease) -> dict[str, TellingFact]:
    """Return the facts that are computed from published columns, all as they are."""
    declared = target.declared
    form = declared.form
    usable = [name for name in form.related_columns if not declared.columns[name].codings]
    telling = {}
    for name in facts_of(declared):
        column = declared.columns[name]
        try:
            sql = parse_of_person(str(column.derive), str(form.related_table), usable)
        except QueryError:  # it needs a column that is not published
            continue
        if not column.codings:
            telling[name] = TellingFact(column, sql)
    return telling


@dataclass(frozen=True)
class _Group:
    """The rows of a group and the people who have some.

    Attributes:
        rows: the positions of its rows.
        people: the numbers of the people with rows.
        own: the rows of each of them, as a set of bits, one for each of `rows`.
        values: the value of each row, as a bit.
    """

    rows: tuple[int, ...]
    people: tuple[int, ...]
    own: tuple[int, ...]
    values: tuple[int, ...]

    def sets(self) -> list[int]:
        """Return the sets of rows that somebody can have: as many as somebody has."""
        places = range(len(self.rows))
        numbers = sorted({own.bit_count() for own in self.own})
        return [sum(1 << p for p in some) for n in numbers for some in combinations(places, n)]


def _small_groups(truth: RelatedTruth) -> Iterator[_Group]:
    """Yield groups with few rows and few ways to give these to people, in order."""
    owner = truth.owned.owner
    codes, _ = truth.owned.table[truth.name].category()
    group = truth.group[owner]
    order = np.lexsort((owner, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    few = 0
    for rows in np.split(order, starts[1:]):
        numbers = Counter(owner[rows].tolist())
        ways = factorial(len(rows)) // prod(map(factorial, numbers.values()))
        if len(rows) > _MOST_ROWS or ways > _MOST_WAYS or few == _MOST_GROUPS:
            continue
        few += 1
        owners = owner[rows].tolist()
        people = tuple(numbers)
        own = [sum(1 << p for p, whose in enumerate(owners) if whose == q) for q in people]
        local = {code: 1 << n for n, code in enumerate(dict.fromkeys(codes[rows].tolist()))}
        values = tuple(local[code] for code in codes[rows].tolist())
        yield _Group(tuple(rows.tolist()), people, tuple(own), values)


def _facts_of_sets(
    truth: RelatedTruth, groups: Sequence[_Group], facts: Mapping[str, TellingFact]
) -> list[dict[int, tuple[object, ...]]]:
    """Return the facts of a person with each set of rows, group by group."""
    sets = [group.sets() for group in groups]
    members = [
        [row for place, row in enumerate(group.rows) if chosen >> place & 1]
        for group, own in zip(groups, sets, strict=True)
        for chosen in own
    ]
    owner = np.repeat(np.arange(len(members)), list(map(len, members)))
    rows = np.array([row for own in members for row in own], dtype=np.int64)
    owned = OwnedRows(owner, truth.owned.table.take(rows))
    columns = [
        compute_fact(name, fact.column, fact.sql, owned, len(members)).to_pylist()
        for name, fact in facts.items()
    ]
    outcomes = iter(zip(*columns, strict=True))
    return [{chosen: next(outcomes) for chosen in own} for own in sets]


class _Ways:
    """All ways to give the rows of a group to its people that give the published facts."""

    def __init__(
        self, group: _Group, facts: Mapping[int, tuple[object, ...]], *, together: bool
    ) -> None:
        """Take the facts of a person with each set of rows."""
        self._kinds = {own: (whole,) if together else whole for own, whole in facts.items()}
        kinds = [self._kinds[own] for own in group.own]
        self._left = [Counter(column) for column in zip(*kinds, strict=True)]
        self._numbers = [own.bit_count() for own in group.own]
        self._values = {chosen: _values_of(group, chosen) for chosen in facts}
        self._rows = (1 << len(group.rows)) - 1
        self._given: list[int] = []
        self._common = [-1] * len(self._numbers)

    def common_values(self) -> list[int]:
        """Return the values that each person has in all ways, as bits."""
        self._give(self._rows)
        return self._common

    def _give(self, rows: int) -> None:
        """Give sets of the rows that are left to the next person, and to all after."""
        if len(self._given) == len(self._numbers):
            for place, chosen in enumerate(self._given):
                self._common[place] &= self._values[chosen]
            return
        number = self._numbers[len(self._given)]
        for chosen, kinds in self._kinds.items():
            is_possible = chosen.bit_count() == number and not chosen & ~rows
            if is_possible and all(map(Counter.__getitem__, self._left, kinds)):
                self._take(kinds, 1)
                self._given.append(chosen)
                self._give(rows & ~chosen)
                self._given.pop()
                self._take(kinds, -1)

    def _take(self, kinds: tuple[object, ...], times: int) -> None:
        for remaining, kind in zip(self._left, kinds, strict=True):
            remaining[kind] -= times


def _values_of(group: _Group, chosen: int) -> int:
    values = 0
    for place, value in enumerate(group.values):
        if chosen >> place & 1:
            values |= value
    return values
