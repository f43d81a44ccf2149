"""Killed at any step, the publication of an approved candidate is done once it is run again."""

import signal

import pytest

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.publication.check import check
from tests.approval.conftest import reviewed_line, template, waiting  # noqa: F401 - fixtures

POINTS = [
    "before:sfumato.tasks.approval.publication:require_approved",
    "after:sfumato.tasks.approval.publication:require_approved",
    "after:sfumato.tasks.publication.publish:stage",
    "before:sfumato.tasks.publication.publish:appear",
    "after:sfumato.tasks.publication.publish:appear",
    "before:sfumato.tasks.publication.publish:_record",
    "after:sfumato.tasks.publication.publish:replace_record",
    "before:sfumato.tasks.publish:_finish",
    "after:sfumato.tasks.publish:keep_report",
    "after:sfumato.tasks.approval.publication:record_approvals",
    "before:sfumato.tasks.approval.held:delete_held",
    "after:sfumato.tasks.publish:complete",
]
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("point", POINTS)
def test_an_approved_candidate_is_published_once(waiting, start, point):  # noqa: F811
    for name in ("ann", "ben"):
        waiting.decide(name)
    digest = waiting.candidate.request.digest
    published = ("publish", str(waiting.spec), "--digest", digest)
    killed = start(*published, stop=f"plain,{point}")
    _, error = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, error
    _build_in_between(waiting)
    again = start(*published, stop="plain,")
    _, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    version = waiting.line.public / "0001"
    check(version)
    assert [path.name for path in waiting.line.public.glob("[0-9]*")] == ["0001"]
    recorded_version = waiting.record.versions["0001"]
    assert recorded_version.digest == digest
    assert recorded_version.approvals is not None
    assert len(recorded_version.approvals) == 2
    assert recorded_version.accuracy is not None
    assert waiting.candidate is None
    assert waiting.endings == ["approved"]
    assert waiting.release() == version


def _build_in_between(line):
    """Whoever builds runs again meanwhile: nothing is drawn, whatever the run is told."""
    try:
        line.release()
    except SfumatoError as error:
        assert "began but did not finish" in str(error), error


def test_a_candidate_appears_whole_or_not_at_all(reviewed_line, start):  # noqa: F811
    for point in ("before:sfumato.tasks.stages.hold:put", "after:sfumato.tasks.stages.hold:put"):
        killed = start("release", str(reviewed_line.spec), stop=f"plain,{point}")
        _, error = killed.communicate(timeout=120)
        assert killed.returncode == -signal.SIGKILL, error
        candidate = reviewed_line.candidate
        assert (candidate is None) == point.startswith("before")
    candidate.require_unchanged(reviewed_line.line.private)
    assert reviewed_line.release() == candidate.place
