"""Texts that a kind of columns allows, decided one by one."""

import pytest

from sfumato.expectations.shared.registered import adapter_of
from sfumato.flows.inputs.policies import find_policy
from sfumato.tasks.policies.kinds import KINDS
from sfumato.tasks.policies.rule import Subject

SUBJECT = Subject(True, (), (), "generalized", "disjoint", {}, year=2025)
SMALL = ("036", "059", "063", "102", "203", "556", "692", "790", "821")
SMALL += ("823", "830", "831", "878", "879", "884", "890", "893")
TEXTS = {
    "years": (
        [
            "1800",
            "2025",
            "2199",
            "202*",
            "20**",
            "2***",
            "2010-2019",
            "[2001, 2005]",
            "{2001, 2003}",
        ],
        [
            "2025-01",
            "2025-01-31",
            "1799",
            "2200",
            "25",
            "20250",
            "3***",
            "{2001, 31}",
            "",
            "2001-02",
        ],
    ),
    "births": (
        ["1935", "2001", "1930-1939", "[1920, 1935]", "{1935, 1940}", "1940 or null"],
        ["1934", "1920-1929", "[1920, 1934]", "{1934, 1940}", "1935-01", "old"],
    ),
    "ages": (
        ["0", "89", "90", "85-94", "90-94", "[80, 104]", "{88, 90}", "40-44 or null"],
        ["91", "95-99", "[91, 95]", "{90, 91}", "090", "90+", "", "-1", "eighty"],
    ),
    "areas": (
        ["000", "021", "02*", "0**", "***", "{021, 606}", "021 or null"],
        [*SMALL, "{021, 036}", "0210", "02", "02a", "", "Boston", "036 or null"],
    ),
    "any": (["anything", ""], []),
    "withheld": ([], ["anything", ""]),
}


def kind(name):
    example = {**KINDS[name].example}
    if name == "areas":
        example["small"] = SMALL
    return adapter_of(KINDS[name]).validate_python(example)


@pytest.mark.parametrize(
    ("name", "text", "fits"),
    [
        (name, text, fits)
        for name, (good, bad) in TEXTS.items()
        for texts, fits in ((good, True), (bad, False))
        for text in texts
    ],
)
def test_texts(name, text, fits):
    assert kind(name).fits(text, SUBJECT) is fits


def test_births_need_a_year():
    assert not kind("births").fits("2001", Subject(True, (), (), "generalized", "disjoint", {}))


def test_the_list_of_small_areas():
    kinds = find_policy("hipaa-safe-harbor").policy.rule("columns").kinds
    assert kinds["B-zip3"].small == SMALL
    assert len(SMALL) == 17
