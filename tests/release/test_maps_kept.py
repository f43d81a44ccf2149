"""The private maps that a line keeps: nothing is lost with those it does not."""

import shutil

import numpy as np
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.life.lines import back_up, forget, restore
from sfumato.tasks.microdata.table import load, seeded_keys
from sfumato.tasks.private.people.lines import maps_of, people_of
from sfumato.tasks.private.people.store import prune_maps, slots_so_far
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.stages.evaluate import evaluate_release
from tests.release.evolving import KINDS, Evolving, evolve

ACCEPTED = {"versions": "accepted-risk"}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


def map_names(work, name="coming-and-going"):
    return sorted(path.name for path in (work / name / "map").iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_composed_lines_keep_the_maps_of_two_versions(tmp_path, work, kind):
    line = evolve(tmp_path / "line", kind, versions=4)
    assert map_names(work) == ["0003", "0004"]
    private = work / line.name
    state = read_state(private)
    assert [version.map is not None for version in state.versions.values()] == [True] * 4
    assert len(maps_of(private)) == 1
    assert len(people_of(private)) >= len(line.people)
    slots = slots_so_far(private, state)
    assert slots is not None
    assert sorted(np.unique(slots.since)) == [1, 2, 3, 4]
    line.move()
    check(line.publish())
    assert map_names(work) == ["0004", "0005"]


def test_lines_whose_versions_are_not_combined_keep_every_map(tmp_path, work):
    line = Evolving(tmp_path / "line", "split")
    for _ in range(3):
        line.publish(**ACCEPTED)
        line.move()
    assert map_names(work) == ["0001", "0002", "0003"]


def test_what_was_published_before_a_line_was_composed_is_known_by_the_maps_kept(tmp_path, work):
    line = Evolving(tmp_path / "line", "split")
    line.publish(versions="disjoint")
    for _ in range(3):
        line.move(leave=0)
        line.publish()
    assert map_names(work) == ["0003", "0004"]
    assert len(people_of(work / line.name)) == len(line.people)


def test_a_pruned_line_is_backed_up_put_back_and_forgets(tmp_path, work):
    line = evolve(tmp_path / "line", "split", versions=4)
    spec, backup, units = line.folder / "spec.yaml", tmp_path / "backup", tmp_path / "units"
    back_up(spec, backup)
    for path in (work / line.name / "map").iterdir():
        path.unlink()
    line.move()
    with pytest.raises(PromiseError, match="its map is missing"):
        line.publish()
    restore(spec, backup)
    assert map_names(work) == ["0003", "0004"]
    units.write_text(f"{min(line.people)}\n", encoding="utf-8")
    assert forget(spec, units) == 1
    shutil.rmtree(line.folder / "run-4")
    check(line.publish())
    assert map_names(work) == ["0004", "0005", "erased"]


def test_a_run_killed_before_maps_are_deleted_is_completed_by_the_next(tmp_path, work, monkeypatch):
    line = evolve(tmp_path / "line", "split", versions=2)
    line.move()

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publication, "prune_maps", die)
        with pytest.raises(KeyboardInterrupt):
            line.publish()
    assert map_names(work) == ["0001", "0002", "0003"]
    shutil.rmtree(line.folder / "run-2")
    line.move()
    check(line.publish())
    assert map_names(work) == ["0003", "0004"]
    resolved = resolve_run(line.folder / "spec.yaml")
    prune_maps(resolved.line.private, read_state(resolved.line.private))
    assert map_names(work) == ["0003", "0004"]


def test_accuracy_is_measured_of_versions_whose_map_is_kept(tmp_path, work):
    line = evolve(tmp_path / "line", "split", versions=3)
    resolved = resolve_run(line.folder / "spec.yaml")
    original = load(line.folder / "run-0" / "deidentified")
    first = line.versions[0]
    with pytest.raises(InputError, match="the record of its people is not here any more, so"):
        evaluate_release(
            first, original, Evaluation(), resolved.line, seeded_keys(1), lambda *_: None
        )
    last, original = line.versions[2], load(line.folder / "run-2" / "deidentified")
    evaluate_release(last, original, Evaluation(), resolved.line, seeded_keys(1), lambda *_: None)
