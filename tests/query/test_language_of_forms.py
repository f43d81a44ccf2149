"""SQL as analysts write it, on forms that show other things than rows: DuckDB in every world."""

import itertools
import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from tests.query.composed import publish_composed as in_versions
from tests.query.composed import random_columns, random_groups
from tests.query.every_world import EveryWorld
from tests.query.test_apart import publish_apart
from tests.query.test_composed import EXACT, rows_of, worlds_of
from tests.query.test_composed import small as composed_release
from tests.query.test_language_of_worlds import holds
from tests.query.test_recoded import PETS, random_table
from tests.query.test_subdomains import SMALL, small
from tests.query.worlds import column, declare

TWO = declare(
    "ambiguous",
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string"),
    loss=column("sensitive", "integer"),
)


def of_labels(seed):
    """A generalized table, and the rows of each world."""
    table, hidden = random_table(np.random.default_rng(seed), 4)
    return {"microdata": table}, PETS, itertools.product(*hidden)


def of_marginals(seed):
    """An ambiguous release of one group, and the rows of each world."""
    generator = np.random.default_rng(seed)
    rows = 3
    columns = {
        "age": generator.integers(0, 3, rows).tolist(),
        "sex": generator.choice(["f", "m"], rows).tolist(),
        "loss": generator.integers(0, 3, rows).tolist(),
    }
    tables = publish_apart(TWO, columns, [0] * rows)
    ways = [_onto_values(set(columns[name]), rows) for name in ("age", "sex")]
    worlds = itertools.product(*ways, set(itertools.permutations(columns["loss"])))
    return tables, TWO, (list(zip(*world, strict=True)) for world in worlds)


def _onto_values(values, rows):
    """Every way in which rows have values so that each value occurs."""
    return [way for way in itertools.product(values, repeat=rows) if set(way) == values]


def of_subdomains(seed):
    """A redistributed release, and the rows of each world."""
    tables, _, copies = small(seed)
    rows = tables["qit"].to_pylist()
    members = defaultdict(list)
    for place, row in enumerate(rows):
        members[row["group_id"]].append(place)
    ways = [
        {
            tuple(zip(places, world, strict=True))
            for chosen in itertools.permutations(copies[group], len(places))
            for world in itertools.product(*chosen)
        }
        for group, places in members.items()
    ]
    return tables, SMALL, (_rows(rows, world) for world in itertools.product(*ways))


def of_composed(seed):
    """A version whose groups keep values of people who left, and the rows of each world."""
    form = EXACT[seed % len(EXACT)]
    declared, rng = composed_release(form), random.Random(seed)
    group, kind = random_groups(rng, largest=3)
    tables = in_versions(declared, random_columns(rng, len(group)), group, kind, seed)
    people = rows_of(tables)
    together = form["sensitive"] == "together"
    ways = [
        [
            [(row["age"], row["sex"], *values) for row, values in zip(rows, world, strict=True)]
            for world in worlds_of(tables, group_number, len(rows), together)
        ]
        for group_number, rows in people.items()
    ]
    worlds = itertools.product(*ways)
    return tables, declared, (list(itertools.chain(*world)) for world in worlds)


def _rows(rows, world):
    losses = dict(itertools.chain(*world))
    return [(row["age"], row["sex"], losses[place]) for place, row in enumerate(rows)]


