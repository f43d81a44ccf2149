"""A release made again from its own tables, and compared with the published one file by file.

Different versions of the packages that write files lay out the same tables, queries and pages
differently. So Parquet files are compared as tables, SQL as trees, and pages by their numbers,
their policy and their styles. A file must have the same bytes if its makers, the packages that lay
it out, have the versions that run here. The bytes of CSV files and of `validation.json` are the
same under all versions: the release format says how they are written.
"""

import filecmp
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import sqlglot

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.schema.files import read_bytes, read_text
from sfumato.tasks.schema.formats import LAYOUT, other_software
from sfumato.tasks.terms.assessment import Verdicts
from sfumato.tasks.terms.opened import MANIFEST, PAGE, SIGNATURE, Release
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tables import read_parquet
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    from sfumato.tasks.terms.kept_policy import PolicyFinding


def are_equivalent(published: Path, made: Path, other: Collection[str]) -> bool:
    """Decide whether a published file and the one made here have the same content.

    Args:
        published: the published file.
        made: the file made here.
        other: names of the packages of which other versions run here.
    """
    if read_bytes(published) == read_bytes(made):
        return True
    if published.suffix not in _COMPARED:
        return False
    makers, compare = _COMPARED[published.suffix]
    try:
        return not makers.isdisjoint(other) and compare(published, made)
    except (OSError, ValueError, RecursionError, pa.ArrowException, sqlglot.ParseError) as error:
        require_machine(error)
        return False


def _same_parquet(published: Path, made: Path) -> bool:
    tables = [read_parquet(path) for path in (published, made)]
    return tables[0].schema.metadata is None and tables[0].equals(tables[1])


def _same_sql(published: Path, made: Path) -> bool:
    trees = [sqlglot.parse(read_text(path), "duckdb") for path in (published, made)]
    return trees[0] == trees[1]


def _same_page(published: Path, made: Path) -> bool:
    from sfumato.tasks.publication.compared_pages import same_page

    return same_page(read_text(published), read_text(made))


_COMPARED: Mapping[str, tuple[frozenset[str], Callable[[Path, Path], bool]]] = {
    ".parquet": (frozenset({"pyarrow"}), _same_parquet),
    ".sql": (frozenset({"sqlglot", "sfumato"}), _same_sql),
    ".html": (frozenset({"sfumato", LAYOUT}), _same_page),
}
"""By the ending of files: the packages that lay them out, and how two layouts are compared.

Other files must have the same bytes.
"""


@dataclass(frozen=True)
class Checked:
    """The findings of a check.

    Attributes:
        verdicts: of every promise, measured again on the published tables; as it is stated, where a
            reference is needed that was not given.
        derived: `equal` if derived files are byte for byte what this software makes of the tables;
            `equivalent` if other software made them, and other bytes are accepted.
        made_with: the packages of which other versions made them, with these versions.
        unlike: derived files with other content than this software gives them, which are accepted
            because the publisher's digest is known.
        stated: the promises whose verdicts are stated, and not measured.
        over_people: verdicts over people who have several rows, or households, as they are stated.
        over: the units of these verdicts.
        has_related_rows: whether the rows of these people are those of a second table.
        shows_numbers_of_rows: whether anyone sees how many people of a group have such rows.
        wrong_script: why the answers of the page's own script are wrong, if it is a script that
            turned out to be; None otherwise.
        rule_findings: the rules of the release's policy, each with what was found.
    """

    verdicts: Verdicts
    derived: Literal["equal", "equivalent"]
    made_with: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    stated: tuple[PrivacyModel, ...] = ()
    over_people: Verdicts = ()
    over: Literal["people", "households"] = "people"
    has_related_rows: bool = False
    shows_numbers_of_rows: bool = False
    wrong_script: str | None = None
    rule_findings: "tuple[PolicyFinding, ...]" = ()


def compare_made_again(
    release: Release,
    verdicts: Verdicts,
    write: Callable[[Path], None],
    page: Callable[[Path], str],
    *,
    vouched: bool,
) -> Checked:
    """Make the whole release again, and compare every file of it with the one made here.

    Args:
        release: the release, as published.
        verdicts: the verdicts on its promises.
        write: writes the derived files of the release into a new directory.
        page: returns the page with the pictures of a directory.
        vouched: whether the publisher's digest is known, so that files of other software may say
            something else.

    Raises:
        PromiseError: where a file is missing, is one too many, or is not what tables give.
    """
    directory = release.directory
    with scratch_directory() as scratch:
        again = scratch / "release"
        write(again)
        different = _differing_files(directory, again, release.declared)
        if not different:
            return Checked(verdicts, "equal")
        other = other_software(release.declared.software)
        script = None if other else _earlier_script(directory, again, different)
        if script is not None:
            wrong = _wrong_script(directory / PAGE)
            return Checked(verdicts, "equivalent", (f"page script {script}",), wrong_script=wrong)
        if not other:
            raise PromiseError(f"{different[0]}: differs from the published tables")
        (again / PAGE).write_text(page(directory), encoding="utf-8", newline="\n")
        unlike = [
            name for name in different if not are_equivalent(directory / name, again / name, other)
        ]
    made_with = tuple(f"{package} {version}" for package, version in other.items())
    if unlike and not vouched:
        raise PromiseError(
            f"{unlike[0]}: differs from the published tables; it was made with "
            f"{', '.join(made_with)}. Install that software, or add --digest"
        )
    wrong = _wrong_script(directory / PAGE)
    return Checked(verdicts, "equivalent", made_with, tuple(unlike), wrong_script=wrong)


def _earlier_script(directory: Path, again: Path, different: Sequence[str]) -> str | None:
    """Return the digest of the page's script if only an earlier script makes files differ."""
    from sfumato.tasks.publication.compared_pages import earlier_script

    if list(different) != [PAGE]:
        return None
    return earlier_script(*(read_text(place / PAGE) for place in (directory, again)))


def _wrong_script(page: Path) -> str | None:
    from sfumato.tasks.publication.compared_pages import WRONG_SCRIPTS, script_of

    return WRONG_SCRIPTS.get(script_of(read_text(page)) or "")


def _differing_files(directory: Path, again: Path, declared: Declared) -> list[str]:
    """Return the files except the manifest whose bytes differ from those made here.

    Parts are not among them: each was verified by itself.
    """
    within = tuple(f"{PARTS}/{part.name}/" for part in declared.made_of)
    names = [name for name in _tree(directory) if not name.startswith(within or ("/",))]
    expected = _tree(again)
    if extra := sorted(set(names) - {*expected, MANIFEST, SIGNATURE}):
        raise PromiseError(f"{extra[0]}: does not belong to the release")
    if missing := sorted(set(expected) - set(names)):
        raise PromiseError(f"{missing[0]}: is missing")
    _, different, failed = filecmp.cmpfiles(directory, again, expected, shallow=False)
    return sorted({*different, *failed} - {MANIFEST})


def _tree(directory: Path) -> Sequence[str]:
    return [
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    ]
