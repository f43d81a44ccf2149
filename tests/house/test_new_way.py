"""A form with a way of its own to show people is one entry in each registry, and nothing else."""

import json
from decimal import Decimal

import numpy as np
import pytest

from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.flows.cli.main import run
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import HELP_TABLES
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.report.snippets import SNIPPETS
from tests.house.turned import turned
from tests.house.unaided import way
from tests.house.unaided.parameters import UnaidedParameters
from tests.laws.form_laws import FormCase, FormLaws
from tests.laws.partition_laws import PartitionCase
from tests.laws.tables import QUASI
from tests.query.test_matched import declare, random_rows
from tests.query.way_laws import WayCase, WayLaws
from tests.release.small import people

BY_WAY = [
    (WAYS, way.question),
    (ENGINES, way.open_unaided),
    (HELP_TABLES, way.help_tables),
    (SQL_WAYS, way.sql),
    (SNIPPETS, way.snippet),
]
L2 = DistinctLDiversity(l=2, quasi_identifiers=QUASI, sensitive="wage")
ANATOMY = PartitionCase(AnatomyParameters(method="anatomy"), [L2], [])


@pytest.fixture(autouse=True)
def toy_registered(monkeypatch):
    """The registries with the toy."""
    monkeypatch.setitem(FORMS, "unaided", turned)
    monkeypatch.setitem(FORM_PARAMETERS, "unaided", UnaidedParameters)
    for registry, entry in BY_WAY:
        monkeypatch.setitem(registry, UnaidedParameters.shows, entry)


@pytest.mark.parametrize(
    "case", [FormCase(UnaidedParameters(method="unaided"), ANATOMY)], ids=["unaided"]
)
class TestForm(FormLaws):
    """The toy form."""


ROWS = random_rows(np.random.default_rng(1), [3, 4, 2])
SMALL = declare("permuted").model_copy(update={"form": UnaidedParameters(method="unaided")})


@pytest.mark.parametrize("case", [WayCase(SMALL, {"people": ROWS}, 9)], ids=["unaided"])
class TestWay(WayLaws):
    """The toy way."""


def test_promises_mean_on_it_what_they_mean_on_the_way_it_names():
    assert UnaidedParameters.admits(L2)
    assert not UnaidedParameters.admits(PPrivacy(target="source"))


@pytest.fixture
def release(small):
    """A release that is published with it."""
    return small.write(people(), form={"method": "unaided"}, evaluate={}).publish("one").directory


def test_a_release_is_checked_and_answers_with_bounds_on_the_truth(release, capsys):
    assert run(["check", str(release)]) == 0
    capsys.readouterr()
    query = "SELECT COUNT(*) AS n, SUM(wage) AS total FROM microdata WHERE age >= 30"
    assert run(["query", str(release), query, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    wages = [Decimal(p["wage"]) for p in people() if int(p["age"]) >= 30 and p["wage"]]
    assert row["n"]["lower"] == row["n"]["upper"] == len(wages)
    assert row["total"]["lower"] < float(sum(wages)) < row["total"]["upper"]


def test_a_rewriting_is_refused_with_its_reason(release, capsys):
    query = ["query", str(release), "SELECT COUNT(*) FROM microdata", "--rewrite", "duckdb"]
    assert run(query) == 2
    assert "a toy is asked with `sfumato query` alone" in capsys.readouterr().err


def test_its_files_and_its_page_have_its_words(release):
    script = (release / "sql" / "duckdb.sql").read_text(encoding="utf-8")
    assert "Nothing helps here: a toy." in script
    assert not list((release / "sql").glob("*.parquet"))
    page = (release / "index.html").read_text(encoding="utf-8")
    for words in ("Its values, unaided: a toy.", "# unaided: a toy", "unaided, as town"):
        assert words in page
