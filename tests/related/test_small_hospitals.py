"""Releases of small random hospitals beside all worlds that their files admit, asked by queries."""

from tests.benchmarks.small_hospitals import run


def test_bounds_hold_all_worlds_and_are_attained(monkeypatch):
    """A small part of what `python -m tests.benchmarks.small_hospitals` compares."""
    monkeypatch.setenv("SFUMATO_WORK", "set by each release")
    tally = run(pairs=80, queries=400, first_seed=1_000)
    assert (tally.outside, tally.narrower, tally.not_attained) == (0, 0, 0)
    assert tally.pairs >= 80
    assert tally.answers.total() >= 400
    assert tally.exact < 300  # bounds of others have two ends
