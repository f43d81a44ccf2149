"""The ends of stages and runs, under Prefect and without it, and their logs."""

import logging
import os
import subprocess
import sys

import pytest
from prefect.exceptions import FailedRun

from sfumato.expectations.shared.errors import Fault, PromiseError, SpecError, TransientFault
from sfumato.tasks.outcomes import failed_outcome, published_outcome, standing_outcome
from sfumato.tasks.policy import private_task, say_that_it_stands
from sfumato.tasks.private.failure import listening
from sfumato.tasks.under_prefect import WithoutRepetition, state_of
from tests.prefect_server import free_port
from tests.release.small import people

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (PromiseError("k"), "Refused"),
        (SpecError("k"), "Refused"),
        (Fault("k"), "Faulted"),
        (TransientFault("k"), "Faulted"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_refusal_is_no_fault(error, name):
    state = state_of(failed_outcome(error))
    assert (state.type.value, state.name, state.message) == ("FAILED", name, "k")


def test_a_version_is_named_by_number_and_digest(small):
    release = small.publish("one").directory
    ends = {"Published": published_outcome(release), "Stands": standing_outcome(release)}
    for name, outcome in ends.items():
        state = state_of(outcome)
        assert (state.type.value, state.name, state.data) == ("COMPLETED", name, str(release))
        assert state.message.startswith("version 0001, digest ")


def test_an_older_version_that_stands_is_said_with_the_current_one(small):
    """Else a scheduled run that finds last month's source reads as if it had published it."""
    older = small.publish("one").directory
    small.write(people(first=1000, seed=2), versions="accepted-risk")
    newer = small.publish("two").directory
    lines_said = []
    with listening(lambda text, *_: lines_said.append(text)):
        say_that_it_stands(older)
        say_that_it_stands(newer)
    words = "version 0001 was already made from this source and spec, so no new version was made"
    assert lines_said[0] == f"{words}; the current version is 0002, from another source or spec"
    assert lines_said[1].endswith(
        "was already made from this source and spec, so no new version was made"
    )
    message = "the current version is 0002, from another source or spec"
    assert standing_outcome(older).message.endswith(message)
    assert "current" not in standing_outcome(newer).message


def record(exc_info):
    return logging.LogRecord("prefect.flow_runs", logging.ERROR, "", 0, "text", (), exc_info)


def test_what_a_state_says_is_not_said_again():
    """Prefect logs `NoneType: None` for a failed task, and its engine's traceback for a flow."""
    passes = WithoutRepetition().filter
    assert not passes(record((None, None, None)))
    try:
        raise FailedRun("refused")
    except FailedRun:
        assert not passes(record(sys.exc_info()))


def test_whatever_else_is_logged_stays():
    passes = WithoutRepetition().filter
    assert passes(record(None))
    try:
        raise ValueError("of Prefect's own")
    except ValueError:
        assert passes(record(sys.exc_info()))
    names = ("prefect.flow_runs", "prefect.task_runs")
    for name in names:
        filters = logging.getLogger(name).filters
        assert any(isinstance(log_filter, WithoutRepetition) for log_filter in filters)


def test_a_task_hands_its_error_to_who_called_it(prefect_api):
    from prefect import flow

    tried = []

    @private_task(retries=2)
    def refuses():
        tried.append(1)
        raise PromiseError("cannot be kept")

    for call in (refuses, flow(refuses)):
        with pytest.raises(PromiseError, match="cannot be kept"):
            call()
    assert tried == [1, 1]  # what is refused stays refused


def test_a_server_that_nobody_reaches_is_said_in_a_line(small):
    """A withdrawal of which nobody hears is done, and the steward knows who was not told."""
    version = small.write(people()).publish("one").directory
    command = "from sfumato.flows.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "withdraw", str(version), "--reason", "r", "--yes"],
        env={**os.environ, "PREFECT_API_URL": f"http://me:CANARY@127.0.0.1:{free_port()}/api"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, f"{version}: withdrawn; current: none\n")
    *_, last = done.stderr.splitlines()
    assert last.endswith("/api: the server did not answer, so it sent no notification")
    for word in ("CANARY", "EventsWorker", "websocket", "items"):
        assert word not in done.stderr
