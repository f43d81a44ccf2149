"""The pictures of the README are those that the command draws, in full, of the same series."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "deployments" / "guide" / "pages" / "pictures"
DRAWN = ("arbitrary-averages", "range-averages")
NUMBER = re.compile(r"-?\d*\.?\d+")
WORDS = re.compile(r">([^<]+)</(?:title|desc|text)>")


def test_the_command_draws_the_pictures_of_the_readme_anew(tmp_path, monkeypatch, unguarded):
    """Lines to a tenth of a point: sums of floats may differ by machine."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"pictures/([a-z-]+)\.svg", readme) == list(DRAWN)
    assert f"sfumato experiment {' '.join(DRAWN)}" in readme
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    unguarded(DRAWN, str(tmp_path / "out"))
    for name in DRAWN:
        kept, drawn = (
            place.read_text(encoding="utf-8")
            for place in (PICTURES / f"{name}.svg", tmp_path / "out" / f"{name}-1.svg")
        )
        assert NUMBER.sub("0", kept) == NUMBER.sub("0", drawn)
        assert WORDS.findall(kept) == WORDS.findall(drawn)
        numbers = [[float(one) for one in NUMBER.findall(text)] for text in (kept, drawn)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0, abs=0.11)
