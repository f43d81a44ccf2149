"""Numbers on pages are written in one way, and only one module writes them."""

import re
from fractions import Fraction
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.report.numbers import half_widths, percents, range_text, rough, with_decimals
from tests.house.survey import ROOT

REPORT = ROOT / "tasks" / "report"
TEMPLATES = [*REPORT.rglob("*.j2"), ROOT / "tasks/profile/templates/profile.html.j2"]
OWN_PAPERS = "experiments"
"""Pages of experiments are compared with printed tables, whose digits they repeat."""
FORMATTED = re.compile(r"\.format\(|\|\s*format\b|\|\s*round\b|\{:|%\.\d")
FORMATTED_IN_CODE = re.compile(r"\{[^{}\n\"]*:[,.0-9]*[,fge%]\}|\bround\([^()]*,")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_no_template_formats_numbers():
    templates = [path for path in TEMPLATES if OWN_PAPERS not in path.parts]
    assert [path.name for path in templates if FORMATTED.search(text_of(path))] == []


def test_no_module_but_one_formats_numbers():
    modules = [path for path in REPORT.rglob("*.py") if path.name != "numbers.py"]
    lines = [
        (path.name, line.strip())
        for path in modules
        for line in text_of(path).splitlines()
        if FORMATTED_IN_CODE.search(line)
    ]
    assert lines == []


@pytest.mark.parametrize("line", ['f"{count:,} rows"', 'f"{share:.1%}"', "round(seconds, 1)"])
def test_a_format_in_code_is_seen(line):
    assert FORMATTED_IN_CODE.search(line)


@given(st.lists(st.none() | st.floats(0, 5), max_size=8))
def test_a_column_of_shares_has_the_same_decimals(shares):
    texts = [text for text in percents(shares) if text != "–"]
    assert len({len(text.partition(".")[2]) for text in texts}) <= 1
    for share, text in zip([share for share in shares if share is not None], texts, strict=True):
        number = float(text.removesuffix(" %").replace(",", ""))
        assert abs(number - 100 * share) <= 0.05 + 1e-9
        assert number > 0 or share < 0.0000051


@given(st.floats(-1e15, 1e15))
def test_rough_numbers_are_near_and_have_no_exponent(number):
    text = rough(number)
    assert "e" not in text
    assert isclose(float(text.replace(",", "")), number, rel_tol=0.00051, abs_tol=0)


@given(st.fractions(-(10**6), 10**6), st.integers(0, 5))
def test_decimals_are_nearest(number, decimals):
    text = with_decimals(number, decimals)
    assert len(text.partition(".")[2]) == decimals
    assert abs(Fraction(text.replace(",", "")) - number) <= Fraction(1, 2 * 10**decimals)


def test_widths_of_a_column_say_what_is_exact_and_what_is_of_no_use():
    assert half_widths([0.193, 0.14, 0.0, 2.0, None]) == [
        "±9.7 %",
        "±7.0 %",
        "exact",
        "too wide to use",
        "–",
    ]


def test_a_range_of_one_value_is_that_value():
    assert (range_text("10", "19"), range_text("10", "10")) == ("10 to 19", "10")
