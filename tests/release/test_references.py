"""Promises about a population: kept by releases, and shown to whoever has the reference."""

import csv
import hashlib
import json
import re
import shutil
from collections import Counter
from fractions import Fraction
from functools import partial

import pytest

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.expectations.shared.numbers import plain
from sfumato.expectations.suites.gate import judge
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.resolved import with_references
from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.references import (
    KEYED_DIGEST,
    ReferenceFile,
    References,
    given_references,
    refer,
)
from sfumato.tasks.publication.check import check
from sfumato.tasks.stages.validate import assess_candidate
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import form_of, read_tables
from tests.lines import prepare
from tests.release.forge import edit
from tests.release.plain import without_script
from tests.release.small import SPEC, people

K3 = {"model": "k-anonymity", "k": 3}
L2 = {"model": "l-diversity", "variant": "distinct", "l": 2}
PRESENCE = {"model": "delta-presence", "min": 0, "max": 0.9, "reference": "register.csv"}
BELIEF = {"model": "bayes-optimal", "rho1": 0.3, "rho2": 0.99, "reference": "register.csv"}
TOWNS = 'Aa,A-C,*\nBee,A-C,*\n"Cé, the long",A-C,*\nDee,D-,*\n'
GROUPINGS = {
    "full-domain": ({"method": "full-domain"}, True),
    "dropping": ({"method": "full-domain", "suppression": 0.3}, True),
    "mondrian": ({"method": "mondrian"}, False),
    "forest": ({"method": "forest"}, False),
}
APART = ("full-domain", "dropping", "mondrian")


def register(folder, times=3, more=(), name="register.csv"):
    """Everybody of the small line `times` times, and `more`."""
    rows = [(r["age"], r["town"], r["wage"]) for r in people() if r["wage"]] * times + list(more)
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("age", "town", "wage"), *rows])
    return rows


ELSEWHERE = [(77, "Dee", "1.00")] * 5 + [(33, "Bee", "100.00"), (20, "", "100.15")]


