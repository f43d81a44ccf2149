"""Columns of free text."""

import pytest

from sfumato.tasks.microdata.codings import is_free_text
from tests.codings.coded import column_of

NOTES = [f"seen on ward {n}, sent home" for n in range(20)]
LABEL = "Managers of hospitals, schools and other services for people, not elsewhere classified"


@pytest.mark.parametrize(
    "values",
    [
        NOTES,
        [*NOTES[:3], *["x"] * 26],  # three of twenty-nine
        [*NOTES[:3], *["x"] * 26, *[None] * 500],  # rows without a value do not count
        [f"{'word' * 15}{n}" for n in range(5)],  # one long word
        [f"two\nlines {n}" for n in range(5)],
        [f"{n} {'x ' * 4}" for n in range(9)],
        [f"\t{n}\u00a0a\u3000b c  d e" for n in range(9)],
    ],
)
def test_long_texts_of_one_row_each(values):
    assert is_free_text(column_of("string", values))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None, None],
        [*NOTES[:2], *["x"] * 18],  # one in ten, and not more
        [LABEL] * 2 + ["x"],
        [text for text in NOTES for _ in range(2)],  # every text is shared
        [f"P-{n:08d}" for n in range(50)],
        [f"Jan van der {n}" for n in range(50)],  # a name, which no rule of texts can tell
        ["Married-civ-spouse", "Never-married", "Married-AF-spouse"],
        [f"{'x' * 56}{n:03d}" for n in range(5)],
    ],
)
def test_labels_codes_and_names(values):
    assert not is_free_text(column_of("string", values))


def test_only_texts_are_looked_at():
    assert not is_free_text(column_of("integer", [1, 2, 3]))
