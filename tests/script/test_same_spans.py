"""The accuracy over ranges that a page draws is the one that its script measures."""

import json
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.accuracy.spans import SHARES, first_spans, ranges_of
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.report import rendering
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.small import Small
from tests.script.questions import answer_by_script
from tests.script.test_same_answers import DIVERSE, FORMS, TYPED, WORLDS, people_of_every_type

pytestmark = pytest.mark.node
AREA = {**TYPED, "wage": {"role": "drop"}, "vip": {"role": "sensitive", "type": "boolean"}}
AREA |= {"score": {"role": "quasi-identifier", "type": "float"}}
ALL_FORMS = {
    **FORMS,
    "a truth": {
        "columns": AREA,
        "promises": [{**DIVERSE[0], "l": 2}],
        "partition": {"method": "mondrian"},
        "form": {"method": "split"},
    },
}
RANGES = """
import {{ rangesOf }} from {module};
const asked = {asked};
const ends = ([least, greatest, share]) =>
  rangesOf(BigInt(least), BigInt(greatest), share).map((pair) => pair.map(Number));
console.log(JSON.stringify(asked.map(ends)));
"""


def publish(tmp_path, form):
    """The tables of a release of every type of column, its declaration, and its page's data."""
    changes = {**ALL_FORMS[form], "evaluate": {"workloads": []}, "source": {"uri": "people.csv"}}
    small = Small(tmp_path / "line").write(people_of_every_type(240), **changes)
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    return tables, release.declared, page_data(tables, release.declared)


def ranges_by_script(cases):
    module = Path(rendering.__file__).with_name("script") / "accuracy.js"
    program = RANGES.format(module=json.dumps(module.as_uri()), asked=json.dumps(cases))
    run = subprocess.run(
        ["node", "--input-type=module"], input=program, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def same_as_script(spans, data):
    """Compare spans with those that the script measures; floats have 52 bits."""
    sql = f"SELECT {spans.measured.aggregate} FROM {TABLE}"
    (by_script,) = answer_by_script(data, [sql], over=spans.over)
    own = [
        {"share": span.share, "median": span.median, "accuracies": list(span.accuracies)}
        for span in spans.by_length
    ]
    assert len(by_script) == len(own)
    for span, expected in zip(own, by_script, strict=True):
        assert span["share"] == expected["share"]
        assert span["median"] == pytest.approx(expected["median"], rel=1e-12)
        assert span["accuracies"] == pytest.approx(expected["accuracies"], rel=1e-12)


@pytest.mark.parametrize("form", ALL_FORMS)
def test_what_a_page_draws_is_what_its_script_measures(form, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    tables, declared, data = publish(tmp_path, form)
    spans = first_spans(declared, tables, build_help_tables(tables, declared))
    assert spans.over == "age"
    assert [span.share for span in spans.by_length] == list(SHARES)
    same_as_script(spans, data)


@pytest.mark.parametrize("seed", range(7))
def test_what_a_small_page_draws_is_what_its_script_measures(seed):
    """Only small tables of labels have a column with four values in order."""
    tables, declared, _ = WORLDS["labels"](seed)
    tables_shown = {name: table for name, table in tables.items() if not name.startswith("help_")}
    helps = {name: table for name, table in tables.items() if name.startswith("help_")}
    spans = first_spans(declared, tables_shown, helps)
    assert spans is not None
    same_as_script(spans, page_data(tables_shown, declared))


@pytest.mark.parametrize("form", [form for form in ALL_FORMS if form != "suppressed"])
def test_an_accuracy_is_that_of_the_answer(form, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    tables, declared, _ = publish(tmp_path, form)
    helps = build_help_tables(tables, declared)
    spans = first_spans(declared, tables, helps)
    ages = (19, 60)  # the least and the greatest of 240 people; stars hide them
    for span in spans.by_length:
        expected = []
        for low, high in ranges_of(*ages, span.share):
            sql = spans.measured.sql(f"age BETWEEN {low} AND {high}")
            (row,) = answer_on({**tables, **helps}, declared, sql).rows
            (cell,) = (cell for cell in row.values() if isinstance(cell, Bounds))
            if cell.lower is not None:
                width = cell.upper - cell.lower
                middle = abs(cell.upper + cell.lower)
                expected.append(min(width / middle, 1) if middle else float(width > 0))
        assert [float(number) for number in span.accuracies] == pytest.approx(
            [float(number) for number in expected]
        )


def test_nothing_is_drawn_of_exact_answers_or_without_an_order(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    tables, declared, _ = publish(tmp_path, "permuted")
    helps = build_help_tables(tables, declared)
    assert first_spans(declared, tables, helps) is not None
    for hides in (lambda c: c.type in ("integer", "date"), lambda c: c.role == "sensitive"):
        columns = {
            name: column.model_copy(update={"role": "insensitive"} if hides(column) else {})
            for name, column in declared.columns.items()
        }
        assert first_spans(declared.model_copy(update={"columns": columns}), tables, helps) is None


@given(st.integers(-50, 50), st.integers(3, 200), st.sampled_from(SHARES))
def test_ranges_lie_within_the_ends_and_reach_both(least, steps, share):
    ranges = ranges_of(least, least + steps, share)
    lengths = {last - first + 1 for first, last in ranges}
    assert len(lengths) == 1
    assert share * (steps + 1) <= lengths.pop() < share * (steps + 1) + 1 + 1e-9
    assert 1 <= len(ranges) <= 8
    assert len(set(ranges)) == len(ranges)
    assert ranges[0][0] == least
    assert len(ranges) == 1 or ranges[-1][1] == least + steps
    assert ranges == sorted(ranges)


def test_the_script_has_the_same_ranges():
    rng = random.Random(4)
    cases = [(rng.randint(-(10**15), 10**15), rng.randint(3, 10**9)) for _ in range(200)]
    cases += [(0, steps) for steps in range(3, 200)]
    requests = [[least, least + steps, share] for least, steps in cases for share in SHARES]
    own = [[list(pair) for pair in ranges_of(*case)] for case in requests]
    assert ranges_by_script(requests) == own
