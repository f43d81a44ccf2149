"""Metadata of lines for machines: schema.org inside pages, DCAT beside them, and citations.

All addresses are relative: the same files may be served anywhere.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from sfumato.tasks.report.line_entries import DescribedFile, LineEntry, VersionEntry
from sfumato.tasks.schema.stated import mail_address, web_address

_SCHEMA_ORG = "https://schema.org/"
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
_DATA_PACKAGE = "https://datapackage.org/profiles/2.0/datapackage.json"
_NOBODY = "anonymous"  # the format's name of an unnamed author


_CONTEXT = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def schema_org(line: LineEntry) -> dict[str, Any]:
    """Return a line as a dataset of schema.org, with its current version as the distribution."""
    words, current = line.words, line.current
    document: dict[str, Any] = {
        "@context": _SCHEMA_ORG,
        "@type": "Dataset",
        "identifier": line.urn,
        "name": line.title,
        "alternateName": line.name,
        "description": words.description or line.title,
        "datePublished": line.first_publication,
        "dateModified": line.last_change,
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
    """Return lines as a catalogue of schema.org."""
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
    """Return a line as a series of datasets of DCAT 3, a dataset for each version."""
    return {"@context": _CONTEXT, "@graph": _series(line, "")}


def dcat_catalogue(title: str, lines: Sequence[LineEntry]) -> dict[str, Any]:
    """Return lines as a catalogue of DCAT 3."""
    catalogue = {
        "@id": "./",
        "@type": "dcat:Catalog",
        "dct:title": title,
        "dct:description": title,
        "dcat:dataset": [{"@id": line.urn} for line in lines],
    }
    within = [part for line in lines for part in _series(line, f"{line.name}/")]
    return {"@context": _CONTEXT, "@graph": [catalogue, *within]}


def as_script(document: Mapping[str, Any]) -> Markup:
    """Return a document as JSON for a `script` element, which no text in it can end."""
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 -- no character of it is markup


def _series(line: LineEntry, base: str) -> list[dict[str, Any]]:
    words = line.words
    series: dict[str, Any] = {
        "@id": line.urn,
        "@type": ["dcat:DatasetSeries", "dcat:Dataset"],
        "dct:identifier": line.name,
        "dct:title": line.title,
        "dct:description": words.description or line.title,
        "dct:issued": _time(line.first_publication),
        "dct:modified": _time(line.last_change),
        "dcat:landingPage": _node("foaf:Document", f"{base}index.html"),
    }
    series |= _rights(words.licence)
    if words.publisher:
        series["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": words.publisher}
    if words.contact:
        series["dcat:contactPoint"] = {"@type": "vcard:Kind", **_vcard(words.contact)}
    if line.current is not None:
        series["dcat:hasCurrentVersion"] = {"@id": line.current.urn}
    return [series, *(_dataset(line, version, base) for version in line.versions)]


def _dataset(line: LineEntry, version: VersionEntry, base: str) -> dict[str, Any]:
    page = _node("foaf:Document", f"{base}{version.number}/index.html")
    dataset: dict[str, Any] = {
        "@id": version.urn,
        "@type": "dcat:Dataset",
        "dct:title": line.title,
        "dct:description": line.words.description or line.title,
        "dcat:version": version.number,
        "dcat:inSeries": {"@id": line.urn},
        "dct:issued": _time(version.publication_time),
        "adms:status": version.state,
    }
    if version.as_of is not None:
        day = {"@type": "xsd:date", "@value": version.as_of.isoformat()}
        dataset["dct:temporal"] = {"@type": "dct:PeriodOfTime", "dcat:endDate": day}
    if version.state == "withdrawn":
        dataset["dct:modified"] = _time(version.change_time)
        return dataset
    return {
        **dataset,
        "dcat:landingPage": page,
        "dcat:distribution": _distributions(line, version, base),
    }


def _distributions(line: LineEntry, version: VersionEntry, base: str) -> list[dict[str, Any]]:
    """Return the manifest of a version, and each file that it names, if it was read."""
    place = f"{base}{version.number}/"
    every = {
        "@type": "dcat:Distribution",
        "dcat:accessURL": {"@id": f"{place}index.html"},
        **_rights(line.words.licence),
    }
    manifest = {
        **every,
        "dct:title": "datapackage.json",
        "dcat:downloadURL": {"@id": f"{place}datapackage.json"},
        "dcat:mediaType": _node("dct:MediaType", f"{_MEDIA_TYPES}application/json"),
        "dct:conformsTo": _node("dct:Standard", _DATA_PACKAGE),
    }
    of_files = () if version.described is None else version.described.files
    return [manifest, *({**every, **_of_file(file, place)} for file in of_files)]


def _of_file(file: DescribedFile, place: str) -> dict[str, Any]:
    return {
        "dct:title": file.path,
        "dcat:downloadURL": {"@id": f"{place}{quote(file.path)}"},
        "dcat:mediaType": _node("dct:MediaType", f"{_MEDIA_TYPES}{file.mediatype}"),
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.bytes)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        },
    }


def _rights(licence: str | None) -> dict[str, Any]:
    """Return a licence by its address, or the words for what is allowed."""
    if licence is None:
        return {}
    address = web_address(licence)
    if address:
        return {"dct:license": _node("dct:LicenseDocument", address)}
    return {"dct:rights": {"@type": "dct:RightsStatement", "rdfs:label": licence}}


def _node(kind: str, address: str) -> dict[str, str]:
    """Return what is at an address, with the class that DCAT-AP 3 demands of it."""
    return {"@id": address, "@type": kind}


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


def citation(line: LineEntry) -> str:
    """Return the sentence that cites the current version, or the line without one."""
    if line.current is not None:
        return cite_version(line, line.current)
    return f"{line.words.publisher or _NOBODY}: {line.title}. Public microdata, {line.name}."


def cite_version(line: LineEntry, version: VersionEntry) -> str:
    """Return the sentence that cites a version."""
    return (
        f"{line.words.publisher or _NOBODY} ({version.day[:4]}): {line.title}. Public microdata, "
        f"{line.name} version {version.number}, digest {version.digest[:12]}…"
    )


def citation_file(line: LineEntry) -> str:
    """Return the citation file, with each value quoted as in JSON, which is also YAML."""
    current, licence = line.current, line.words.licence
    fields: dict[str, object] = {
        "cff-version": "1.2.0",
        "message": "Cite the version that you used.",
        "type": "dataset",
        "title": line.title,
        "authors": [{"name": line.words.publisher or _NOBODY}],
    }
    if current is not None:
        fields |= {"version": current.number, "date-released": current.day}
        identifier = {"type": "other", "value": current.digest, "description": "SHA-256 digest"}
        fields["identifiers"] = [identifier]
    if licence is not None:
        fields["license-url" if web_address(licence) else "license"] = licence
    return _yaml(fields)


def _yaml(fields: Mapping[str, object]) -> str:
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())
