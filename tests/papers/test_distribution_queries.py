"""The queries of the distribution paper on its running table, through real tables."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.forms import redistributed
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.help_tables.registry import build_help_tables
from tests.query.worlds import column, declare, shape

ZIPS = [91110, 91110, 91110, 91130, 91210, 91220, 91240, 91310, 91320, 91330, 91340]
GENDERS = list("FMMFFFFMMMF")
SALARIES = [30, 40, 50, 60, 40, 30, 50, 40, 60, 60, 60]
GROUPS = [0] * 4 + [1] * 3 + [2] * 4


def release_tables(fakes=0, **form):
    """Return what is declared, and the tables with the help table."""
    declared = declare(
        "permuted",
        zip=column("quasi-identifier", "integer"),
        gender=column("quasi-identifier", "string"),
        salary=column("sensitive", "integer"),
    ).model_copy(update={"form": shape("redistributed", fakes=fakes, **form)})
    columns = {"zip": ZIPS, "gender": GENDERS, "salary": SALARIES}
    encoded = tuple(
        encode(name, declaration.role, pa.array(columns[name], declaration.arrow_type))
        for name, declaration in declared.columns.items()
    )
    aims = TargetDistributions("salary", np.zeros(3, np.int64), ((Fraction(1, 4),) * 4,))
    partition = Partition(np.array(GROUPS, dtype=np.int64), target_distributions=aims)
    rows = Microdata(encoded, len(ZIPS))
    tables = redistributed.publish(rows, partition, declared.form, seeded_keys(1))
    arrow = redistributed.schemas(declared.columns, declared.form)
    tables = {name: tables[name].cast(schema) for name, schema in arrow.items()}
    return declared, tables | build_help_tables(tables, declared)


def mean(where, fakes=0, **form):
    declared, tables = release_tables(fakes, **form)
    query = f"SELECT AVG(salary) AS mean FROM microdata WHERE {where}"
    (row,) = answer_on(tables, declared, query).rows
    return row["mean"]


@pytest.mark.parametrize(
    ("where", "fakes", "lower", "upper"),
    [
        ("gender = 'F'", 0, 35, 55),
        ("zip BETWEEN 91300 AND 91399", 0, Fraction(140, 4), Fraction(220, 4)),
        ("zip BETWEEN 91300 AND 91399", 8, Fraction(130, 4), Fraction(230, 4)),
        ("zip BETWEEN 91200 AND 91299", 0, Fraction(110, 3), Fraction(160, 3)),
        ("zip BETWEEN 91200 AND 91299", 1, 40, 50),
    ],
)
def test_means(where, fakes, lower, upper):
    bounds = mean(where, fakes)
    assert (bounds.lower, bounds.upper) == (lower, upper)
    assert bounds.estimate == pytest.approx(45)
    assert lower <= bounds.estimate <= upper


def test_true_means_are_within():
    for first in (911, 912, 913):
        bounds = mean(f"zip BETWEEN {first}00 AND {first}99", 8)
        salaries = [s for z, s in zip(ZIPS, SALARIES, strict=True) if z // 100 == first]
        assert bounds.lower <= Fraction(sum(salaries), len(salaries)) <= bounds.upper
    assert mean("zip >= 91300").upper == 55


@pytest.mark.parametrize(
    ("prefix", "bounds"), [(911, (70, 110)), (912, (110, 160)), (913, (30, 60))]
)
def test_salaries_of_females_by_group(prefix, bounds):
    declared, tables = release_tables()
    query = f"SELECT SUM(salary) AS s FROM microdata WHERE gender = 'F' AND zip / 100 >= {prefix}"
    (row,) = answer_on(tables, declared, f"{query} AND zip / 100 < {prefix + 1}").rows
    assert (row["s"].lower, row["s"].upper) == bounds


@pytest.mark.parametrize(
    ("zips", "without", "by_ranges", "by_width"),
    [
        (911, (45, 45), (45, 45), (45, 45)),
        (912, (110 / 3, 160 / 3), (40, 50), (40, 50)),
        (913, (35, 55), (32.5, 57.5), (37.5, 55)),
    ],
)
def test_the_number_of_fakes_that_does_not_hurt_the_mean(zips, without, by_ranges, by_width):
    """The paper warns that fakes can widen answers: eight of them give the least ranges for 913."""
    where = f"zip BETWEEN {zips}00 AND {zips}99"
    results = mean(where), mean(where, 8), mean(where, 8, **{"fakes-by": "width"})
    bounds = [(float(result.lower), float(result.upper)) for result in results]
    assert bounds == [pytest.approx(pair) for pair in (without, by_ranges, by_width)]
