"""Calibrate: find, before a release is sealed, by how much intervals must be widened.

Queries are drawn at random, from what will be published; the steward's own are never among them.
The results are private, except for one factor of each family, rounded up to a fixed grid.
"""

from sfumato.tasks.forms.form import Tables
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.private.people.frozen import read_factors
from sfumato.tasks.query.engines.published_columns import NotDirectError
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.intervals.calibration.drawn_queries import DrawnConditions
from sfumato.tasks.query.intervals.calibration.factors import (
    QUERIES,
    QueriesOnOriginal,
    calibrate,
)
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.schema.stated import CalibratedIntervals
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared

_NONE = CalibratedIntervals(grid="fine", families=())
"""The statement if no law is known: every answer says that it has no interval."""


def with_calibrated_intervals(
    declared: Declared,
    tables: Tables,
    original: Microdata,
    line: Line | None,
    randomness: Randomness,
) -> Declared:
    """Return a declaration that states by how much intervals are widened.

    Args:
        declared: what a candidate would declare.
        tables: what it would publish.
        original: the represented rows before anonymization.
        line: whose factors may only rise.
        randomness: what queries are drawn from.
    """
    published = {**tables, **build_help_tables(tables, declared)}
    frozen = None if line is None else read_factors(line.private).intervals
    shows = declared.form.shows
    if shows not in LIKELY:
        return declared.model_copy(update={"intervals": _NONE})
    with ENGINES[shows](published, declared, "weighted") as engine, session({}) as values:
        try:
            likely = LIKELY[shows](engine, DrawnConditions(values))
        except NotDirectError:
            return declared.model_copy(update={"intervals": _NONE})
        queries = QueriesOnOriginal(likely, declared, original)
        stated = calibrate(queries.scores(QUERIES, randomness), frozen)
    return declared.model_copy(update={"intervals": stated})
