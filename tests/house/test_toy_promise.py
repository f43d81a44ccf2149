"""A promise that is entered into the registry for a test is a promise everywhere."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Way, Worst
from sfumato.expectations.models.promises import PROMISES
from sfumato.expectations.shared.numbers import Number
from sfumato.expectations.suites.gate import judge
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import json_schema
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from tests.expectations.model_laws import ModelLaws
from tests.lines import TIME, prepare
from tests.release.small import SPEC, people


@dataclass(frozen=True, kw_only=True)
class Company(PrivacyModel):
    """Each group has at least `others` rows besides those of its most frequent sensitive value."""

    name: ClassVar[str] = "company"
    title: ClassVar[str] = "Company"
    meanings: ClassVar[Mapping[str, str]] = {"others": "rows with a rarer value, at least"}
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows"})
    monotone: ClassVar[bool] = True
    protects: ClassVar[bool] = True

    model: Literal["company"] = "company"
    others: Annotated[int, Field(ge=1)]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`others`: the rows of each group that do not show its most frequent value."""
        return {"others": groups.sizes - groups.counts_of(self.sensitive).largest}

    def failing(self, groups: Groups) -> np.ndarray:
        """Return which groups have too few."""
        return np.asarray(self.measure(groups)["others"] < self.others)

    def worst(self, groups: Groups) -> Worst:
        """The fewest of a group."""
        counts = self.measure(groups)["others"]
        fewest = int(counts.min()) if len(counts) else None
        return {"others": fewest}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """The least."""
        return {"others": self.others}

    def sentence(self) -> str:
        """The promise in words."""
        return f"in every group, {self.others} rows have a rarer value of {self.sensitive}"


@pytest.fixture(autouse=True)
def toy_registered(monkeypatch):
    """The toy in the registry, and nothing else."""
    monkeypatch.setitem(PROMISES, "company", Company)


@pytest.mark.parametrize("model", [Company])
class TestToy(ModelLaws):
    """The laws of models hold of it."""

    examples: ClassVar = {Company: lambda some: [Company(others=int(some("1", "2", "4")))]}


@pytest.fixture
def published_version(small):
    """A version of a line that makes the toy promise, judged by Great Expectations."""
    promises = [*SPEC["promises"], {"model": "company", "others": 2}]
    small.write(people(), promises=promises)
    stages, candidate = small.folder / "run", small.folder / "run" / "candidate"
    plan = prepare(small.spec, stages, seeded_keys(1))
    judged = partial(judge, plan.line.name, documents=stages / "great-expectations")
    assessment = assess_candidate(candidate, plan.withheld, judged)
    assert "expect_company" in {finding.type for finding in assessment.findings}
    seal_candidate(candidate, assessment)
    return publish(plan.line, sealed_candidate(candidate), identity(stages / "deidentified"), TIME)


def test_a_release_makes_it(published_version, capsys):
    promise, verdict = check(published_version.directory).verdicts[1]
    assert promise == Company(others=2, quasi_identifiers=("age", "town"), sensitive="wage")
    assert verdict.holds
    query = [
        "query",
        str(published_version.directory),
        "SELECT COUNT(*) FROM microdata WHERE wage > 500",
    ]
    assert run([*query, "--format", "csv"]) == 0
    low, high, _ = map(float, capsys.readouterr().out.splitlines()[1].split(","))
    assert 0 <= low <= high <= 60
    assert run([*query, "--rewrite", "duckdb"]) == 0
    page = (published_version.directory / "index.html").read_text(encoding="utf-8")
    assert "In every group, 2 rows have a rarer value of wage." in page
    assert "rows with a rarer value, at least" in page


def test_the_schema_of_specs_offers_it():
    json_schema.cache_clear()  # another test may have read specs without it
    assert '"company"' in str(json_schema()).replace("'", '"')
