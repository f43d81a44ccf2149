"""Bounds on a generalized table contain those on the permuted table of the same partition.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
theorem 2.
"""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.forms.form_parameters import (
    GeneralizedParameters,
    PermutedParameters,
    SplitParameters,
)
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.help_tables.rows import help_name, help_table
from tests.query.worlds import column, declare

FORMS_OF = {
    "generalized": GeneralizedParameters(method="generalized"),
    "permuted": PermutedParameters(method="permuted"),
    "split": SplitParameters(method="split"),
}
COLUMNS = {
    "age": column("quasi-identifier", "integer"),
    "town": column("quasi-identifier", "string", nulls=True),
    "loss": column("sensitive", "integer"),
}
QUERIES = [
    "WHERE age < 3",
    "WHERE age BETWEEN 1 AND 4 AND town = 'a'",
    "WHERE town IS NULL OR NOT age = 2",
    "WHERE age >= 2 AND loss > 0",
    "WHERE loss < 2",
    "",
]
ALL = "COUNT(*) AS n, SUM(loss) AS s, AVG(loss) AS a, MIN(loss) AS l, MAX(loss) AS h"


def random_table(rng, rows):
    towns = [None if rng.random() < 0.2 else "abc"[rng.integers(3)] for _ in range(rows)]
    arrays = {
        "age": pa.array(rng.integers(0, 6, rows)),
        "town": pa.array(towns, pa.string()),
        "loss": pa.array(rng.integers(-3, 5, rows)),
    }
    columns = (encode(name, COLUMNS[name].role, array) for name, array in arrays.items())
    return Microdata(tuple(columns), rows)


def answers(microdata, partition, where):
    for form, parameters in FORMS_OF.items():
        tables = dict(FORMS[form].publish(microdata, partition, parameters, seeded_keys(1)))
        if form == "permuted":
            tables[help_name("loss")] = help_table(tables["microdata"], "loss")
        elif form == "split":
            table = tables["st"]
            every = np.repeat(np.arange(table.num_rows), table["count"].to_numpy())
            tables[help_name("loss")] = help_table(table.take(pa.array(every)), "loss")
        declared = declare(form, **COLUMNS).model_copy(update={"form": parameters})
        (row,) = answer_on(tables, declared, f"SELECT {ALL} FROM microdata {where}").rows
        yield row


@pytest.mark.parametrize("where", QUERIES)
def test_generalized_bounds_contain_permuted_ones(where):
    narrower = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        microdata = random_table(rng, int(rng.integers(4, 16)))
        _, group = np.unique(rng.integers(0, 4, microdata.rows), return_inverse=True)
        wide, narrow, split = answers(microdata, Partition(group), where)
        assert narrow == split
        for name, bounds in narrow.items():
            outer = wide[name]
            if bounds.lower is None:
                assert outer.lower is None or outer.may_be_empty
                continue
            if outer.lower is None:
                pytest.fail(f"{name}: nothing is possible, but something was found")
            narrower += (outer.lower, outer.upper) != (bounds.lower, bounds.upper)
            assert outer.lower <= bounds.lower <= bounds.upper <= outer.upper, name
    assert narrower or where in ("", "WHERE loss < 2")
