"""Releases that promise something against who knows a few quasi-identifiers."""

import json
import re
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.expectations.models.limited_knowledge import LKCPrivacy
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.tasks.forms.order import canonical_table
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.terms.opened import open_release
from tests.release.small import SPEC, people
from tests.release.test_recoded import RANGES, TOWNS, reseal

LKC = {"model": "lkc-privacy", "l": 1, "k": 3, "c": 0.9}
KM = {"model": "km-anonymity", "m": 2, "k": 3}
WAYS = {
    "top-down": ({"method": "top-down"}, {"method": "generalized"}, LKC),
    "lattice": ({"method": "full-domain", "suppression": 0.1}, {"method": "generalized"}, LKC),
    "stars": ({"method": "local-suppression"}, {"method": "suppressed"}, LKC),
    "labels": ({"method": "local-suppression"}, {"method": "generalized"}, KM),
    "dropping": (
        {"method": "local-suppression", "suppression": 0.1},
        {"method": "suppressed"},
        KM,
    ),
}


def changes(partition, form, *promises, **more):
    columns = json.loads(json.dumps(SPEC["columns"]))
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20, 40]}
    columns["town"]["hierarchy"] = "towns.csv"
    if not any(promise["model"] == "lkc-privacy" for promise in promises):
        columns["wage"]["unprotected"] = "not promised"
    return {
        "columns": columns,
        "promises": list(promises),
        "partition": partition,
        "form": form,
        "evaluate": RANGES,
    } | more


@pytest.fixture
def publish(small):
    def publish_line(partition, form, *promises, **more):
        small.write(people(), **changes(partition, form, *promises, **more))
        (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
        return small.publish("one").directory

    return publish_line


@pytest.mark.parametrize("way", WAYS)
def test_published_checked_asked_and_evaluated(publish, small, way):
    directory = publish(*WAYS[way])
    ((promise, verdict),) = check(directory).verdicts
    assert promise.name == WAYS[way][2]["model"]
    assert verdict.holds
    assert verdict.observed["k"] >= 3
    declared = json.loads((directory / "datapackage.json").read_text(encoding="utf-8"))
    assert declared["sfumato"]["format"] == 13
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "Every combination of labels of any" in page
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert f"knows at most {promise.knowledge} of a person's quasi-identifiers" in words
    assert f"who knows more than {promise.knowledge} of a person's quasi-identifiers" in words
    assert "who knows a person's quasi-identifiers and looks for the row" not in words
    plan, original = small.plan(), load(small.folder / "one" / "deidentified")
    evaluate_release(
        directory, original, plan.spec.evaluate, plan.line, seeded_keys(3), lambda *_: None
    )
    assert answer(open_release(directory), "SELECT count(*) FROM microdata WHERE age < 40").rows


def test_a_label_that_one_row_shows_alone_is_refused(publish, tmp_path):
    copy = tmp_path / "forged"
    shutil.copytree(publish(*WAYS["stars"]), copy)
    opened = open_release(copy)
    table = opened.table("microdata")
    ages = table["age"].to_pylist()
    alone = next(str(age) for age in range(20, 60) if str(age) not in ages)
    labels = pa.array([alone, *ages[1:]])
    changed = table.set_column(table.column_names.index("age"), table.schema.field("age"), labels)
    reseal(copy, canonical_table(changed), opened.declared)
    with pytest.raises(PromiseError, match="lkc-privacy"):
        check(copy)


def test_a_stronger_promise_than_is_kept_is_refused(publish, tmp_path):
    copy = tmp_path / "forged"
    shutil.copytree(publish(*WAYS["stars"][:2], {**LKC, "k": 10}), copy)
    opened = open_release(copy)
    (promise,) = opened.declared.promises
    assert isinstance(promise, LKCPrivacy)
    stronger = replace(promise, k=50)
    terms = opened.declared.model_copy(update={"promises": (stronger,)})
    reseal(copy, opened.table("microdata"), terms)
    with pytest.raises(PromiseError, match="lkc-privacy"):
        check(copy)


REFUSED = {
    "another partition": (
        {"partition": {"method": "mondrian"}},
        "partition mondrian does not judge",
    ),
    "another form": (
        {"partition": {"method": "top-down"}, "form": {"method": "suppressed"}},
        "form suppressed does not show those",
    ),
    "exact rows": ({"form": {"method": "permuted"}}, "cannot be measured in form permuted"),
    "linked columns": (
        {"form": {"method": "suppressed", "linked": [["age", "town"]]}},
        "`form.linked` changes those",
    ),
    "composed versions": ({"versions": {"rule": "composed"}}, "is about the labels of one version"),
    "parts": ({"parts": {"rows": 10}}, "local-suppression needs all rows"),
    "another promise": (
        {"promises": [LKC, {"model": "k-anonymity", "k": 2}]},
        "promises.1.model: partition local-suppression does not keep k-anonymity",
    ),
    "nobody known": ({"promises": [{**LKC, "l": 0}]}, "promises.0.l"),
    "no share": ({"promises": [{**LKC, "c": 0}]}, "promises.0.c"),
    "more than all": ({"promises": [{**LKC, "c": 1.5}]}, "promises.0.c"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_kept_is_refused_when_the_spec_is_read(small, what):
    changed, words = REFUSED[what]
    spec = changes({"method": "local-suppression"}, {"method": "suppressed"}, LKC) | changed
    small.write(people(), **spec)
    (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
    with pytest.raises(SpecError, match=re.escape(words)):
        small.plan()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"k": 1000}, "lkc-privacy cannot be kept: required k=1000"),
        ({"values": ["12345.6"]}, "values: no row of 'wage' has 1 of these 1 values"),
    ],
)
def test_what_no_labels_can_keep_is_refused_before_groups_are_made(publish, changed, words):
    with pytest.raises(PromiseError, match=words):
        publish(*WAYS["stars"][:2], {**LKC, **changed})
