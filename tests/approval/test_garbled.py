"""Files of a candidate and of its line that are garbled: every command refuses them in one line."""

import os

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.approval.history import REVIEWS, History, write_history
from sfumato.tasks.approval.request import REQUEST
from sfumato.tasks.private.state import STATE, LineState, write_state
from tests.flow_here import publish_here

BYTES = {
    "random": bytes(range(256)) * 3,
    "not UTF-8": b'{"format": 1, "line": "\xff\xfe"}',
    "number": b"17",
    "list": b"[1,2]",
    "null": b"null",
    "deep": b"[" * 100_000,
    "empty": b"",
}


@pytest.fixture
def documents(waiting):
    """The documents of a line and its candidate, which a reviewer approved."""
    private = waiting.line.private
    waiting.decide("ann")
    write_history(private, History())
    write_state(private, LineState())
    (decision,) = (waiting.candidate.place / "decisions").iterdir()
    names = (REVIEWS, STATE)
    return (*(private / name for name in names), waiting.candidate.place / REQUEST, decision)


@pytest.mark.parametrize("kind", [*BYTES, "truncated", "FIFO"])
def test_documents_that_are_garbled_are_refused(waiting, documents, call, kind):
    place = waiting.candidate.place
    digest = waiting.candidate.request.digest
    for document in documents:
        content = document.read_bytes()
        _garble(document, kind)
        with pytest.raises(PromiseError) as refused:
            publish_here(waiting.spec, digest)
        assert str(refused.value).count("\n") == 0
        if document.name not in (REVIEWS, STATE):  # which it does not read
            code, out, error = call("review", "show", place)
            assert (code, out, error.count("\n")) == (3, "", 1), error
        document.unlink()
        document.write_bytes(content)


def _garble(file, kind):
    content = file.read_bytes()
    file.unlink()
    if kind == "FIFO":
        os.mkfifo(file)
    else:
        file.write_bytes(BYTES.get(kind, content[: len(content) // 2]))
