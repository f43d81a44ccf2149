"""A candidate that waits is published once enough reviewers approve of it, and not before."""

from datetime import UTC, datetime, timedelta

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.approval import gate, publication
from sfumato.tasks.approval.decisions import decide, read_text
from sfumato.tasks.approval.reviewers import reviewers_file
from sfumato.tasks.private.state import read_state, write_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import publish as publish_version
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.verification.signing_keys import open_signer, signing_key

AFTER = datetime.now(UTC) + timedelta(days=400)


def test_nothing_appears_before_it_is_approved(waiting):
    assert waiting.candidate.request.reviewers == 2
    assert not waiting.line.public.exists()
    with pytest.raises(PromiseError, match=r"approval: 0 of 2 reviewers approve candidate"):
        waiting.publish()
    waiting.decide("ann")
    with pytest.raises(PromiseError, match=r"approval: 1 of 2 reviewers approve candidate"):
        waiting.publish()
    assert not list(waiting.line.public.glob("[0-9]*"))


def test_an_approved_candidate_is_published_as_it_waited(waiting):
    digest = waiting.candidate.request.digest
    waiting.decide("ann")
    waiting.decide("ben", reason="risk is low")
    version = waiting.publish()
    check(version)
    assert waiting.candidate is None
    assert waiting.endings == ["approved"]
    recorded_version = waiting.record.versions["0001"]
    assert recorded_version.digest == digest
    assert [approval.by.split()[0] for approval in recorded_version.approvals] == ["ann", "ben"]
    assert {approval.reason for approval in recorded_version.approvals} == {
        "as agreed",
        "risk is low",
    }
    page = (waiting.line.public / "index.html").read_text()
    assert "<h3>Approved</h3>" in page
    assert "“risk is low”" in page
    assert recorded_version.approver == ", ".join(
        approval.by for approval in recorded_version.approvals
    )
    assert [workload["queries"] for workload in recorded_version.accuracy] == [5, 5]
    reports = waiting.line.reports("0001")
    assert {"review.html", "accuracy.html", "partition.json"} <= {p.name for p in reports.iterdir()}


def test_a_version_that_was_approved_stands_for_whoever_builds_it(waiting):
    signatures = [waiting.decide(name, place=waiting.copy()) for name in ("ann",)]
    waiting.decide("ben")
    digest = waiting.candidate.request.digest
    version = waiting.publish(*signatures)
    assert waiting.release() == waiting.publish(digest=digest) == version


def test_signatures_may_be_given_in_place_of_being_left(waiting):
    copy = waiting.copy()
    codes = [waiting.decide(name, place=copy) for name in ("ann", "ben")]
    with pytest.raises(PromiseError, match=r"0 of 2"):
        waiting.publish()
    assert waiting.publish(*codes).name == "0001"


def test_one_reviewer_is_one_however_often_they_approve(waiting):
    twice = [waiting.decide("ann", place=waiting.candidate.place) for _ in range(2)]
    with pytest.raises(PromiseError, match=r"1 of 2"):
        waiting.publish(*twice)


def test_the_builder_does_not_approve(waiting, call):
    assert call("keys", "generate", "own")[0] == 0
    _, public, _ = call("keys", "export", "own")
    file = waiting.folder / "own.json"
    file.write_text(public)
    code, _, error = call("review", "trust", file, "--line", "wages")
    assert (code, "is a key of this work directory, which publishes" in error) == (2, True)
    place = reviewers_file({"XDG_CONFIG_HOME": str(waiting.folder / "config")})
    place.write_text(place.read_text().replace('"wages":[', f'"wages":[{public.strip()},'))
    now = datetime.now(UTC).replace(microsecond=0)
    signer = open_signer(signing_key(waiting.line.work, "own"))
    own = decide(waiting.candidate.request, "approved", "mine", signer, now).text
    with pytest.raises(PromiseError, match=r"1 of 2 .*work directory, which builds the candidate"):
        waiting.publish(waiting.decide("ann"), own)


def test_reviewers_are_those_of_the_publishing_user(waiting):
    waiting.reviewer("eve", trusted=None)
    waiting.decide("ann")
    waiting.decide("eve")
    with pytest.raises(PromiseError, match=r"1 of 2 .*eve .*not a reviewer of this line"):
        waiting.publish()


def test_a_reviewer_who_counts_no_more(waiting, call):
    waiting.decide("ann")
    waiting.decide("ben")
    _, listed, _ = call("review", "reviewers")
    fingerprint = listed.splitlines()[0].split("(")[1].rstrip(")")
    assert call("review", "distrust", fingerprint)[0] == 0
    with pytest.raises(PromiseError, match=r"1 of 2"):
        waiting.publish()


@pytest.mark.parametrize("open_to", ["file", "directory"])
def test_a_file_of_reviewers_that_others_can_write_counts_for_nobody(waiting, open_to):
    waiting.decide("ann")
    waiting.decide("ben")
    place = reviewers_file({"XDG_CONFIG_HOME": str(waiting.folder / "config")})
    (place if open_to == "file" else place.parent).chmod(0o770)
    with pytest.raises(InputError, match=r"other users can write this file"):
        waiting.publish()


