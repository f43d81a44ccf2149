"""`sfumato check`: verify a release by nothing but its files."""

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
"""Facts that no files of versions can show, however many are compared."""
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
"""Facts about a release that none of its files can show."""


def tell_succession(
    release: "Release", directories: Sequence[Path], limits: tuple[str, ...]
) -> None:
    """Compare a verified release with earlier versions of it, and print the findings."""
    for line in succession_lines(release, directories, limits):
        echo(line)
    echo("What only the owner of the source can show, whichever versions are compared:")
    for fact in ONLY_THE_OWNER:
        echo(f"  - {fact}")


def succession_lines(
    release: "Release", directories: Sequence[Path], limits: tuple[str, ...]
) -> Iterator[str]:
    """Compare a verified release with earlier versions of it; yield the findings as lines."""
    from sfumato.tasks.lines.previous import hold_against
    from sfumato.tasks.publication.check import check

    def verify(directory: Path) -> "Release":
        opened = way_in_by(None, limits).open(directory)
        return opened if opened.verified else way_in_by(None, limits, check).open(directory)

    yield from _lines(hold_against(release, directories, verify))


def _lines(succession: "Succession") -> Iterator[str]:
    from sfumato.tasks.terms.assessment import numbers

    for step in succession.steps:
        yield from _step_lines(step)
    for promise, verdict in succession.together:
        yield (
            f"{promise.name} holds in all {verdict.groups} groups of these versions together: "
            f"required {numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    if not succession.whole:
        yield "Earlier versions than these were not given, and nothing was compared with them."


def _step_lines(step: "Step") -> Iterator[str]:
    moved = step.moved
    yield (
        f"{step.now} continues {step.before}: {moved.continued} groups go on with the values they "
        f"had, {moved.new} are of newcomers, {moved.ended} are shown no more"
    )
    if moved.unique is not None:
        yield f"  told, not judged: {_unique(moved)}"
    vacancies = (
        "" if moved.vacated is None else f"; vacant values of these {_growth(moved.vacated)}"
    )
    disappeared = f"{moved.disappeared} rows disappeared from groups that go on"
    yield f"  told, not judged: {disappeared}{vacancies}"


def _growth(more: int) -> str:
    """Return in words by how much a number grew.

    It falls if newcomers took places of people who left.
    """
    return f"grew by {more}" if more >= 0 else f"fell by {-more}"


def _unique(moved: "Movement") -> str:
    text = (
        f"{moved.unique} combinations of quasi-identifiers stand once in both, "
        f"{moved.regrouped} of them in another group than before"
    )
    if moved.fewest is None:
        return text
    return f"{text}; both groups of one have at least {moved.fewest} values in common"


@click.command(epilog="\n\n".join(("What files cannot show:", *(f"- {fact}." for fact in UNSEEN))))
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

    checks: list[Checked] = []

    def checking(place: Path, announced: str | None, taken: "ReadLimits") -> None:
        checks.append(check_release(place, announced, taken, references))

    left_over = _left_over_beside(directory)
    release = way_in_by(digest, limits, checking).open(directory)
    if as_json:
        document = _document(release, checks[0], previous, limits, references)
        echo_json({**document, "left_over": left_over})
        return
    for line in checked_lines(directory, checks[0]):
        echo(line)
    echo(f"{directory}: {release.author}")
    for remark in release.remarks:
        echo(f"{directory}: {remark}")
    echo("What these files cannot show, whoever made them:")
    for fact in _unseen(checks[0], references):
        echo(f"  - {fact}")
    if previous:
        tell_succession(release, previous, limits)


def _left_over_beside(directory: Path) -> list[str]:
    """Return what stopped commands left beside a release, and print a warning about it."""
    from sfumato.flows.life.mending import find_left_over_in

    leftovers = find_left_over_in([directory.resolve().parent])
    for leftover in leftovers:
        show.say(leftover.warning)
    return [trace for leftover in leftovers for trace in leftover.traces]


def _document(
    release: "Release",
    checked: "Checked",
    previous: tuple[Path, ...],
    limits: tuple[str, ...],
    references: tuple[Path, ...],
) -> dict[str, Any]:
    """Return the findings for JSON; exact numbers that are none of JSON's are texts."""
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
        document[release.declared.kept_over] = {**observation(verdict), "stated": True}
    succession = list(succession_lines(release, previous, limits)) if previous else []
    return {
        "directory": str(release.directory),
        "digest": release.manifest["sfumato"]["digest"],
        "author": release.author,
        "beside": list(release.remarks),
        "promises": promises,
        "derived": checked.derived,
        "made_with": list(checked.made_with),
        "unlike": list(checked.unlike),
        "previous": succession,
        "unseen": list(_unseen(checked, references)),
    }


def _unseen(checked: "Checked", references: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the facts about this release that files cannot show."""
    return (*UNSEEN, *_unseen_people(checked), *_unseen_references(checked, references))


def _unseen_people(checked: "Checked") -> tuple[str, ...]:
    """Return the statements about people with several rows that files cannot show."""
    from sfumato.tasks.terms.assessment import numbers

    statements = [
        f"{promise.name}{' of all members' if promise.of_whole_people else ''} "
        f"({numbers(v.observed)})"
        for promise, v in checked.over_people
    ]
    over = {"people": "people, who have several rows,", "households": "households"}[checked.over]
    return (f"that over {over} these hold: {'; '.join(statements)}",) if statements else ()


def _unseen_references(checked: "Checked", references: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the statements about a population that files cannot show."""
    if checked.stated:
        names = ", ".join(dict.fromkeys(promise.name for promise in checked.stated))
        return (
            f"that {names} holds: it is about a reference, which is not published; who has it can "
            "measure it (--reference FILE)",
        )
    if references:
        return (
            "that the reference given is the one that was meant, or is as large as the population: "
            "its digest is published under the publisher's key alone",
        )
    return ()


def _promise_name(promise: "PrivacyModel") -> str:
    """Return a promise's name with the column that it protects, or the columns it is about."""
    about = promise.sensitive if promise.protects else None
    columns = about or ", ".join(promise.quasi_identifiers or ())
    return one_line(f"{promise.name} of {columns}" if columns else promise.name)


def checked_lines(directory: Path, checked: "Checked") -> Iterator[str]:
    """Yield the findings of a check of the release in a directory, line by line."""
    from sfumato.tasks.terms.assessment import numbers

    times = Counter(promise.name for promise, _ in checked.verdicts)
    for promise, verdict in checked.verdicts:
        called = promise.name if times[promise.name] == 1 else _promise_name(promise)
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
