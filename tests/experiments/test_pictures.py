"""The guide's pictures are those that the command draws, in full, of the same series."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "deployments" / "guide" / "pages" / "pictures"
DRAWN = ("arbitrary-averages", "range-averages")
NUMBER = re.compile(r"-?\d*\.?\d+")
WORDS = re.compile(r">([^<]+)</(?:title|desc|text)>")


def test_the_command_draws_the_pictures_of_the_guide_anew(tmp_path, monkeypatch, plain_flow):
    """Lines to a tenth of a point: sums of floats may differ by machine."""
    page = (PICTURES.parent / "comparison" / "experiments.md").read_text(encoding="utf-8")
    assert set(DRAWN) <= set(re.findall(r"pictures/([a-z-]+)\.svg", page))
    assert f"sfumato experiment {' '.join(DRAWN)}" in page
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    plain_flow(DRAWN, str(tmp_path / "out"))
    for name in DRAWN:
        expected, picture = (
            place.read_text(encoding="utf-8")
            for place in (PICTURES / f"{name}.svg", tmp_path / "out" / f"{name}-1.svg")
        )
        assert NUMBER.sub("0", expected) == NUMBER.sub("0", picture)
        assert WORDS.findall(expected) == WORDS.findall(picture)
        numbers = [
            [float(text_number) for text_number in NUMBER.findall(text)]
            for text in (expected, picture)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=0, abs=0.11)
