"""Small releases whose sensitive values go with quasi-identifiers, in memory and by the stages."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, Randomness, encode
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.intervals.calibration.drawn_queries import DrawnConditions
from sfumato.tasks.query.intervals.calibration.factors import (
    QUERIES,
    FamilyKey,
    MeasuredQuery,
    QueriesOnOriginal,
    calibrate,
)
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared
from tests.query.worlds import column, declare, with_help

DECLARED = declare(
    age=column("quasi-identifier", "integer"),
    town=column("quasi-identifier", "string"),
    wage=column("sensitive", "integer"),
)
FAMILIES = (
    ("avg-by-one", "wage"),
    ("avg-by-several", "wage"),
    ("count-by-one", "wage"),
    ("max-by-one", "wage"),
)


def wages(rows=2_000, seed=0, effect=8):
    """People whose wage rises with their age, by a factor that may be 0."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 65, rows)
    town = rng.integers(0, 4, rows)
    wage = (effect * age + 40 * town + rng.normal(0, 100, rows)).astype(np.int64) // 10
    return age, np.array(["A", "B", "C", "D"])[town], wage


def publish_permuted(values, boxes=True, k=5, seed=1) -> tuple[dict[str, pa.Table], Microdata]:
    """A permuted release, its groups boxes of the columns or chance ones; and the original."""
    age, town, wage = values
    rng = np.random.default_rng(seed)
    order = np.lexsort((age, town)) if boxes else rng.permutation(len(age))
    group = np.empty(len(age), dtype=np.int64)
    group[order] = np.minimum(np.arange(len(age)) // k, len(age) // k - 1)
    wages = wage.copy()
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number)
        wages[members] = wage[rng.permutation(members)]
    columns = {"age": age, "town": town, "wage": wages, "group_id": group}
    sort = np.lexsort((age, town, group))
    table = pa.table({name: column_values[sort] for name, column_values in columns.items()})
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", "wage": "sensitive"}
    original = Microdata(
        tuple(
            encode(name, role, pa.array(dict(zip(roles, values, strict=True))[name]))
            for name, role in roles.items()
        ),
        len(age),
    )
    return with_help(table, "wage"), original


def with_factors(factor="1.5", families=FAMILIES) -> Declared:
    """The declaration with calibrated families."""
    stated = CalibratedIntervals(
        families=tuple(
            CalibratedFamily(family=name, of=column_name, factor=Decimal(factor))
            for name, column_name in families
        )
    )
    return DECLARED.model_copy(update={"intervals": stated})


def measure(
    tables,
    original,
    number: int,
    randomness: Randomness,
    declared: Declared = DECLARED,
    laws: frozenset[str] | None = None,
) -> dict[FamilyKey, list[MeasuredQuery]]:
    """Random queries of each family, with their truths; each is asked alone."""
    with asking(tables, original, declared, laws) as queries:
        return queries.measure(number, randomness)


def factors_of(
    tables,
    original,
    randomness: Randomness,
    declared: Declared = DECLARED,
    laws: frozenset[str] | None = None,
) -> CalibratedIntervals:
    """The factors that a publisher would state."""
    with asking(tables, original, declared, laws) as queries:
        return calibrate(queries.scores(QUERIES, randomness), None)


@contextmanager
def asking(
    tables, original, declared: Declared, laws: frozenset[str] | None
) -> Iterator[QueriesOnOriginal]:
    """Random queries on published tables and their original, of all families or of some laws."""
    shows = declared.form.shows
    with ENGINES[shows](tables, declared, "weighted") as engine, session({}) as values:
        likely = LIKELY[shows](engine, DrawnConditions(values))
        likely.laws = laws or likely.laws
        yield QueriesOnOriginal(likely, declared, original)


def people(rows=400, seed=0):
    """Rows of a source whose illness goes with the age."""
    rng = random.Random(seed)
    return [
        {
            "person": f"P{seed}-{number}",
            "age": (age := rng.randint(20, 60)),
            "illness": "gout" if rng.random() < age / 120 else rng.choice(["flu", "cold", "ache"]),
        }
        for number in range(rows)
    ]
