"""Most questions of an analyst's first day are answered, and the truth is within the bounds."""

from dataclasses import dataclass, replace

import duckdb
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.sixty import SIXTY
from tests.query.test_held_out import is_within

HOURS = {"number": '"hours-per-week"', "low": "35", "middle": "40", "high": "50"}
WEIGHT = {"number": "fnlwgt", "low": "100000", "middle": "190000", "high": "300000"}
WORK = {"work": "workclass", "work_value": "Private", "work_part": "gov"}
MARITAL = {"marital": '"marital-status"', "marital_value": "Never-married"}
OCCUPATION = {
    "text": "occupation",
    "value": "Exec-managerial",
    "other": "Prof-specialty",
    "part": "manag",
}
WORK_AS_TEXT = {"text": "workclass", "value": "Private", "other": "Local-gov", "part": "emp"}
WORK_AS_MARITAL = {"marital": "workclass", "marital_value": "Private"}
MARITAL_AS_WORK = {
    "work": '"marital-status"',
    "work_value": "Never-married",
    "work_part": "married",
}
REFUSED = {
    0: "rows are in the published tables",
    44: "function MODE",
    45: "function CORR",
    53: "a SUBQUERY among values",
    56: "the bounds do not decide which rows come first",
}
"""By their places the questions that have no answer, and words of the reason."""


@dataclass(frozen=True)
class FormOfCorpus:
    """A form of publication, and the columns of its release.

    Attributes:
        columns: the texts in place of the placeholders.
        published: the columns of the release.
        complete: those of them that have a value in every row of the release.
        floor: the least number of questions that it answers.
    """

    columns: dict[str, str]
    published: tuple[str, ...]
    complete: tuple[str, ...]
    floor: int

    @property
    def queries(self):
        return [question.format(**self.columns) for question in SIXTY]


FORMS = {
    "permuted": FormOfCorpus(
        {**WEIGHT, **WORK, **WORK_AS_MARITAL, **WORK_AS_TEXT},
        ("age", "workclass", "fnlwgt", "education", "sex", "hours-per-week"),
        ("age", "fnlwgt", "education", "sex", "hours-per-week"),
        55,
    ),
    "split": FormOfCorpus(
        {**HOURS, **MARITAL, **MARITAL_AS_WORK, **OCCUPATION},
        ("age", "education", "marital-status", "occupation", "sex", "hours-per-week"),
        ("age", "education", "marital-status", "occupation", "sex", "hours-per-week"),
        55,
    ),
    "generalized": FormOfCorpus(
        {**HOURS, **WORK, **WORK_AS_MARITAL, **OCCUPATION},
        ("age", "workclass", "education", "occupation", "sex", "hours-per-week"),
        ("age", "workclass", "education", "occupation", "sex", "hours-per-week"),
        55,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_most_are_answered_with_bounds_that_hold_the_truth(name):
    form = FORMS[name]
    directory = CORPUS / "format-2" / "public" / f"corpus-{name}" / "0001"
    release = replace(open_release(directory), verified=True)
    results = list(answers(release, form.queries))
    refused = {n: str(error) for n, error in enumerate(results) if isinstance(error, QueryError)}
    assert set(refused) == set(REFUSED)
    assert len(SIXTY) == 60
    assert len(results) - len(refused) >= form.floor
    for place, words in REFUSED.items():
        assert words in refused[place]
    with original_rows(form) as original:
        for place, query in enumerate(form.queries):
            if place not in refused:
                require_truth(results[place], original.execute(query).fetchall())


def original_rows(form):
    """Open the rows of the source that are in the release, as `microdata`."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("source", connection.read_csv(str(CORPUS / "sources" / "first.csv")))
    columns = ", ".join(f'"{name}"' for name in form.published)
    conditions = " AND ".join(f'"{name}" IS NOT NULL' for name in form.complete)
    connection.execute(f"CREATE TABLE microdata AS SELECT {columns} FROM source WHERE {conditions}")
    return connection


def require_truth(answer, truth):
    """Require that each true row is in an answer, within the bounds of a row of its own group."""
    assert sum(answer.certain) <= len(truth)
    assert len(truth) <= len(answer.rows) or any(answer.rest)
    for row in truth:
        assert any(is_within(cells.values(), row) for cells in answer.rows), row