def write(small, grouping="full-domain", form="generalized", promises=(PRESENCE,), **more):
    partition, by_file = GROUPINGS[grouping]
    columns = json.loads(json.dumps(SPEC["columns"]))
    if by_file:
        columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
        columns["town"]["hierarchy"] = {"file": "towns.csv", "public": True}
    small.write(
        people(),
        **{
            "columns": columns,
            "promises": [K3, L2, *promises],
            "partition": partition,
            "form": {"method": form},
            "evaluate": {"workloads": []},
        }
        | more,
    )
    (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")


@pytest.fixture
def release_and_reference(small):
    """A version whose promises speak of a reference, and the file of that."""
    write(small, promises=(PRESENCE, BELIEF))
    register(small.folder, more=ELSEWHERE)
    return small.publish("one").directory, small.folder / "register.csv"


def rows_and_people(directory, rows):
    """By the labels of each group its rows, and the reference's people whom they admit."""
    declared = open_release(directory).declared
    table = read_tables(declared, directory / "data")["microdata"].to_pylist()
    read = reader_for(form_of(declared))
    readers = {name: read(name, declared.columns[name]) for name in ("age", "town")}
    counts_by_label = Counter((row["age"], row["town"]) for row in table)
    people_of = {}
    for labels in counts_by_label:
        age, town = (readers[n](label) for n, label in zip(readers, labels, strict=True))
        people_of[labels] = [
            row for row in rows if admits(age, row[0]) and admits(town, row[1] or None)
        ]
    return counts_by_label, people_of


@pytest.mark.parametrize("grouping", APART)
def test_whom_labels_admit_is_counted_as_one_by_one(small, grouping):
    write(small, grouping)
    rows = register(small.folder, more=ELSEWHERE)
    directory = small.publish("one").directory
    rows_by_label, people_of = rows_and_people(directory, rows)
    shares = {labels: Fraction(n, len(people_of[labels])) for labels, n in rows_by_label.items()}
    admitted = sum(map(len, people_of.values()))
    least = Fraction(0) if admitted < len(rows) else min(shares.values())
    checked = check(directory, reference_paths=(small.folder / "register.csv",))
    (verdict,) = (v for p, v in checked.verdicts if p.name == "delta-presence")
    assert checked.stated == ()
    assert verdict.observed == {"min": least, "max": max(shares.values())}
    assert (verdict.groups, verdict.failing) == (len(rows_by_label), 0)


def test_values_of_people_are_counted_as_one_by_one(release_and_reference):
    directory, reference = release_and_reference
    with reference.open(newline="", encoding="utf-8") as file:
        rows = [(int(row["age"]), row["town"], row["wage"]) for row in csv.DictReader(file)]
    declared = open_release(directory).declared
    tables = read_tables(declared, directory / "data")
    promise = declared.promises[-1]
    references = References({promise.reference_uri: ReferenceFile(reference)})
    seen = SeenGroups(declared, tables, references).of_promises()[-1][1]
    _, people_of = rows_and_people(directory, rows)
    expected = sorted(
        sorted(Counter((age, town, wage) for age, town, wage in those).values())
        for those in people_of.values()
    )
    joint = seen.population.joint["wage"]
    counts_of_groups = [sorted(joint.count[joint.group == g].tolist()) for g in range(len(seen))]
    assert sorted(counts_of_groups) == expected
    assert seen.population.sizes.sum() + seen.population.elsewhere == len(rows)


def test_promises_are_stated_without_their_reference_and_measured_with_it(
    release_and_reference, capsys
):
    directory, reference = release_and_reference
    alone, with_reference = check(directory), check(directory, reference_paths=(reference,))
    assert [p.name for p in alone.stated] == ["delta-presence", "bayes-optimal"]
    assert with_reference.stated == ()
    assert alone.verdicts == with_reference.verdicts
    assert run(["check", str(directory)]) == 0
    output = capsys.readouterr().out
    assert "delta-presence is not measured here; the publisher states" in output
    assert "that delta-presence, bayes-optimal is kept: it is about" in output
    assert run(["check", str(directory), "--reference", str(reference)]) == 0
    output = capsys.readouterr().out
    assert "delta-presence is kept in all" in output
    assert "that the named reference is the publisher's reference" in output


def test_no_published_file_tells_where_or_what_the_reference_is(release_and_reference, small):
    directory, reference = release_and_reference
    declared = open_release(directory).declared
    (name,) = {p.reference_uri for p in declared.promises if p.reference_uri}
    plain_digest = hashlib.sha256(reference.read_bytes()).hexdigest().encode()
    files = [path.read_bytes() for path in directory.rglob("*") if path.is_file()]
    published = b"".join(map(without_script, files))
    assert b"register" not in published
    assert plain_digest not in published
    assert name.encode() in published
    assert json.loads((directory / MANIFEST).read_bytes())["sfumato"]["format"] == 6
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "and on a reference that the publisher does not publish" in page


def test_the_digest_is_that_of_the_file_under_the_lines_key(release_and_reference, small, tmp_path):
    directory, reference = release_and_reference
    promise = open_release(directory).declared.promises[-1]
    spoken = promise.referring_to(str(reference))
    secret = line_key(small.plan().line.private)
    made = [refer([spoken], tmp_path, lambda s=s: s)[0][0] for s in (secret, b"another line's")]
    assert made[0] == promise
    assert made[1] != promise
    with reference.open("a") as file:
        file.write("30,Aa,1.00\n")
    assert refer([spoken], tmp_path, lambda: secret)[0][0] != promise


def test_a_promise_that_the_reference_breaks_is_not_published(small):
    write(small, promises=({**PRESENCE, "max": 0.3},))
    register(small.folder, times=2)
    with pytest.raises(PromiseError, match=r"at best min=30/61, max=30/61 in 1 of 1 strata"):
        small.publish("one")
    register(small.folder, times=4, more=[(30, "Dee", "1.00")] * 400)
    write(small, promises=({**PRESENCE, "max": 0.2},))
    with pytest.raises(PromiseError, match="delta-presence is broken"):
        small.publish("two")
    assert not list((small.folder / "public" / "wages").glob("0*"))


def test_the_gate_fails_closed_without_the_reference(small):
    write(small, promises=(PRESENCE, BELIEF))
    register(small.folder)
    prepare(small.spec, small.folder / "run", seeded_keys(1))
    findings = assess_candidate(small.folder / "run" / "candidate").findings
    broken = [finding.type for finding in findings if not finding.passed]
    assert broken == ["expect_delta_presence", "expect_bayes_optimal"]


def test_a_reference_that_changes_during_a_run_is_refused(small):
    write(small)
    register(small.folder)
    resolved, _ = small.prepare_run("one")
    register(small.folder, times=4)
    with pytest.raises(PromiseError, match="the reference file changed during the run"):
        assess_candidate(small.folder / "one" / "candidate", references=resolved.references)


def test_a_reference_without_everybody_is_refused(small):
    write(small)
    rows = register(small.folder, times=1, more=ELSEWHERE)
    with (small.folder / "register.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("age", "town", "wage"), *rows[1:]])
    with pytest.raises(
        PromiseError,
        match=(
            r"the reference does not contain all people of the table\. For 1 of \d+ "
            r"combinations"
        ),
    ):
        small.publish("one")


def test_groups_that_overlap_are_refused(small):
    write(small, "forest", form="suppressed", promises=({**PRESENCE, "max": 1},))
    register(small.folder, more=ELSEWHERE)
    with pytest.raises(PromiseError, match="labels of several groups admit the same people"):
        small.publish("one")


def test_another_reference_is_told_from_the_one_that_was_meant(release_and_reference):
    directory, reference = release_and_reference
    other = reference.with_name("other.csv")
    rows = reference.read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([*rows, *rows[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(PromiseError, match="differs from the published tables"):
        check(directory, reference_paths=(other,))
    other.write_text("\n".join(rows[:30]) + "\n", encoding="utf-8")
    with pytest.raises(PromiseError, match="cannot be proven"):
        check(directory, reference_paths=(other,))
    with pytest.raises(InputError, match="use 1 reference tables, but 2 are given"):
        check(directory, reference_paths=(reference, reference))


def forge(document, **observed):
    for observation in document["sfumato"]["observed"]:
        if observation["promise"]["model"] == "delta-presence":
            observation["observed"].update(observed)


@pytest.mark.parametrize("most", [1, "1.5", "0.99", None, True, "1e999999999", "9" * 9 + "/0", []])
def test_a_statement_that_breaks_the_promise_is_refused(release_and_reference, tmp_path, most):
    directory, _ = release_and_reference
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy, copy_function=shutil.copyfile)
    edit(copy, lambda document: forge(document, max=most))
    with pytest.raises(PromiseError, match="does not state that the groups keep delta-presence"):
        check(copy)


def test_a_statement_that_is_not_that_of_the_other_files_is_refused(
    release_and_reference, tmp_path
):
    directory, _ = release_and_reference
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy, copy_function=shutil.copyfile)
    edit(copy, lambda document: forge(document, max="0.4999"))
    with pytest.raises(PromiseError, match="differs from the published tables"):
        check(copy)


def test_an_address_in_the_place_of_a_digest_is_refused(release_and_reference, tmp_path):
    directory, _ = release_and_reference
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy, copy_function=shutil.copyfile)

    def name(document):
        document["sfumato"]["promises"][-1]["reference"] = "https://example.org/register.csv"

    edit(copy, name)
    with pytest.raises(PromiseError, match="not the canonical manifest"):
        check(copy)


def test_references_are_given_in_the_order_of_promises(release_and_reference):
    directory, reference = release_and_reference
    promises = open_release(directory).declared.promises
    assert given_references(promises, ()).files == {}
    (file,) = given_references(promises, (reference,)).files.values()
    assert file == ReferenceFile(reference)


REFUSED = {
    "composed": ({"versions": "composed"}, "is about one version of one line"),
    "people": ({"people": "everybody"}, "is about one version of one line"),
    "auto": (
        {"partition": {"method": "auto"}},
        ("is judged when groups are made, so `partition: auto`"),
    ),
    "permuted": ({"form": "permuted"}, "cannot be measured in form permuted"),
}


@pytest.mark.parametrize(("changed", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_with_a_reference(small, changed, words):
    write(small, **changed)
    with pytest.raises(SpecError, match=words):
        small.plan()


def test_groups_are_made_for_other_promises(small):
    small.write(
        people(),
        promises=[PRESENCE],
        partition={"method": "mondrian"},
        form={"method": "generalized"},
        columns=SPEC["columns"] | {"wage": SPEC["columns"]["wage"] | {"unprotected": "a test"}},
        evaluate={"workloads": []},
    )
    with pytest.raises(
        SpecError, match=("promises: all of them are about a reference, and groups")
    ):
        small.plan()


def test_the_old_key_means_the_same(small):
    old = {**PRESENCE, "population": PRESENCE["reference"]}
    del old["reference"]
    write(small, promises=(old,))
    before = small.plan().terms
    write(small)
    assert small.plan().terms == before


def test_observed_numbers_are_exact(release_and_reference):
    directory, reference = release_and_reference
    checked = check(directory, reference_paths=(reference,))
    stated = json.loads((directory / MANIFEST).read_bytes())["sfumato"]["observed"]
    for (_, verdict), expected in zip(checked.verdicts, stated, strict=True):
        assert {n: plain(value) for n, value in verdict.observed.items()} == expected["observed"]


def test_another_reference_makes_another_release(release_and_reference, small):
    directory, reference = release_and_reference
    assert small.publish("again").existed
    with reference.open("a", encoding="utf-8") as file:
        file.write("30,Aa,1.00\n")
    with pytest.raises(PromiseError, match="60 units are in an earlier version"):
        small.publish("two")
    assert [path.name for path in directory.parent.glob("0*")] == ["0001"]


def test_a_rekeyed_line_knows_its_version_again(release_and_reference, small):
    before = small.plan().line.private
    old = line_key(before)
    assert run(["line", "rekey", str(small.spec), "--source=0001=people.csv"]) == 0
    assert line_key(before) != old
    assert small.publish("stands").existed


def test_digests_are_made_once(release_and_reference, small):
    resolved = with_references(small.plan())
    assert with_references(resolved) is resolved
    (name,) = resolved.references.files
    assert re.fullmatch(KEYED_DIGEST, name)


def test_great_expectations_judges_the_same(small):
    write(small, promises=(PRESENCE, BELIEF))
    register(small.folder, more=ELSEWHERE)
    resolved, run_directory = small.prepare_run("one")
    candidate, gate = run_directory / "candidate", partial(judge, "wages")
    findings = assess_candidate(candidate, (), gate, resolved.references).findings
    assert findings == assess_candidate(candidate, references=resolved.references).findings
    assert all(finding.passed for finding in findings)
    with pytest.raises(PromiseError, match="delta-presence cannot be proven"):
        require(assess_candidate(candidate, (), gate).findings)
