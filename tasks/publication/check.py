"""Checking that a published release keeps its word, from its files alone.

Everything in a release but its tables and its declaration is a function of those two. So a check
reads them back strictly, measures every promise again, makes the whole release anew beside it, and
compares byte by byte; where other software made the release, it compares what the files say. What
cannot be verified is not kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sfumato.expectations.errors import PromiseError, SfumatoError
from sfumato.expectations.verdicts import require
from sfumato.tasks.declaration.assessment import Assessment, assess
from sfumato.tasks.declaration.cuts import PARTS
from sfumato.tasks.declaration.opened import (
    MANIFEST,
    Release,
)
from sfumato.tasks.declaration.references.stated import with_statements
from sfumato.tasks.declaration.software import other_software
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.private.references.reference import (
    NO_REFERENCES,
    References,
    given_references,
)
from sfumato.tasks.publication.checked.agreement import require_agreement
from sfumato.tasks.publication.checked.made_again import Checked, compare_made_again
from sfumato.tasks.publication.checked.sealed import open_sealed
from sfumato.tasks.publication.files import page_beside, write_release
from sfumato.tasks.publication.in_parts.files import page_of_whole, write_beside
from sfumato.tasks.publication.in_parts.read import read_whole
from sfumato.tasks.publication.in_parts.whole import findings_of, observations_of
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.verification.integrity import require_listed
from sfumato.tasks.verification.limits import ReadLimits, extent_within


def check(
    directory: Path,
    announced: str | None = None,
    limits: ReadLimits | None = None,
    given: Sequence[Path] = (),
    *,
    made_again: Mapping[str, str] | None = None,
) -> Checked:
    """Verify a release directory.

    Args:
        directory: the release, as published.
        announced: the digest that the publisher announced, where there is one to compare with.
        limits: the sizes of tables that the reader takes; a publisher takes its own of any size.
        given: the references that promises speak of, in their order; without any, these promises
            are taken as they are stated.
        made_again: the SHA-256 of its files, by their paths, where these were just held to them and
            are known to be what was made of the tables as they are read back, and to agree with
            them: they are not made once more, unless other software made them.

    Raises:
        InputError: where there is no release, it was made by newer software, or is larger than
            the limits; where references are not those that promises speak of.
        PromiseError: where anything is not as it must be.
    """
    release = open_sealed(directory, announced)
    try:
        if limits is not None:
            extent_within(directory, limits)
        vouched = announced is not None
        references = given_references(release.declared.promises, given)
        if release.declared.parts is not None or release.declared.made_of:
            return _of_parts(release, vouched=vouched, made_again=made_again)
        return _verified(release, references, vouched=vouched, made_again=made_again)[0]
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be verified is not kept
        raise PromiseError(f"{directory}: cannot be verified ({type(error).__name__})") from None


def _verified(
    release: Release,
    references: References = NO_REFERENCES,
    *,
    vouched: bool,
    made_again: Mapping[str, str] | None,
) -> tuple[Checked, Assessment]:
    declared = release.declared
    tables = read_tables(declared, release.directory / "data")
    assessed = assess(declared, tables, references=references)
    assessment, stated = with_statements(assessed, release.manifest, references)
    require(assessment.findings)
    if made_again is None:
        require_agreement(declared, tables)
    checked = replace(
        _derived(release, assessment, vouched=vouched, made_again=made_again),
        stated=stated,
        over_people=assessment.over_people,
        over=declared.counted,
    )
    return checked, assessment


def _derived(
    release: Release, assessment: Assessment, *, vouched: bool, made_again: Mapping[str, str] | None
) -> Checked:
    """Hold everything but the tables against what these give, unless it is known to be that."""
    declared, directory = release.declared, release.directory
    if made_again is not None and not other_software(declared.software):
        require_listed(release, made_again)
        return Checked(assessment.verdicts, "equal")
    derived = compare_made_again(
        release,
        assessment.verdicts,
        partial(write_release, assessment=assessment),
        partial(page_beside, assessment=assessment),
        vouched=vouched,
    )
    if manifest(directory, declared, assessment.observed()) != release.manifest:
        raise PromiseError(f"{MANIFEST}: is not what the files give")
    return derived


def _of_part(files: Mapping[str, str] | None, name: str) -> Mapping[str, str] | None:
    """The hashes of the files of a part, by their paths from there."""
    below = f"{PARTS}/{name}/"
    if files is None:
        return None
    return {path[len(below) :]: of for path, of in files.items() if path.startswith(below)}


def _of_parts(release: Release, *, vouched: bool, made_again: Mapping[str, str] | None) -> Checked:
    """Verify every part as a release of its own, and then what is said of all of them."""
    seen, made = read_whole(
        release,
        lambda part: _verified(
            open_sealed(part, None), vouched=vouched, made_again=_of_part(made_again, part.name)
        ),
    )
    declared, verdicts = release.declared, seen.all_verdicts()
    require(findings_of(verdicts))
    whole = compare_made_again(
        release,
        verdicts,
        lambda again: write_beside(again, release.directory, declared, seen),
        lambda directory: page_of_whole(directory, declared, seen),
        vouched=vouched,
    )
    if manifest(release.directory, declared, observations_of(verdicts)) != release.manifest:
        raise PromiseError(f"{MANIFEST}: is not what the files give")
    of_parts = [one for one in made if one.derived != "equal"]
    unlike = [name for one in of_parts for name in one.unlike]
    if not of_parts:
        return whole
    made_with = (*whole.made_with, *(name for one in of_parts for name in one.made_with))
    return Checked(
        verdicts, "equivalent", tuple(dict.fromkeys(made_with)), (*whole.unlike, *unlike)
    )
