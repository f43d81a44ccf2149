"""The pages of a line, of a catalogue and of withdrawn versions, and what a version changed.

All are pure functions of what is public of lines: no time, no order that depends on how it was
read, no values.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sfumato.tasks.report.line_entries import DescribedVersion, LineEntry, VersionEntry, urn_of
from sfumato.tasks.report.line_metadata import (
    as_script,
    citation,
    citation_file,
    dcat,
    dcat_catalogue,
    schema_org,
    schema_org_catalogue,
)
from sfumato.tasks.report.numbers import thousands
from sfumato.tasks.report.rendering import environment, stylesheet
from sfumato.tasks.schema.stated import link_of
from sfumato.tasks.terms.tombstone import Tombstone

GENERATOR = "Sfumato, from public records of releases"
"""The generator named in all these files: a file without it is not ours."""
VERIFIER_PAGE = "./verifier/index.html"
"""The address of the page that checks versions of a line, from the line's page."""
CATALOGUE = "Public microdata releases"


@dataclass(frozen=True)
class ChangedVersion:
    """A version, the one before it, and their differences as parts of a sentence."""

    number: str
    before: str
    changes: tuple[str, ...]


def changed_versions(versions: Sequence[VersionEntry]) -> list[ChangedVersion]:
    """Return each version beside the one before it, where both can be read; the latest first.

    Args:
        versions: the latest first.
    """
    return [
        ChangedVersion(after.number, before.number, tuple(differences(old, new)))
        for after, before in pairwise(versions)
        if (new := after.described) is not None and (old := before.described) is not None
    ]


def differences(before: DescribedVersion, after: DescribedVersion) -> Iterator[str]:
    """Yield what differs between two versions, each difference in words."""
    whose = "people" if after.related_rows else "rows"
    yield from _count_difference(whose, before.rows, after.rows)
    for table in before.related_rows.keys() & after.related_rows.keys():
        numbers = (described.related_rows[table] for described in (before, after))
        yield from _count_difference(f"rows of {table}", *numbers)
    if before.groups is not None and after.groups is not None:
        yield from _count_difference("groups", before.groups, after.groups)
    for promise in (promise for promise in after.promises if promise not in before.promises):
        yield f"promises {promise}, which the one before did not"
    for promise in (promise for promise in before.promises if promise not in after.promises):
        yield f"no longer promises {promise}"
    yield from _columns(before, after)
    yield from _software(before.software, after.software)


def _count_difference(noun: str, before: int, after: int) -> Iterator[str]:
    if after != before:
        change = f"{thousands(abs(after - before))} {'more' if after > before else 'fewer'}"
        yield f"{thousands(after)} {noun}, {change} than {thousands(before)}"


def _columns(before: DescribedVersion, after: DescribedVersion) -> Iterator[str]:
    for name in (name for name in after.columns if name not in before.columns):
        yield f"has column {name!r}, which is new"
    for name in (name for name in before.columns if name not in after.columns):
        yield f"has no column {name!r} any more"
    for name in (name for name in after.columns if name in before.columns):
        old, new = before.columns[name], after.columns[name]
        keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        if keys:
            yield f"column {name!r} has another {', '.join(keys)}"


def _software(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"made with {name} {new or 'no more'}, before {old or 'without it'}"


PAGE, FEED, METADATA, CITATION = "index.html", "feed.atom", "dcat.jsonld", "CITATION.cff"


def line_files(line: LineEntry) -> dict[str, str]:
    """Return the files about a line, by their names in its directory."""
    view = {
        "line": line,
        "paragraphs": (line.words.description or "").split("\n\n"),
        "contact": _with_address(line.words.contact),
        "licence": _with_address(line.words.licence),
        "publisher": line.words.publisher,
        "citation": citation(line),
        "changed": changed_versions(line.versions),
        "verifier": VERIFIER_PAGE,
    }
    return {
        PAGE: _page("line.html.j2", view, schema_org(line)),
        FEED: _feed(line.title, line.urn, [line], {line.name: ""}),
        METADATA: _metadata(dcat(line)),
        CITATION: f"# {GENERATOR}\n{citation_file(line)}",
    }


def catalogue_files(lines: Sequence[LineEntry]) -> dict[str, str]:
    """Return the files about all lines of a place, by their names in it."""
    ordered = sorted(lines, key=lambda line: (line.title.casefold(), line.name))
    first = min(lines, key=lambda line: (line.first_publication, line.urn), default=None)
    name = urn_of(f"catalogue {first.urn if first else ''}")
    document = schema_org_catalogue(CATALOGUE, ordered)
    return {
        PAGE: _page("catalogue.html.j2", {"title": CATALOGUE, "lines": ordered}, document),
        FEED: _feed(CATALOGUE, name, ordered, {line.name: f"{line.name}/" for line in ordered}),
        METADATA: _metadata(dcat_catalogue(CATALOGUE, ordered)),
    }


def _page(template: str, view: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    style = stylesheet("lines/lines.css")
    return (
        environment()
        .get_template(f"lines/{template}")
        .render(
            css=style.css,
            css_hash=style.sha256,
            generator=GENERATOR,
            metadata=as_script(document),
            **view,
        )
    )


def _feed(title: str, urn: str, lines: Sequence[LineEntry], bases: Mapping[str, str]) -> str:
    """Return an Atom feed with an entry for each published version and each withdrawal."""
    entries = [(line, version) for line in lines for version in line.versions]
    entries.sort(
        key=lambda entry: (entry[1].change_time, entry[0].name, entry[1].number), reverse=True
    )
    updated = max((line.last_change for line in lines), default="1970-01-01T00:00:00+00:00")
    return (
        environment()
        .get_template("lines/feed.atom.j2")
        .render(
            title=title, urn=urn, updated=updated, entries=entries, bases=bases, generator=GENERATOR
        )
    )


def _metadata(document: Mapping[str, Any]) -> str:
    marked = {"generator": GENERATOR, **document}  # no word of the context: JSON-LD passes it by
    return json.dumps(marked, ensure_ascii=False, indent=1) + "\n"


def _with_address(text: str | None) -> tuple[str, str | None] | None:
    """Return a text, and the address behind it."""
    return None if text is None else (text, link_of(text))


def tombstone_page(tombstone: Tombstone, title: str) -> str:
    """Return the page as HTML: the version, the time of its withdrawal, and the reason.

    Args:
        tombstone: the content of the page.
        title: the title of the line.
    """
    style = stylesheet()
    return (
        environment()
        .get_template("lines/tombstone.html.j2")
        .render(css=style.css, css_hash=style.sha256, tombstone=tombstone, title=title)
    )
