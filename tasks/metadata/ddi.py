"""DDI-Codebook 2.5, as XML: study, files and variables.

Source: DDI Alliance, DDI-Codebook 2.5 (2012), https://ddialliance.org/Specification/DDI-Codebook/2.5
"""

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sfumato.tasks.metadata.description import (
    ACTING,
    Document,
    ReleaseDescription,
    ReleasedField,
    ReleasedFile,
)
from sfumato.tasks.metadata.sentences import (
    anonymization,
    codings,
    omissions,
    people_counted,
    summary,
)
from sfumato.tasks.report.line_metadata import cite_version
from sfumato.tasks.schema.stated import mail_address, web_address

_NAMESPACE = "ddi:codebook:2_5"
_SCHEMA = "https://ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPRESENTATIONS = {
    "boolean": "code",
    "date": "datetime",
    "datetime": "datetime",
    "integer": "numeric",
    "number": "numeric",
    "string": "text",
}
_CONTINUOUS = {"date", "datetime", "number"}


def ddi(release: ReleaseDescription) -> Document:
    """Return a release as a codebook.

    The standard requires a title alone, which each release has.
    """
    root = Element(
        "codeBook",
        {
            "xmlns": _NAMESPACE,
            "xmlns:xsi": _INSTANCE,
            "xsi:schemaLocation": f"{_NAMESPACE} {_SCHEMA}",
            "version": "2.5",
        },
    )
    _study(root, release)
    files = {file.path: f"F{number}" for number, file in enumerate(release.tables, 1)}
    for file in release.tables:
        _file(root, release, file, files[file.path])
    variables = SubElement(root, "dataDscr")
    for number, (field, paths) in enumerate(_variables(release), 1):
        _variable(variables, field, f"V{number}", " ".join(files[path] for path in paths))
    for file in release.files:
        if not file.fields:
            other = SubElement(
                root, "otherMat", {"level": "study", "URI": release.address(file.path)}
            )
            _add(other, "labl", file.path)
    indent(root, " ")
    text = ACTING.sub(lambda match: f"&#{ord(match[0])};", tostring(root, encoding="unicode"))
    return Document(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _study(root: Element, release: ReleaseDescription) -> None:
    study = SubElement(root, "stdyDscr")
    _citation(SubElement(study, "citation"), release)
    about = SubElement(study, "stdyInfo")
    _add(about, "abstract", summary(release))
    scope = SubElement(about, "sumDscr")
    if release.version is not None and release.version.as_of is not None:
        day = release.version.as_of.isoformat()
        _add(scope, "timePrd", day, event="single", date=day)
    _add(scope, "anlyUnit", people_counted(release.declaration))
    method = SubElement(study, "method")
    _add(method, "dataProcessing", anonymization(release), type="anonymization")
    for sentence in codings(release):
        _add(method, "dataProcessing", sentence, type="coding")
    if (reasons := omissions(release.declaration)) is not None:
        _add(method, "dataProcessing", reasons, type="selection")
    if release.licence:
        use = SubElement(SubElement(study, "dataAccs"), "useStmt")
        _add(use, "conditions", release.licence)


def _citation(citation: Element, release: ReleaseDescription) -> None:
    titles = SubElement(citation, "titlStmt")
    _add(titles, "titl", release.title)
    _add(titles, "altTitl", release.declaration.name)
    _add(titles, "IDNo", release.urn)
    production = SubElement(citation, "prodStmt")
    for name, number in sorted(release.declaration.software.items()):
        _add(production, "software", name, version=number)
    _distribution(SubElement(citation, "distStmt"), release)
    if release.version is not None and release.line is not None:
        version = SubElement(citation, "verStmt")
        _add(version, "version", release.version.number, date=release.version.day)
        _add(citation, "biblCit", cite_version(release.line, release.version))
    SubElement(citation, "holdings", {"URI": release.page})


def _distribution(statement: Element, release: ReleaseDescription) -> None:
    if release.publisher:
        _add(statement, "distrbtr", release.publisher)
    if release.contact:
        addresses = {
            "email": mail_address(release.contact),
            "URI": web_address(release.contact),
        }
        stated = {name: address for name, address in addresses.items() if address}
        _add(statement, "contact", release.contact, **stated)
    if release.version is not None:
        _add(statement, "distDate", release.version.day, date=release.version.day)


def _file(root: Element, release: ReleaseDescription, file: ReleasedFile, identifier: str) -> None:
    entry = SubElement(root, "fileDscr", {"ID": identifier, "URI": release.address(file.path)})
    text = SubElement(entry, "fileTxt")
    _add(text, "fileName", file.path)
    sizes = SubElement(text, "dimensns")
    if (rows := release.rows_of(file)) is not None:
        _add(sizes, "caseQnty", str(rows))
    _add(sizes, "varQnty", str(len(file.fields)))
    _add(text, "fileType", file.mediatype)
    _add(entry, "notes", file.sha256, type="SHA-256")


def _variables(release: ReleaseDescription) -> Iterator[tuple[ReleasedField, list[str]]]:
    """Yield each column with the paths of the files that have it: CSV, Parquet, other tables."""
    columns: dict[tuple[str, str], tuple[ReleasedField, list[str]]] = {}
    for file in release.tables:
        for field in file.fields:
            columns.setdefault((field.name, field.type), (field, []))[1].append(file.path)
    yield from columns.values()


def _variable(parent: Element, field: ReleasedField, identifier: str, files: str) -> None:
    column = field.column
    weight = "wgt" if column is not None and column.weight else "not-wgt"
    attributes = {
        "ID": identifier,
        "name": _in_xml(field.name),
        "files": files,
        "wgt": weight,
        "intrvl": "contin" if field.type in _CONTINUOUS else "discrete",
        "representationType": "code" if field.categories else _REPRESENTATIONS[field.type],
    }
    entry = SubElement(parent, "var", attributes)
    if field.description:
        _add(entry, "labl", field.description)
    _categories(entry, field.categories)
    is_text = field.type in ("string", "boolean")
    _add(entry, "varFormat", field.type, type="character" if is_text else "numeric")
    if column is not None:
        _add(entry, "notes", column.told_role, type="role")


def _categories(parent: Element, categories: Iterable[tuple[str | int, str]]) -> None:
    for value, label in categories:
        category = SubElement(parent, "catgry")
        _add(category, "catValu", str(value))
        _add(category, "labl", label)


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    """Add an element with a text, in which characters that XML cannot have are replaced."""
    element = SubElement(parent, name, {key: _in_xml(value) for key, value in attributes.items()})
    element.text = _in_xml(text)


def _in_xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
