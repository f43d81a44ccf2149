"""What attackers guess of every shipped spec, beside what is guessed without the attack.

The sources are public, so that the figures may be: nobody's secret is in them.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.tasks.attacks.from_files import DEALT
from sfumato.tasks.attacks.shared.attack import Score
from tests.benchmarks.attacked_draws import REGISTER, TOGETHER, attacked

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
    found = [(spec, *_attacked_apart(spec)) for spec in SPECS]
    guesses = (line for one in found for line in _lines(*one))
    _print(("spec", "form", "column", _WITHOUT, *_SHOWN), guesses)
    groups = (line for one in found for line in _group_lines(*one))
    _print(("spec", "form", "column", *_GROUPS), groups)
    dealt = (line for one in found for line in _dealt_lines(*one))
    _print(("spec", "form", "column", *_DEALT), dealt)
    records = (line for one in found for line in _record_lines(*one))
    _print(("spec", "form", *_RECORDS, _RANDOM), records)
    linked = (line for one in found for line in _linked_lines(*one))
    _print(("spec", "form", "of the register", *_LINKED), linked)
    composed = (line for one in found for line in _composed_lines(*one))
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
        return attacked(spec, Path(folder))


def _lines(spec: Path, form: str, found: dict[str, list[Score]]) -> Iterator[tuple[str, ...]]:
    for column, scores in _of_columns(found):
        by_measure = {score.measure: score for score in scores}
        alone = (by_measure.get(_GUESSED) or by_measure[_SUBDOMAINS]).references[_WITHOUT]
        yield (f"`{spec.stem}`", form, f"`{column}`", *_written(alone, by_measure, _SHOWN))


def _group_lines(spec: Path, form: str, found: dict[str, list[Score]]) -> Iterator[tuple[str, ...]]:
    """What narrow ranges, kinds and far groups tell."""
    for column, scores in _of_columns(found):
        shares = [_percent(score and score.share) for score in _begun(scores, _GROUPS)]
        if any(shares):
            yield (f"`{spec.stem}`", form, f"`{column}`", *shares)


def _dealt_lines(spec: Path, form: str, found: dict[str, list[Score]]) -> Iterator[tuple[str, ...]]:
    """What the same attacks find where the values are dealt to the groups at random."""
    for column, scores in _of_columns(found):
        begun = _begun(scores, _DEALT)
        shares = [_percent(score and score.references.get(DEALT)) for score in begun]
        if any(shares):
            yield (f"`{spec.stem}`", form, f"`{column}`", *shares)


def _linked_lines(
    spec: Path, form: str, found: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """What a register tells of whose a row is, and of who is there."""
    by_measure = {score.measure: score for score in found[REGISTER]}
    there = by_measure[_LINKED["surely there"]].references[_SHARE]
    yield (f"`{spec.stem}`", form, *_written(there, by_measure, _LINKED))


def _composed_lines(
    spec: Path, form: str, found: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    """What two draws tell of the same people, each beside the first alone."""
    for column in [column for column, _ in _of_columns(found)]:
        by_measure = {score.measure: score for score in found.get(TOGETHER.format(column), ())}
        if not by_measure:
            continue
        pairs = [by_measure[measure] for measure in _COMPOSED.values()]
        shares = [share for one in pairs for share in (one.references[_ALONE], one.share)]
        yield (f"`{spec.stem}`", form, f"`{column}`", *map(_percent, shares))


def _of_columns(found: dict[str, list[Score]]) -> Iterator[tuple[str, list[Score]]]:
    """The scores of sensitive columns; others stand under names of their own."""
    own = {REGISTER} | {TOGETHER.format(name) for name in found}
    return ((name, scores) for name, scores in found.items() if name not in own)


def _begun(scores: list[Score], asked: dict[str, str]) -> list[Score | None]:
    """The scores whose measures begin so: some go on with a width."""
    return [next((s for s in scores if s.measure.startswith(of)), None) for of in asked.values()]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _record_lines(
    spec: Path, form: str, found: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    for _, scores in _of_columns(found):
        by_measure = {score.measure: score for score in scores}
        if inferred := by_measure.get(_RECORDS["inferred"]):
            chance = inferred.references[_RANDOM]
            yield (f"`{spec.stem}`", form, *_written(chance, by_measure, _RECORDS, last=True))


def _written(
    beside: float, found: dict[str, Score], asked: dict[str, str], *, last: bool = False
) -> list[str]:
    """Shares in percent, empty where they were not found; the one beside them first, or last."""
    shares = [found[name].share if name in found else None for name in asked.values()]
    ordered = [*shares, beside] if last else [beside, *shares]
    return [_percent(share) for share in ordered]


if __name__ == "__main__":
    sys.exit(main())
