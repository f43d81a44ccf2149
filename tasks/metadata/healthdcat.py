"""HealthDCAT-AP, the application profile of DCAT for health data, as JSON-LD.

Source: European Commission, HealthDCAT-AP release 5 (2025), for public datasets, on DCAT-AP 3.0.1
(SEMIC, https://semiceu.github.io/DCAT-AP/releases/3.0.1).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.tasks.metadata.description import (
    Document,
    Missing,
    ReleaseDescription,
    ReleasedFile,
    json_text,
)
from sfumato.tasks.metadata.sentences import anonymization, summary
from sfumato.tasks.schema.stated import mail_address, web_address
from sfumato.tasks.terms.opened import MANIFEST

_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
_PUBLIC = "http://publications.europa.eu/resource/authority/access-right/PUBLIC"
_DATA_PACKAGE = "https://datapackage.org/profiles/2.0/datapackage.json"
_CONTEXT: Mapping[str, str] = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "healthdcatap": "http://healthdataportal.eu/ns/health#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_FOR_CATALOGUES = (
    "dcat:theme",
    "dcatap:applicableLegislation",
    "healthdcatap:hdab",
    "healthdcatap:healthCategory",
)
"""The fields that depend on laws and authorities, which no release states."""
Node = dict[str, Any]


def healthdcat(release: ReleaseDescription) -> Document:
    """Return a release as a public dataset, with a distribution for each file."""
    dataset: Node = {
        "@context": _CONTEXT,
        "@id": release.urn,
        "@type": "dcat:Dataset",
        "dct:title": release.title,
        "dct:description": summary(release),
        "dct:identifier": release.urn,
        "dct:accessRights": {"@id": _PUBLIC, "@type": "dct:RightsStatement"},
        "dcat:landingPage": {"@id": release.page, "@type": "foaf:Document"},
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "rdfs:label": anonymization(release),
        },
        **_version(release),
        **_counts(release),
        **_agents(release),
        "dcat:distribution": [_manifest(release), *(_file(release, f) for f in release.files)],
    }
    return Document(json_text(dataset), tuple(_missing(release)))


def _provenance(release: ReleaseDescription) -> Node:
    return {"@type": "dct:ProvenanceStatement", "rdfs:label": anonymization(release)}


def _missing(release: ReleaseDescription) -> Iterator[Missing]:
    yield from map(Missing, _FOR_CATALOGUES)
    if release.publisher and not _card(release.contact):
        yield Missing("dcat:contactPoint of dct:publisher", "contact")


def _version(release: ReleaseDescription) -> Node:
    version = release.version
    if version is None:
        return {}
    node: Node = {
        "dcat:version": version.number,
        "dct:issued": _literal("xsd:dateTime", version.publication_time),
    }
    if version.as_of is not None:
        day = _literal("xsd:date", version.as_of.isoformat())
        node["dct:temporal"] = {"@type": "dct:PeriodOfTime", "dcat:endDate": day}
    return node


def _counts(release: ReleaseDescription) -> Node:
    """Return the number of records, and of people if each record of people is another person."""
    declared = release.declaration
    related = 0 if declared.related_rows is None else declared.related_rows.published
    people = _literal("xsd:nonNegativeInteger", str(declared.rows.published))
    records = _literal("xsd:nonNegativeInteger", str(declared.rows.published + related))
    counts: Node = {"healthdcatap:numberOfRecords": records}
    if declared.rows_are_people:
        counts["healthdcatap:numberOfUniqueIndividuals"] = people
    return counts


def _agents(release: ReleaseDescription) -> Node:
    card = _card(release.contact)
    agents: Node = {"dcat:contactPoint": card} if card else {}
    if release.publisher:
        agents["dct:publisher"] = {
            "@type": "foaf:Agent",
            "foaf:name": release.publisher,
            **({"dcat:contactPoint": card} if card else {}),
        }
    return agents


def _card(contact: str | None) -> Node | None:
    """Return a contact as the profile wants it, with an address; None without an address."""
    if address := web_address(contact):
        return {"@type": "vcard:Kind", "vcard:hasURL": {"@id": address}}
    if address := mail_address(contact):
        return {"@type": "vcard:Kind", "vcard:hasEmail": {"@id": f"mailto:{address}"}}
    return None


def _distribution(release: ReleaseDescription, path: str, mediatype: str) -> Node:
    node: Node = {
        "@type": "dcat:Distribution",
        "dct:title": path,
        "dcat:accessURL": {"@id": release.page, "@type": "rdfs:Resource"},
        "dcat:downloadURL": {"@id": release.address(path), "@type": "rdfs:Resource"},
        "dcat:mediaType": {"@id": f"{_MEDIA_TYPES}{mediatype}", "@type": "dct:MediaType"},
    }
    if release.licence:
        node["dct:license"] = _licence(release.licence)
    return node


def _licence(licence: str) -> Node:
    """Return a licence by its address, or as a document with its short name."""
    address = web_address(licence)
    named = {"@id": address} if address else {"rdfs:label": licence}
    return {"@type": "dct:LicenseDocument", **named}


def _manifest(release: ReleaseDescription) -> Node:
    node = _distribution(release, MANIFEST, "application/json")
    return {**node, "dct:conformsTo": {"@id": _DATA_PACKAGE, "@type": "dct:Standard"}}


def _file(release: ReleaseDescription, file: ReleasedFile) -> Node:
    return {
        **_distribution(release, file.path, file.mediatype),
        "dcat:byteSize": _literal("xsd:nonNegativeInteger", str(file.bytes)),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {
                "@id": "spdx:checksumAlgorithm_sha256",
                "@type": "spdx:ChecksumAlgorithm",
            },
            "spdx:checksumValue": _literal("xsd:hexBinary", file.sha256),
        },
    }


def _literal(datatype: str, value: str) -> dict[str, str]:
    return {"@type": datatype, "@value": value}
