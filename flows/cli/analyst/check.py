"""`sfumato check`: verify a release by nothing but its files."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.expectations.shared.errors import InputError
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
    from sfumato.tasks.verification.log_check import LogFindings


ONLY_THE_OWNER = (
    "that the rows of a group that continues are about the same people",
    "that their values did not change",
    "that vacant values belonged to people who left",
    "how many people wait for a later version or are withheld",
    "what other lines reveal about the same people",
)
"""Facts that no files of versions can show, however many are compared."""
UNSEEN = (
    "that the published rows are those of the source; their values, and how many rows were read, "
    "filtered, left out or suppressed, are statements of the publisher",
    "what the source was, and when it was read",
    "whom a row is about: that each row, or each value of the declared unit, is one person",
    (
        "that columns have the right roles: a column that is called insensitive, or was "
        "left out of a promise, may still identify people"
    ),
    "that no other version, and no release of another line or publisher, is about the same people",
    "that groups and their order came from chance, drawn once and kept",
    (
        "how often likely intervals contain the truth, and by how much they were widened, "
        "if there are any"
    ),
    "that limits on attacks were kept, if any are stated",
    "that no one received anything but these files",
)
"""Facts about a release that none of its files can show."""
_UNSEEN_OF_TWO = (
    "that each row of the second table is in the group of its person, and that no "
    "person has more rows than most_rows states"
)
_UNSEEN_NUMBERS = (
    "that numbers of rows in the table of people are those of the right people, or groups"
)


def tell_succession(
    release: "Release", directories: Sequence[Path], limits: tuple[str, ...]
) -> None:
    """Compare a verified release with earlier versions of it, and print the findings."""
    for line in succession_lines(release, directories, limits):
        echo(line)
    echo("What only the owner of the source can show, even if all versions are compared:")
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
            f"{promise.name} is kept in all {verdict.groups} groups of these versions "
            f"together: required {numbers(verdict.required)}, observed "
            f"{numbers(verdict.observed)}"
        )
    if not succession.whole:
        yield "Versions before these were not named, so nothing was compared with them."


def _step_lines(step: "Step") -> Iterator[str]:
    moved = step.moved
    yield (
        f"{step.now} continues {step.before}: {moved.continued} groups keep their "
        f"values, {moved.new} groups of new people appear, {moved.ended} groups are "
        "not shown any more"
    )
    if moved.unique is not None:
        yield f"  shown, not judged: {_unique(moved)}"
    vacancies = (
        "" if moved.vacated is None else f"; vacant values of these {_growth(moved.vacated)}"
    )
    disappeared = f"{moved.disappeared} rows disappeared from groups that continue"
    yield f"  shown, not judged: {disappeared}{vacancies}"


def _growth(more: int) -> str:
    """Return in words by how much a number grew.

    It falls if newcomers took places of people who left.
    """
    return f"grew by {more}" if more >= 0 else f"fell by {-more}"


def _unique(moved: "Movement") -> str:
    text = (
        f"{moved.unique} combinations of quasi-identifiers occur once in both, "
        f"{moved.regrouped} of them in another group than before"
    )
    if moved.fewest is None:
        return text
    return (
        f"{text}; the two groups of such a combination have at least {moved.fewest} values "
        "in common"
    )


@click.command(epilog="\n\n".join(("What files cannot show:", *(f"- {fact}." for fact in UNSEEN))))
@RELEASE
@with_digest
@with_limits
@click.option(
    "--previous",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="compare it with an earlier version; repeat the option for several, in any order",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "the table of the population that promises are about; repeat the option in the "
        "order of the promises"
    ),
)
@click.option(
    "--attest",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="write a statement of what was found, signed with your key (--key), for others to verify",
)
@click.option("--key", metavar="NAME", help="the signing key for --attest (sfumato keys generate)")
@click.option(
    "--head",
    "heads",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=(
        "compare the line's log with a head that another reader wrote (--write-head), or you "
        "yourself; repeat the option for several"
    ),
)
@click.option(
    "--write-head",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="write the head of the line's log, to give to other readers of the line",
)
@as_document
def check(
    directory: Path,
    digest: str | None,
    limits: tuple[str, ...],
    previous: tuple[Path, ...],
    references: tuple[Path, ...],
    attest: Path | None,
    key: str | None,
    heads: tuple[Path, ...],
    write_head: Path | None,
    as_json: bool,
) -> None:
    """Verify a published release with nothing but its files, and print who signed it.

    RELEASE is the directory or the address of a version, or of a line for its current version.

    A version of a line with `versions: composed` can be compared with the versions before it: with
    all of them, or with the latest ones without a gap.

    The line's log of releases, withdrawals and keys is compared with the heads that you saw before,
    which are remembered beside your trusted keys, and with those of other readers.
    """
    from sfumato.tasks.publication.check import check as check_release
    from sfumato.tasks.publication.made_again import Checked
    from sfumato.tasks.verification.heads import read_head
    from sfumato.tasks.verification.log_check import check_log_beside

    checks: list[Checked] = []
    exchanged = [read_head(file) for file in heads]

    def checking(place: Path, announced: str | None, taken: "ReadLimits") -> None:
        checks.append(check_release(place, announced, taken, references))

    sign = None if attest is None else _attesting(attest, key)
    left_over = _left_over_beside(directory)
    release = way_in_by(digest, limits, checking).open(directory)
    log = check_log_beside(release, exchanged, os.environ)
    _keep_head(log, release, write_head)
    if sign is not None:
        sign(_document(release, checks[0], previous, limits, references))
    if as_json:
        document = _document(release, checks[0], previous, limits, references)
        echo_json({**document, "log": log.document(), "left_over": left_over})
        return
    for line in (*checked_lines(directory, checks[0]), *policy_lines(release, checks[0])):
        echo(line)
    for remark in (release.author, *release.remarks, *log.lines()):
        echo(f"{directory}: {remark}")
    echo("What these files cannot show:")
    for fact in _unseen(checks[0], references):
        echo(f"  - {fact}")
    if previous:
        tell_succession(release, previous, limits)


def _attesting(path: Path, key: str | None) -> Callable[[dict[str, Any]], None]:
    """Open the key for an attestation before anything is checked; return what writes it."""
    from sfumato.tasks.private.durable import write_atomically
    from sfumato.tasks.private.workdir import work_directory
    from sfumato.tasks.verification.attestation import attestation
    from sfumato.tasks.verification.signing_keys import open_signer, signing_key

    if key is None:
        raise click.UsageError("--attest needs --key NAME, the name of your signing key")
    signer = open_signer(signing_key(work_directory(os.environ), key))

    def write(findings: dict[str, Any]) -> None:
        write_atomically(path, attestation(findings, signer, datetime.now(UTC)), 0o644)
        show.say(f"{path}: what was found, signed by {signer.key}")

    return write


def _keep_head(log: "LogFindings", release: "Release", file: Path | None) -> None:
    """Remember the head of a log that passed, and write it to a file for other readers."""
    from sfumato.tasks.private.durable import write_atomically
    from sfumato.tasks.verification.heads import exchanged_head

    if file is not None:
        if log.log is None:
            raise InputError(f"--write-head {file}: there is no log beside {release.directory}")
        digest = release.manifest["sfumato"]["digest"]
        write_atomically(file, exchanged_head(log.log, digest), 0o644)
        show.say(f"{file}: the head of the log. Give it to other readers: check LINE --head {file}")
    for warning in log.remember(os.environ):
        show.say(warning)


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
        **_policy_document(release, checked),
        "derived": checked.derived,
        "made_with": list(checked.made_with),
        "unlike": list(checked.unlike),
        "wrong_script": checked.wrong_script,
        "previous": succession,
        "unseen": list(_unseen(checked, references)),
    }


def _unseen(checked: "Checked", references: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the facts about this release that files cannot show."""
    return (
        *UNSEEN,
        *((_UNSEEN_OF_TWO,) if checked.has_related_rows else ()),
        *((_UNSEEN_NUMBERS,) if checked.shows_numbers_of_rows else ()),
        *_unseen_people(checked),
        *_unseen_references(checked, references),
    )


