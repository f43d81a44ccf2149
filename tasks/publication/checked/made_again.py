"""A release made again from its own tables, held against the published one file by file."""

import filecmp
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.assessment import Verdicts
from sfumato.tasks.declaration.cuts import PARTS
from sfumato.tasks.declaration.opened import (
    MANIFEST,
    PAGE,
    SIGNATURE,
    Release,
)
from sfumato.tasks.declaration.software import other_software
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.publication.checked.equivalence import equivalent


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
        over_people: verdicts over people who have several rows, or households, as they are stated.
        over: whom these are over.
    """

    verdicts: Verdicts
    derived: Literal["equal", "equivalent"]
    made_with: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    stated: tuple[PrivacyModel, ...] = ()
    over_people: Verdicts = ()
    over: Literal["people", "households"] = "people"


def compare_made_again(
    release: Release,
    verdicts: Verdicts,
    write: Callable[[Path], None],
    page: Callable[[Path], str],
    *,
    vouched: bool,
) -> Checked:
    """Make the whole release again, and hold every file of it against the one made here.

    Args:
        release: the release, as published.
        verdicts: of its promises.
        write: writes the derived files of the release into a new directory.
        page: what the page says where its pictures are those of a directory.
        vouched: whether the publisher's digest is known, so that files of other software may say
            something else.

    Raises:
        PromiseError: where a file is missing, is one too many, or is not what tables give.
    """
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
