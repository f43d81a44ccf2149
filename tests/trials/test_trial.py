"""Trials: candidates that are judged and asked as releases are, and of which nothing is left."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.choose.trial import run_trial
from sfumato.tasks.forms.form_parameters import (
    GeneralizedParameters,
    PermutedParameters,
    SuppressedParameters,
)
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.cell_suppression.parameters import ForestParameters
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import RangeWorkload
from sfumato.tasks.query.ask import answer
from sfumato.tasks.stages.anonymize import write_candidate_of_part
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import Terms
from tests.laws.tables import QUASI, SCHEMA, table_of_people

SCOPE = {"quasi_identifiers": QUASI}
KE = KEAnonymity(k=2, e=1, sensitive="wage", **SCOPE)
K3 = KAnonymity(k=3, **SCOPE)
WAYS = {
    "permuted": (KE, KEParameters(method="ke"), PermutedParameters(method="permuted")),
    "generalized": (
        K3,
        MondrianParameters(method="mondrian"),
        GeneralizedParameters(method="generalized"),
    ),
    "suppressed": (
        K3,
        ForestParameters(method="forest"),
        SuppressedParameters(method="suppressed"),
    ),
    "with rows suppressed": (
        KAnonymity(k=9, **SCOPE),
        FullDomainParameters(method="full-domain", metric="discernibility", suppression="0.4"),
        GeneralizedParameters(method="generalized"),
    ),
}
RANGES = RangeWorkload(kind="range", aggregate="sum", over="age", of="wage", spans=(2,), queries=9)


@pytest.fixture
def people():
    return table_of_people(np.random.default_rng(3), 60)


def terms_of(way):
    promise, partition, form = WAYS[way]
    return Terms(
        name="trial",
        title="A trial",
        unit="row",
        versions="disjoint",
        columns=SCHEMA,
        strata=(),
        promises=(promise,),
        partition=partition,
        form=form,
        formats=("parquet",),
    )


def nothing(_done, _total):
    pass


@pytest.mark.parametrize("way", WAYS)
def test_a_trial_is_asked_as_a_release_is(way, people, tmp_path):
    trial = run_trial(people, terms_of(way), tmp_path, seeded_keys(1)).require_kept()
    rows = trial.represented.rows
    assert rows == trial.release.declared.rows.published
    assert (rows < people.rows) == (way == "with rows suppressed")
    (counted,) = answer(trial.release, "SELECT COUNT(*) AS n FROM microdata").rows
    assert (counted["n"].lower, counted["n"].upper) == (rows, rows)
    measured = evaluate(trial.release, trial.represented, [RANGES], seeded_keys(2), nothing)
    assert len(measured) == 9
    assert all(query.inside for query in measured)


@pytest.mark.parametrize("way", WAYS)
def test_its_tables_are_those_of_a_candidate(way, people, tmp_path):
    terms = terms_of(way)
    trial = run_trial(people, terms, tmp_path / "trial", seeded_keys(1))
    candidate = write_candidate_of_part(people, terms, tmp_path / "candidate", seeded_keys(1))
    declared = trial.release.declared
    assert read_tables(declared, candidate / "release" / "data") == trial.assessment.tables


def test_what_does_not_keep_its_promises_is_judged_and_can_be_required(people, tmp_path):
    alone = Partition(np.arange(people.rows))
    trial = run_trial(people, terms_of("permuted"), tmp_path, seeded_keys(1), lambda *_: alone)
    ((_, verdict),) = trial.assessment.verdicts
    assert (verdict.holds, verdict.failing) == (False, people.rows)
    with pytest.raises(PromiseError):
        trial.require_kept()


def test_nothing_is_written_but_below_its_directory(people, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "SFUMATO_WORK", "TMPDIR"):
        monkeypatch.setenv(name, str(home))
    run_trial(people, terms_of("permuted"), tmp_path / "trial", seeded_keys(1))
    assert list(home.iterdir()) == []
    private = [path for path in (tmp_path / "trial").rglob("*") if path.is_dir()]
    assert (tmp_path / "trial" / "candidate") in private
    assert Path(tmp_path / "trial" / "candidate").stat().st_mode & 0o777 == 0o700
