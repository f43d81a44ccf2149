"""Validators of metadata: each returns the faults of a text, and shares no code with the product.

The official schema of DDI and the official shapes of DCAT-AP are no packages and not kept here: the
files beside this module state the same rules for the elements and classes that are written. Where
`SFUMATO_SCHEMAS` names a folder with `codebook.xsd` (DDI-Codebook 2.5, with what it imports) or
`dcat-ap.ttl` (the shapes and ranges of DCAT-AP 3.0.1), these validate, too.
"""

import json
import os
import warnings
from functools import cache
from pathlib import Path

import pyshacl
import rdflib
from csvw import CSVW
from lxml import etree

HERE = Path(__file__).parent
SCHEMAS = os.environ.get("SFUMATO_SCHEMAS")
BASE = "https://example.org/line/"
SHACL = rdflib.Namespace("http://www.w3.org/ns/shacl#")


def faults_of_croissant(text: str, folder: Path) -> list[str]:
    """The faults that the reference library finds; it reads no table."""
    import mlcroissant

    place = folder / "croissant.json"
    place.write_text(text, encoding="utf-8")
    try:
        dataset = mlcroissant.Dataset(jsonld=place)
    except mlcroissant.ValidationError as error:
        return [str(error)]
    return sorted(dataset.metadata.ctx.issues.errors)


def faults_of_csvw(text: str, folder: Path) -> list[str]:
    """The faults of the metadata, and of the CSV files that it leads to from a folder."""
    place = folder / "csvw.json"
    place.write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            group = CSVW(str(place), validate=True)
            valid = group.is_valid
        except (ValueError, TypeError) as error:
            return [str(error)]
    faults = [str(warning.message) for warning in (*caught, *group.warnings)]
    return faults if faults or valid else ["not valid"]


def faults_of_ddi(text: str) -> list[str]:
    """The faults by each schema, and references to nothing, which the library does not look for."""
    document = etree.fromstring(text.encode())
    names = {node.get("ID") for node in document.iter()}
    lost = {name for node in document.iter() for name in node.get("files", "").split()} - names
    return [
        *sorted(lost),
        *_faults_by_schemas(document),
    ]


def _faults_by_schemas(document: etree._Element) -> list[str]:
    return [
        str(error)
        for schema in _schemas()
        if not schema.validate(document)
        for error in schema.error_log
    ]


def faults_of_healthdcat(text: str) -> list[str]:
    """The violations by each set of shapes."""
    return [str(path) for path in _results(text, SHACL.Violation)]


def lacks_of_healthdcat(text: str) -> set[str]:
    """The properties that the profile asks for, and that nothing states."""
    return {path.n3(_graph("").namespace_manager) for path in _results(text, SHACL.Warning)}


def _results(text: str, severity: rdflib.URIRef) -> list[rdflib.URIRef]:
    graph = rdflib.Graph().parse(data=text, format="json-ld", publicID=BASE)
    paths = []
    for shapes in _shapes():
        _, results, _ = pyshacl.validate(graph, shacl_graph=shapes, allow_warnings=True)
        faulty = results.subjects(SHACL.resultSeverity, severity)
        paths.extend(results.value(result, SHACL.resultPath) for result in faulty)
    return paths


@cache
def _schemas() -> list[etree.XMLSchema]:
    places = [HERE / "ddi-codebook-2.5.xsd"]
    if SCHEMAS is not None:
        places.append(Path(SCHEMAS) / "codebook.xsd")
    return [etree.XMLSchema(etree.parse(place)) for place in places if place.exists()]


@cache
def _shapes() -> list[rdflib.Graph]:
    graphs = [_graph((HERE / "healthdcat-ap.ttl").read_text(encoding="utf-8"))]
    if SCHEMAS is not None and (Path(SCHEMAS) / "dcat-ap.ttl").exists():
        graphs.append(_graph((Path(SCHEMAS) / "dcat-ap.ttl").read_text(encoding="utf-8")))
    return graphs


def _graph(turtle: str) -> rdflib.Graph:
    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    graph.bind("dcatap", "http://data.europa.eu/r5r/")
    graph.bind("healthdcatap", "http://healthdataportal.eu/ns/health#")
    graph.bind("dct", "http://purl.org/dc/terms/", replace=True)
    return graph


def texts_in(document: object) -> set[str]:
    """Every text of a document, keys left out."""
    if isinstance(document, dict):
        return set().union(*map(texts_in, document.values()), set())
    if isinstance(document, list):
        return set().union(*map(texts_in, document), set())
    return {document} if isinstance(document, str) else set()


def all_texts(text: str) -> set[str]:
    """Every text of metadata in JSON or XML."""
    if not text.startswith("<"):
        return texts_in(json.loads(text))
    root = etree.fromstring(text.encode())
    return {*root.itertext(), *(value for node in root.iter() for value in node.values())}
