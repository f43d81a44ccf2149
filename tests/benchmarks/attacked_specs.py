"""What attackers guess of every shipped spec, beside what is guessed without the attack.

The sources are public, so that the figures may be: nobody's secret is in them.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.flows.overrides import Overrides
from sfumato.flows.spec import read_spec
from sfumato.tasks.attacks.attack import Score
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.declaration.opened import Release, open_release
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.microdata.randomness import seeded_keys
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.private.line import represented_part
from tests.lines import prepare, publish_prepared

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
_SINGLED = "500 conditions that one published row meets: somebody is singled out"
_RECORDS = {
    "unique exact matches": "record like nobody else's, and published as it is",
    "apparent matches": "apparent match: alone with their quasi-identifiers",
    "right among these": "own value in the apparent match, of these",
    "singled out": _SINGLED,
    "halves joined": "halves of own quasi-identifiers joined by the nearest row",
    "inferred": "own value in the nearest row, of numbers about it (5 %)",
}
_RANDOM = "in any published row"


def main() -> None:
    """Print three tables in Markdown."""
    attacked = [(spec, *_attacked_apart(spec)) for spec in SPECS]
    guesses = (line for one in attacked for line in _lines(*one))
    _print(("spec", "form", "column", _WITHOUT, *_SHOWN), guesses)
    groups = (line for one in attacked for line in _group_lines(*one))
    _print(("spec", "form", "column", *_GROUPS), groups)
    records = (line for one in attacked for line in _record_lines(*one))
    _print(("spec", "form", *_RECORDS, _RANDOM), records)


def _print(head: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> None:
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for line in lines:
        print("|", " | ".join(line), "|")
    print(flush=True)


def _attacked_apart(spec: Path) -> tuple[str, dict[str, list[Score]]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SFUMATO_WORK"] = f"{folder}/work"
        return _attacked(spec, Path(folder))


def _lines(spec: Path, form: str, found: dict[str, list[Score]]) -> Iterator[tuple[str, ...]]:
    for column, scores in found.items():
        by_measure = {score.measure: score for score in scores}
        alone = (by_measure.get(_GUESSED) or by_measure[_SUBDOMAINS]).references[_WITHOUT]
        yield (f"`{spec.stem}`", form, f"`{column}`", *_written(alone, by_measure, _SHOWN))


def _group_lines(spec: Path, form: str, found: dict[str, list[Score]]) -> Iterator[tuple[str, ...]]:
    """What narrow ranges, kinds and far groups tell; by how measures begin, with the width."""
    for column, scores in found.items():
        begun = {
            name: next((s for s in scores if s.measure.startswith(words)), None)
            for name, words in _GROUPS.items()
        }
        shares = ["" if score is None else f"{100 * score.share:.1f}" for score in begun.values()]
        if any(shares):
            yield (f"`{spec.stem}`", form, f"`{column}`", *shares)


def _record_lines(
    spec: Path, form: str, found: dict[str, list[Score]]
) -> Iterator[tuple[str, ...]]:
    for scores in found.values():
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
    return ["" if share is None else f"{100 * share:.1f}" for share in ordered]


def _attacked(spec: Path, folder: Path) -> tuple[str, dict[str, list[Score]]]:
    """The form of a spec's release, and what attackers guess of it."""
    release, people = published(spec, folder)
    return release.declared.form.method, guessed(release, people)


def published(spec: Path, folder: Path) -> tuple[Release, Microdata]:
    """A spec's release, from a seeded draw, and the rows that it represents."""
    changes = Overrides.model_validate({"publish": {"uri": str(folder / "public")}})
    if (other := read_spec(spec).groups) is not None:
        beside = prepare(spec.with_stem(other), folder / other, seeded_keys(1), changes)
        publish_prepared(beside, folder / other)
    run = folder / spec.stem
    resolved = prepare(spec, run, seeded_keys(1), changes)
    release = open_release(publish_prepared(resolved, run).directory)
    original = load(run / "deidentified")
    return release, represented_part(resolved.line.private, release.directory.name, original)


def guessed(release: Release, people: Microdata) -> dict[str, list[Score]]:
    """What attackers guess of a release, by sensitive column."""
    tables = read_tables(release.declared, release.directory / "data")
    digest = release.manifest["sfumato"]["digest"]
    return attack_release(targets_of(release.declared, tables, people, digest=digest))


if __name__ == "__main__":
    sys.exit(main())
