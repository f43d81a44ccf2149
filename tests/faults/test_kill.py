"""Killed anywhere, a run leaves the old version or the new one whole, and the next run succeeds."""

import signal

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.versions import read_record

POINTS = [
    "after:sfumato.tasks.ingest:write_ingested",
    "after:sfumato.tasks.deidentify:write_deidentified",
    "before:sfumato.tasks.verify:existing_version",
    "after:sfumato.tasks.anonymize:write_candidate",
    "before:sfumato.tasks.validate:assess_candidate",
    "before:sfumato.tasks.validate:seal_candidate",
    "after:sfumato.tasks.validate:seal_candidate",
    "before:sfumato.tasks.publication.publish:stage",
    "after:sfumato.tasks.publication.publish:stage",
    "before:sfumato.tasks.publication.publish:appear",
    "after:sfumato.tasks.publication.publish:appear",
    "before:sfumato.tasks.evaluate:evaluate_release",
]
pytestmark = pytest.mark.filterwarnings("default")


def versions(small):
    line = small.folder / "public" / "wages"
    return sorted(p for p in line.glob("*") if p.is_dir()) if line.exists() else []


@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point, small, start):
    killed = start("release", str(small.spec), stop=point)
    _, said = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, said
    seen = [v for v in versions(small) if v.name.isdigit()]
    assert len(seen) == (point in POINTS[-2:])
    for version in seen:
        assert check(version).verdicts
    again = start("release", str(small.spec))
    out, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert out.splitlines()[-1] == str(small.folder / "public" / "wages" / "0001")
    (version,) = versions(small)
    assert check(version).verdicts
    assert read_record(version.parent).versions["0001"].accuracy
    runs = small.folder.parent / "work" / "wages" / "runs"
    assert [p for p in runs.iterdir() if p.is_dir()] == []


@pytest.mark.parametrize("same", [True, False])
def test_two_runs_at_once(same, small, start):
    from tests.release.small import people

    small.write(people(), versions="accepted-risk")
    other = small.folder / "other.csv"
    other.write_text((small.folder / "people.csv").read_text().replace("IDENT-1,", "IDENT-x,"))
    if not same:
        other.write_text("\n".join(other.read_text().splitlines()[:-5]) + "\n")
    changes = () if same else ("--set", "source.uri=other.csv")
    runs = [start("release", str(small.spec)), start("release", str(small.spec), *changes)]
    said = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    found = versions(small)
    assert [v.name for v in found] == (["0001"] if same else ["0001", "0002"])
    for version in found:
        assert check(version).verdicts
