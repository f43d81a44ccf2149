"""Bars on attacks as a suite of Great Expectations' own expectations: one column for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pandas as pd

from sfumato.expectations.suites.gate import judge_frame
from sfumato.expectations.verdicts import Expectation, Finding


class LimitedShare(Protocol):
    """A share that may be no larger than another; None where it is not known."""

    @property
    def words(self) -> str:
        """What it is."""
        ...

    @property
    def most(self) -> float:
        """The largest that it may be."""
        ...

    @property
    def observed(self) -> float | None:
        """What it is."""
        ...


def judge_attacks(
    line: str, documents: Path, limits: Sequence[LimitedShare]
) -> tuple[Finding, ...]:
    """Judge how well attackers do against `line`; the suite is `<line>.attacks`.

    Args:
        line: name of the release line.
        documents: a private directory for Great Expectations' own results and Data Docs.
        limits: what is observed of each bar, and what it allows.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are findings, too.
    """
    if not limits:
        return ()
    columns = {one.words: pd.Series([one.observed], dtype="float64") for one in limits}
    wanted = [
        expectation
        for one in limits
        for expectation in (
            Expectation("expect_column_values_to_not_be_null", {"column": one.words}),
            Expectation(
                "expect_column_values_to_be_between", {"column": one.words, "max_value": one.most}
            ),
        )
    ]
    return judge_frame(f"{line}.attacks", "attacks", pd.DataFrame(columns), wanted, documents)
