"""Published values are drawn from the operating system: a matter of wiring, not of statistics."""

from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.expectations.shared.errors import Fault
from sfumato.flows.life import evaluation
from sfumato.tasks import anonymize, evaluate
from sfumato.tasks.microdata import table
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.private import keys
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds


def test_the_task_that_anonymizes_draws_from_the_operating_system(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        anonymize, "write_candidate", lambda *arguments, **_: calls.append(arguments)
    )
    with pytest.raises(Fault):  # as there is no candidate to describe
        anonymize.anonymize(tmp_path, None, tmp_path, None, None)
    (arguments,) = calls
    assert [argument for argument in arguments if callable(argument)] == [operating_system]


def test_evaluations_draw_from_the_operating_system(monkeypatch, small):
    version = small.publish("one").directory
    calls = []

    def note_call(*arguments):
        calls.append(arguments)
        return MeasuredBounds([])

    monkeypatch.setattr(evaluation, "evaluate_release", note_call)
    evaluation.evaluate_again(version, small.spec, None)
    for name in ("evaluate_release", "evaluate_candidate"):
        monkeypatch.setattr(evaluate, name, note_call)
    for name in (
        "show_markdown",
        "original_of_candidate",
        "original_of_version",
        "summary",
    ):
        monkeypatch.setattr(evaluate, name, lambda *_arguments, **_named: None)
    monkeypatch.setattr(evaluate, "ShownProgress", lambda _key: SimpleNamespace(show=None, total=0))
    settings, line = small.plan().spec.evaluate, small.plan().line
    evaluate.evaluate(version, version, settings, line)
    evaluate.evaluate_before(version, version, settings, line, version)
    assert [arguments[4] for arguments in calls] == [operating_system] * 3


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_the_operating_systems_bytes_are_the_keys(monkeypatch, n):
    draws = []

    def urandom(size):
        draws.append(bytes(np.random.default_rng(7).integers(0, 256, size, dtype=np.uint8)))
        return draws[-1]

    monkeypatch.setattr(table.os, "urandom", urandom)
    keys = operating_system(n)
    assert (keys.dtype, keys.shape) == (np.uint64, (n,))
    assert [keys.tobytes()] == draws


def test_the_lines_secret_is_the_operating_systems(monkeypatch):
    monkeypatch.setattr(keys.os, "urandom", lambda size: bytes(range(size)))
    assert keys.new_secret() == bytes(range(32))
