"""Chapter on the claims whose outcome is another one than in the run of 26 November 2026.

`ledger_before.json` has that run's outcomes. `retested` is the outcome that its measurements have
under the tests of today, so that what a test changed is told from what a measurement changed.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.deployments.guide.generated.experiments import LEDGER, effect_in_words
from sfumato.tasks.experiments.shared.described import DATA

_BEFORE = Path(__file__).with_name("ledger_before.json")
_EIGHT = "eight known columns in place of three, and the table of least height"
_SEVEN = "the census has seven known columns in place of five"
_ASKED = "100 counts of each workload are asked in place of 12"
_COUNTS = f"{_SEVEN}, and {_ASKED}"
MEASURED: Mapping[str, str] = {
    "range-averages": _EIGHT,
    "partitions": _EIGHT,
    "thresholds": "eight known columns in place of three",
    "correlation": "partitions by age with ten distinct losses, all permuted, in place of labels",
    "association": _COUNTS,
    "attributes": f"{_COUNTS}; the columns are the first of the paper's table",
    "density": _COUNTS,
    "selectivity": _COUNTS,
    "table-sizes": f"{_SEVEN}, and 60 counts of each workload are asked in place of 20",
    "grouped-counts": f"{_SEVEN}, and 400 cells are asked in place of 100",
    "presence": _SEVEN,
    "ambiguity-time": _SEVEN,
    "printed-counts": _SEVEN,
    "printed-groups": _SEVEN,
    "fakes": "10,000 generated people in place of 1,500",
    "homogeneity": "numbers of people in place of percentages; those with the group's own value",
    "utility-sub-sample": "each person is drawn independently (Bernoulli)",
}
"""What was changed in the measurements of experiments."""
_ADULT = {("association", "occupations"): _ASKED}
_REMOVED = "The paper's figure on the sub-sample shows discernibility only"


def write_changes() -> str:
    """Markdown of all claims that have changed, and the reason of each."""
    before = json.loads(_BEFORE.read_text(encoding="utf-8"))
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    now = {
        (claim["experiment"], claim["claim"], claim["data"]): claim for claim in ledger["claims"]
    }
    return "\n".join([*_summary(before, now), *_table(before, now)])


def _outcome(claim: Mapping[str, str] | None) -> str:
    return "removed" if claim is None else claim["outcome"].removesuffix(" on generated data")


def _key(claim: Mapping[str, str]) -> tuple[str, str, str]:
    return claim["experiment"], claim["now"], claim["data"]


def _summary(before: list[dict[str, str]], now: Mapping[Any, dict[str, str]]) -> Iterator[str]:
    then = Counter(claim["outcome"] for claim in before)
    kept = [now[_key(claim)] for claim in before if _key(claim) in now]
    same = sum(_outcome(now.get(_key(claim))) == claim["outcome"] for claim in before)
    new = [claim for key, claim in now.items() if key not in {_key(c) for c in before}]
    yield (
        f"Of {len(before)} claims then ({_counts(then)}), {same} have the same outcome today, "
        f"{len(kept) - same} another one, and {len(before) - len(kept)} are removed. "
        f"{len(new)} claims are new ({_counts(Counter(map(_outcome, new)))}).\n"
    )


def _counts(outcomes: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())


def _table(before: list[dict[str, str]], now: Mapping[Any, dict[str, str]]) -> Iterator[str]:
    yield "| experiment | claim | data | then | today | reason |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for claim in before:
        present = now.get(_key(claim))
        if _outcome(present) == claim["outcome"]:
            continue
        then = f"{claim['outcome']}: {claim['numbers']}"
        today = "removed"
        if present is not None:
            today = f"{_outcome(present)}: {effect_in_words(present)}"
        data = DATA[claim["data"]].title
        reason = _reason(claim, present)
        yield (
            f"| `{claim['experiment']}` | {claim['now']} | {data} | {then} | {today} | {reason} |"
        )


def _reason(claim: Mapping[str, str], present: Mapping[str, str] | None) -> str:
    """Return the reason of a change: the least effect, the correction, or the measurement."""
    if present is None:
        return _REMOVED
    outcome = _outcome(present)
    if present["effect"] == "nan":
        return "Not measured yet"
    if claim["retested"] == outcome:
        return f"The test alone: {present['test']}"
    name, data = claim["experiment"], claim["data"]
    if name in MEASURED:
        return f"Measured otherwise: {_ADULT.get((name, data), MEASURED[name])}"
    return "More claims are corrected together, and the test names a least effect"
