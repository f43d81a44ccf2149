"""Killed anywhere, a run leaves the old version or the new one whole, and the next run succeeds."""

import signal
from importlib import import_module

import pytest

from sfumato.tasks.publication.check import check
from tests.faults import whole
from tests.faults.trials import POINTS

COMMAND = [
    "before:sfumato.tasks.validate:seal_candidate",
    "before:sfumato.tasks.publication.publish:appear",
    "after:sfumato.tasks.publication.publish:appear",
]
PLAIN = [
    "after:sfumato.tasks.ingest:write_ingested",
    "after:sfumato.tasks.deidentify:write_deidentified",
    "before:sfumato.tasks.verify:existing_version",
    "after:sfumato.tasks.anonymize:write_candidate",
    "before:sfumato.tasks.validate:assess_candidate",
    "after:sfumato.tasks.validate:seal_candidate",
    "before:sfumato.tasks.publication.publish:stage",
    "after:sfumato.tasks.publication.publish:stage",
    "before:sfumato.tasks.publication.publish:_record",
    "after:sfumato.tasks.publication.publish:replace_record",
    "before:sfumato.tasks.evaluate:evaluate_release",
    "change:60",
    "change:75",
]
pytestmark = pytest.mark.filterwarnings("default")


def versions(small):
    line = small.folder / "public" / "wages"
    return sorted(p for p in line.glob("*") if p.name.isdigit()) if line.exists() else []


def test_every_point_is_still_there():
    for point in [*COMMAND, *PLAIN, *POINTS]:
        when, _, where = point.partition(":")
        if when != "change":
            module, name = where.split(":")
            assert callable(getattr(import_module(module), name)), point


@pytest.mark.parametrize("point", COMMAND)
def test_the_command_killed_at(point, small, start):
    killed_and_run_again(small, start, point, "")


@pytest.mark.parametrize("point", PLAIN)
def test_the_flow_killed_at(point, small, start):
    """Without Prefect, which has no part in this."""
    killed_and_run_again(small, start, f"plain,{point}", "plain,")


def killed_and_run_again(small, start, point, then):
    killed = start("release", str(small.spec), stop=point)
    _, error = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, error
    public = small.folder / "public" / "wages"
    assert list(whole.broken(public, {})) == []
    again = start("release", str(small.spec), stop=then)
    out, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    assert out.splitlines()[-1] == str(public / "0001")
    assert list(whole.versions(public)) == ["0001"]
    assert [*whole.broken(public, {}), *whole.find_problems(public)] == []
    assert list(whole.left_behind(small.folder.parent)) == []


@pytest.mark.parametrize("same", [True, False])
def test_two_runs_at_once(same, small, start):
    """The page tells what versions expose together: a version that came between is told of, too."""
    from tests.release.small import people

    small.write(people(), versions="accepted-risk")
    other = small.folder / "other.csv"
    other.write_text((small.folder / "people.csv").read_text().replace("IDENT-1,", "IDENT-x,"))
    if not same:
        other.write_text("\n".join(other.read_text().splitlines()[:-5]) + "\n")
    changes = () if same else ("--set", "source.uri=other.csv")
    runs = [start("release", str(small.spec)), start("release", str(small.spec), *changes)]
    outputs = [run.communicate(timeout=120) for run in runs]
    if 3 in (codes := [run.returncode for run in runs]):
        late = codes.index(3)
        assert not same
        assert outputs[late][1].endswith("was published in the meantime. Run the command again\n")
        again = start("release", str(small.spec), *(changes if late else ()))
        outputs[late] = again.communicate(timeout=120)
        codes[late] = again.returncode
    assert codes == [0, 0], outputs
    version_names = versions(small)
    assert [v.name for v in version_names] == (["0001"] if same else ["0001", "0002"])
    for version in version_names:
        assert check(version).verdicts
