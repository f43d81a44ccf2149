"""Who builds a release can write beside its candidate: the publisher is misled by none of it."""

import os
import shutil
from importlib import import_module

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.publication.withdrawal import withdraw


@pytest.fixture
def secret(tmp_path):
    """A directory of the publisher's that nobody else can read."""
    place = tmp_path / "secret"
    place.mkdir()
    (place / "page.html").write_text("a secret")
    return place


def test_a_candidate_that_was_turned_down_is_not_put_back(waiting):
    copy = waiting.copy()
    codes = [waiting.decide(name, place=copy) for name in ("ann", "ben")]
    place = waiting.candidate.place
    waiting.reviewer("eve")
    waiting.decide("eve", "return")
    shutil.copytree(copy, place)
    with pytest.raises(PromiseError, match=r"candidate .*… was returned .*no longer waits"):
        waiting.publish(*codes)
    assert not list(waiting.line.public.glob("[0-9]*"))
    with pytest.raises(PromiseError, match=r"was returned"):
        waiting.release()
    assert waiting.candidate is None
    assert waiting.endings == ["returned"]


def test_a_candidate_is_one_of_its_own_line(waiting):
    for name in ("ann", "ben"):
        waiting.decide(name)
    waiting.edit("request.json", lambda document: document.update(line="other"))
    with pytest.raises(PromiseError, match=r"is a candidate of another line, other"):
        waiting.publish()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_no_directory_above_the_reviewers_file_is_anothers(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    os.chown(waiting.folder / "config", 40001, -1)
    with pytest.raises(InputError, match=r"other users can write this file"):
        waiting.publish()


@pytest.mark.parametrize("place", ["candidate/great-expectations/x", "great-expectations-source"])
def test_no_link_beside_a_candidate_is_followed(waiting, secret, place):
    for name in ("ann", "ben"):
        waiting.decide(name)
    (waiting.candidate.place / place).symlink_to(secret)
    with pytest.raises(
        PromiseError, match=("is not a plain file or directory, so nothing there is read")
    ):
        waiting.publish()
    assert not list(waiting.line.private.rglob("reports/*/page.html"))


def test_what_was_measured_is_not_changed_between_two_runs(waiting, monkeypatch):
    for name in ("ann", "ben"):
        waiting.decide(name)
    module = import_module("sfumato.tasks.publish")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_finish", _fail)
        with pytest.raises(PromiseError, match="stopped"):
            waiting.publish()
    waiting.edit("report/accuracy.json", lambda document: document.pop())
    with pytest.raises(PromiseError, match=r"was changed while it waited"):
        waiting.publish()
    assert waiting.record.versions["0001"].accuracy is None


def test_a_candidate_that_was_withdrawn_and_not_deleted_waits_no_more(waiting, call, monkeypatch):
    for name in ("ann", "ben"):
        waiting.decide(name)
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.tasks.approval.held.delete_held", lambda _: None)
        assert call("review", "withdraw", waiting.spec, "--reason", "wrong month")[0] == 0
    with pytest.raises(PromiseError, match=r"was withdrawn .*no longer waits"):
        waiting.publish()


@pytest.mark.parametrize("place", ["candidate/pipe", "decisions/0.json"])
def test_nothing_waits_for_what_is_no_file(waiting, place):
    for name in ("ann", "ben"):
        waiting.decide(name)
    os.mkfifo(waiting.candidate.place / place)
    with pytest.raises(
        PromiseError, match=("is not a plain file or directory, so nothing there is read")
    ):
        waiting.publish()


def test_approvals_are_not_made_up_between_two_runs(waiting, monkeypatch):
    for name in ("ann", "ben"):
        waiting.decide(name)
    module = import_module("sfumato.tasks.publish")
    with monkeypatch.context() as patch:
        patch.setattr(module, "complete", _fail)
        with pytest.raises(PromiseError, match="stopped"):
            waiting.publish()
    text = (waiting.candidate.place / "approved.json").read_text()
    (waiting.candidate.place / "approved.json").write_text(text.replace("as agreed", "as forged"))
    with pytest.raises(
        PromiseError,
        match=r"(ann|ben) .*its signature does not match the key",
    ):
        waiting.publish()
    (waiting.candidate.place / "approved.json").write_text("[]")
    with pytest.raises(PromiseError, match=r"0 of the 2 approvals"):
        waiting.publish()
    assert waiting.record.versions["0001"].approvals is None
    (waiting.candidate.place / "approved.json").write_text(text)
    assert waiting.publish().name == "0001"
    assert len(waiting.record.versions["0001"].approvals) == 2


def _fail(*_):
    raise PromiseError("stopped")


def test_what_holds_the_reviewers_file_is_nobody_elses(waiting):
    waiting.decide("ann")
    waiting.decide("ben")
    (waiting.folder / "config").chmod(0o777)
    with pytest.raises(InputError, match=r"other users can write this file"):
        waiting.publish()


def test_a_candidate_is_of_the_spec_that_its_seal_holds(waiting):
    for name in ("ann", "ben"):
        waiting.decide(name)
    waiting.write(title="Other words")
    spec = resolve_run(waiting.spec).terms.digest()
    waiting.edit("request.json", lambda document: document.update(spec=spec))
    with pytest.raises(PromiseError, match=r"request.json: is about another source or spec"):
        waiting.publish()
    assert not list(waiting.line.public.glob("[0-9]*"))


def test_a_candidate_that_was_published_and_withdrawn_is_not_put_back(waiting):
    copy = waiting.copy()
    for name in ("ann", "ben"):
        waiting.decide(name)
    place = waiting.candidate.place
    digest = waiting.candidate.request.digest
    shutil.copytree(place / "decisions", copy / "decisions")
    version = waiting.publish()
    withdraw(waiting.line, "0001", "wrong month")
    before = sorted(version.iterdir())
    shutil.copytree(copy, place)
    with pytest.raises(PromiseError, match=r"version 0001 .* was withdrawn"):
        waiting.publish(digest=digest)
    assert sorted(version.iterdir()) == before
    assert [path.name for path in waiting.line.public.glob("[0-9]*")] == ["0001"]
