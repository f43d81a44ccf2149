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
_HEAD = ("spec", "form", "column", _WITHOUT, *_SHOWN)


def main() -> None:
    """Print a table in Markdown."""
    print("|", " | ".join(_HEAD), "|")
    print("|", " | ".join("---" for _ in _HEAD), "|", flush=True)
    for spec in SPECS:
        for line in _lines(spec):
            print("|", " | ".join(line), "|", flush=True)


def _lines(spec: Path) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SFUMATO_WORK"] = f"{folder}/work"
        form, found = _attacked(spec, Path(folder))
    for column, scores in found.items():
        by_measure = {score.measure: score for score in scores}
        alone = (by_measure.get(_GUESSED) or by_measure[_SUBDOMAINS]).references[_WITHOUT]
        shares = [by_measure[m].share if m in by_measure else None for m in _SHOWN.values()]
        written = ("" if share is None else f"{100 * share:.1f}" for share in (alone, *shares))
        yield (f"`{spec.stem}`", form, f"`{column}`", *written)


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
    return attack_release(targets_of(release.declared, tables, people))


if __name__ == "__main__":
    sys.exit(main())
