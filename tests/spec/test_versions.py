"""The version of a spec says which defaults hold, and what was said by the first stands."""

import copy
import json
from pathlib import Path

import pytest

from sfumato.flows.inputs.spec import ReleaseSpec, json_schema, read_spec
from sfumato.flows.rules.defaults import BETTER, VERSIONS, default_schemas, resolve
from tests.corpus.archives import unpack_archives

CORPUS = unpack_archives() / "version-1"
DEPLOYMENTS = Path(__file__).parents[2] / "deployments"
FIRST = sorted(CORPUS.glob("*/*.yaml"))

KE = {
    "version": 2,
    "name": "wages",
    "title": "Wages of a town",
    "source": {"uri": "people.csv"},
    "unit": "row",
    "columns": {
        "age": {"role": "quasi-identifier", "type": "integer"},
        "wage": {"role": "sensitive", "type": "integer"},
    },
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 10}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
}
OWN = {
    "promises": [{"model": "p-privacy", "target": "source"}],
    "partition": {"method": "stratum"},
    "form": {"method": "redistributed"},
}


def read(**changes):
    return ReleaseSpec.model_validate({**copy.deepcopy(KE), **changes})


@pytest.mark.parametrize("path", FIRST, ids=[path.stem for path in FIRST])
def test_a_spec_of_the_first_version_declares_byte_for_byte_what_it_did(path):
    declared = read_spec(path).terms(DEPLOYMENTS / path.parent.name)
    assert declared.digest() == json.loads((CORPUS / "terms.json").read_text())[path.stem]


def test_the_second_version_has_better_defaults():
    assert (read(version=1).partition.objective, read().partition.objective) == ("sum", "weighted")
    assert read(version=1, **OWN).form.denominator == 16
    assert read(**OWN).form.denominator == "exact"


def test_what_a_spec_says_it_means_under_every_version():
    changes = {"partition": {"method": "ke", "objective": "sum"}}
    for version in VERSIONS:
        assert read(version=version, **changes).partition.objective == "sum"
        written = {**OWN, "form": {"method": "redistributed", "denominator": 4}}
        assert read(version=version, **written).form.denominator == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"promises": [{"model": "p-privacy", "target": "uniform"}]},
        {"promises": [{"model": "p-privacy", "target": "source", "per": "table"}]},
        {"partition": {"method": "exact-qi"}},
    ],
)
def test_exact_ratios_are_of_own_distributions_alone(changes):
    assert read(**{**OWN, **changes}).form.denominator == 16


def test_the_version_is_not_among_the_terms():
    base = Path()
    written = {"partition": {"method": "ke", "objective": "weighted"}}
    assert read().terms(base).digest() == read(version=1, **written).terms(base).digest()
    assert read().terms(base).digest() != read(version=1).terms(base).digest()


def test_nothing_is_resolved_in_place_or_twice():
    document = copy.deepcopy(KE)
    once = resolve(document)
    assert document == KE
    assert resolve(once) == once
    for odd in (None, [], {"version": 7}, {"version": 2, "partition": "ke", "form": None}):
        assert resolve(odd) == odd
    odd = {**KE, **OWN, "promises": "many"}
    assert resolve(odd)["form"] == OWN["form"]


def test_the_json_schema_says_the_defaults_of_each_version():
    schema = json_schema()
    assert set(schema["properties"]["version"]["enum"]) == set(VERSIONS)
    assert schema["allOf"] == list(default_schemas())
    assert len(schema["allOf"]) == sum(map(len, BETTER.values()))
    first = schema["allOf"][0]
    assert first["if"]["properties"]["version"] == {"const": 2}
    assert first["then"]["properties"]["partition"]["properties"]["objective"]["default"] == (
        "weighted"
    )
