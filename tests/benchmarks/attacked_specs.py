"""The guesses of attackers about every shipped spec, beside guesses without the attack.

The sources are public, so that the figures may be: nobody's secret is in them.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.tasks.attacks.from_files import DEALT
from sfumato.tasks.attacks.shared.attack import Score
from tests.benchmarks.attacked_draws import REGISTER, TOGETHER, attack_spec

_DEPLOYMENTS = Path(__file__).parents[2] / "deployments"
SPECS = sorted(_DEPLOYMENTS.glob("*/adult-*.yaml"), key=lambda spec: spec.stem)
_WITHOUT = "without the release"
_GUESSED = "own value guessed from the group alone"
_SUBDOMAINS = "own value guessed from the subdomains"
_SHOWN = {
    "the group alone": _GUESSED,
    "all alike": "in a group in which all have one value",
    "one ruled out": "own value certain once 1 other can be ruled out",
    "two ruled out": "own value certain once 2 others can be ruled out",
    "twice as likely": "own value 2 times as likely as without the release, or more",
    "what was tried": "own value guessed by who knows what else was tried",
    "subdomains": _SUBDOMAINS,
    "deFinetti": "own value guessed by deFinetti's attack",
    "believed with 80 %": "own value believed with 80% or more",
}
_GROUPS = {
    "one person known": "own value believed with 80% or more once 1 other of the group is known",
    "narrow range": "within a window of ",
    "group below it": "in a group whose range is below ",
    "kind": "kind of the own value (level 1) guessed from the group alone",
    "all of one kind": "in a group in which all values are of one kind (level 1)",
    "ten times as likely": "own value 10 times as likely as without the release, or more",
    "distance": "distance t of the own group from all people, on average",
}
_SINGLED = "conditions that one published row meets: somebody is singled out"
_RECORDS = {
    "unique exact matches": "record like nobody else's, and published as it is",
    "apparent matches": "apparent match: alone with their quasi-identifiers",
    "right among these": "own value in the apparent match, of these",
    "singled out": _SINGLED,
    "halves joined": "halves of own quasi-identifiers joined by the nearest row",
    "inferred": "own value in the nearest row, of numbers about it (5 %)",
}
_RANDOM = "in any published row"
_DEALT = {
    name: measure
    for name, measure in (_SHOWN | _GROUPS).items()
    if name not in ("what was tried", "subdomains", "deFinetti", "believed with 80 %")
}
_LINKED = {
    "own row picked": "own row picked among the rows that fit",
    "person picked for a row": "person picked for a row, among those of the register whom it fits",
    "fits one person alone": "in a row that fits one person of the register alone",
    "surely there": "surely in the release, of those who are",
    "likelier there": "likelier to be in the release than somebody of the register who is not",
}
_SHARE = "share of the register that is in it"
_COMPOSED = {
    "guessed": "own value guessed from all of them",
    "believed with 80 %": "own value believed with 80% or more, by all of them",
    "the only one": "own value the only one that all of them allow",
}
_ALONE = "from the first alone"


def main() -> None:
    """Print six tables in Markdown."""
    results = [(spec, *_attacked_apart(spec)) for spec in SPECS]
    guesses = (line for result in results for line in _lines(*result))
    _print(("spec", "form", "column", _WITHOUT, *_SHOWN), guesses)
    groups = (line for result in results for line in _group_lines(*result))
    _print(("spec", "form", "column", *_GROUPS), groups)
    dealt = (line for result in results for line in _dealt_lines(*result))
    _print(("spec", "form", "column", *_DEALT), dealt)
    records = (line for result in results for line in _record_lines(*result))
    _print(("spec", "form", *_RECORDS, _RANDOM), records)
    linked = (line for result in results for line in _linked_lines(*result))
    _print(("spec", "form", "of the register", *_LINKED), linked)
    composed = (line for result in results for line in _composed_lines(*result))
    twice = [part for name in _COMPOSED for part in (f"{name}, once", "twice")]
    _print(("spec", "form", "column", *twice), composed)


def _print(head: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> None:
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for line in lines:
        print("|", " | ".join(line), "|")
    print(flush=True)


def _attacked_apart(spec: Path) -> tuple[str, dict[str, list[Score]]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SFUMATO_WORK"] = f"{folder}/work"
        return attack_spec(spec, Path(folder))


def _lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    for column, scores in _of_columns(scores_by_column):
        by_measure = {score.measure: score for score in scores}
        alone = (by_measure.get(_GUESSED) or by_measure[_SUBDOMAINS]).references[_WITHOUT]
        yield (f"`{spec.stem}`", form, f"`{column}`", *_format_shares(alone, by_measure, _SHOWN))


def _group_lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """Yield what narrow ranges, kinds and far groups tell."""
    for column, scores in _of_columns(scores_by_column):
        shares = [_percent(score and score.share) for score in _scores_beginning(scores, _GROUPS)]
        if any(shares):
            yield (f"`{spec.stem}`", form, f"`{column}`", *shares)


def _dealt_lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """Yield what the same attacks find where the values are dealt to the groups at random."""
    for column, scores in _of_columns(scores_by_column):
        begun = _scores_beginning(scores, _DEALT)
        shares = [_percent(score and score.references.get(DEALT)) for score in begun]
        if any(shares):
            yield (f"`{spec.stem}`", form, f"`{column}`", *shares)


def _linked_lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """Yield what a register tells of whose a row is, and of who is there."""
    by_measure = {score.measure: score for score in scores_by_column[REGISTER]}
    there = by_measure[_LINKED["surely there"]].references[_SHARE]
    yield (f"`{spec.stem}`", form, *_format_shares(there, by_measure, _LINKED))


def _composed_lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """Yield what two draws tell of the same people, each beside the first alone."""
    for column in [column for column, _ in _of_columns(scores_by_column)]:
        by_measure = {
            score.measure: score for score in scores_by_column.get(TOGETHER.format(column), ())
        }
        if not by_measure:
            continue
        pairs = [by_measure[measure] for measure in _COMPOSED.values()]
        shares = [share for score in pairs for share in (score.references[_ALONE], score.share)]
        yield (f"`{spec.stem}`", form, f"`{column}`", *map(_percent, shares))


def _of_columns(scores_by_column: dict[str, list[Score]]) -> Iterator[tuple[str, list[Score]]]:
    """The scores of sensitive columns; others stand under names of their own."""
    own = {REGISTER} | {TOGETHER.format(name) for name in scores_by_column}
    return ((name, scores) for name, scores in scores_by_column.items() if name not in own)


def _scores_beginning(scores: list[Score], measures: dict[str, str]) -> list[Score | None]:
    """The scores whose measures begin so: some go on with a width."""
    return [
        next((s for s in scores if s.measure.startswith(beginning)), None)
        for beginning in measures.values()
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _record_lines(
    spec: Path, form: str, scores_by_column: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    for _, scores in _of_columns(scores_by_column):
        by_measure = {score.measure: score for score in scores}
        if inferred := by_measure.get(_RECORDS["inferred"]):
            chance = inferred.references[_RANDOM]
            yield (f"`{spec.stem}`", form, *_format_shares(chance, by_measure, _RECORDS, last=True))


def _format_shares(
    beside: float,
    scores_by_measure: dict[str, Score],
    measures: dict[str, str],
    *,
    last: bool = False,
) -> list[str]:
    """Shares in percent, empty where they were not found; the one beside them first, or last."""
    shares = [
        scores_by_measure[name].share if name in scores_by_measure else None
        for name in measures.values()
    ]
    ordered = [*shares, beside] if last else [beside, *shares]
    return [_percent(share) for share in ordered]


if __name__ == "__main__":
    sys.exit(main())
