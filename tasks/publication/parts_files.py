"""The files of a release in parts beside its parts, made only from the whole's view of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.publication.files import write_hierarchies
from sfumato.tasks.publication.manifest import files, manifest
from sfumato.tasks.publication.parts import (
    SeenParts,
    findings_of,
    observations_of,
    rule_findings_of_whole,
)
from sfumato.tasks.query.ready_sql import duckdb_script
from sfumato.tasks.report.page import PageContent, PublishedFile, page
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.terms.assessment import documents, stated_bars
from sfumato.tasks.terms.opened import MANIFEST, PAGE
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from sfumato.tasks.query.first_answers import FirstAnswer


def complete_whole(directory: Path, declared: Declared, seen: SeenParts) -> None:
    """Write SQL, validation, page and manifest beside the parts of a release.

    Args:
        directory: contains the parts, each whole, and nothing else.
        declared: the declaration of the whole.
        seen: the whole's view of these very parts.
    """
    write_beside(directory, directory, declared, seen)
    listed = manifest(directory, declared, observations_of(seen.all_verdicts()))
    (directory / MANIFEST).write_bytes(canonical_json(listed))


def write_beside(place: Path, directory: Path, declared: Declared, seen: SeenParts) -> None:
    """Write into `place` the files beside the parts in `directory`, except the manifest."""
    place.mkdir(exist_ok=True)
    write_hierarchies(place / "hierarchies", declared)
    (place / "sql").mkdir()
    script = duckdb_script(declared)
    (place / "sql" / "duckdb.sql").write_text(script, encoding="utf-8", newline="\n")
    verdicts = seen.all_verdicts()
    findings = (*findings_of(verdicts), *rule_findings_of_whole(declared, verdicts))
    (place / "validation.json").write_bytes(
        canonical_json([*documents(findings), *stated_bars(declared)])
    )
    of_parts = {path: directory for path in files(directory) if path.parts[0] == PARTS}
    beside = {path: place for path in files(place) if path.parts[0] != PARTS}
    text = _page(of_parts | beside, declared, seen, directory)
    (place / PAGE).write_text(text, encoding="utf-8", newline="\n")


def page_of_whole(directory: Path, declared: Declared, seen: SeenParts) -> str:
    """Return the page that belongs beside all other files of a directory, which it lists."""
    return _page(dict.fromkeys(files(directory), directory), declared, seen, directory)


def answers_of_parts(directory: Path, declared: Declared) -> "tuple[FirstAnswer, ...]":
    """Answer three questions from the tables of all parts, if the page's layout shows them."""
    if not tells("answers", declared.software):
        return ()
    from sfumato.tasks.query.ask import files_below
    from sfumato.tasks.query.first_answers import first_answers

    sensitive = declared.names_with_roles("sensitive")
    return first_answers(declared, files_below(directory, declared, sensitive))


def _page(listed: Mapping[Path, Path], declared: Declared, seen: SeenParts, directory: Path) -> str:
    sizes = {path: (place / path).stat().st_size for path, place in listed.items()}
    content = PageContent(
        declared=declared,
        verdicts=seen.all_verdicts(),
        groups=Groups(seen.all_sizes, {}),
        files=tuple(
            PublishedFile(path.as_posix(), size)
            for path, size in sorted(sizes.items(), key=lambda item: item[0].as_posix())
            if path != Path(PAGE)
        ),
        answers=answers_of_parts(directory, declared),
        rule_findings=rule_findings_of_whole(declared, seen.all_verdicts()),
    )
    return page(content)
