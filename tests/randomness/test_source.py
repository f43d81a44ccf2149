"""What is published is drawn from the operating system: a matter of wiring, not of statistics."""

from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.flows.life import evaluation
from sfumato.tasks import anonymize, evaluate
from sfumato.tasks.microdata import table
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.private import keys
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds


def test_the_task_that_anonymizes_draws_from_the_operating_system(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(
        anonymize, "write_candidate", lambda *arguments, **_: given.append(arguments)
    )
    anonymize.anonymize.fn(tmp_path, None, tmp_path, None, None)
    (arguments,) = given
    assert [one for one in arguments if callable(one)] == [operating_system]


def test_evaluations_draw_from_the_operating_system(monkeypatch, small):
    version = small.publish("one").directory
    given = []

    def noted(*arguments):
        given.append(arguments)
        return MeasuredBounds([])

    monkeypatch.setattr(evaluation, "evaluate_release", noted)
    evaluation.evaluate_again(version, small.spec, None)
    for name in ("evaluate_release", "evaluate_candidate"):
        monkeypatch.setattr(evaluate, name, noted)
    for name in ("create_markdown_artifact", "load", "summary"):
        monkeypatch.setattr(evaluate, name, lambda *_arguments, **_named: None)
    monkeypatch.setattr(evaluate, "ShownProgress", lambda _key: SimpleNamespace(show=None, total=0))
    asked, line = small.plan().spec.evaluate, small.plan().line
    evaluate.evaluate.fn(version, version, asked, line)
    evaluate.evaluate_before.fn(version, version, asked, line, version)
    assert [arguments[4] for arguments in given] == [operating_system] * 3


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_the_operating_systems_bytes_are_the_keys(monkeypatch, n):
    drawn = []

    def urandom(size):
        drawn.append(bytes(np.random.default_rng(7).integers(0, 256, size, dtype=np.uint8)))
        return drawn[-1]

    monkeypatch.setattr(table.os, "urandom", urandom)
    found = operating_system(n)
    assert (found.dtype, found.shape) == (np.uint64, (n,))
    assert [found.tobytes()] == drawn


def test_the_lines_secret_is_the_operating_systems(monkeypatch):
    monkeypatch.setattr(keys.os, "urandom", lambda size: bytes(range(size)))
    assert keys.new_secret() == bytes(range(32))
