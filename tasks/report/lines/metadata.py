"""What machines read of lines: schema.org inside the pages, DCAT in a file beside them (JSON-LD).

All addresses are relative: the same files may stand anywhere.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sfumato.tasks.report.lines.entries import LineEntry, VersionEntry
from sfumato.tasks.schema.stated.words import mail_address, web_address

_SCHEMA_ORG = "https://schema.org/"
_CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_FOAF = {"foaf": "http://xmlns.com/foaf/0.1/"}


def schema_org(line: LineEntry) -> dict[str, Any]:
    """A line as a dataset of schema.org; its current version is what can be had of it."""
    words, current = line.words, line.current
    document: dict[str, Any] = {
        "@context": _SCHEMA_ORG,
        "@type": "Dataset",
        "identifier": line.urn,
        "name": line.title,
        "alternateName": line.name,
        "description": words.description or line.title,
        "datePublished": line.since,
        "dateModified": line.updated,
        "isAccessibleForFree": True,
    }
    if current is not None:
        document |= {"version": current.number, "distribution": [_download(current)]}
    if words.licence:
        document["license"] = words.licence
    if words.contact:
        document["creator"] = {"@type": "Organization", **_contact(words.contact)}
    if words.publisher:
        document["publisher"] = {"@type": "Organization", "name": words.publisher}
    return document


def schema_org_catalogue(title: str, lines: Sequence[LineEntry]) -> dict[str, Any]:
    """Lines as a catalogue of schema.org."""
    return {
        "@context": _SCHEMA_ORG,
        "@type": "DataCatalog",
        "name": title,
        "dataset": [
            {
                "@type": "Dataset",
                "identifier": line.urn,
                "name": line.title,
                "description": line.words.description or line.title,
                "url": f"{line.name}/index.html",
            }
            for line in lines
        ],
    }


def dcat(line: LineEntry) -> dict[str, Any]:
    """A line as a series of datasets of DCAT 3, a dataset for each version."""
    return {"@context": _context([line]), "@graph": _series(line, "")}


def dcat_catalogue(title: str, lines: Sequence[LineEntry]) -> dict[str, Any]:
    """Lines as a catalogue of DCAT 3."""
    catalogue = {
        "@id": "./",
        "@type": "dcat:Catalog",
        "dct:title": title,
        "dcat:dataset": [{"@id": line.urn} for line in lines],
    }
    within = [part for line in lines for part in _series(line, f"{line.name}/")]
    return {"@context": _context(lines), "@graph": [catalogue, *within]}


def as_script(document: Mapping[str, Any]) -> Markup:
    """A document as a page has it inside `script`, which none of its texts can end."""
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 -- no character of it is markup


def _context(lines: Sequence[LineEntry]) -> dict[str, str]:
    """The vocabularies, that of agents where somebody is named."""
    return _CONTEXT | (_FOAF if any(line.words.publisher for line in lines) else {})


def _series(line: LineEntry, base: str) -> list[dict[str, Any]]:
    words = line.words
    series: dict[str, Any] = {
        "@id": line.urn,
        "@type": ["dcat:DatasetSeries", "dcat:Dataset"],
        "dct:identifier": line.name,
        "dct:title": line.title,
        "dct:issued": _time(line.since),
        "dct:modified": _time(line.updated),
        "dcat:landingPage": {"@id": f"{base}index.html"},
    }
    if words.description:
        series["dct:description"] = words.description
    if words.licence:
        address = web_address(words.licence)
        series |= {"dct:license": {"@id": address}} if address else {"dct:rights": words.licence}
    if words.publisher:
        series["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": words.publisher}
    if words.contact:
        series["dcat:contactPoint"] = {"@type": "vcard:Kind", **_vcard(words.contact)}
    if line.current is not None:
        series["dcat:hasCurrentVersion"] = {"@id": line.current.urn}
    return [series, *(_dataset(line, version, base) for version in line.versions)]


def _dataset(line: LineEntry, version: VersionEntry, base: str) -> dict[str, Any]:
    page = {"@id": f"{base}{version.number}/index.html"}
    dataset: dict[str, Any] = {
        "@id": version.urn,
        "@type": "dcat:Dataset",
        "dct:title": line.title,
        "dcat:version": version.number,
        "dcat:inSeries": {"@id": line.urn},
        "dct:issued": _time(version.published),
        "adms:status": version.state,
    }
    if version.as_of is not None:
        day = {"@type": "xsd:date", "@value": version.as_of.isoformat()}
        dataset["dct:temporal"] = {"@type": "dct:PeriodOfTime", "dcat:endDate": day}
    if version.state == "withdrawn":
        dataset["dct:modified"] = _time(version.updated)
        return dataset
    manifest = {"@id": f"{base}{version.number}/datapackage.json"}
    distribution = {"@type": "dcat:Distribution", "dcat:accessURL": page}
    return {
        **dataset,
        "dcat:landingPage": page,
        "dcat:distribution": {**distribution, "dcat:downloadURL": manifest},
    }


def _download(version: VersionEntry) -> dict[str, Any]:
    return {
        "@type": "DataDownload",
        "contentUrl": f"{version.number}/datapackage.json",
        "encodingFormat": "application/json",
        "url": f"{version.number}/index.html",
    }


def _contact(text: str) -> dict[str, Any]:
    if address := web_address(text):
        return {"url": address}
    if address := mail_address(text):
        return {"email": address}
    return {"name": text}


def _vcard(text: str) -> dict[str, Any]:
    if address := web_address(text):
        return {"vcard:hasURL": {"@id": address}}
    if address := mail_address(text):
        return {"vcard:hasEmail": {"@id": f"mailto:{address}"}}
    return {"vcard:fn": text}


def _time(time: str) -> dict[str, str]:
    return {"@type": "xsd:dateTime", "@value": time}
