"""`sfumato check`: verify a release from its files alone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.way_in import RELEASE, way_in_by, with_digest, with_limits
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json, one_line

if TYPE_CHECKING:
    from sfumato.expectations.models.model import PrivacyModel
    from sfumato.tasks.lines.movement import Movement
    from sfumato.tasks.lines.previous import Step, Succession
    from sfumato.tasks.publication.made_again import Checked
    from sfumato.tasks.terms.opened import Release
    from sfumato.tasks.verification.limits import ReadLimits


ONLY_THE_OWNER = (
    "that the rows of a group that goes on are the same people",
    "that their values did not change",
    "that vacant values are those of people who left",
    "how many people wait for a later version or are withheld",
    "what other lines tell of the same people",
)
"""What no files of versions can show, however many are held against each other."""
UNSEEN = (
    "that the published rows are those of the source: their values, and how many rows were read, "
    "filtered, dropped for nulls or suppressed, are the publisher's word",
    "what the source was, and when it was read",
    "whom a row is about: that rows, or the values of the declared unit, are people",
    "that columns have the roles they need: what is called insensitive, or was left out of a "
    "promise, may still tell people apart",
    "that no other version, and no release of another line or publisher, is about the same people",
    "that groups and their order came from chance, drawn once and kept",
    "how often likely intervals are met, and by how much they were widened, where there are any",
    "that bars on attacks were kept, where any are stated",
    "that nothing but these files was given to anybody",
)
"""What no file of a release can show of it."""


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


@click.command(epilog="\n\n".join(("What files cannot show:", *(f"- {one}." for one in UNSEEN))))
@RELEASE
@with_digest
@with_limits
@click.option(
    "--previous",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="hold it against an earlier version, each after an option of its own, in any order",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="the table that promises about a population speak of; several in the promises' order",
)
@as_document
def check(
    directory: Path,
    digest: str | None,
    limits: tuple[str, ...],
    previous: tuple[Path, ...],
    references: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Verify a published release from its files alone, and say who signed it.

    A version that was made to be combined can be held against those before it: all of them, or the
    latest ones without a gap.
    """
    from sfumato.tasks.publication.check import check as check_release
    from sfumato.tasks.publication.made_again import Checked

    found: list[Checked] = []

    def checking(place: Path, announced: str | None, taken: "ReadLimits") -> None:
        found.append(check_release(place, announced, taken, references))

    left_over = _left_over_beside(directory)
    release = way_in_by(digest, limits, checking).open(directory)
    if as_json:
        document = _document(release, found[0], previous, limits, references)
        echo_json({**document, "left_over": left_over})
        return
    for line in checked_lines(directory, found[0]):
        echo(line)
    echo(f"{directory}: {release.author}")
    for remark in release.remarks:
        echo(f"{directory}: {remark}")
    echo("What these files cannot show, whoever made them:")
    for one in _unseen(found[0], references):
        echo(f"  - {one}")
    if previous:
        tell_succession(release, previous, limits)


def _left_over_beside(directory: Path) -> list[str]:
    """Return what stopped commands left beside a release, and say it."""
    from sfumato.flows.life.mending import find_left_over_in

    found = find_left_over_in([directory.resolve().parent])
    for one in found:
        show.say(one.warning)
    return [trace for one in found for trace in one.traces]


def _document(
    release: "Release",
    checked: "Checked",
    previous: tuple[Path, ...],
    limits: tuple[str, ...],
    references: tuple[Path, ...],
) -> dict[str, Any]:
    """The findings for JSON; exact numbers that are none of JSON's are texts."""
    from sfumato.expectations.rules.verdicts import observation
    from sfumato.expectations.shared.numbers import plain

    promises = [
        {
            "promise": promise.parameters(),
            "groups": verdict.groups,
            "required": {name: plain(value) for name, value in verdict.required.items()},
            "observed": observation(verdict),
            **({"stated": True} if promise in checked.stated else {}),
        }
        for promise, verdict in checked.verdicts
    ]
    for document, (_, verdict) in zip(promises, checked.over_people, strict=False):
        document[release.declared.counted] = {**observation(verdict), "stated": True}
    told = list(succession_lines(release, previous, limits)) if previous else []
    return {
        "directory": str(release.directory),
        "digest": release.manifest["sfumato"]["digest"],
        "author": release.author,
        "beside": list(release.remarks),
        "promises": promises,
        "derived": checked.derived,
        "made_with": list(checked.made_with),
        "unlike": list(checked.unlike),
        "previous": told,
        "unseen": list(_unseen(checked, references)),
    }


def _unseen(checked: "Checked", references: tuple[Path, ...]) -> tuple[str, ...]:
    """What files cannot show of this release."""
    return (*UNSEEN, *_unseen_people(checked), *_unseen_references(checked, references))


def _unseen_people(checked: "Checked") -> tuple[str, ...]:
    """What cannot be shown of promises over people who have several rows."""
    from sfumato.tasks.terms.assessment import numbers

    said = [
        f"{promise.name}{' of all members' if promise.of_whole_people else ''} "
        f"({numbers(v.observed)})"
        for promise, v in checked.over_people
    ]
    over = {"people": "people, who have several rows,", "households": "households"}[checked.over]
    return (f"that over {over} these hold: {'; '.join(said)}",) if said else ()


def _unseen_references(checked: "Checked", given: tuple[Path, ...]) -> tuple[str, ...]:
    """What cannot be shown of promises about a population."""
    if checked.stated:
        names = ", ".join(dict.fromkeys(promise.name for promise in checked.stated))
        return (
            f"that {names} holds: it is about a reference, which is not published; who has it can "
            "measure it (--reference FILE)",
        )
    if given:
        return (
            "that the reference given is the one that was meant, or is as large as the population: "
            "its digest is published under the publisher's key alone",
        )
    return ()


def _of_columns(promise: "PrivacyModel") -> str:
    """A promise by the column that it protects, or the columns that it is about."""
    about = promise.sensitive if promise.protects else None
    columns = about or ", ".join(promise.quasi_identifiers or ())
    return one_line(f"{promise.name} of {columns}" if columns else promise.name)


def checked_lines(directory: Path, checked: "Checked") -> Iterator[str]:
    """What a check found of the release in a directory, line by line."""
    from sfumato.tasks.terms.assessment import numbers

    times = Counter(promise.name for promise, _ in checked.verdicts)
    for promise, verdict in checked.verdicts:
        called = promise.name if times[promise.name] == 1 else _of_columns(promise)
        together = " together" if promise.judged_jointly else ""
        if promise in checked.stated:
            yield (
                f"{called} is not measured here: the publisher states "
                f"{numbers(verdict.observed)} in {verdict.groups} groups, and requires "
                f"{numbers(verdict.required)}"
            )
            continue
        yield (
            f"{called} holds in all {verdict.groups} groups{together}: "
            f"required {numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    if checked.derived == "equal":
        yield f"{directory}: every file is what the published tables give"
        return
    made_with = ", ".join(checked.made_with)
    yield (
        f"{directory}: made with {made_with}; every file says what the published tables give: "
        "tables, SQL and numbers were compared, layout and words of the page were not"
    )
    for name in checked.unlike:
        yield f"{name}: says something else; it is the file of the announced digest"
