"""Calibrated factors on the way to publication: the manifest, the line, the page, the check."""

import json
import re
from decimal import Decimal

import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.private.people.backup import backup, unpack
from sfumato.tasks.private.people.frozen import FACTORS, FrozenFactors, freeze_factors, read_factors
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.accuracy.conditions import ConditionQueries
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.intervals.shapes import fault_of_stated
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.verification.integrity import digest
from tests.intervals.releases import people
from tests.lines import publish_prepared
from tests.release.small import Small

SPEC = {
    "source": {"uri": "people.csv"},
    "columns": {
        "person": {"role": "identifier", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "illness": {"role": "sensitive"},
    },
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
    "partition": {"method": "anatomy"},
    "form": {"method": "split"},
    "evaluate": {"intervals": 95},
}
ASKED = "SELECT COUNT(*) FROM microdata WHERE age < 40 AND illness = 'gout'"


@pytest.fixture
def line(tmp_path, monkeypatch, few_queries):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Small(tmp_path / "line").write(people(), **SPEC)


def intervals_stating(factor, family="count-by-one", column_name="illness"):
    return CalibratedIntervals(
        grid="fine",
        families=(CalibratedFamily(family=family, of=column_name, factor=Decimal(factor)),),
    )


def factor_in(version):
    declared = open_release(version).declared
    assert declared.intervals is not None
    return declared.intervals.factor_of(("count-by-one", "illness"))


def test_a_version_states_its_factors_and_answers_with_intervals(line):
    version = line.publish("one").directory
    manifest = json.loads((version / MANIFEST).read_bytes())["sfumato"]
    assert (manifest["format"], manifest["intervals"]["grid"]) == (6, "fine")
    assert manifest["intervals"]["standing"] == "stated by the publisher, not verifiable"
    assert [family["family"] for family in manifest["intervals"]["families"]] == ["count-by-one"]
    check(version)
    document_ = document(answer(open_release(version), ASKED))
    low, high = document_["rows"][0]["count(*)"]["interval_95"]
    assert low < high
    page = " ".join(re.sub("<[^>]+>", " ", (version / PAGE).read_text(encoding="utf-8")).split())
    assert "The interval is not guaranteed." in page
    assert "Stated by the publisher, not verifiable from these files." in page
    assert "What this reveals beyond the tables." in page
    private = line.plan().line.private
    assert read_factors(private).intervals == open_release(version).declared.intervals
    assert (private / FACTORS).stat().st_mode & 0o777 == 0o600


def test_a_later_version_only_raises_them(line):
    first = line.publish("one").directory
    private = line.plan().line.private
    freeze_factors(private, intervals_stating("30"))
    second = line.write(people(seed=1), **SPEC).publish("two").directory
    assert factor_in(first) < 30 == factor_in(second)
    assert read_factors(private).intervals == intervals_stating("30")


def test_a_candidate_below_what_was_stated_meanwhile_is_refused(line):
    resolved, run = line.prepare_run("one")
    freeze_factors(resolved.line.private, intervals_stating("30"))
    with pytest.raises(PromiseError, match="published a larger factor"):
        publish_prepared(resolved, run)
    assert not list(resolved.line.public.glob("0*"))


def test_factors_are_backed_up(line):
    line.publish("one")
    private = line.plan().line.private
    backup_contents = unpack(private, backup(private), private.name)
    assert FrozenFactors.model_validate_json(backup_contents[FACTORS]) == read_factors(private)


def test_a_line_that_asks_for_none_is_as_it_was(line):
    version = line.write(people(), **{**SPEC, "evaluate": {}}).publish("one").directory
    manifest = json.loads((version / MANIFEST).read_bytes())["sfumato"]
    assert not {"intervals", "format"} & manifest.keys()
    assert 'id="likely"' not in (version / PAGE).read_text(encoding="utf-8")
    assert not (line.plan().line.private / FACTORS).exists()


def test_the_wish_is_no_part_of_the_terms(line):
    terms = line.plan().terms.digest()
    assert line.write(people(), **{**SPEC, "evaluate": {}}).plan().terms.digest() == terms


def test_the_stewards_own_queries_calibrate_nothing(line, monkeypatch):
    workload = {"kind": "range", "aggregate": "count", "over": "age", "spans": [5], "queries": 5}
    evaluate = {"intervals": 95, "workloads": [workload]}
    monkeypatch.setattr(ConditionQueries, "outcomes", None)
    published = line.write(people(), **{**SPEC, "evaluate": evaluate}).publish("one")
    assert factor_in(published.directory) is not None


def test_a_forged_factor_is_no_releases(line):
    version = line.publish("one").directory
    place = version / MANIFEST
    written = place.read_bytes()
    place.chmod(0o644)
    for forged in (
        {"factor": "1.35"},
        {"family": "mode-by-one"},
        {"of": "age"},
        {"of": "nobody"},
        {"family": "rows-by-one"},
    ):
        manifest = json.loads(written)
        manifest["sfumato"]["intervals"]["families"][0] |= forged
        manifest["sfumato"]["digest"] = ""
        manifest["sfumato"]["digest"] = digest(manifest)
        place.write_bytes(canonical_json(manifest))
        with pytest.raises(PromiseError, match=r"^datapackage\.json: "):
            check(version)


def test_families_stand_in_order_and_once(line):
    declared = line.plan().terms
    assert fault_of_stated(declared, intervals_stating("1")) is None
    twice = CalibratedIntervals(families=intervals_stating("1").families * 2)
    assert fault_of_stated(declared, twice) == (
        "the families of intervals are not in order, or one occurs twice"
    )


def test_a_release_in_parts_has_none(tmp_path):
    small = Small(tmp_path / "line").write(
        people(),
        **{
            **SPEC,
            "source": {"uri": "people.parquet", "format": "parquet"},
            "remember": "units",
            "partition": {"method": "mondrian"},
            "parts": {"rows": 100_000},
        },
    )
    with pytest.raises(
        SpecError, match=(r"evaluate\.intervals: a release in parts cannot calibrate")
    ):
        read_spec(small.spec)