QUERIES = (
    (0, "SELECT COUNT(*), COUNT(1) FROM microdata WHERE age = 1 OR sex = 'f'"),
    (0, "SELECT COUNT(*) FROM microdata WHERE age = 1 OR loss > 0"),
    (0, "SELECT COUNT(*) FROM microdata WHERE NOT (age = 1 OR (loss > 0 AND sex = 'm'))"),
    (0, "SELECT COUNT(*) FILTER (WHERE loss > 0), COUNT(*) FROM microdata WHERE age >= 1"),
    (0, "SELECT 100 * COUNT(*) FILTER (WHERE loss > 0) / COUNT(*) FROM microdata"),
    (
        0,
        "SELECT COUNT(*) FILTER (WHERE sex = 'f') - COUNT(*) FILTER (WHERE age = 0) FROM microdata",
    ),
    (1, "SELECT sex, COUNT(*) AS n FROM microdata GROUP BY 1 ORDER BY 1"),
    (1, "SELECT m.age, COUNT(*) FROM (SELECT * FROM microdata WHERE loss >= 0) m GROUP BY m.age"),
    (1, "SELECT sex, COUNT(*) FILTER (WHERE age > 0) FROM microdata GROUP BY sex HAVING sex = 'f'"),
    (0, "SELECT SUM(CASE WHEN sex = 'f' THEN 1 ELSE 0 END) FROM microdata"),
)
OF_VALUES = (
    (0, "SELECT SUM(loss), AVG(loss), MAX(loss) - MIN(loss) FROM microdata WHERE age > 0"),
    (0, "SELECT SUM(loss) / COUNT(*), SUM(loss) * 2 FROM microdata WHERE sex = 'f'"),
    (0, "SELECT SUM(loss) FILTER (WHERE sex = 'f'), SUM(loss) FROM microdata"),
    (1, "SELECT sex, VARIANCE(loss), VAR_POP(loss) FROM microdata WHERE age < 2 GROUP BY sex"),
)
OF_ROWS_WITH_LABELS = (
    (0, "SELECT MEDIAN(loss), SUM(loss * 2 + 1) FROM microdata WHERE age > 0"),
    (1, "SELECT loss > 0 AS gained, COUNT(*), COUNT(vip) FROM microdata WHERE age < 2 GROUP BY 1"),
    (1, "SELECT vip, AVG(ABS(loss)) FROM microdata WHERE sex = 'f' OR loss > 0 GROUP BY vip"),
    (0, "SELECT COUNT(*) FROM microdata WHERE UPPER(CAST(vip AS VARCHAR)) = 'TRUE' AND age = 1"),
)
OF_CALCULATIONS = (
    (1, "SELECT sex, SUM(age * loss), SUM(age * loss) / SUM(age) FROM microdata GROUP BY sex"),
    (0, "SELECT SUM(ABS(loss)), MEDIAN(loss), MIN(loss * 2) FROM microdata WHERE age > 0"),
    (1, "SELECT word, COUNT(*), SUM(loss) FROM microdata GROUP BY word"),
    (1, "SELECT sex, COUNT(*) FROM microdata WHERE UPPER(word) = 'A' OR age = 1 GROUP BY sex"),
)
MOST = 300  # worlds that are gone through; those of the same rows in another order are one
OF_DIFFERENT = (
    (0, "SELECT COUNT(DISTINCT loss) FROM microdata"),
    (0, "SELECT COUNT(DISTINCT loss), COUNT(DISTINCT ABS(loss)) FROM microdata WHERE age > 0"),
    (1, "SELECT sex, COUNT(DISTINCT loss) FROM microdata GROUP BY sex"),
)
OF_ROWS = ((0, "SELECT AVG(age), COUNT(DISTINCT age), SUM(loss) FROM microdata"),)
FORMS = {
    "labels": (of_labels, (*QUERIES, *OF_VALUES, *OF_ROWS_WITH_LABELS, *OF_DIFFERENT)),
    "marginals": (of_marginals, (*QUERIES, *OF_DIFFERENT)),
    "subdomains": (of_subdomains, (*QUERIES, *OF_VALUES, *OF_ROWS)),
    "composed": (of_composed, (*QUERIES, *OF_VALUES, *OF_ROWS, *OF_CALCULATIONS, *OF_DIFFERENT)),
}


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("form", FORMS)
def test_answers_hold_those_of_every_world(form, seed):
    make, queries = FORMS[form]
    tables, declared, worlds = make(seed)
    every = every_world(itertools.islice(worlds, MOST), declared)
    assert every.size
    for keys, query in queries:
        rows_by_key = by_key(every.answers(query), keys)
        assert (
            values_outside(answer_on(tables, declared, query), rows_by_key, keys, every.size) == []
        ), query


def every_world(worlds, declared):
    """Return the different ones of some worlds, each of which is a list of rows."""
    different = {tuple(sorted(map(repr, world))): world for world in worlds}
    return EveryWorld(in_columns(world, declared) for world in different.values())


def by_key(answers, keys):
    """Return the values of all worlds' rows by their group columns, which come first."""
    values = defaultdict(list)
    for row in itertools.chain(*answers):
        values[row[:keys]].append(row[keys:])
    return values


def values_outside(answer, rows_by_key, keys, number):
    """Return what some world comes to and the answer excludes."""
    rows = {tuple(row.values())[:keys]: tuple(row.values())[keys:] for row in answer.rows}
    missing = [key for key in rows_by_key if key not in rows]
    wrong = [
        (key, values, bounds)
        for key, bounds in rows.items()
        for values in rows_by_key[key]
        if not all(map(holds, bounds, values))
    ]
    doubtful = [
        key
        for key, sure in zip(rows, answer.certain, strict=True)
        if sure and len(rows_by_key[key]) < number
    ]
    return [*missing, *wrong, *doubtful]


def in_columns(world, declared):
    types = {name: column.arrow_type for name, column in declared.columns.items()}
    columns = zip(types, zip(*world, strict=True), strict=True)
    return pa.table({name: pa.array(list(values), types[name]) for name, values in columns})


def test_nothing_is_calculated_of_values_that_are_not_published():
    tables, declared, _ = FORMS["marginals"][0](0)
    with pytest.raises(QueryError, match="its values are not published as they are"):
        answer_on(tables, declared, "SELECT COUNT(*) FROM microdata WHERE ABS(age) = 1")
