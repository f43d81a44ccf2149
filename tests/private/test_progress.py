"""Who watches hears of what takes long, now and then."""

from itertools import count

from sfumato.tasks.private import progress


def test_it_is_said_how_many_there_were_after_some_seconds(monkeypatch):
    seconds = count(0, 2)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    heard = []
    with progress.listening(lambda *told: heard.append(told)):
        assert list(progress.steps(8, "worlds")) == list(range(8))
    assert heard == [
        ("2 of 8 worlds", "said", {"done": 2, "of": 8}),
        ("5 of 8 worlds", "said", {"done": 5, "of": 8}),
    ]


def test_nothing_is_said_of_what_is_quick():
    heard = []
    with progress.listening(lambda *told: heard.append(told)):
        assert list(progress.steps(3, "worlds")) == [0, 1, 2]
    assert heard == []