def _unseen_people(checked: "Checked") -> tuple[str, ...]:
    """Return the statements about people with several rows that files cannot show."""
    from sfumato.tasks.terms.assessment import numbers

    statements = [
        f"{promise.name}{' of all members' if promise.of_whole_people else ''} "
        f"({numbers(v.observed)})"
        for promise, v in checked.over_people
        if not checked.has_related_rows
        or (
            promise.needs_owners
            and not (promise.name == "people" and checked.shows_numbers_of_rows)
        )
    ]
    if not statements:
        return ()
    if checked.has_related_rows:
        who = "against those who know their own rows, or how many everyone has, and beside facts"
    else:
        over = {"people": "people, who have several rows,", "households": "households"}
        who = f"over {over[checked.over]}"
    return (f"that these promises are kept {who}: {'; '.join(statements)}",)


def _unseen_references(checked: "Checked", references: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the statements about a population that files cannot show."""
    if checked.stated:
        names = ", ".join(dict.fromkeys(promise.name for promise in checked.stated))
        return (
            f"that {names} is kept: it is about a reference, which is not published. "
            "If you have the reference, measure it with --reference FILE",
        )
    if references:
        return (
            "that the named reference is the publisher's reference, or is as large as "
            "the population: its digest is published only under the publisher's key",
        )
    return ()


def policy_lines(release: "Release", checked: "Checked") -> Iterator[str]:
    """Yield what was decided of a release's policy, line by line; nothing without a policy."""
    policy = release.declared.policy
    if policy is None:
        return
    from sfumato.tasks.policies.rule import NO_ADVICE
    from sfumato.tasks.policies.term import words_of_edition

    yield (
        f"policy {policy.edition()}: every rule that a machine decides is kept. What people "
        f"stated is not published. {NO_ADVICE}"
    )
    for finding in checked.rule_findings:
        yield f"  - {finding.words}"
    yield f"  {words_of_edition(policy)}"


def _policy_document(release: "Release", checked: "Checked") -> dict[str, Any]:
    """Return the policy of a release with what was decided, for JSON; {} without a policy."""
    policy = release.declared.policy
    if policy is None:
        return {}
    from sfumato.tasks.policies.rule import NO_ADVICE
    from sfumato.tasks.policies.term import is_known

    rules = [
        {"rule": finding.parameters["rule"], "kept": finding.passed, "observed": finding.observed}
        for finding in checked.rule_findings
    ]
    return {
        "policy": {
            "name": policy.name,
            "date": policy.date,
            "sha256": policy.sha256,
            "known": is_known(policy),
            "rules": rules,
            "note": NO_ADVICE,
        }
    }


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
                f"{called} is not measured here; the publisher states "
                f"{numbers(verdict.observed)} in {verdict.groups} groups, and requires "
                f"{numbers(verdict.required)}"
            )
            continue
        yield (
            f"{called} is kept in all {verdict.groups} groups{together}: required "
            f"{numbers(verdict.required)}, observed {numbers(verdict.observed)}"
        )
    if checked.derived == "equal":
        yield f"{directory}: every file agrees with the published tables"
        return
    made_with = ", ".join(checked.made_with)
    yield (
        f"{directory}: made with {made_with}; every file agrees with the published "
        "tables. Tables, SQL and numbers were compared, and the layout and wording of "
        "the page were not"
    )
    for name in checked.unlike:
        yield (
            f"{name}: differs from the published tables, and it is the file of the announced digest"
        )
    if checked.wrong_script:
        yield (
            f"warning: index.html answers some questions wrongly: {checked.wrong_script}. "
            "Ask with sfumato query"
        )
