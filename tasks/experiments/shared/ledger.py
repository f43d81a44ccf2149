"""Ledger of claims: every claim, its evidence, and Holm's correction over all of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.tasks.experiments.shared.described import DATA
from sfumato.tasks.experiments.shared.experiment import Claim, Effect, Experiment, Results, Weight

ALPHA = 0.05
Outcome = Literal["agree", "disagree", "no effect", "inconclusive"]
OUTCOMES: tuple[Outcome, ...] = ("agree", "disagree", "no effect", "inconclusive")
_COLUMNS = (
    "paper",
    "experiment",
    "claim",
    "by",
    "data",
    "outcome",
    "effect",
    "low",
    "high",
    "quantity",
    "interval",
    "remark",
    "test",
    "p",
    "p_holm",
)


@dataclass(frozen=True)
class Entry:
    """A claim and its evidence; `adjusted` is its p-value after Holm's correction."""

    experiment: Experiment
    claim: Claim
    evidence: Weight
    adjusted: float

    @property
    def outcome(self) -> Outcome:
        """The side that is significant, or `inconclusive`.

        `no effect` is an effect that is surely smaller than the least one that counts.
        """
        if self.adjusted > ALPHA:
            return "inconclusive"
        evidence = self.evidence
        sides: dict[Outcome, float] = {
            "agree": evidence.agree,
            "disagree": evidence.disagree,
            "no effect": evidence.neither,
        }
        return min(sides, key=lambda side: sides[side])

    @property
    def words(self) -> str:
        """The outcome in words, which mention generated data."""
        generated = DATA[self.claim.data].generated and self.outcome != "inconclusive"
        return f"{self.outcome} on generated data" if generated else self.outcome


def keep_ledger(measured: Mapping[str, Results], experiments: Sequence[Experiment]) -> list[Entry]:
    """Decide the claims of experiments, by their names in `measured`, all at once."""
    claims = [(experiment, claim) for experiment in experiments for claim in experiment.claims]
    evidence = [_weigh(claim, measured[experiment.name]) for experiment, claim in claims]
    adjusted = holm([weight.p for weight in evidence])
    return [
        Entry(*claim, weight, p)
        for claim, weight, p in zip(claims, evidence, adjusted, strict=True)
    ]


def _weigh(claim: Claim, results: Results) -> Weight:
    """Return the evidence of the results; no evidence for either side if no seed has points."""
    if not results.points:
        reason = next(iter(results.failed.values()), "not measured yet")
        effect = Effect("effect", float("nan"), float("nan"), float("nan"))
        return Weight(1.0, 1.0, effect, remark=f"no seed: {reason}")
    return claim.test.weigh(results, claim.data)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction, in the same order.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(np.array(p), kind="stable")
    remaining = np.arange(len(p), 0, -1)
    stepped = np.minimum(1.0, np.maximum.accumulate(remaining * np.array(p)[order]))
    adjusted = np.empty(len(p))
    adjusted[order] = stepped
    in_order: list[float] = adjusted.tolist()
    return in_order


def ledger_csv(entries: Sequence[Entry]) -> str:
    """Return the ledger, a line for each claim."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for entry in entries:
        claim, evidence = entry.claim, entry.evidence
        effect = evidence.effect
        p = (f"{value:.4g}" for value in (evidence.p, entry.adjusted))
        ends = (f"{end:.4g}" for end in (effect.middle, effect.low, effect.high))
        names = (entry.experiment.paper, entry.experiment.name, claim.text, claim.by, claim.data)
        words = (effect.quantity, effect.kind, evidence.remark, claim.test.words)
        writer.writerow((*names, entry.words, *ends, *words, *p))
    return text.getvalue()
