"""Who watches hears of what takes long, now and then."""

from itertools import count

from sfumato.tasks.private import failure


def test_it_is_said_how_many_there_were_after_some_seconds(monkeypatch):
    seconds = count(0, 2)
    monkeypatch.setattr(failure.time, "monotonic", lambda: next(seconds))
    heard = []
    with failure.listening(lambda *arguments: heard.append(arguments)):
        assert list(failure.steps(8, "worlds")) == list(range(8))
    assert heard == [
        ("2 of 8 worlds", "said", {"done": 2, "of": 8}),
        ("5 of 8 worlds", "said", {"done": 5, "of": 8}),
    ]


def test_nothing_is_said_of_what_is_quick():
    heard = []
    with failure.listening(lambda *arguments: heard.append(arguments)):
        assert list(failure.steps(3, "worlds")) == [0, 1, 2]
    assert heard == []
