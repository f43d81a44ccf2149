"""The folder on the desk: files that are offered, changes, undo, and changes from outside."""

import json
import stat

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.workbench.desk import ChangedOutsideError, Folder
from tests.workbench.conftest import SPEC, TOWNS


@pytest.fixture
def desk(folder, tmp_path):
    return Folder(folder, tmp_path / "work")


def undo(desk):
    return desk.undo("patients.yaml", desk.open("patients.yaml").digest)


def test_tables_and_specs_are_offered_and_nothing_outside(desk, folder, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    (folder / "out.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "in.csv").symlink_to(folder / "patients.csv")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.csv").write_text("a\n1\n", encoding="utf-8")
    (folder / "notes.yaml").write_text("just: words\n", encoding="utf-8")
    (folder / "broken.yaml").write_text("{", encoding="utf-8")
    assert desk.files((".csv",)) == ["in.csv", "patients.csv", "hierarchies/town.csv"]
    assert desk.specs() == ["patients.yaml"]
    for name in (
        "out.csv",
        "../secret.csv",
        str(tmp_path / "secret.csv"),
        "",
        "a\0b",
        "hierarchies",
    ):
        with pytest.raises(InputError):
            desk.path(name)


def test_nothing_published_is_offered(desk, folder):
    for place in ("releases/line/0001/data", "line/0001"):
        (folder / place).mkdir(parents=True)
        (folder / place / "t.csv").write_text("a\n1\n", encoding="utf-8")
    for line in ("releases/line", "line"):
        (folder / line / "releases.json").write_text("{}", encoding="utf-8")
        (folder / line / "index.html").write_text("", encoding="utf-8")
    assert desk.files((".csv", ".html")) == ["patients.csv", "hierarchies/town.csv"]


def test_a_change_is_undone_step_by_step(desk, folder):
    path, towns = folder / "patients.yaml", folder / "hierarchies" / "town.csv"
    desk.change(
        "patients.yaml", desk.open("patients.yaml").digest, {path: SPEC + "strata: []\n"}, "strata"
    )
    new = {path: SPEC + "nulls: drop-row\n", towns: TOWNS.replace("south", "SOUTH")}
    desk.change("patients.yaml", desk.open("patients.yaml").digest, new, "towns")
    assert desk.latest_change("patients.yaml") == "towns"
    assert undo(desk) == "towns"
    assert path.read_text(encoding="utf-8") == SPEC + "strata: []\n"
    assert towns.read_text(encoding="utf-8") == TOWNS
    assert undo(desk) == "strata"
    assert path.read_text(encoding="utf-8") == SPEC
    assert undo(desk) is None
    assert desk.latest_change("patients.yaml") is None


def test_a_new_file_goes_when_it_is_undone(desk, folder):
    path = folder / "hierarchies" / "sex.csv"
    desk.change("patients.yaml", desk.open("patients.yaml").digest, {path: "f,*\nm,*\n"}, "sex")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    undo(desk)
    assert not path.exists()


@pytest.mark.parametrize("file", ["patients.yaml", "hierarchies/town.csv"])
def test_what_changed_outside_is_never_overwritten(desk, folder, file):
    spec = desk.open("patients.yaml")
    text = (folder / file).read_text(encoding="utf-8") + "# by an editor\n"
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(ChangedOutsideError, match="Nothing was done"):
        desk.change("patients.yaml", spec.digest, {spec.path: "lost: 1\n"}, "a change")
    assert (folder / file).read_text(encoding="utf-8") == text
    assert desk.latest_change("patients.yaml") is None


def test_what_changed_outside_is_not_undone(desk, folder):
    spec = desk.open("patients.yaml")
    desk.change("patients.yaml", spec.digest, {spec.path: SPEC + "strata: []\n"}, "strata")
    text = SPEC + "strata: [sex]\n"
    spec.path.write_text(text, encoding="utf-8")
    with pytest.raises(ChangedOutsideError, match="outside the workbench"):
        undo(desk)
    assert spec.path.read_text(encoding="utf-8") == text


def test_what_was_replaced_is_private(desk, folder, tmp_path):
    spec = desk.open("patients.yaml")
    desk.change("patients.yaml", spec.digest, {spec.path: SPEC + "strata: []\n"}, "strata")
    files = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
    assert [json.loads(path.read_text(encoding="utf-8"))["title"] for path in files] == ["strata"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    folders = [path for path in (tmp_path / "work").rglob("*") if path.is_dir()]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in folders)


def test_a_change_to_the_same_is_none(desk):
    spec = desk.open("patients.yaml")
    desk.change("patients.yaml", spec.digest, {spec.path: SPEC}, "nothing")
    assert desk.latest_change("patients.yaml") is None
