"""Sealed candidates: one that changed since its validation is refused."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.remember import map_in, write_map_followed, write_version_before
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.people.identity import represented_part
from sfumato.tasks.publication import check, staging
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.schema.files import sha256_of
from sfumato.tasks.stages.anonymize import declaration
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.stage import read_note, write_note
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from sfumato.tasks.terms.tables import read_tables, write_tables
from tests.lines import TIME


@pytest.fixture
def prepared_candidate(small):
    """The small line's plan and a candidate that is not yet judged."""
    plan, run = small.prepare_run("one")
    return plan, run / "candidate"


@pytest.fixture
def sealed_release(prepared_candidate):
    """The same, validated."""
    plan, candidate = prepared_candidate
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    return plan, candidate


def publish_candidate(plan, candidate):
    identification = identity(candidate.parent / "deidentified")
    return publish(plan.line, sealed_candidate(candidate), identification, TIME)


def files(candidate):
    return sorted(path for path in (candidate / "release").rglob("*") if path.is_file())


def nothing_is_published(plan):
    return not plan.line.public.exists() or not list(plan.line.public.glob("[0-9.]*[0-9a-f]"))


def test_the_very_files_that_were_validated_are_published(sealed_release):
    plan, candidate = sealed_release
    version = publish_candidate(plan, candidate).directory
    for path in files(candidate):
        published = version / path.relative_to(candidate / "release")
        assert published.read_bytes() == path.read_bytes()


def test_what_was_not_validated_is_not_published(prepared_candidate):
    plan, candidate = prepared_candidate
    with pytest.raises(PromiseError, match="was not validated"):
        publish_candidate(plan, candidate)
    assert nothing_is_published(plan)


def test_a_change_of_data_before_they_are_sealed_is_refused(prepared_candidate):
    plan, candidate = prepared_candidate
    assessment = assess_candidate(candidate, plan.withheld)
    (table,) = (candidate / "release" / "data").iterdir()
    table.write_bytes(table.read_bytes() + b"\n")
    with pytest.raises(PromiseError, match=f"{table.name}: was changed after validation"):
        seal_candidate(candidate, assessment)
    with pytest.raises(PromiseError, match="was not validated"):
        publish_candidate(plan, candidate)
    assert nothing_is_published(plan)


def test_data_that_read_back_as_other_bytes_are_not_sealed(prepared_candidate):
    """The check that everyone makes of the tables must give what is published."""
    plan, candidate = prepared_candidate
    (table,) = (candidate / "release" / "data").iterdir()
    pq.write_table(pq.read_table(table), table, compression="gzip", store_schema=False)
    assessment = assess_candidate(candidate, plan.withheld)
    with pytest.raises(PromiseError, match=f"{table.name}: differs from its rows"):
        seal_candidate(candidate, assessment)


def test_a_file_beside_the_data_is_not_sealed(prepared_candidate):
    plan, candidate = prepared_candidate
    (candidate / "release" / "data" / "extra.csv").write_text("a\n1\n")
    assessment = assess_candidate(candidate, plan.withheld)
    with pytest.raises(PromiseError, match=r"extra\.csv: does not belong to the release"):
        seal_candidate(candidate, assessment)


@pytest.fixture
def forged_candidate(sealed_release):
    """A sealed candidate whose CSV file, and the seal, somebody changed together."""
    plan, candidate = sealed_release
    path = candidate / "release" / "data" / "microdata.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    document = read_note(candidate, "assessment")
    document["sha256"]["data/microdata.csv"] = sha256_of(path)
    write_note(candidate, "assessment", document)
    return plan, candidate


def publish_forged(plan, candidate, **changed):
    identification = identity(candidate.parent / "deidentified")
    return publish(plan.line, replace(sealed_candidate(candidate), **changed), identification, TIME)


def test_what_validation_made_of_the_tables_read_back_is_not_made_once_more(
    sealed_release, monkeypatch
):
    monkeypatch.delattr(check, "compare_made_again")
    assert not publish_candidate(*sealed_release).existed


def test_files_are_those_that_the_manifest_lists(forged_candidate):
    with pytest.raises(PromiseError, match=r"microdata\.csv: its SHA-256 is not the one"):
        publish_forged(*forged_candidate)


def test_what_reviewers_approved_is_made_once_more(forged_candidate):
    """Whoever builds it need not be trusted with the public place."""
    plan, candidate = forged_candidate
    document = json.loads((candidate / "release" / "datapackage.json").read_bytes())
    with pytest.raises(PromiseError, match=r"microdata\.csv: differs from the published tables"):
        publish_forged(plan, candidate, digest=document["sfumato"]["digest"])
    assert nothing_is_published(plan)


def test_what_earlier_software_validated_is_made_once_more(forged_candidate):
    plan, candidate = forged_candidate
    document = read_note(candidate, "assessment")
    del document["made-again"]
    write_note(candidate, "assessment", document)
    with pytest.raises(PromiseError, match=r"microdata\.csv: differs from the published tables"):
        publish_forged(plan, candidate)


