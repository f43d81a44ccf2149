"""What `sfumato check --previous` says of a version and those before it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.flows.cli.analyst.way_in import way_in_by
from sfumato.flows.cli.terminal import echo

if TYPE_CHECKING:
    from sfumato.tasks.lines.movement import Movement
    from sfumato.tasks.lines.previous import Step, Succession
    from sfumato.tasks.terms.opened import Release

ONLY_THE_OWNER = (
    "that the rows of a group that goes on are the same people",
    "that their values did not change",
    "that vacant values are those of people who left",
    "how many people wait for a later version or are withheld",
    "what other lines tell of the same people",
)
"""What no files of versions can show, however many are held against each other."""


def tell_succession(
    release: "Release", directories: Sequence[Path], limits: tuple[str, ...]
) -> None:
    """Hold a verified release against earlier versions of it, and say what was found."""
    for line in succession_lines(release, directories, limits):
        echo(line)
    echo("What only the owner of the source can show, whichever versions are compared:")
    for one in ONLY_THE_OWNER:
        echo(f"  - {one}")


def succession_lines(
    release: "Release", directories: Sequence[Path], limits: tuple[str, ...]
) -> Iterator[str]:
    """What is found where a verified release is held against earlier versions of it."""
    from sfumato.tasks.lines.previous import hold_against
    from sfumato.tasks.publication.check import check

    def verify(directory: Path) -> "Release":
        known = way_in_by(None, limits).open(directory)
        return known if known.verified else way_in_by(None, limits, check).open(directory)

    yield from _lines(hold_against(release, directories, verify))


def _lines(found: "Succession") -> Iterator[str]:
    from sfumato.tasks.terms.assessment import numbers

    for step in found.steps:
        yield from _of_step(step)
    for promise, verdict in found.together:
        yield (
            f"{promise.name} holds in all {verdict.groups} groups of these versions together: "
            f"required {numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    if not found.whole:
        yield "Earlier versions than these were not given, and nothing was compared with them."


def _of_step(step: "Step") -> Iterator[str]:
    moved = step.moved
    yield (
        f"{step.now} continues {step.before}: {moved.continued} groups go on with the values they "
        f"had, {moved.new} are of newcomers, {moved.ended} are shown no more"
    )
    if moved.unique is not None:
        yield f"  told, not judged: {_unique(moved)}"
    left = "" if moved.vacated is None else f"; vacant values of these {_by(moved.vacated)}"
    yield f"  told, not judged: {moved.disappeared} rows disappeared from groups that go on{left}"


def _by(more: int) -> str:
    """By how much something grew, or fell where newcomers took places of people who left."""
    return f"grew by {more}" if more >= 0 else f"fell by {-more}"


def _unique(moved: "Movement") -> str:
    text = (
        f"{moved.unique} combinations of quasi-identifiers stand once in both, "
        f"{moved.regrouped} of them in another group than before"
    )
    if moved.fewest is None:
        return text
    return f"{text}; both groups of one have at least {moved.fewest} values in common"
