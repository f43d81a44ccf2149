"""What attackers guess, as a table for people who watch a run: shares of people."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.tasks.attacks.attack import Score


def guess_rows(scores: Mapping[str, Sequence[Score]]) -> list[dict[str, Any]]:
    """One row per score, with what is guessed without the attack in words."""
    return [_row(column, score) for column, of in scores.items() for score in of]


def _row(column: str, score: Score) -> dict[str, Any]:
    return {
        "column": column,
        "guessed": score.measure,
        "share": "skipped" if score.skipped else f"{score.share:.1%}",
        "beside": score.skipped or score.beside,
    }
