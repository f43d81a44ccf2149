"""Versions of a line in parts: the same source, other people, and people who were there."""

import numpy as np
import pytest

from sfumato.expectations.shared.errors import Fault, InputError, PromiseError
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.publication import check as checking
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication import staging
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.staging import seal
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.terms.opened import open_release
from tests.parts.divided import SPEC, Divided, visits

PEOPLE = {
    "columns": {"person": {"role": "identifier", "unit": True}, **SPEC["columns"]},
    "unit": "person",
    "remember": "units",
}


def test_the_same_rows_in_another_order_and_other_files_are_the_same_source(divided_line):
    rows = visits()
    first = divided_line.write(rows).publish("one")
    assert not first.existed
    shuffled = rows.take(np.random.default_rng(3).permutation(600))
    again = divided_line.write(shuffled, files=5).publish("two")
    assert again.existed
    assert again.directory == first.directory


def test_one_other_value_is_another_source(divided_line):
    rows = visits()
    identification = divided_line.write(rows).divide("one")
    place = rows.column_names.index("age")
    ages = rows["age"].to_pylist()
    ages[17], ages[18] = ages[18], ages[17] + 1
    other = divided_line.write(rows.set_column(place, "age", [ages])).divide("two")
    assert identity(identification[1]).rows != identity(other[1]).rows


def test_people_are_in_one_version_alone(divided_line):
    first = divided_line.write(visits(), **PEOPLE).publish("one").directory
    others = visits(rows=300, seed=2, first=5000)
    second = divided_line.write(others, **PEOPLE).publish("two").directory
    assert [first.name, second.name] == ["0001", "0002"]
    divided_line.write(visits(rows=300, seed=3, first=5200), **PEOPLE)
    with pytest.raises(PromiseError, match="100 units are in an earlier version"):
        divided_line.publish("three")


def test_somebody_twice_is_refused_across_files(divided_line, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.parts.divide.read_chunks.__defaults__", (100,))
    rows = visits()
    people = rows["person"].to_pylist()
    people[-1] = people[0]
    divided_line.write(rows.set_column(0, "person", [people]), **PEOPLE)
    with pytest.raises(InputError, match="a unit occurs in two rows") as refused:
        divided_line.publish("one")
    assert "IDENT" not in str(refused.value)


def test_the_rows_of_another_line_are_known_again(divided_line, tmp_path):
    divided_line.write(visits()).publish("one")
    other = Divided(tmp_path / "other").write(visits(), name="again")
    with pytest.raises(PromiseError, match="600 rows are also in line visits"):
        other.publish("one")


@pytest.mark.parametrize("step", ["stage", "_intend", "appear", "_record"])
def test_a_run_that_dies_leaves_all_or_nothing(divided_line, monkeypatch, step):
    divided_line.write(visits(200))
    real, calls = getattr(publication, step), []

    def dying(*arguments, **named):
        if step == "stage":
            real(*arguments, **named)
        calls.append(step)
        raise KeyboardInterrupt

    monkeypatch.setattr(publication, step, dying)
    with pytest.raises(KeyboardInterrupt):
        divided_line.publish("one")
    assert calls
    public = divided_line.folder / "public" / "visits"
    visible = sorted(path.name for path in public.glob("[0-9]*"))
    assert visible == (["0001"] if step == "_record" else [])
    monkeypatch.setattr(publication, step, real)
    made = divided_line.publish("two")
    assert check(made.directory).derived == "equal"
    about = [
        "CITATION.cff",
        "dcat.jsonld",
        "feed.atom",
        "index.html",
        "line.json",
        "log.json",
        "releases.json",
        "verifier",
    ]
    assert sorted(path.name for path in public.glob("[!.]*")) == ["0001", *about]
    assert read_record(public).current == "0001"


def test_public_files_have_no_other_name_in_private(divided_line):
    release = divided_line.write(visits(200)).publish("one").directory
    files = [path.stat() for path in release.rglob("*") if path.is_file()]
    assert {(file.st_nlink, file.st_mode & 0o777) for file in files} == {(1, 0o444)}


def test_a_candidate_changed_after_its_judgement_is_refused(divided_line, monkeypatch):
    divided_line.write(visits(200))
    real = staging._copy

    def truncate_and_copy(source, place):
        for path in source.glob("parts/0001/data/*.parquet"):
            path.write_bytes(path.read_bytes()[:-1])
        return real(source, place)

    monkeypatch.setattr(staging, "_copy", truncate_and_copy)
    with pytest.raises(PromiseError, match=r"parts/0001/data/microdata.parquet: was changed"):
        divided_line.publish("one")
    assert not list((divided_line.folder / "public" / "visits").glob("[0-9]*"))


def test_parts_that_validation_made_are_not_made_once_more(divided_line, monkeypatch):
    """The reports beside the parts are about all of them."""
    made = []
    real = checking.compare_made_again

    def note_release(release, *arguments, **named):
        made.append(release.directory.parent.name)
        return real(release, *arguments, **named)

    monkeypatch.setattr(checking, "compare_made_again", note_release)
    release = divided_line.write(visits(200)).publish("one").directory
    assert made == ["visits"]
    made.clear()
    with monkeypatch.context() as patch:  # of whoever worked on them
        patch.setattr(checking, "other_software", lambda _: {"pyarrow": "1"})
        check(release, made_again=seal(release))
    assert len(made) == 1 + len(open_release(release).declared.made_of)
    made.clear()
    check(release)
    assert made == ["parts"] * len(open_release(release).declared.made_of) + ["visits"]


def test_a_part_whose_manifest_lists_another_file_is_refused(divided_line):
    release = divided_line.write(visits(200)).publish("one").directory
    files = seal(release)
    check(release, made_again=files)
    files["parts/0002/data/microdata.parquet"] = "0" * 64
    with pytest.raises(PromiseError, match=r"parts/0002: data/microdata.parquet: its SHA-256"):
        check(release, made_again=files)


def test_nothing_of_a_person_is_in_public_files(divided_line):
    release = divided_line.write(visits(200), **PEOPLE).publish("one").directory
    for path in release.rglob("*"):
        if path.is_file():
            assert b"IDENT" not in path.read_bytes()
    assert open_release(release).declared.unit == "identifier"


def test_a_fault_is_no_release(divided_line, monkeypatch):
    def broken(*_arguments):
        raise Fault("the disk is gone")

    monkeypatch.setattr("sfumato.tasks.parts.anonymize.write_candidate_of_part", broken)
    divided_line.write(visits(200))
    with pytest.raises(Fault):
        divided_line.publish("one")
    assert not (divided_line.folder / "public" / "visits").exists() or not list(
        (divided_line.folder / "public" / "visits").glob("[0-9]*")
    )
