"""At most one candidate of a line waits, and none is drawn for luck."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from sfumato.expectations.shared.errors import Fault, InputError, PromiseError
from sfumato.flows.operation.health import examine_machine
from sfumato.tasks.approval.held import seal_digest
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.query.accuracy.scores import Measured
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.terms.opened import open_release
from tests.parts.composed_line import ComposedLine
from tests.parts.divided import Divided, visits
from tests.release.evolving import Evolving
from tests.release.small import SPEC, people
from tests.release.test_recoded import TOWNS, changes

KEPT = {"rule": "composed", "changes": "as-first"}
ASKED = {
    "workloads": [
        {"kind": "range", "aggregate": "sum", "over": "age", "spans": [5, 40], "queries": 20}
    ]
}
OTHERS = people(first=1000, seed=2)


def test_the_candidate_that_waits_is_found_again(waiting):
    first = waiting.candidate.request
    assert waiting.release() == waiting.candidate.place
    assert waiting.candidate.request == first


def test_two_runs_at_once_leave_one_candidate(waiting, monkeypatch):
    """The second found none that waits, and the first was faster: its draw is destroyed unseen."""
    first = waiting.candidate.request
    monkeypatch.setattr("sfumato.flows.runs.releasing.find_candidate", lambda *_: None)
    assert waiting.release() == waiting.candidate.place
    assert waiting.candidate.request == first
    assert waiting.endings == []


def test_another_source_makes_the_candidate_give_way(waiting):
    waiting.decide("ann")
    waiting.write(OTHERS).release()
    assert waiting.endings == ["superseded"]
    assert not (waiting.candidate.place / "decisions").exists()
    waiting.write()
    with pytest.raises(PromiseError, match=r"was superseded .* second random draw"):
        waiting.release()


@pytest.mark.parametrize(("verdict", "end"), [("return", "returned"), ("reject", "rejected")])
def test_what_was_turned_down_is_destroyed_and_not_drawn_again(waiting, verdict, end):
    waiting.decide("ann")
    place = waiting.candidate.place
    waiting.decide("ben", verdict, reason="too few rows")
    assert not place.exists()
    assert waiting.endings == [end]
    with pytest.raises(PromiseError, match=rf"was {end} .*Change the source or the spec first"):
        waiting.release()
    waiting.write(title="Other words")
    assert waiting.release() == waiting.candidate.place


@pytest.mark.parametrize("place", ["candidate", "."])
def test_a_reviewer_may_stand_beside_the_candidate(waiting, monkeypatch, place):
    candidate_place = waiting.candidate.place
    monkeypatch.chdir(candidate_place.parent if place == "candidate" else candidate_place)
    waiting.decide("ben", "return", place=place)
    assert waiting.endings == ["returned"]


def test_what_was_turned_down_elsewhere_ends_with_the_next_run(waiting, call):
    text = waiting.decide("ben", "reject", place=waiting.copy())
    digest = waiting.candidate.request.digest
    with pytest.raises(PromiseError, match=r"was rejected by ben"):
        waiting.publish(text)
    assert waiting.candidate.request.digest == digest
    assert call("review", "add", waiting.candidate.place, text)[0] == 0
    assert waiting.endings == ["rejected"]


def test_one_who_turns_down_outweighs_all_who_approve(waiting, monkeypatch):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.reviewer("eve", trusted=None)
    monkeypatch.setattr("sfumato.flows.review.take_down", lambda *_: False)
    waiting.decide("eve", "return")
    with pytest.raises(PromiseError, match=r"was returned by eve"):
        waiting.publish()
    with pytest.raises(PromiseError, match=r"was returned"):
        waiting.release()
    assert waiting.endings == ["returned"]


def test_what_its_maker_takes_back_is_not_drawn_again(waiting, call):
    code, output, _ = call("review", "withdraw", waiting.spec, "--reason", "wrong month")
    assert (code, "is withdrawn" in output) == (0, True)
    assert waiting.endings == ["withdrawn"]
    with pytest.raises(PromiseError, match=r"was withdrawn"):
        waiting.release()


@pytest.mark.parametrize("verdict", ["return", "withdraw"])
def test_what_is_being_published_is_not_taken_down(waiting, call, monkeypatch, verdict):
    copy = waiting.copy()
    waiting.decide("ann")
    waiting.decide("ben")
    against = waiting.decide("ann", "return", place=copy)
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.tasks.publish._finish", _fail)
        with pytest.raises(Fault):
            waiting.publish()
    more = ["add", against] if verdict == "return" else ["withdraw", "--reason", "wrong month"]
    code, _, error = call("review", more[0], waiting.candidate.place, *more[1:])
    assert (code, "is being published or already was" in error) == (3, True)
    assert waiting.publish(digest=waiting.candidate.request.digest).name == "0001"
    assert waiting.endings == ["approved"]
    assert len(waiting.record.versions["0001"].approvals) == 2


def _fail(*_arguments):
    raise RuntimeError


def test_an_expired_candidate_is_destroyed_before_another_is_drawn(waiting, monkeypatch):
    first = waiting.candidate.request
    later = first.expires + timedelta(seconds=1)
    monkeypatch.setattr("sfumato.tasks.hold.datetime", _Clock(later))
    waiting.release()
    assert waiting.endings == ["expired"]
    assert waiting.candidate.request.digest != first.digest
    assert waiting.candidate.request.made == later


class _Clock:
    def __init__(self, time):
        self._time = time

    def now(self, _zone):
        return self._time


def test_a_candidate_waits_for_as_long_as_the_spec_says(reviewed_line):
    reviewed_line.small.write(people(), approval={"reviewers": 1, "days": 3})
    reviewed_line.release()
    request = reviewed_line.candidate.request
    assert request.expires - request.made == timedelta(days=3)
    assert abs(request.made - datetime.now(UTC)) < timedelta(minutes=5)


def test_required_is_one_reviewer(reviewed_line):
    reviewed_line.small.write(people(), approval="required")
    reviewed_line.release()
    assert reviewed_line.candidate.request.reviewers == 1


def test_a_spec_that_asks_for_approval_no_more_draws_no_second_time(waiting):
    waiting.write(reviewers=0)
    with pytest.raises(PromiseError, match=r"waits for approval .* withdraw it first"):
        waiting.release()
    waiting.write(OTHERS, reviewers=0)
    assert waiting.release().name == "0001"
    assert waiting.endings == ["superseded"]


def test_a_withdrawn_version_is_not_drawn_again(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.publish()
    withdraw(waiting.line, "0001", "a mistake")
    with pytest.raises(PromiseError, match=r"was withdrawn"):
        waiting.release()


def test_the_next_version_waits_beside_the_one_before(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.publish()
    waiting.write(OTHERS).release()
    page = (waiting.candidate.report / "review.html").read_text()
    assert "is compared with version 0001" in page
    waiting.decide("ann")
    waiting.decide("ben")
    assert waiting.publish().name == "0002"
    assert [version.status for version in waiting.record.versions.values()] == [
        "superseded",
        "published",
    ]


def test_a_candidate_whose_truths_lie_outside_its_bounds_never_waits(reviewed_line, monkeypatch):
    monkeypatch.setattr(Measured, "inside", property(lambda _measured: False))
    with pytest.raises(
        Fault, match=r"could not be kept for review: the truth is outside the bounds for 10 of 10"
    ):
        reviewed_line.release()
    assert reviewed_line.candidate is None


def test_releases_in_parts_wait_too(reviewed_line):
    reviewed_line.small = Divided(reviewed_line.folder / "visits").write(
        visits(), approval="required"
    )
    reviewed_line.release()
    assert (
        "because this release is in parts"
        in (reviewed_line.candidate.report / "review.html").read_text()
    )
    reviewed_line.reviewer("ann", "visits")
    reviewed_line.decide("ann")
    version = reviewed_line.publish()
    check(version)
    assert reviewed_line.record.versions["0001"].approvals
    assert reviewed_line.release() == version


def test_what_waits_is_sealed_with_all_that_is_private(waiting):
    candidate = waiting.candidate
    assert seal_digest(candidate.place) == candidate.request.sealed
    for folder in ("candidate", "identity", "report"):
        extra = candidate.place / folder / "extra"
        extra.write_text("")
        assert seal_digest(candidate.place) != candidate.request.sealed
        extra.unlink()


def test_a_candidate_of_newer_software_is_told(waiting):
    waiting.edit("request.json", lambda document: document.update(format=9))
    with pytest.raises(InputError, match=r"newer"):
        waiting.release()


def test_a_backup_put_back_forgets_no_decision(waiting, call):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.publish()
    old, new = waiting.folder / "old.backup", waiting.folder / "new.backup"
    assert call("line", "backup", waiting.spec, old)[0] == 0
    waiting.write(OTHERS).release()
    waiting.decide("ann", "reject")
    assert call("line", "backup", waiting.spec, new)[0] == 0
    for file in (old, new):
        assert call("line", "restore", waiting.spec, file)[0] == 0
        assert waiting.endings == ["approved", "rejected"]
    (waiting.line.private / "reviews.json").unlink()
    assert call("line", "restore", waiting.spec, new)[0] == 0
    with pytest.raises(PromiseError, match=r"was rejected"):
        waiting.release()


def test_health_tells_of_candidates(waiting):
    def health():
        finding = {candidate.about: candidate for candidate in examine_machine()}[
            "candidate of wages"
        ]
        return finding.well, finding.answer.split(",")[0]

    assert health() == (True, "pending")
    waiting.decide("ann")
    waiting.decide("ben")
    assert health() == (False, "approved")


def test_the_list_of_what_became_of_candidates(waiting, call):
    waiting.decide("ann", "reject", reason="too risky")
    code, output, _ = call("review", "list", waiting.spec, "--past")
    assert (code, "rejected: too risky" in output) == (0, True)
    code, output, _ = call("review", "list", waiting.spec, "--past", "--json")
    assert json.loads(output)["past"][0]["by"].startswith("ann ")


def test_suppressed_rows_are_not_measured(reviewed_line):
    wage = {**SPEC["columns"]["wage"], "unprotected": "a test"}
    columns = changes("dropping", "generalized")["columns"] | {"wage": wage}
    promises = [{"model": "k-anonymity", "k": 6}]
    (reviewed_line.small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
    reviewed_line.write(
        reviewers=1, **changes("dropping", "generalized", promises=promises, columns=columns)
    )
    reviewed_line.release()
    assert sealed_candidate(reviewed_line.candidate.candidate).suppressed.any()
    reviewed_line.reviewer("ann")
    reviewed_line.decide("ann")
    assert reviewed_line.publish().name == "0001"


def test_a_composed_line_goes_on_from_what_was_approved(reviewed_line):
    line = Evolving(reviewed_line.folder / "evolving", "ranges")
    reviewed_line.reviewer("ann", "*")
    for number in ("0001", "0002"):
        spec = line.write(approval="required", evaluate=ASKED, versions=KEPT)
        reviewed_line.small = SimpleNamespace(spec=spec)
        reviewed_line.release()
        reviewed_line.decide("ann")
        version = reviewed_line.publish()
        assert version.name == number
        check(version)
        for person in list(line.people.values())[:9]:
            person["hours"] = 500  # their slots keep what was published of them
    assert reviewed_line.endings == ["approved", "approved"]


def test_a_composed_line_in_parts_goes_on_from_what_was_approved(reviewed_line):
    line = ComposedLine(reviewed_line.folder / "in-parts")
    reviewed_line.reviewer("ann", "*")
    for number in ("0001", "0002"):
        reviewed_line.small = SimpleNamespace(spec=line.write(approval="required"))
        reviewed_line.release()
        reviewed_line.decide("ann")
        version = reviewed_line.publish()
        assert version.name == number
        assert check(version).derived == "equal"
        line.versions.append(version)
        line.move(join=36)
    assert open_release(version).declared.predecessor is not None


def test_who_builds_leaves_the_public_place_alone(waiting, monkeypatch):
    waiting.decide("ann")
    waiting.decide("ben")
    version = waiting.publish()
    monkeypatch.setattr("sfumato.tasks.publication.publish.recover", pytest.fail)
    assert waiting.release() == version


def test_who_builds_a_candidate_needs_no_signing_key(reviewed_line):
    publish = {"uri": "public", "signed-by": "kept-by-the-publisher"}
    with pytest.raises(InputError, match="kept-by-the-publisher"):
        reviewed_line.write(reviewers=0, publish=publish).release()
    reviewed_line.write(publish=publish).release()
    assert reviewed_line.candidate is not None
