"""The claims ledger: every claim, what was found of it, and Holm's correction over all of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.tasks.experiments.shared.described import DATA
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Results, Weight

ALPHA = 0.05
Outcome = Literal["agree", "disagree", "inconclusive"]
_COLUMNS = (
    "paper",
    "experiment",
    "claim",
    "by",
    "data",
    "outcome",
    "test",
    "p",
    "p_holm",
    "numbers",
)


@dataclass(frozen=True)
class Entry:
    """A claim and what was found of it; `adjusted` is its p-value after Holm's correction."""

    experiment: Experiment
    claim: Claim
    evidence: Weight
    adjusted: float

    @property
    def outcome(self) -> Outcome:
        """Which side is significant, where one is."""
        if self.adjusted > ALPHA:
            return "inconclusive"
        return "agree" if self.evidence.agree < self.evidence.disagree else "disagree"

    @property
    def words(self) -> str:
        """The outcome in words: what holds of generated data is said to."""
        generated = DATA[self.claim.data].generated and self.outcome != "inconclusive"
        return f"{self.outcome} on generated data" if generated else self.outcome


def keep_ledger(measured: Mapping[str, Results], experiments: Sequence[Experiment]) -> list[Entry]:
    """Decide the claims of experiments, by their names in `measured`, all at once."""
    claims = [(experiment, claim) for experiment in experiments for claim in experiment.claims]
    evidence = [_weigh(claim, measured[experiment.name]) for experiment, claim in claims]
    adjusted = holm([one.p for one in evidence])
    return [Entry(*claim, one, p) for claim, one, p in zip(claims, evidence, adjusted, strict=True)]


def _weigh(claim: Claim, results: Results) -> Weight:
    """The evidence in what was measured; where nothing was, there is none for either side."""
    if not results.points and results.failed:
        return Weight(1.0, 1.0, f"every seed failed: {next(iter(results.failed.values()))}")
    return claim.test.weigh(results, claim.data)


def holm(p: Sequence[float]) -> list[float]:
    """P-values after Holm's step-down correction, in the same order.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(np.array(p), kind="stable")
    left = np.arange(len(p), 0, -1)
    stepped = np.minimum(1.0, np.maximum.accumulate(left * np.array(p)[order]))
    adjusted = np.empty(len(p))
    adjusted[order] = stepped
    found: list[float] = adjusted.tolist()
    return found


def ledger_csv(entries: Sequence[Entry]) -> str:
    """The ledger, a line for each claim."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for entry in entries:
        claim, evidence = entry.claim, entry.evidence
        p = (f"{value:.4g}" for value in (evidence.p, entry.adjusted))
        of = (entry.experiment.paper, entry.experiment.name, claim.text, claim.by, claim.data)
        writer.writerow((*of, entry.words, claim.test.words, *p, evidence.numbers))
    return text.getvalue()
