"""Checking that a published release keeps its word, from its files alone.

Everything in a release but its tables and its declaration is a function of those two. So a check
reads them back strictly, measures every promise again, makes the whole release anew beside it, and
compares byte by byte; where other software made the release, it compares what the files say. What
cannot be verified is not kept.
"""

import filecmp
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sfumato.expectations.errors import InputError, PromiseError, SfumatoError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.verdicts import require
from sfumato.tasks.declaration.assessment import Assessment, Verdicts, assess
from sfumato.tasks.declaration.canonical import read_canonical
from sfumato.tasks.declaration.cuts import PARTS
from sfumato.tasks.declaration.opened import (
    MANIFEST,
    PAGE,
    SIGNATURE,
    Release,
    open_release,
    require_release,
)
from sfumato.tasks.declaration.references.stated import with_statements
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.software import other_software
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.declaration.terms import Declared, LineName, Title, Word
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.leaves import with_published_leaves
from sfumato.tasks.forms.optional import fakes
from sfumato.tasks.private.references.reference import (
    KEYED_DIGEST,
    NO_REFERENCES,
    References,
    given_references,
)
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.publication.equivalence import equivalent
from sfumato.tasks.publication.files import page_beside, write_release
from sfumato.tasks.publication.in_parts.files import page_of_whole, write_beside
from sfumato.tasks.publication.in_parts.read import read_whole
from sfumato.tasks.publication.in_parts.whole import findings_of, observations_of
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.query.intervals.shapes.families import fault_of_stated
from sfumato.tasks.schema.formats import require_readable
from sfumato.tasks.verification.integrity import digest, require_regular_files
from sfumato.tasks.verification.limits import ReadLimits, extent_within

_REFERENCE = TypeAdapter(Annotated[str, Field(pattern=KEYED_DIGEST)])


@dataclass(frozen=True)
class Checked:
    """The findings of a check.

    Attributes:
        verdicts: of every promise, measured again on the published tables; as it is stated, where a
            reference is needed that was not given.
        derived: whether derived files are byte for byte what this software makes of the tables, or
            say the same in other bytes, having been made by other software.
        made_with: that software.
        unlike: derived files that say something else; they are those of the announced digest.
        stated: the promises whose verdicts are stated, and not measured.
    """

    verdicts: Verdicts
    derived: Literal["equal", "equivalent"]
    made_with: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    stated: tuple[PrivacyModel, ...] = ()


def check(
    directory: Path,
    announced: str | None = None,
    limits: ReadLimits | None = None,
    given: Sequence[Path] = (),
) -> Checked:
    """Verify a release directory.

    Args:
        directory: the release, as published.
        announced: the digest that the publisher announced, where there is one to compare with.
        limits: the sizes of tables that the reader takes; a publisher takes its own of any size.
        given: the references that promises speak of, in their order; without any, these promises
            are taken as they are stated.

    Raises:
        InputError: where there is no release, it was made by newer software, or is larger than
            the limits; where references are not those that promises speak of.
        PromiseError: where anything is not as it must be.
    """
    release = _sealed(directory, announced)
    try:
        if limits is not None:
            extent_within(directory, limits)
        vouched = announced is not None
        references = given_references(release.declared.promises, given)
        if release.declared.parts is not None or release.declared.made_of:
            return _of_parts(release, vouched=vouched)
        return _verified(release, references, vouched=vouched)[0]
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be verified is not kept
        raise PromiseError(f"{directory}: cannot be verified ({type(error).__name__})") from None


def _verified(
    release: Release, references: References = NO_REFERENCES, *, vouched: bool
) -> tuple[Checked, Assessment]:
    declared, directory = release.declared, release.directory
    tables = read_tables(declared, directory / "data")
    assessed = assess(declared, tables, references=references)
    assessment, stated = with_statements(assessed, release.manifest, references)
    require(assessment.findings)
    _counts_agree(declared, tables)
    _in_order(declared, tables)
    _leaves_are_published(declared, tables)
    derived = _compare(
        release,
        assessment.verdicts,
        partial(write_release, assessment=assessment),
        partial(page_beside, assessment=assessment),
        vouched=vouched,
    )
    if manifest(directory, declared, assessment.observed()) != release.manifest:
        raise PromiseError(f"{MANIFEST}: is not what the files give")
    return replace(derived, stated=stated), assessment


