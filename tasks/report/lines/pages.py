"""The page of a line and that of a catalogue, each with its feed and its metadata, as files.

All are pure functions of what is public of lines: no time, no order that depends on how it was
read, no values.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.tasks.report.lines.citation import citation, citation_file
from sfumato.tasks.report.lines.differences import changed_versions
from sfumato.tasks.report.lines.entries import LineEntry, urn_of
from sfumato.tasks.report.lines.metadata import (
    as_script,
    dcat,
    dcat_catalogue,
    schema_org,
    schema_org_catalogue,
)
from sfumato.tasks.report.rendering import environment, stylesheet
from sfumato.tasks.schema.stated.words import link_of

PAGE, FEED, METADATA, CITATION = "index.html", "feed.atom", "dcat.jsonld", "CITATION.cff"
GENERATOR = "Sfumato, from public records of releases"
"""What all these files name as what made them: a file that does not is somebody else's."""
CATALOGUE = "Public microdata releases"


def line_files(line: LineEntry) -> dict[str, str]:
    """The files about a line, by their names in its directory."""
    view = {
        "line": line,
        "paragraphs": (line.words.description or "").split("\n\n"),
        "contact": _linked(line.words.contact),
        "licence": _linked(line.words.licence),
        "publisher": line.words.publisher,
        "citation": citation(line),
        "changed": changed_versions(line.versions),
    }
    return {
        PAGE: _rendered("line.html.j2", view, schema_org(line)),
        FEED: _feed(line.title, line.urn, [line], {line.name: ""}),
        METADATA: _metadata(dcat(line)),
        CITATION: f"# {GENERATOR}\n{citation_file(line)}",
    }


def catalogue_files(lines: Sequence[LineEntry]) -> dict[str, str]:
    """The files about all lines of a place, by their names in it."""
    ordered = sorted(lines, key=lambda line: (line.title.casefold(), line.name))
    first = min(lines, key=lambda line: (line.since, line.urn), default=None)
    name = urn_of(f"catalogue {first.urn if first else ''}")
    document = schema_org_catalogue(CATALOGUE, ordered)
    return {
        PAGE: _rendered("catalogue.html.j2", {"title": CATALOGUE, "lines": ordered}, document),
        FEED: _feed(CATALOGUE, name, ordered, {line.name: f"{line.name}/" for line in ordered}),
        METADATA: _metadata(dcat_catalogue(CATALOGUE, ordered)),
    }


def _rendered(template: str, view: Mapping[str, Any], document: Mapping[str, Any]) -> str:
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
    """An Atom feed: an entry for each version that was published, and for each withdrawal."""
    entries = [(line, version) for line in lines for version in line.versions]
    entries.sort(key=lambda entry: (entry[1].updated, entry[0].name, entry[1].number), reverse=True)
    updated = max((line.updated for line in lines), default="1970-01-01T00:00:00+00:00")
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


def _linked(text: str | None) -> tuple[str, str | None] | None:
    """A text, and the address behind it."""
    return None if text is None else (text, link_of(text))
