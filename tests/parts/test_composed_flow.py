"""A composed line in parts by the command that everybody runs, also where it is killed."""

import json
import signal

import pytest

from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.faults import whole
from tests.parts.composed_line import ComposedLine
from tests.parts.test_composed import groups_of_people
from tests.parts.test_flow import told_of

pytestmark = pytest.mark.filterwarnings("default")
POINTS = [
    "after:sfumato.tasks.lines.line:keep_map",
    "before:sfumato.tasks.publication.publish:appear",
    "after:sfumato.tasks.publication.publish:appear",
    "before:sfumato.tasks.publication.publish:_record",
]


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return ComposedLine(tmp_path / "line")


def test_the_command_goes_on_part_by_part(line, start, prefect_api):
    line.publish()
    line.move(join=36)
    line.people[3] = line.person(3, year=2021)
    process = start("release", str(line.write()))
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    version = open_release(line.folder / "public" / line.name / "0002")
    assert out.splitlines()[-1] == str(version.directory)
    assert check(version.directory).derived == "equal"
    tables, text = told_of(prefect_api)
    document = json.loads(tables[f"{line.name}-composition"]["data"])
    assert version.declared.rows.vacant in [number for row in document for number in row.values()]
    reports = line.private / "reports" / "0002"
    assert json.loads((reports / "composition.json").read_bytes())["withheld"] == 1
    assert [path for path in (line.private / "runs").iterdir() if path.is_dir()] == []
    names = [name.hex() for name in groups_of_people(line, version.directory)]
    assert not any(name in out + error + text for name in names)


@pytest.mark.parametrize("point", POINTS)
def test_the_map_is_that_of_the_versions_there_are(line, start, point):
    line.publish()
    public = line.versions[0].parent
    before = whole.versions(public)
    line.move(join=36)
    spec = str(line.write())
    killed = start("release", spec, stop=f"plain,{point}")
    _, error = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, error
    assert list(whole.broken(public, before)) == []
    again = start("release", spec, stop="plain,")
    _, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    assert sorted(read_state(line.private).versions) == ["0001", "0002"]
    line.versions.append(public / "0002")
    assert len(groups_of_people(line, public / "0002")) > 150
    line.move(join=36)
    assert check(line.publish().directory).derived == "equal"
