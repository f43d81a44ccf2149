"""Every aggregate under every clause: bounds hold the answers of all worlds that are possible."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import chain

import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from tests.pairs.asking.constructs import CONSTRUCTS
from tests.pairs.faults import fault_of, json_fault
from tests.pairs.judge import judge
from tests.pairs.possible.releases import random_release
from tests.pairs.possible.shapes import METHODS
from tests.pairs.questions import AGE, COUNT, EXACT, QUESTIONS, S, is_above, total
from tests.pairs.quick import quick_sessions
from tests.pairs.run import PAIRS, Run
from tests.pairs.semantics.queries import Query

YEAR, WEEK, _ = datetime.now(UTC).isocalendar()


def test_answers_to_random_queries_hold_those_of_every_world():
    figures = Run("fixed", 160, per_release=7).run()
    require_no_faults(figures)
    assert figures.cells > 160
    assert figures.ends > 50
    assert set(METHODS) == {name.split()[0] for name in figures.asked}
    met = {pair for pairs_answered in figures.answered.values() for pair in pairs_answered}
    assert len(met) > len(PAIRS) / 2
    assert {construct for pair in met for construct in pair} == set(CONSTRUCTS)


def test_and_those_of_a_new_seed_each_week():
    figures = Run(f"{YEAR}-{WEEK}", 160, per_release=7).run()
    require_no_faults(figures)
    assert figures.cells > 160


def require_no_faults(figures):
    faults = [
        (finding.seed, finding.shape, finding.sql, finding.fault) for finding in figures.findings
    ]
    assert not faults, f"{len(faults)} faults: {faults[:3]}"


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Some releases of each shape."""
    releases_by_shape = {}
    for shapes, _ in QUESTIONS.values():
        for shape in shapes:
            releases_by_shape[shape] = releases_by_shape.get(shape) or [
                _release(tmp_path_factory, shape, n) for n in range(3)
            ]
    return releases_by_shape


def _release(tmp_path_factory, shape, number):
    folder = tmp_path_factory.mktemp("release")
    return random_release(random.Random(f"{shape.name} {number}"), shape, folder, 8)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_that_were_answered_wrongly(name, releases):
    shapes, query = QUESTIONS[name]
    run = Run(name, 0)
    with quick_sessions():
        for release in chain.from_iterable(map(releases.get, shapes)):
            if query.names() <= {*release.declared.columns, "years", "rate"}:
                run.ask_release(release, [query], name)
    require_no_faults(run.figures)
    least = 1 if "labelled" in name else 5  # most labels stand for several values: refused
    assert run.figures.total > least


def test_the_judge_denies_what_a_world_denies(releases):
    """Bounds that are too narrow, a row that is left out, and one that is not certain."""
    query = Query(keys=(S,), where=is_above(AGE, 0), formulas=(COUNT, total(S)))
    answers = [
        (release, answer_on(release.files, release.declared, query.sql()))
        for release in chain.from_iterable(map(releases.get, EXACT))
        if release.worlds.listed and release.shape.method != "redistributed"
    ]
    release, answer = next(pair for pair in answers if not all(pair[1].certain))
    assert judge(release, query, answer).faults == []
    row = answer.rows[0]
    kinds = {
        "outside": {"rows": ({**row, "a0": Bounds(90, 91)}, *answer.rows[1:])},
        "null": {"rows": ({**row, "a1": Bounds(None, None)}, *answer.rows[1:])},
        "attained": {"rows": ({**row, "a0": Bounds(0, 91)}, *answer.rows[1:])},
        "missing": {"rows": answer.rows[1:], "certain": answer.certain[1:]},
        "twice": {"rows": (row, *answer.rows), "certain": (False, *answer.certain)},
        "certain": {"certain": (True,) * len(answer.rows)},
    }
    kinds_found = {
        kind: {fault.kind for fault in judge(release, query, replace(answer, **change)).faults}
        for kind, change in kinds.items()
    }
    assert kinds_found.pop("null") == {"outside"}
    assert all(kind in faults for kind, faults in kinds_found.items()), kinds_found


@pytest.mark.parametrize(
    ("bounds", "value", "fault"),
    [
        (Bounds(1, 2), 1, ""),
        (Bounds(1, 2), Fraction(5, 2), "outside"),
        (Bounds(1, 2), None, "null"),
        (Bounds(1, 2, may_be_empty=True), None, ""),
        (Bounds(None, None), None, ""),
        (Bounds(None, None), 0, "outside"),
        (Bounds(None, None, unbounded=True), 0, ""),
        (Bounds("a", "b"), "c", "outside"),
    ],
)
def test_what_is_outside(bounds, value, fault):
    assert fault_of(bounds, value, Fraction(0)) == fault


def test_json_is_outward_by_what_rounding_takes():
    assert not json_fault(Bounds(Fraction(1, 3), Fraction(2, 3)))
    assert not json_fault(Bounds(-5, 7))