def test_an_approval_expires(waiting, monkeypatch):
    now = datetime.now(UTC) + timedelta(days=2)
    waiting.decide("ann", "approve", "--until", f"{now:%Y-%m-%d}")
    waiting.decide("ben")
    monkeypatch.setattr(publication, "datetime", _Clock(now + timedelta(days=2)))
    with pytest.raises(PromiseError, match=r"1 of 2 .*expired"):
        waiting.publish()


def test_a_candidate_expires_with_all_its_approvals(waiting, monkeypatch):
    waiting.decide("ann")
    waiting.decide("ben")
    monkeypatch.setattr(publication, "datetime", _Clock(AFTER))
    with pytest.raises(PromiseError, match=r"0 of 2 .*expired"):
        waiting.publish()


class _Clock:
    def __init__(self, time):
        self._time = time

    def now(self, _zone):
        return self._time


PRIVATE = ["candidate/facts.json", "identity/identity.json", "report/accuracy.json"]
SHOWN = ["candidate/release/validation.json", "candidate/release/index.html"]


@pytest.mark.parametrize("path", PRIVATE + SHOWN)
def test_whatever_is_changed_voids_an_approval(waiting, path):
    waiting.decide("ann")
    waiting.decide("ben")
    file = waiting.candidate.place / path
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(PromiseError, match=r"was changed while it waited"):
        waiting.publish()


def test_a_line_that_has_gone_on_voids_an_approval(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    line = waiting.line.private
    write_state(line, read_state(line).model_copy(update={"counter": 7}))
    with pytest.raises(PromiseError, match=r"the line has changed while the candidate waited"):
        waiting.publish()


def test_a_spec_that_declares_something_else_publishes_no_candidate(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.write(title="Other words")
    with pytest.raises(PromiseError, match=r"the spec has changed"):
        waiting.publish()


def test_more_reviewers_than_when_it_was_made_are_asked_for(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    waiting.write(reviewers=3)
    with pytest.raises(PromiseError, match=r"2 of 3"):
        waiting.publish()
    waiting.write(reviewers=1)
    assert waiting.publish().name == "0001"


def test_fewer_reviewers_than_when_it_was_made_are_not_enough(waiting):
    waiting.decide("ann")
    waiting.write(reviewers=1)
    with pytest.raises(PromiseError, match=r"1 of 2"):
        waiting.publish()


def test_another_draw_is_not_what_was_approved(waiting):
    """An approval is of a digest: whoever can write the candidate cannot put another one there."""
    candidate = waiting.candidate
    with pytest.raises(InputError, match=r"no candidate 0000"):
        waiting.publish(digest="0" * 64)
    sealed = sealed_candidate(candidate.candidate, "0" * 64)
    with pytest.raises(
        PromiseError, match=("the candidate differs from the approved one, so nothing")
    ):
        publish_version(
            waiting.line, sealed, identity(candidate.identity), "now", None, lambda: None
        )


def test_a_line_that_asks_for_approval_is_published_by_nothing_else(waiting):
    candidate = waiting.candidate
    sealed = sealed_candidate(candidate.candidate)
    with pytest.raises(PromiseError, match="asks for an approval, and there is no approval yet"):
        publish_version(waiting.line, sealed, identity(candidate.identity), "now")


def test_a_line_that_asks_for_none_has_no_publication_of_its_own(reviewed_line):
    reviewed_line.write(reviewers=0)
    with pytest.raises(PromiseError, match="approval: the spec asks for no approval"):
        reviewed_line.publish(digest="0" * 64)


def test_nobody_asks_for_fewer_reviewers_afterwards(waiting):
    waiting.decide("ann")
    waiting.write(reviewers=1)
    waiting.edit("request.json", lambda document: document.update(reviewers=1))
    with pytest.raises(PromiseError, match=r"0 of 1 .*about another candidate"):
        waiting.publish()


@pytest.mark.parametrize("part", ["reason", "digest", "line", "expires"])
def test_a_decision_is_signed_whole(waiting, part):
    decision = read_text(waiting.decide("ann", place=waiting.copy()))
    other = {"reason": "another", "digest": "0" * 64, "line": "other", "expires": AFTER}[part]
    judgement = decision.judgement.model_copy(update={part: other})
    with pytest.raises(InputError, match=r"was not made with key ann"):
        read_text(decision.model_copy(update={"judgement": judgement}).text)


def test_a_forged_decision_that_lies_beside_the_candidate_counts_for_nothing(waiting):
    waiting.decide("ben")
    waiting.decide("ann")
    for file in (waiting.candidate.place / "decisions").iterdir():
        text = file.read_text()
        if '"name":"ann"' in text:
            file.write_text(text.replace("as agreed", "as forged"))
    with pytest.raises(PromiseError, match=r"1 of 2 .*ann .*its signature does not match the key"):
        waiting.publish()


def test_every_fault_of_a_decision_is_looked_for(waiting):
    """An older decision than the candidate: of a clock that went back, or made up."""
    request = waiting.candidate.request
    decision = read_text(waiting.decide("ann"))
    early = request.made - timedelta(seconds=1)
    judgement = decision.judgement.model_copy(update={"time": early})
    old = decision.model_copy(update={"judgement": judgement})
    trusted = {decision.key.public: decision.key}
    assert gate._fault(old, request, trusted, set(), request.made) == "older than the candidate"
