"""The page's script and the engines give the same bounds, exactly, and the same estimates."""

import datetime
import os
import random

import pytest

from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.report.page_data import is_fetched, page_data
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.query.test_language_of_forms import of_composed, of_labels, of_marginals, of_subdomains
from tests.release.small import Small
from tests.script.questions import Questions, answer_by_script
from tests.script.same_answers import differences

pytestmark = pytest.mark.node
QUERIES = int(os.environ.get("SFUMATO_QUESTIONS", "40"))
"""Questions of each release; with 770 there are 13,860 in all."""
WORLDS = {
    "labels": of_labels,
    "columns": of_marginals,
    "subdomains": of_subdomains,
    "rows": of_composed,
}
TYPED = {
    "person": {"role": "identifier", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier", "nulls": "category"},
    "zip": {"role": "quasi-identifier", "type": "string"},
    "since": {"role": "quasi-identifier", "type": "date"},
    "vip": {"role": "quasi-identifier", "type": "boolean"},
    "score": {"role": "quasi-identifier", "type": "float"},
    "wage": {"role": "sensitive", "type": "decimal", "nulls": "drop-row"},
}
KNOWN = {**TYPED, "wage": {**TYPED["wage"], "unprotected": "known anyway"}}
DIVERSE = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
FORMS = {
    "permuted": {"columns": TYPED},
    "split": {
        "columns": TYPED,
        "promises": DIVERSE,
        "partition": {"method": "anatomy"},
        "form": {"method": "split"},
    },
    "generalized": {
        "columns": TYPED,
        "promises": DIVERSE,
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
    },
    "redistributed": {
        "columns": TYPED,
        "promises": [{"model": "p-privacy", "target": "source"}],
        "partition": {"method": "exact-qi"},
        "form": {"method": "redistributed"},
    },
    "ambiguous": {
        "columns": TYPED,
        "promises": DIVERSE,
        "partition": {"method": "mondrian"},
        "form": {"method": "ambiguous"},
    },
    "ambiguous beside marginals": {
        "columns": TYPED,
        "promises": DIVERSE,
        "partition": {"method": "mondrian"},
        "form": {"method": "ambiguous", "marginals": ["town", "since", "score"]},
    },
    "suppressed": {
        "columns": KNOWN,
        "promises": [{"model": "k-anonymity", "k": 2}],
        "partition": {"method": "mondrian"},
        "form": {"method": "suppressed"},
    },
}


def people_of_every_type(rows):
    rng = random.Random(5)
    first = datetime.date(2001, 1, 1)
    return [
        {
            "person": f"I-{number}",
            "age": rng.randint(19, 60),
            "town": rng.choice(["Aa", "Bee", "", "Cé, the long", "\U0001d4b3stadt"]),
            "zip": f"{rng.randint(10, 13)}{rng.randint(100, 199)}",
            "since": (first + datetime.timedelta(days=rng.randint(0, 900))).isoformat(),
            "vip": rng.choice(["true", "false"]),
            "score": str(round(rng.gauss(0, 3), 3)),
            "wage": f"{rng.randint(100, 999)}.{rng.randint(0, 9)}5",
        }
        for number in range(rows)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", WORLDS)
def test_answers_on_small_tables_are_the_same(form, seed):
    tables, declared, _ = WORLDS[form](seed)
    published = {n: t for n, t in tables.items() if not n.startswith("help_")}
    questions = Questions(page_data(published, declared), seed)
    queries = [questions.query() for _ in range(QUERIES)]
    different, compared, _ = differences(tables, declared, queries)
    assert not different, "\n".join(different)
    assert compared >= len(queries) // 3


@pytest.mark.parametrize("form", FORMS)
def test_answers_on_columns_of_every_type_are_the_same(form, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    changes = {**FORMS[form], "evaluate": {"workloads": []}, "source": {"uri": "people.csv"}}
    small = Small(tmp_path / "line").write(people_of_every_type(120), **changes)
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    sensitive = release.declared.names_with_roles("sensitive")
    read = {**files_of_tables(release, sensitive), **tables}
    questions = Questions(page_data(tables, release.declared), 7)
    queries = [questions.query() for _ in range(QUERIES)]
    different, compared, _ = differences(read, release.declared, queries)
    assert not different, "\n".join(different)
    assert compared >= len(queries) // 2


@pytest.mark.parametrize("form", FORMS)
def test_answers_from_files_are_those_from_the_page(form, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    changes = {**FORMS[form], "evaluate": {"workloads": []}, "source": {"uri": "people.csv"}}
    small = Small(tmp_path / "line").write(people_of_every_type(120), **changes)
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    data = page_data(tables, release.declared)
    monkeypatch.setattr("sfumato.tasks.report.page_data._least_length", lambda _: 10**9)
    named = page_data(tables, release.declared)
    assert is_fetched(named)
    assert not is_fetched(data)
    questions = Questions(data, 11)
    queries = [questions.query() for _ in range(QUERIES)]
    from_page = answer_by_script(data, queries)
    from_files = answer_by_script(named, queries, release.directory)
    assert [with_rounded_estimates(answer) for answer in from_files] == [
        with_rounded_estimates(answer) for answer in from_page
    ]


def test_names_and_texts_that_trip_scripts(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    rng = random.Random(3)
    rows = [
        {
            "person": f"I-{number}",
            "constructor": rng.randint(-5, 5),
            "toString": rng.choice(["\U0001d4b3s", "\uff21x", "it's", ""]),
            "valueOf": rng.choice([2**53 + 1, -(2**60), 0, 7, 8, 9]),
        }
        for number in range(60)
    ]
    columns = {
        "person": {"role": "identifier", "unit": True},
        "constructor": {"role": "quasi-identifier", "type": "integer"},
        "toString": {"role": "quasi-identifier", "nulls": "category"},
        "valueOf": {"role": "sensitive", "type": "integer"},
    }
    source = {"uri": "people.csv"}
    promises = [{"model": "ke-anonymity", "k": 2, "e": 1}]
    small = Small(tmp_path / "line").write(
        rows, columns=columns, source=source, promises=promises, evaluate={"workloads": []}
    )
    release = open_release(small.publish("one").directory)
    tables = read_tables(release.declared, release.directory / "data")
    read = {**files_of_tables(release, ["valueOf"]), **tables}
    queries = [
        'SELECT "valueOf", COUNT(*) FROM microdata GROUP BY "valueOf"',
        'SELECT MAX("toString") FROM microdata WHERE "toString" = \'\uff21x\' OR "valueOf" > 10',
        'SELECT "constructor", SUM("valueOf") FROM microdata GROUP BY "constructor"',
        'SELECT COUNT(*) FROM microdata WHERE "constructor" < 99999999999999999999',
    ]
    different, compared, _ = differences(read, release.declared, queries)
    assert not different, "\n".join(different)
    assert compared == len(queries)
    refused = [
        'SELECT COUNT(*) FROM microdata WHERE "constructor" < 1e30',
        "SELECT COUNT(*) FROM microdata WHERE \"toString\" = DATE '2020-01-01'",
        "SELECT COUNT(*) AS",
    ]
    assert all(
        "refused" in answer
        for answer in answer_by_script(page_data(tables, release.declared), refused)
    )


def with_rounded_estimates(answer):
    """Return an answer with estimates as far as two orders of adding up agree."""
    if isinstance(answer, dict):
        return answer
    return [
        {**row, "estimate": f"{row['estimate']:.9g}"} if isinstance(row["estimate"], float) else row
        for row in answer
    ]
