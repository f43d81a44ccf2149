"""The number of times that one release judges promises, counts groups, and handles Parquet."""

from collections import Counter
from functools import partial, wraps

import pyarrow.parquet as pq
import pytest

from sfumato.expectations.suites.gate import judge
from sfumato.expectations.suites.promises import promise_expectation
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication import files
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from tests.lines import TIME, prepare
from tests.release.small import people

KE = {"model": "ke-anonymity", "k": 3, "e": 10.5}
K2 = {"model": "k-anonymity", "k": 2}
GENERALIZED = {
    "columns": {
        "person": {"role": "identifier", "unit": True},
        "age": {
            "role": "quasi-identifier",
            "type": "integer",
            "hierarchy": {"intervals": [10, 50, 100]},
        },
        "town": {"role": "drop"},
        "note": {"role": "drop"},
        "wage": {"role": "sensitive", "type": "decimal", "nulls": "drop-row", "unprotected": "no"},
    },
    "promises": [K2],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "evaluate": {},
}


@pytest.fixture
def counted_calls(monkeypatch):
    """Count the calls of each of these, by its name."""
    calls = Counter()

    def count(owner, name, called):
        whole = getattr(owner, name)

        @wraps(whole)
        def counting(*arguments, **named):
            calls[called] += 1
            return whole(*arguments, **named)

        monkeypatch.setattr(owner, name, counting)

    from sfumato.expectations.models.promises import models

    for model in models():
        promise_expectation(model)  # its class is made once, and its examples are judged then
        count(model, "check", "promise.check")
    for form in FORMS.values():
        count(form, "groups", "groups counted")
    count(pq, "write_table", "written")
    count(pq, "ParquetFile", "read")
    count(files, "page", "pages")
    count(files, "write_help_tables", "help tables")
    return calls


@pytest.fixture(params=["permuted", "generalized"])
def counts(request, small, counted_calls):
    """Return what each step of one publication calls, the gate being Great Expectations."""
    small.write(people(), **(GENERALIZED if request.param == "generalized" else {}))
    run, candidate = small.folder / "run", small.folder / "run" / "candidate"
    plan, steps = prepare(small.spec, run, seeded_keys(1)), {}
    steps["before"] = Counter(counted_calls)
    judged = partial(judge, plan.line.name, documents=run / "great-expectations")
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld, judged))
    steps["gate"] = counted_calls - steps["before"]
    so_far = Counter(counted_calls)
    made = publish(plan.line, sealed_candidate(candidate), identity(run / "deidentified"), TIME)
    steps["publication"] = counted_calls - so_far
    so_far = Counter(counted_calls)
    check(made.directory)
    steps["check"] = counted_calls - so_far
    return steps


def test_publication_measures_promises_and_makes_nothing_again(counts):
    assert counts["publication"] == {"promise.check": 1, "groups counted": 1, "read": 1}


def test_a_promise_is_checked_by_the_gate_and_by_the_check_once_each(counts):
    assert counts["gate"]["promise.check"] == 1
    assert counts["check"]["promise.check"] == 1


def test_a_monotone_promise_is_checked_once_before_of_the_coarsest_grouping(counts):
    assert counts["before"]["promise.check"] == 1


def test_groups_are_counted_once_where_every_promise_is_about_them(counts):
    assert counts["gate"]["groups counted"] == 1
    assert counts["check"]["groups counted"] == 1


def test_every_file_is_made_once_and_once_more_to_be_compared(counts):
    for step in ("gate", "check"):
        assert (counts[step]["pages"], counts[step]["help tables"]) == (1, 1)
    assert counts["gate"]["read"] == counts["check"]["read"] == 1  # of one table


def test_tables_are_written_by_their_maker_and_as_they_are_read_back(counts):
    helps = counts["gate"]["written"] - 1
    assert helps in (0, 1)
    assert counts["check"]["written"] == 1 + helps
