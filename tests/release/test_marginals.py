"""Marginals beside ambiguous groups: published, judged with them, asked, and refused when wrong."""

import json
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.microdata.table import load
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.test_ambiguous import ALPHA_BETA, COVER, changes, workers

VERIFIER = Path(__file__).parents[2] / "deployments" / "verifier" / "verify.mjs"


@pytest.fixture
def publish(small):
    def publish_with(marginals, alpha=0.9, rows=300, **more):
        form = {"method": "ambiguous", **({"marginals": marginals} if marginals else {})}
        promises = [{**ALPHA_BETA, "alpha": alpha}]
        changed = changes(COVER, promises, form=form, name=f"workers-{len(marginals)}", **more)
        small.write(workers(rows), **changed)
        return small.publish(f"run-{len(marginals)}").directory

    return publish_with


@pytest.mark.parametrize(
    ("marginals", "alpha"),
    [([], 0.8), (["town"], 0.8), (["age", "town"], 1)],
    ids=["none", "one", "two"],
)
def test_counts_with_no_one_and_two_marginals(publish, small, marginals, alpha):
    directory = publish(marginals, alpha)
    release = open_release(directory)
    assert release.declared.format == (14 if marginals else 11)
    ((_, verdict),) = check(directory).verdicts
    assert verdict.observed["alpha"] <= Fraction(str(alpha))
    columns = [
        pq.read_schema(path).names for path in sorted(directory.glob("data/marginal_*.parquet"))
    ]
    assert columns == [[name, "count"] for name in marginals]
    rows = load(small.folder / f"run-{len(marginals)}" / "deidentified")
    truth = {name: Counter(rows[name].array().to_pylist()) for name in ("town", "shift")}
    for name, counts in truth.items():
        rows = answer(release, f"SELECT {name}, COUNT(*) FROM microdata GROUP BY {name}").rows
        for row in rows:
            bounds = row["count(*)"]
            assert bounds.lower <= counts[row[name]] <= bounds.upper
            assert (name not in marginals) or bounds.lower == bounds.upper
        assert name in marginals or any(r["count(*)"].lower < r["count(*)"].upper for r in rows)


@pytest.mark.node
@pytest.mark.parametrize(("marginals", "alpha"), [(["town"], 0.8), (["age", "town"], 1)])
def test_the_second_verifier_finds_the_same(publish, marginals, alpha):
    run = subprocess.run(
        ["node", VERIFIER, publish(marginals, alpha)], capture_output=True, text=True
    )
    assert run.stdout.startswith("VALID"), run.stdout


def test_the_gate_refuses_a_marginal_that_raises_presence_above_alpha(publish, small):
    assert publish([], 0.7)
    with pytest.raises(PromiseError, match="alpha-beta"):
        publish(["age", "town", "shift"], 0.7)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"form": {"method": "ambiguous", "marginals": ["job"]}}, "'job' is not a column"),
        ({"form": {"method": "ambiguous", "marginals": ["town", "town"]}}, "listed twice"),
        ({"form": {"method": "permuted", "marginals": ["town"]}}, "form permuted cannot be"),
        ({"form": {"method": "generalized", "marginals": ["town"]}}, "form generalized cannot be"),
        ({"people": "workers"}, "people: marginals are judged with the groups of one line"),
        ({"versions": "accepted-risk"}, "can be subtracted from one another"),
        ({"across-lines": "accepted-risk"}, "lines about the same people"),
        ({"versions": {"rule": "composed"}, "remember": "map"}, "`composed` is not judged"),
        (
            {"parts": {"rows": 50}, "source": {"uri": "people.parquet", "format": "parquet"}},
            "not judged together",
        ),
    ],
)
def test_what_is_not_judged_beside_marginals_is_refused_by_name(small, change, reason):
    form = {"form": {"method": "ambiguous", "marginals": ["town"]}}
    small.write(workers(30), **{**changes(COVER, [ALPHA_BETA]), **form, **change})
    with pytest.raises(SpecError, match=reason):
        read_spec(small.spec)


TABLES = {
    "too many of a value": lambda t: _with_counts(t, [t["count"][0].as_py() + 1]),
    "one moved to another value": lambda t: _with_counts(t, [301 - (t.num_rows - 1), 1, 1, 1]),
    "a value that no group admits": lambda t: t.set_column(0, "town", pa.array([None, *"xyz"])),
    "a value twice": lambda t: pa.concat_tables([t, t.slice(0, 1)]),
}


def _with_counts(table, first):
    counts = [*first, *table["count"].to_pylist()[len(first) :]]
    return table.set_column(1, table.schema.field(1), pa.array(counts, pa.int64()))


@pytest.mark.parametrize("change", TABLES)
def test_marginals_of_no_table_are_refused(publish, change):
    directory = publish(["town"])
    declared = open_release(directory).declared
    tables = dict(read_tables(declared, directory / "data"))
    names = declared.names_with_roles("quasi-identifier")
    assert (
        ambiguous.groups(tables, declared.columns, names, ["job"]).covers["town"].totals.sum()
        == 301
    )
    tables["marginal_town"] = TABLES[change](tables["marginal_town"])
    rules = ambiguous.rules(declared.columns, declared.form, 301, [])["marginal_town"]
    try:
        ambiguous.groups(tables, declared.columns, names, ["job"])
        refused = False
    except PromiseError as error:
        refused = "marginal_town" in str(error)
    assert refused or not all(rule.holds(tables["marginal_town"]) for rule in rules)


def test_a_manifest_cannot_claim_marginals_beside_other_versions(publish):
    directory = publish(["town"])
    declared = open_release(directory).declared
    from sfumato.tasks.publication.check import _faults_of_declaration

    assert not list(_faults_of_declaration(declared))
    faults = [
        declared.model_copy(update={"versions": "accepted-risk"}),
        declared.model_copy(
            update={"form": declared.form.model_copy(update={"marginals": ("job",)})}
        ),
    ]
    for wrong in faults:
        assert list(_faults_of_declaration(wrong))


def test_the_page_shows_the_marginals_and_what_they_cost(publish):
    page = (publish(["town"]) / "index.html").read_text(encoding="utf-8")
    assert "marginal_town" in page
    assert json.dumps("marginals") in page