def test_what_other_software_validated_is_made_once_more(forged_candidate, monkeypatch):
    monkeypatch.setattr(staging, "other_software", lambda _: {"pyarrow": "1"})
    with pytest.raises(PromiseError, match=r"microdata\.csv: differs from the published tables"):
        publish_forged(*forged_candidate)


def test_a_change_of_any_file_after_validation_is_refused(sealed_release):
    plan, candidate = sealed_release
    assert len(files(candidate)) >= 6
    for path in files(candidate):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(PromiseError, match=f"{path.name}: was changed after validation"):
            publish_candidate(plan, candidate)
        path.unlink()
        with pytest.raises(PromiseError, match=f"{path.name}: was added or removed"):
            publish_candidate(plan, candidate)
        path.write_bytes(whole)
    assert nothing_is_published(plan)
    assert not publish_candidate(plan, candidate).existed


def test_a_file_added_after_validation_is_refused(sealed_release):
    plan, candidate = sealed_release
    (candidate / "release" / "data" / "extra.csv").write_text("a\n1\n")
    with pytest.raises(PromiseError, match=r"data/extra\.csv: was added or removed"):
        publish_candidate(plan, candidate)


def test_other_rows_suppressed_after_validation_are_refused(sealed_release):
    plan, candidate = sealed_release
    np.save(candidate / "left_out.npy", np.ones(60, dtype=bool))
    with pytest.raises(PromiseError, match=r"left_out\.npy: was changed after validation"):
        publish_candidate(plan, candidate)


def test_other_people_after_validation_are_refused(sealed_release):
    """The map of who stands in which group is private, and no file of the release."""
    plan, candidate = sealed_release
    place = candidate / "map.parquet"
    pq.write_table(pq.read_table(place).slice(1), place)
    with pytest.raises(PromiseError, match="map was changed after validation"):
        publish_candidate(plan, candidate)
    place.unlink()
    with pytest.raises(PromiseError, match="map was changed after validation"):
        publish_candidate(plan, candidate)
    assert nothing_is_published(plan)


def test_the_line_remembers_which_rows_a_version_leaves_out(prepared_candidate):
    plan, candidate = prepared_candidate
    rows = load(candidate.parent / "deidentified")
    np.save(candidate / "left_out.npy", np.arange(rows.rows) < 2)
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    version = publish_candidate(plan, candidate).directory.name
    assert represented_part(plan.line.private, version, rows).rows == rows.rows - 2


def test_what_a_line_remembers_goes_with_the_candidate(sealed_release):
    _, candidate = sealed_release
    write_note(candidate, "counts", {"entered": 3})
    write_map_followed(candidate, "a digest")
    write_version_before(candidate, "another")
    sealed_found = sealed_candidate(candidate)
    assert sealed_found.map.path == map_in(candidate) is not None
    assert sealed_found.counts == {"entered": 3}
    assert (sealed_found.followed, sealed_found.made_after) == ("a digest", "another")


def test_a_changed_candidate_can_be_validated_anew(sealed_release):
    plan, candidate = sealed_release
    declared = declaration(candidate)
    tables = read_tables(declared, candidate / "release" / "data")
    (candidate / "release" / "data" / "microdata.csv").write_text("nothing")
    with pytest.raises(PromiseError, match="was changed after validation"):
        publish_candidate(plan, candidate)
    write_tables(tables, declared, candidate / "release" / "data")
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    assert not publish_candidate(plan, candidate).existed


def test_what_is_judged_anew_is_not_validated_yet(sealed_release):
    plan, candidate = sealed_release
    assess_candidate(candidate, plan.withheld)
    with pytest.raises(PromiseError, match="was not validated"):
        publish_candidate(plan, candidate)


def test_a_broken_promise_is_not_sealed(prepared_candidate):
    plan, candidate = prepared_candidate
    declared = declaration(candidate)
    stricter = tuple(type(p)(**{**vars(p), "k": 50}) for p in declared.promises)
    broken = declared.model_copy(update={"promises": stricter})
    text = broken.model_dump_json(by_alias=True)
    (candidate / "declared.json").write_text(text, encoding="utf-8")
    with pytest.raises(PromiseError, match="ke-anonymity is broken in"):
        seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    with pytest.raises(PromiseError, match="was not validated"):
        publish_candidate(plan, candidate)


def test_a_map_that_is_changed_once_it_was_found_is_not_read(sealed_release):
    _, candidate = sealed_release
    map_ = sealed_candidate(candidate).map
    assert map_.read().num_rows > 0
    map_.path.write_bytes(map_.path.read_bytes() + b"0")
    with pytest.raises(PromiseError, match="map was changed after validation"):
        map_.read()
    with pytest.raises(PromiseError, match="map was changed after validation"):
        map_.keep(candidate.parent, "0001")
