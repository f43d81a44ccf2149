"""Croissant 1.1 with its fields for responsible AI, as JSON-LD.

Source: MLCommons, Croissant format specification 1.1 (http://mlcommons.org/croissant/1.1), and
Croissant RAI specification 1.0 (http://mlcommons.org/croissant/RAI/1.0).
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from sfumato.tasks.metadata.description import (
    Document,
    Missing,
    ReleaseDescription,
    ReleasedField,
    ReleasedFile,
    json_text,
)
from sfumato.tasks.metadata.sentences import (
    anonymization,
    codings,
    limitations,
    omissions,
    people_columns,
    summary,
)
from sfumato.tasks.report.line_metadata import cite_version
from sfumato.tasks.schema.stated import mail_address, web_address

_CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
_PARQUET = "application/vnd.apache.parquet"
_OTHER_NAMES = {_PARQUET: [_PARQUET, "application/x-parquet"]}  # the library reads the second
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "annotation": "cr:annotation",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "excludes": "cr:excludes",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "readLines": "cr:readLines",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sdVersion": "cr:sdVersion",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "unArchive": "cr:unArchive",
    "value": "cr:value",
}
"""The keys of appendix 1 and of the reference library, which compares them; both are read with
`https:` for schema.org, as the published examples are."""
_TYPES = {
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "string": "sc:Text",
}
_REQUIRED_WORDS = {"publisher": "creator", "licence": "license"}


def croissant(release: ReleaseDescription) -> Document:
    """Return a release as a Croissant dataset, with a record set for each table."""
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(_CONFORMS_TO),
        "identifier": release.urn,
        "name": release.title,
        "alternateName": release.declaration.name,
        "description": summary(release),
        "url": release.page,
        "isAccessibleForFree": True,
        **_words(release),
        **_version(release),
        **_responsible(release),
        "distribution": [_file(release, file) for file in release.files],
        "recordSet": [*_code_lists(release), *_record_sets(release)],
    }
    missing = [*release.missing_words(_REQUIRED_WORDS)]
    if release.version is None:
        missing.append(Missing("datePublished", "releases.json"))
    return Document(json_text(document), tuple(missing))


def _words(release: ReleaseDescription) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if release.licence:
        words["license"] = release.licence
    if release.publisher:
        publisher = {"@type": "Organization", "name": release.publisher, **_contact(release)}
        words |= {"creator": publisher, "publisher": publisher}
    return words


def _contact(release: ReleaseDescription) -> dict[str, str]:
    """Return the publisher's address, if the contact is one."""
    if address := web_address(release.contact):
        return {"url": address}
    if address := mail_address(release.contact):
        return {"email": address}
    return {}


def _version(release: ReleaseDescription) -> dict[str, Any]:
    """Return number, day and citation; a new version has other rows, so it is a major one."""
    version = release.version
    if version is None or release.line is None:
        return {}
    return {
        "version": f"{int(version.number)}.0.0",
        "datePublished": version.publication_time,
        "citeAs": cite_version(release.line, version),
    }


def _responsible(release: ReleaseDescription) -> dict[str, Any]:
    """Return the fields for responsible AI that the manifest and the record can fill."""
    declared, version = release.declaration, release.version
    values = {
        "rai:personalSensitiveInformation": list(people_columns(declared)),
        "rai:dataManipulationProtocol": anonymization(release),
        "rai:dataPreprocessingProtocol": list(codings(release)),
        "rai:dataCollectionMissingData": omissions(declared),
        "rai:dataLimitations": list(limitations(release)),
        "rai:dataCollectionTimeframe": (
            version.as_of.isoformat() if version is not None and version.as_of else None
        ),
    }
    return {name: value for name, value in values.items() if value}


def _file(release: ReleaseDescription, file: ReleasedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": quote(file.path),
        "name": file.name,
        "contentUrl": release.address(file.path),
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _OTHER_NAMES.get(file.mediatype, file.mediatype),
        "sha256": file.sha256,
    }


def _record_sets(release: ReleaseDescription) -> Iterator[dict[str, Any]]:
    """Yield a record set for each table, read from its Parquet file."""
    for file in release.tables:
        if file.mediatype == _PARQUET:
            yield {
                "@type": "cr:RecordSet",
                "@id": quote(file.table),
                "name": file.table,
                **_key(release, file),
                "field": [_field(release, file, field) for field in file.fields],
            }


def _key(release: ReleaseDescription, file: ReleasedFile) -> dict[str, Any]:
    """Return the key of a table to which others refer; empty for any other table."""
    names = [field.name for field in file.fields if release.is_key(file, field)]
    return {"key": {"@id": _id_of(file.table, names[0])}} if names else {}


def _id_of(table: str, name: str) -> str:
    return f"{quote(table)}/{quote(name, safe='')}"


def _field(release: ReleaseDescription, file: ReleasedFile, field: ReleasedField) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": _id_of(file.table, field.name),
        "name": field.name,
        "dataType": _TYPES[field.type],
        "source": {
            "fileObject": {"@id": quote(file.path)},
            "extract": {"column": field.name},
        },
    }
    if field.description:
        entry["description"] = field.description
    if field.categories:
        entry["references"] = {"field": {"@id": f"{_list_name(field)}/code"}}
    elif (referred := release.referred_key(file, field)) is not None:
        entry["references"] = {"field": {"@id": _id_of(*referred)}}
    return entry


def _code_lists(release: ReleaseDescription) -> Iterator[dict[str, Any]]:
    """Yield an enumeration for each column whose codes have labels in the manifest."""
    fields = {
        field.name: field for file in release.tables for field in file.fields if field.categories
    }
    for field in fields.values():
        name = _list_name(field)
        code, label = f"{name}/code", f"{name}/name"
        yield {
            "@type": "cr:RecordSet",
            "@id": name,
            "name": f"codes of {field.name}",
            "dataType": "sc:Enumeration",
            "key": {"@id": code},
            "field": [
                {"@type": "cr:Field", "@id": code, "name": "code", "dataType": _TYPES[field.type]},
                {"@type": "cr:Field", "@id": label, "name": "name", "dataType": "sc:Text"},
            ],
            "data": [{code: value, label: text} for value, text in field.categories],
        }


def _list_name(field: ReleasedField) -> str:
    return f"codes/{quote(field.name, safe='')}"
