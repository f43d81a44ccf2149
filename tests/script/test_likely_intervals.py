"""The page's script and the engines give the same likely intervals, and none in the same cases."""

import json
import os
import random
from decimal import Decimal

import pytest

from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.schema.formats import LAYOUT
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.intervals.releases import FAMILIES, publish_permuted, wages
from tests.intervals.releases import with_factors as stated_factors
from tests.query.test_language_of_forms import of_marginals
from tests.release.small import Small
from tests.script.questions import Questions, answer_by_script
from tests.script.same_answers import differences

pytestmark = pytest.mark.node
QUERIES = int(os.environ.get("SFUMATO_LIKELY_QUESTIONS", "100"))
"""Questions of each release."""
FACTORS = {"count": "1.5", "rows": "1.2", "sum": "0.91", "avg": "2.2"}
TOWNS = [f"town {number}" for number in range(15)]
COLUMNS = {
    "person": {"role": "identifier", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier", "nulls": "category"},
    "since": {"role": "quasi-identifier", "type": "date"},
    "vip": {"role": "quasi-identifier", "type": "boolean"},
    "score": {"role": "quasi-identifier", "type": "float"},
    "wage": {"role": "sensitive", "type": "decimal", "nulls": "drop-row"},
}
WHOLE = {**COLUMNS, "wage": {"role": "sensitive", "type": "integer", "nulls": "drop-row"}}
MISSING = {**COLUMNS, "wage": {"role": "sensitive", "type": "integer", "nulls": "category"}}
FEW_VALUES = {"score": {"role": "drop"}, "since": {"role": "quasi-identifier", "type": "string"}}
"""Columns behind whose labels there are few enough values to be known."""
KNOWN = {**MISSING["wage"], "unprotected": "known anyway"}
DIVERSE = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
ANATOMY = {"promises": DIVERSE, "partition": {"method": "anatomy"}}
ROUNDED = ({"method": "generalized"}, {"method": "suppressed"})
RELEASES = {
    "permuted": {"columns": COLUMNS},
    "permuted, whole numbers": {"columns": WHOLE},
    "permuted, some missing": {"columns": MISSING, **ANATOMY},
    "generalized": {
        "columns": {**COLUMNS, **FEW_VALUES},
        "promises": DIVERSE,
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
    },
    "suppressed": {
        "columns": {**MISSING, **FEW_VALUES, "wage": KNOWN},
        "promises": [{"model": "k-anonymity", "k": 2}],
        "partition": {"method": "forest"},
        "form": {"method": "suppressed"},
    },
    "redistributed": {
        "columns": WHOLE,
        "promises": [{"model": "p-privacy", "target": "source", "per": "stratum"}],
        "partition": {"method": "stratum"},
        "form": {"method": "redistributed", "tree": "balanced"},
        "strata": [{"column": "age", "bands": [30, 40, 50]}],
    },
    "ambiguous": {
        "columns": {**COLUMNS, **FEW_VALUES},
        "promises": DIVERSE,
        "partition": {"method": "mondrian"},
        "form": {"method": "ambiguous"},
    },
    "ambiguous, some missing": {
        "columns": {**MISSING, **FEW_VALUES},
        **ANATOMY,
        "form": {"method": "ambiguous"},
    },
    "split": {"columns": COLUMNS, **ANATOMY, "form": {"method": "split"}},
    "split, some missing": {"columns": MISSING, **ANATOMY, "form": {"method": "split"}},
}


def people(rows, *, whole, missing):
    rng = random.Random(9)
    for number in range(rows):
        age = rng.randint(19, 60)
        wage = 5 * age + rng.randint(0, 300)
        yield {
            "person": f"I-{number}",
            "age": age,
            "town": "" if rng.random() < 0.1 else TOWNS[int(15 * rng.random() ** 2)],
            "since": f"20{rng.randint(10, 25)}-0{rng.randint(1, 9)}-11",
            "vip": "true" if rng.random() < age / 80 else "false",
            "score": str(round(rng.gauss(age / 10, 3), 2)),
            "wage": ""
            if rng.random() < missing
            else str(wage)
            if whole
            else f"{wage}.{number % 4}5",
        }


def with_factors(declared):
    """Return a declaration with factors of all families that the script computes."""
    families = [
        CalibratedFamily(
            family=f"{name}-by-{number}",
            of="" if name == "rows" else "wage",
            factor=Decimal(factor),
        )
        for name, factor in sorted(FACTORS.items())
        for number in ("one", "several")
    ]
    stated = CalibratedIntervals(grid="fine", families=tuple(families))
    return declared.model_copy(update={"intervals": stated})


def publish(folder, changes, rows=900):
    columns = changes["columns"]
    whole = columns["wage"]["type"] == "integer"
    missing = 0.2 * (columns["wage"]["nulls"] == "category")
    source = {"source": {"uri": "people.csv"}, "evaluate": {"workloads": []}}
    small = Small(folder).write(
        list(people(rows, whole=whole, missing=missing)), **source, **changes
    )
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    read = {**files_of_tables(release, ["wage"]), **tables}
    return read, with_factors(release.declared), page_data(tables, with_factors(release.declared))


def test_pages_of_an_earlier_layout_hold_no_factors():
    tables, _ = publish_permuted(wages(60))
    published = {"microdata": tables["microdata"]}
    declared = stated_factors()
    earlier = declared.model_copy(update={"software": {**declared.software, LAYOUT: "8"}})
    now, before = (json.loads(page_data(published, d)) for d in (declared, earlier))
    assert now.pop("likely") == [
        {"family": family, "of": "wage", "factor": 1.5} for family, _ in FAMILIES[:3]
    ]
    assert now == before


def most_rounded(name, compared):
    """Return how many whole ends may differ by one.

    Shares of values behind a label add up to 1, or nearly so: the order of adding decides.
    """
    return compared // 50 if RELEASES[name].get("form") in ROUNDED else 0


def test_pages_of_counts_hold_factors_of_counts_alone():
    tables, declared, _ = of_marginals(1)
    published = {name: t for name, t in tables.items() if not name.startswith("help_")}
    stated = declared.model_copy(update={"intervals": with_factors(declared).intervals})
    families = {family["family"] for family in json.loads(page_data(published, stated))["likely"]}
    assert families == {"rows-by-one", "rows-by-several", "count-by-one", "count-by-several"}
    assert "likely" not in json.loads(page_data(published, declared))


@pytest.mark.parametrize("name", RELEASES)
def test_likely_intervals_are_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    tables, declared, data = publish(tmp_path / "line", RELEASES[name])
    questions = Questions(data, 3)
    queries = [questions.family_query() for _ in range(QUERIES)]
    different, compared, _ = differences(tables, declared, queries)
    assert len(different) <= most_rounded(name, compared), "\n".join(different[:20])
    assert compared >= 0.9 * len(queries)
    answers = answer_by_script(data, queries)
    intervals = [
        row["likely"]["interval"]
        for rows in answers
        if isinstance(rows, list)
        for row in rows
        if "likely" in row
    ]
    assert sum(interval is not None for interval in intervals) >= len(queries) // 6
