"""The bounds are the extremes over every world: nothing wider, nothing narrower."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import session
from tests.query.worlds import CENSUS, aggregate, with_help, worlds

FUNCTIONS = ("count", "sum", "avg", "min", "max")
ALL = ", ".join(f"{function}(loss)" for function in FUNCTIONS)


def _table(generator, sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(groups)
    table = pa.table(
        {
            "age": generator.integers(0, 3, rows),
            "sex": pa.array(generator.choice(["f", "m", None], rows).tolist(), pa.string()),
            "loss": generator.integers(-3, 4, rows),
            "group_id": groups,
        }
    )
    return table.take(pa.array(generator.permutation(rows)))


def _extremes(table, chosen):
    """Per function the least and greatest answer over the chosen rows in every world."""
    every_world = worlds(table["group_id"].to_pylist(), table["loss"].to_pylist())
    different = {tuple(sorted(world[i] for i in chosen)) for world in every_world}
    values_by_function = {
        function: [aggregate(function, values) for values in different] for function in FUNCTIONS
    }
    empty = not chosen
    return {
        function: (None, None) if empty and function != "count" else (min(seen), max(seen))
        for function, seen in values_by_function.items()
    }


def _agree(row, table, chosen):
    checked = 0
    for function, extremes in _extremes(table, chosen).items():
        bounds = row[f"{function}(loss)"]
        assert (bounds.lower, bounds.upper) == extremes, function
        if bounds.estimate is not None:
            assert bounds.lower <= bounds.estimate <= bounds.upper
        checked += 1
    return checked


@pytest.mark.parametrize("seed", range(10))
def test_bounds_are_the_extremes_over_all_worlds(seed):
    generator = np.random.default_rng(seed)
    checked = 0
    for _ in range(20):
        table = _table(generator, generator.integers(1, 4, int(generator.integers(1, 4))))
        ages, sexes = table["age"].to_pylist(), table["sex"].to_pylist()
        limit = int(generator.integers(-1, 3))
        selected = [i for i, age in enumerate(ages) if age <= limit]
        where = f"FROM microdata WHERE age <= {limit}"
        with session(with_help(table, "loss")) as connection:
            (row,) = ask(
                RowsEngine(connection, CENSUS),
                CENSUS,
                read_question(f"SELECT {ALL} {where}", CENSUS),
            ).rows
            grouped = read_question(f"SELECT sex, {ALL} {where} GROUP BY sex", CENSUS)
            cells = ask(RowsEngine(connection, CENSUS), CENSUS, grouped).rows
        checked += _agree(row, table, selected)
        assert {cell["sex"] for cell in cells} == {sexes[i] for i in selected}
        assert len({cell["sex"] for cell in cells}) == len(cells)
        for cell in cells:
            checked += _agree(cell, table, [i for i in selected if sexes[i] == cell["sex"]])
    assert checked > 150


def test_the_truth_is_within_the_bounds_of_large_tables():
    generator = np.random.default_rng(7)
    checked = 0
    for _ in range(12):
        truth = _table(generator, generator.integers(2, 9, 60))
        order = np.lexsort((generator.random(truth.num_rows), truth["group_id"].to_numpy()))
        rows = np.argsort(truth["group_id"].to_numpy(), kind="stable")
        shuffled = np.empty(truth.num_rows, dtype=np.int64)
        shuffled[rows] = truth["loss"].to_numpy()[order]
        table = truth.set_column(2, "loss", pa.array(shuffled))
        with session(with_help(table, "loss")) as connection:
            for where, keep in PREDICATES.items():
                question = read_question(f"SELECT {ALL} FROM microdata WHERE {where}", CENSUS)
                (row,) = ask(RowsEngine(connection, CENSUS), CENSUS, question).rows
                values = [r["loss"] for r in truth.to_pylist() if keep(r["age"], r["sex"])]
                for function in FUNCTIONS:
                    bounds = row[f"{function}(loss)"]
                    assert bounds.lower <= aggregate(function, values) <= bounds.upper
                    checked += 1
    assert checked == 12 * len(PREDICATES) * len(FUNCTIONS)


PREDICATES = {
    "age = 1": lambda age, sex: age == 1,
    "age BETWEEN 1 AND 2 AND sex = 'f'": lambda age, sex: 1 <= age <= 2 and sex == "f",
    "sex IS NULL OR age % 2 = 0": lambda age, sex: sex is None or age % 2 == 0,
    "NOT (sex LIKE 'm%')": lambda age, sex: sex == "f",
    "sex IN ('f', 'm') AND age <> 0": lambda age, sex: sex is not None and age != 0,
    "TRUE": lambda age, sex: True,
}


def test_averages_are_exact_fractions():
    table = pa.table({"loss": [0, 0, 1], "group_id": [0, 0, 0], "age": [1, 1, 1]})
    with session(with_help(table, "loss")) as connection:
        question = read_question("SELECT AVG(loss) FROM microdata", CENSUS)
        (row,) = ask(RowsEngine(connection, CENSUS), CENSUS, question).rows
    assert row["avg(loss)"].lower == row["avg(loss)"].upper == Fraction(1, 3)
