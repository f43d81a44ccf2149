"""Faults that mutants showed and no other test had noticed."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.rules.structure import NotEmpty
from sfumato.expectations.rules.verdicts import Finding
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.expectations.suites import gate
from sfumato.expectations.suites.gate import judge
from sfumato.tasks.forms import permuted
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.order import (
    canonical_apart,
    canonical_table,
    canonical_with,
    is_sorted,
)
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.durable import (
    hold_lock,
    hold_lock_if_free,
    sync_tree,
    write_atomically,
)
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.stages.anonymize import SUPPRESSED
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from sfumato.tasks.terms.opened import open_release
from tests.lines import publish_prepared
from tests.release.small import SPEC, people


def group_table(values, groups):
    return pa.table({"a": values, "group_id": pa.array(groups, pa.int64())})


def test_files_are_private_unless_somebody_says_otherwise(tmp_path):
    write_atomically(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_locks_are_the_stewards_alone(tmp_path):
    with hold_lock(tmp_path / "lock"):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def count_open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_file_stays_open(tmp_path):
    (tmp_path / "file").touch()
    before = count_open_files()
    sync_tree(tmp_path)
    write_atomically(tmp_path / "file", b"")
    for lock in (hold_lock, hold_lock_if_free):
        with lock(tmp_path / "lock"):
            pass
    assert count_open_files() == before


def test_a_lock_that_cannot_be_taken_is_a_fault(tmp_path):
    with pytest.raises(Fault, match="lock: cannot be locked"), hold_lock(tmp_path / "no" / "lock"):
        pass


def test_nothing_is_replaced_by_a_version(tmp_path):
    """The system itself would put a directory in the place of an empty one."""
    staged, taken = tmp_path / "staged", tmp_path / "0001"
    staged.mkdir()
    taken.mkdir()
    with pytest.raises(Fault, match="0001: is taken"):
        publication.appear(staged, taken)
    assert staged.exists()


def test_what_is_staged_is_the_stewards_alone_from_the_first(small, monkeypatch):
    plan, run = small.prepare_run("one")
    candidate = run / "candidate"
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    plan.line.public.mkdir(parents=True)
    copyfile, modes = publication.shutil.copyfile, []

    def note_mode_and_copy(source, place):
        if not modes:
            (staging,) = plan.line.public.glob(".staging-*")
            modes.append(staging.stat().st_mode & 0o777)
        return copyfile(source, place)

    monkeypatch.setattr(publication.shutil, "copyfile", note_mode_and_copy)
    before = os.umask(0)
    try:
        staging = publication.stage(plan.line, sealed_candidate(candidate))
    finally:
        os.umask(before)
    assert [*modes, staging.stat().st_mode & 0o777] == [0o700, 0o700]


def test_what_is_recorded_already_is_not_recorded_again(small, monkeypatch):
    """Also where a run was killed after it had changed the public record."""
    plan, run = small.prepare_run("one")

    def die(*_):
        raise KeyboardInterrupt

    replace = publication.replace_record
    with monkeypatch.context() as patched:
        patched.setattr(
            publication, "replace_record", lambda *arguments: (replace(*arguments), die())
        )
        with pytest.raises(KeyboardInterrupt):
            publish_prepared(plan, run)
    before = read_record(plan.line.public)
    identification = identity(run / "deidentified")
    assert publication.existing_version(plan.line, identification, "disjoint") is not None
    assert read_record(plan.line.public) == before


def test_people_are_counted_once_however_many_versions_are_about_them(small):
    small.write(people(), versions="accepted-risk").publish("one")
    small.write(people(seed=2), versions="accepted-risk").publish("two")
    plan, run = small.write(people(seed=3), versions="disjoint").prepare_run("three")
    identification = identity(run / "deidentified")
    with pytest.raises(PromiseError, match=f" {len(identification.units)} units are in an earlier"):
        publication.existing_version(plan.line, identification, "disjoint")


def test_where_earlier_people_are_not_known_nobody_is_taken_for_new(small):
    columns = {**SPEC["columns"], "person": {"role": "identifier"}}
    small.write(people(), columns=columns, unit="row").publish("one")
    plan, run = small.write(people(seed=2)).prepare_run("two")
    identification = identity(run / "deidentified")
    with pytest.raises(PromiseError, match="the units of 0001 are not known here"):
        publication.existing_version(plan.line, identification, "disjoint")


def test_what_a_killed_run_began_is_finished_before_anything_is_decided(small, monkeypatch):
    plan, run = small.prepare_run("one")

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publication, "_record", die)
        with pytest.raises(KeyboardInterrupt):
            publish_prepared(plan, run)
    identification = identity(run / "deidentified")
    version = publication.existing_version(plan.line, identification, "disjoint")
    assert version == plan.line.public / "0001"
    assert list(read_record(plan.line.public).versions) == ["0001"]


def test_the_gates_own_documents_are_the_stewards_alone(groups_of, tmp_path):
    before = os.umask(0)
    try:
        promises = [(KAnonymity(k=1), groups_of([("g", 1)]))]
        tables, structure = {"t": pa.table({"a": [1]})}, {"t": [NotEmpty()]}
        judge("line", tables, structure, promises, tmp_path / "documents")
    finally:
        os.umask(before)
    assert (tmp_path / "documents").stat().st_mode & 0o777 == 0o700


def test_what_was_not_observed_is_not_told():
    finding = Finding("t", "expect_x", {"b": 2, "a": 1}, passed=False, observed=None)
    assert str(finding) == 't: expect_x is broken: required {"a": 1, "b": 2}'


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (gate.gx, "get_context", "Great Expectations"),
        (gate, "frame_with", "t"),
        (gate.gx, "ExpectationSuite", "t"),
        (gate.gx.data_context.EphemeralDataContext, "build_data_docs", "Data Docs"),
    ],
)
def test_a_failure_of_the_gate_tells_nothing_of_the_data(
    groups_of, monkeypatch, tmp_path, owner, name, words
):
    def fail(*_, **__):
        raise ValueError("CANARY")

    monkeypatch.setattr(owner, name, fail)
    promises = [(KAnonymity(k=1), groups_of([("g", 1)]))]
    with pytest.raises(PromiseError) as caught:
        judge("line", {"t": pa.table({"a": [1]})}, {"t": [NotEmpty()]}, promises, tmp_path)
    assert str(caught.value) == f"{words} could not be evaluated (ValueError)"


def test_a_candidate_says_which_rows_are_suppressed(small):
    plan, run = small.prepare_run("one")
    candidate = run / "candidate"
    np.save(candidate / SUPPRESSED, np.array([3, 5]))
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    assert sealed_candidate(candidate).suppressed.tolist() == [3, 5]


def test_what_stands_beside_the_data_of_a_candidate_is_not_sealed(small):
    plan, run = small.prepare_run("one")
    candidate = run / "candidate"
    (candidate / "release" / "stray").mkdir()
    (candidate / "release" / "stray.txt").write_text("stray")
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    assert not list((candidate / "release").glob("stray*"))


def test_suppressed_rows_are_not_permuted():
    columns = (
        encode("age", "quasi-identifier", pa.array([1, 2, 3])),
        encode("wage", "sensitive", pa.array([7, 8, 9])),
    )
    partition = Partition(np.array([0, -1, 0]))
    parameters = PermutedParameters(method="permuted")
    tables_published = permuted.publish(
        Microdata(columns, 3), partition, parameters, seeded_keys(1)
    )
    table = tables_published["microdata"]
    assert table["age"].to_pylist() == [1, 3]
    assert sorted(table["wage"].to_pylist()) == [7, 9]


def test_a_table_beside_permuted_rows_is_renamed_with_them():
    tables = {"microdata": group_table(["y", "x"], [0, 1]), "lineage": group_table([7, 8], [0, 1])}
    tables_published = permuted.canonical(tables)
    assert tables_published["microdata"].to_pydict() == {"a": ["x", "y"], "group_id": [0, 1]}
    assert tables_published["lineage"].to_pydict() == {"a": [8, 7], "group_id": [0, 1]}


def test_groups_that_begin_alike_are_told_apart_by_what_follows():
    """Also where they begin with the smallest value of all."""
    first = group_table([0, 0, 1, 0, 0, 2], [0, 0, 0, 1, 1, 1])
    other = group_table([0, 0, 2, 0, 0, 1], [0, 0, 0, 1, 1, 1])
    assert canonical_table(first).equals(canonical_table(other))


def test_groups_are_numbered_by_the_first_table_that_tells_them_apart():
    tables = {"one": group_table(["x", "y"], [0, 1]), "two": group_table(["z", "z"], [0, 1])}
    renamed = {"one": group_table(["x", "y"], [1, 0]), "two": group_table(["z", "z"], [0, 1])}
    ordered = canonical_apart(tables)
    assert ordered["one"].to_pydict() == {"a": ["x", "y"], "group_id": [0, 1]}
    again = canonical_apart(renamed)
    assert all(again[name].equals(ordered[name]) for name in ordered)


def test_groups_that_one_table_does_not_tell_apart_are_ordered_by_the_other():
    values, counts = pa.array(["x", "x"]), pa.array([1, 2])
    first = canonical_with(
        {"qit": group_table(values, [0, 1]), "st": group_table(counts, [0, 1])}, "qit"
    )
    second = canonical_with(
        {"qit": group_table(values, [0, 1]), "st": group_table(counts, [1, 0])}, "qit"
    )
    assert all(first[name].equals(second[name]) for name in first)
    assert first["st"].to_pydict() == {"a": [1, 2], "group_id": [0, 1]}


def test_a_table_without_rows_is_sorted():
    assert is_sorted(group_table(pa.array([], pa.int64()), []))
    assert not is_sorted(group_table([1], [1]))


def test_a_table_without_rows_is_in_canonical_order():
    nothing = group_table(pa.array([], pa.int64()), [])
    assert canonical_table(nothing).equals(nothing)
    both = {"one": nothing, "two": nothing}
    for tables in (canonical_with(both, "one"), canonical_apart(both)):
        assert all(table.equals(nothing) for table in tables.values())


def test_who_knows_a_sensitive_value_sees_smaller_groups():
    schema = {
        "age": DeclaredColumn(role="quasi-identifier", type="integer"),
        "wage": DeclaredColumn(role="sensitive", type="integer"),
        "debt": DeclaredColumn(role="sensitive", type="integer"),
    }
    columns = {"age": [1, 2, 3, 4], "wage": [1, 1, 2, 2], "debt": [5, 6, 7, 8]}
    table = pa.table({**columns, "group_id": np.zeros(4, dtype=np.int64)})
    tables = {"microdata": table}
    assert permuted.groups(tables, schema, ["age"], ["debt"]).sizes.tolist() == [4]
    assert permuted.groups(tables, schema, ["age", "wage"], ["debt"]).sizes.tolist() == [2, 2]


def test_every_permuted_row_has_a_group():
    schema = permuted.schemas({}, PermutedParameters(method="permuted"))["microdata"]
    assert not schema.field("group_id").nullable


def test_a_manifest_says_formats_without_their_dot(small):
    directory = small.write(people()).publish("one").directory
    resources = open_release(directory).manifest["resources"]
    formats = {resource["path"]: resource["format"] for resource in resources}
    assert formats["data/microdata.csv"] == "csv"
    assert formats["data/microdata.parquet"] == "parquet"
    assert formats["index.html"] == "html"