def _of_parts(release: Release, *, vouched: bool) -> Checked:
    """Verify every part as a release of its own, and then what is said of all of them."""
    seen, made = read_whole(release, lambda part: _verified(_sealed(part, None), vouched=vouched))
    declared, verdicts = release.declared, seen.all_verdicts()
    require(findings_of(verdicts))
    whole = _compare(
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


def _compare(
    release: Release,
    verdicts: Verdicts,
    write: Callable[[Path], None],
    page: Callable[[Path], str],
    *,
    vouched: bool,
) -> Checked:
    """Make the whole release again, and hold every file of it against the one made here."""
    directory = release.directory
    with scratch_directory() as scratch:
        again = scratch / "release"
        write(again)
        different = _different(directory, again, release.declared)
        if not different:
            return Checked(verdicts, "equal")
        other = other_software(release.declared.software)
        if not other:
            raise PromiseError(f"{different[0]}: is not what the published tables give")
        (again / PAGE).write_text(page(directory), encoding="utf-8")
        unlike = [
            name for name in different if not equivalent(directory / name, again / name, other)
        ]
    made_with = tuple(f"{package} {version}" for package, version in other.items())
    if unlike and not vouched:
        raise PromiseError(
            f"{unlike[0]}: is not what the published tables give; it was made with "
            f"{', '.join(made_with)}: install that, or give the digest"
        )
    return Checked(verdicts, "equivalent", made_with, tuple(unlike))


def _sealed(directory: Path, announced: str | None) -> Release:
    require_release(directory)
    require_regular_files(directory)
    try:
        document = read_canonical(directory / MANIFEST)
        stated, sealed = document["sfumato"]["digest"], digest(document)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    require_readable(directory / MANIFEST, document["sfumato"])
    try:
        release = open_release(directory)
        for words, kind in _worded(release.declared):
            kind.validate_python(words)
    except (InputError, ValueError):
        raise PromiseError(f"{MANIFEST}: not the canonical manifest of a release") from None
    if stated != sealed:
        raise PromiseError(f"{MANIFEST}: its digest is not that of its content")
    if announced is not None and announced != sealed:
        raise PromiseError(f"{MANIFEST}: its digest is not the announced one")
    return release


def _worded(declared: Declared) -> list[tuple[Any, TypeAdapter[Any]]]:
    """The texts that a forged manifest could put on a terminal, and types that restrict them."""
    references = [p.reference_uri for p in declared.promises if p.reference_uri is not None]
    return [
        *((name, _REFERENCE) for name in references),
        (declared.name, TypeAdapter(LineName)),
        (declared.title, TypeAdapter(Title)),
        (declared.software, TypeAdapter(dict[Word, Word])),
    ]


def _counts_agree(declared: Declared, tables: Tables) -> None:
    rows = declared.rows
    if fakes(form_of(declared), tables) != rows.fakes:
        raise PromiseError(f"{MANIFEST}: does not state how many values are made up")
    lost = rows.dropped_by_filter + rows.dropped_for_nulls + rows.dropped_as_repeats
    lost += rows.suppressed + rows.not_represented_versions
    if min(rows.model_dump().values()) < 0 or rows.read - lost != rows.published:
        raise PromiseError(f"{MANIFEST}: its row counts contradict each other")
    told = [] if declared.exposure is None else [c.column for c in declared.exposure.columns]
    if len(set(told)) < len(told) or not set(told) <= set(declared.named("sensitive")):
        raise PromiseError(f"{MANIFEST}: tells of other columns than its sensitive ones")
    if fault := fault_of_stated(declared, declared.intervals):
        raise PromiseError(f"{MANIFEST}: {fault}")


def _in_order(declared: Declared, tables: Tables) -> None:
    if len(tables) == 1:
        return  # a rule of the table
    for name, table in form_of(declared).canonical(tables).items():
        if not table.equals(tables[name]):
            raise PromiseError(f"{name}: groups are not in canonical order across all tables")


def _leaves_are_published(declared: Declared, tables: Tables) -> None:
    if with_published_leaves(declared.columns, tables) != declared.columns:
        raise PromiseError(f"{MANIFEST}: a hierarchy has leaves under no published label")


def _different(directory: Path, again: Path, declared: Declared) -> list[str]:
    """The files but the manifest whose bytes are others than those made here.

    Parts are not among them: each was verified by itself.
    """
    within = tuple(f"{PARTS}/{part.name}/" for part in declared.made_of)
    found = [name for name in _tree(directory) if not name.startswith(within or ("/",))]
    expected = _tree(again)
    if extra := sorted(set(found) - {*expected, MANIFEST, SIGNATURE}):
        raise PromiseError(f"{extra[0]}: does not belong to the release")
    if missing := sorted(set(expected) - set(found)):
        raise PromiseError(f"{missing[0]}: is missing")
    _, different, failed = filecmp.cmpfiles(directory, again, expected, shallow=False)
    return sorted({*different, *failed} - {MANIFEST})


def _tree(directory: Path) -> Sequence[str]:
    return [
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    ]
