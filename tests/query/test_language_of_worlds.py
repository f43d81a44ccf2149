"""SQL as analysts write it: DuckDB answers the same text in every world, and bounds hold it.

Whatever an answer says of a group is held against worlds in which it may be empty: a row that is
certain is in the answer of every world, and what is attained is the extreme over all of them.
"""

import math
from collections import defaultdict
from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from tests.query.every_world import EveryWorld
from tests.query.fifty import ANSWERED, ORDERED, REFUSED
from tests.query.test_matched import (
    FORMS,
    declare,
    in_form,
    random_rows,
    some_missing,
    worlds,
)

SIZES = {"together": [3, 2, 3], "independent": [2, 3]}
CLOSE = 1e-9


class AllWorlds:
    """A release, and DuckDB with the microdata of every world.

    Worlds that are the same rows in another order are one: no query here tells them apart.
    """

    def __init__(self, form, sensitive, seed, *, nulls=False):
        self.declared = declare(form, sensitive, nulls=nulls)
        generator = np.random.default_rng(seed)
        self.table = random_rows(generator, SIZES[sensitive])
        if nulls:
            self.table = some_missing(generator, self.table)
        self.tables = in_form(self.table, self.declared)
        self.together = sensitive == "together"

    @cached_property
    def _worlds(self):
        """All different worlds."""
        different = {as_rows(world): world for world in worlds(self.table, self.together)}
        return EveryWorld(map(self._microdata, different.values()))

    @property
    def number(self):
        """The number of worlds."""
        return self._worlds.size

    def _microdata(self, world):
        """Return a world's rows as a table with the columns of the release."""
        columns = {column: [row[column] for row in world] for column in self.table.column_names}
        return pa.Table.from_pydict(columns, self.table.schema)

    def register(self, name, table):
        """Add a table that is the same in every world."""
        self._worlds.register(name, table)

    def answers(self, query):
        """Return the rows of each world's answer."""
        return self._worlds.answers(query)


def as_rows(world):
    """A world's rows without their order."""
    return tuple(sorted(repr(sorted(row.items())) for row in world))


@pytest.fixture(
    scope="module", params=[(*form, seed) for seed, form in enumerate(FORMS, 1)], ids=str
)
def all_worlds(request):
    return AllWorlds(*request.param)


@pytest.fixture(
    scope="module", params=[(*form, seed) for seed, form in enumerate(FORMS, 1)], ids=str
)
def worlds_with_nulls(request):
    return AllWorlds(*request.param, nulls=True)


@pytest.mark.parametrize(("keys", "query"), ANSWERED, ids=range(len(ANSWERED)))
def test_answers_hold_those_of_every_world(all_worlds, keys, query):
    require_answers_of_every_world(all_worlds, keys, query)


@pytest.mark.parametrize(("keys", "query"), ANSWERED, ids=range(len(ANSWERED)))
def test_and_where_values_are_missing(worlds_with_nulls, keys, query):
    require_answers_of_every_world(worlds_with_nulls, keys, query)


def require_answers_of_every_world(all_worlds, keys, query):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query)
    rows = {tuple(row.values())[:keys]: tuple(row.values())[keys:] for row in answer.rows}
    certain = dict(zip(rows, answer.certain, strict=True))
    seen, present = defaultdict(list), defaultdict(int)
    for rows_found in all_worlds.answers(query):
        for row in rows_found:
            if "COUNT_IF" in query:  # which DuckDB makes null where the condition is never known
                row = tuple(
                    0 if value is None and place >= keys else value
                    for place, value in enumerate(row)
                )
            present[row[:keys]] += 1
            seen[row[:keys]].append(row[keys:])
    assert set(seen) <= set(rows)
    for key, sure in certain.items():
        assert not sure or present[key] == all_worlds.number, key
    outside = [
        (key, values, bounds)
        for key, bounds in rows.items()
        for values in seen[key]
        if not all(map(holds, bounds, values))
    ]
    assert outside == []
    for key, bounds in rows.items():
        always = present[key] == all_worlds.number
        for place, bounds_of_value in enumerate(bounds):
            if bounds_of_value.attained and "HAVING" not in query:
                assert ends(bounds_of_value, always) == pytest.approx(
                    extremes(bounds_of_value, seen[key], place, always)
                )


def holds(bounds: Bounds, value):
    """Tell if a world's answer is within; what DuckDB divides by 0 is null here."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return bounds.lower is None or bounds.may_be_empty
    if bounds.unbounded:
        return True
    if isinstance(value, str):
        return bounds.lower <= value <= bounds.upper
    return float(bounds.lower) - CLOSE <= value <= float(bounds.upper) + CLOSE


def ends(bounds, always):
    """Both ends as numbers; of a count the lower one where its group is always there."""
    if bounds.lower is None or isinstance(bounds.lower, str):
        return []
    low, high = float(bounds.lower), float(bounds.upper)
    return [low, high] if always or low else [high]


def extremes(bounds, seen, place, always):
    values = [float(row[place]) for row in seen if isinstance(row[place], int | float)]
    if bounds.lower is None or isinstance(bounds.lower, str):
        return []
    low, high = min(values, default=math.nan), max(values, default=math.nan)
    return [low, high] if always or float(bounds.lower) else [high]


@pytest.mark.parametrize(("query", "order_kind"), ORDERED)
def test_rows_are_in_the_order_that_is_asked_for(all_worlds, query, order_kind):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query)
    assert answer.by_estimate == (order_kind == "estimate" and is_open(answer))
    (*_, last) = (list(row.values())[-1] for row in answer.rows)
    values = [list(row.values())[-1].estimate for row in answer.rows]
    assert order_kind is None or values == sorted(values), last


def is_open(answer):
    bounds = [list(row.values())[-1] for row in answer.rows]
    return any(cell.lower != cell.upper for cell in bounds)


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_has_no_answer_is_refused_with_the_reason(query, why):
    worlds_known = AllWorlds("permuted", "independent", 1)
    with pytest.raises(QueryError, match=why):
        answer_on(worlds_known.tables, worlds_known.declared, query)
