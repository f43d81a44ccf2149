"""Metadata that machines read: Data Packages by the profile, and DCAT by its requirements."""

import json
import re
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.lines.public_record import read_line_entry
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.manifest import resources
from sfumato.tasks.schema.formats import LAYOUT
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import schemas, write_tables
from tests.corpus.lines import CORPUS
from tests.release.data_package import faults_of_files, faults_of_profile
from tests.release.small import SPEC, people
from tests.report.content import make_release

FORMS = {
    "permuted": {},
    "generalized": {
        "promises": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity", "variant": "distinct", "l": 2},
        ],
        "partition": {"method": "full-domain"},
        "form": {"method": "generalized", "label-tables": True},
    },
    "split": {
        "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
        "partition": {"method": "anatomy"},
        "form": {"method": "split"},
    },
}
TOWNS = 'Aa,village,*\nBee,town,*\nGone,town,*\n"Cé, the long",town,*\n'


def publish_as(small, form):
    columns = {name: dict(column) for name, column in SPEC["columns"].items()}
    if form == "generalized":
        columns["town"] |= {"hierarchy": "towns.csv", "nulls": "drop-row"}
    options = {"evaluate": None} if form == "generalized" else {}
    made = small.write(people(), columns=columns, licence="CC-BY-4.0", **FORMS[form], **options)
    (small.folder / "towns.csv").write_text(TOWNS, encoding="utf-8")
    return made.publish("one").directory


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_manifest_is_a_data_package_of_every_file(small, form):
    directory = publish_as(small, form)
    document = open_release(directory).manifest
    assert faults_of_profile(document) == []
    assert list(faults_of_files(directory, document)) == []
    tables = {
        resource["path"] for resource in document["resources"] if resource.get("type") == "table"
    }
    beside = {path for path in tables if not path.startswith("data/")}
    assert any(path.startswith("hierarchies/") for path in beside) == (form == "generalized")
    assert check(directory).derived == "equal"


@pytest.mark.parametrize("folder", sorted(CORPUS.glob("format-*/public/*/0001/datapackage.json")))
def test_manifests_of_every_format_are_data_packages(folder):
    assert faults_of_profile(json.loads(folder.read_bytes())) == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda d: d.pop("resources"),
        lambda d: d["resources"][0].pop("name"),
        lambda d: d["resources"][0].update(path="/etc/passwd"),
        lambda d: d["resources"][0].update(mediatype="csv"),
        lambda d: d["resources"][0]["schema"].update(fields=[]),
        lambda d: d["resources"][0]["schema"]["fields"][0].update(categories=[{"label": "x"}]),
        lambda d: d.update(licenses=[]),
    ],
)
def test_the_profile_finds_what_is_none(broken):
    place = CORPUS / "format-6/public/corpus-generalized/0001/datapackage.json"
    document = json.loads(place.read_bytes())
    broken(document)
    assert faults_of_profile(document)


def test_files_that_are_called_alike_have_names_of_their_own(tmp_path):
    declaration = make_release(4, software={LAYOUT: "5"})
    for part in ("a", "b"):
        place = tmp_path / "parts" / part
        place.mkdir(parents=True)
        (place / "validation.json").write_text("{}", encoding="utf-8")
    paths = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json"))
    names = [resource["name"] for resource in resources(tmp_path, paths, declaration)]
    assert names == ["parts-a-validation-json", "parts-b-validation-json"]
    before = declaration.model_copy(update={"software": {LAYOUT: "4"}})
    assert [resource["name"] for resource in resources(tmp_path, paths, before)] == [
        "validation-json"
    ] * 2


REQUIRED = {
    "dcat:DatasetSeries": {"dct:title", "dct:description", "dct:identifier", "dct:issued"},
    "dcat:Dataset": {"dct:title", "dct:description", "dct:issued"},
    "dcat:Catalog": {"dct:title", "dct:description", "dcat:dataset"},
    "dcat:Distribution": {"dcat:accessURL", "dcat:downloadURL", "dcat:mediaType", "dct:title"},
}
"""What DCAT 3 and its application profile for Europe require of each kind, or recommend."""
IRI = {"dcat:accessURL", "dcat:downloadURL", "dcat:mediaType", "dcat:landingPage", "dcat:inSeries"}
MEDIA_TYPE = re.compile(r"https://www\.iana\.org/assignments/media-types/[a-z]+/[a-z0-9.+-]+")


CLASSES = {
    "dcat:landingPage": "foaf:Document",
    "dcat:mediaType": "dct:MediaType",
    "dct:conformsTo": "dct:Standard",
    "dct:license": "dct:LicenseDocument",
    "dct:rights": "dct:RightsStatement",
}
"""The ranges of properties in DCAT-AP 3.0.1."""


def faults_of_dcat(document):
    """Yield what a graph lacks of what its kinds require, and words without a definition."""
    for node in nodes(document["@graph"]):
        kinds = node.get("@type", [])
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield from (f"{kind}: {key}" for key in REQUIRED.get(kind, set()) - set(node))
        for key, value in node.items():
            if not key.startswith("@") and key.partition(":")[0] not in document["@context"]:
                yield f"{key}: is of no vocabulary"
            if key in IRI and not isinstance(value.get("@id"), str):
                yield f"{key}: is no address"
            if key in CLASSES and value.get("@type") != CLASSES[key]:
                yield f"{key}: is not of the class that DCAT-AP 3 demands"


def nodes(document):
    if isinstance(document, list):
        for item in document:
            yield from nodes(item)
    elif isinstance(document, dict):
        yield document
        for value in document.values():
            yield from nodes(value)


def test_every_file_of_a_version_is_a_distribution(small):
    directory = publish_as(small, "permuted")
    document = json.loads((directory.parent / "dcat.jsonld").read_bytes())
    assert list(faults_of_dcat(document)) == []
    dataset = document["@graph"][1]
    manifest, *files = dataset["dcat:distribution"]
    assert manifest["dcat:downloadURL"]["@id"] == "0001/datapackage.json"
    listed = {
        resource["path"]: resource for resource in open_release(directory).manifest["resources"]
    }
    assert [file["dct:title"] for file in files] == [*listed]
    for file in files:
        resource = listed[file["dct:title"]]
        assert (directory.parent / file["dcat:downloadURL"]["@id"]).is_file()
        assert MEDIA_TYPE.fullmatch(file["dcat:mediaType"]["@id"])
        assert file["dcat:mediaType"]["@id"].endswith(resource["mediatype"])
        assert file["dcat:byteSize"] == {
            "@type": "xsd:nonNegativeInteger",
            "@value": str(resource["bytes"]),
        }
        assert f"sha256:{file['spdx:checksum']['spdx:checksumValue']['@value']}" == resource["hash"]
        assert file["dct:rights"]["rdfs:label"] == "CC-BY-4.0"
    catalogue = json.loads((directory.parent.parent / "dcat.jsonld").read_bytes())
    assert list(faults_of_dcat(catalogue)) == []


def test_another_manifest_than_the_announced_one_tells_nothing(small):
    directory = publish_as(small, "permuted")
    place = directory / "datapackage.json"
    place.chmod(0o644)
    place.write_bytes(place.read_bytes().replace(b'"published":', b'"published" :'))
    small_line = directory.parent
    description = read_line_entry(small_line, with_manifests=True).versions[0].described
    assert description is not None  # the digest is of what it says, however it is written
    place.write_bytes(b'{"sfumato": {"digest": "0"}}')
    assert read_line_entry(small_line, with_manifests=True).versions[0].described is None


def test_times_in_csv_are_told_as_they_are_written(tmp_path):
    declaration = make_release(
        2,
        columns={
            "seen": {"role": "quasi-identifier", "type": "timestamp"},
            "capital-loss": {"role": "sensitive", "type": "integer"},
        },
        software={LAYOUT: "5"},
    )
    ((name, schema),) = schemas(declaration).items()
    values = {"seen": [0, 1], "capital-loss": [1, 2], "group_id": [0, 0]}
    table = pa.table({field.name: pa.array(values[field.name], field.type) for field in schema})
    write_tables({name: table}, declaration, tmp_path / "data")
    paths = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.*"))
    csv, parquet = resources(tmp_path, paths, declaration)
    field = {field["name"]: field for field in csv["schema"]["fields"]}["seen"]
    text = (tmp_path / csv["path"]).read_text(encoding="utf-8")
    first = datetime.strptime(re.search(r"\d{4}-[^,\n]*", text)[0], field["format"])  # noqa: DTZ007
    assert first == datetime(1970, 1, 1)  # noqa: DTZ001
    assert "format" not in {f["name"]: f for f in parquet["schema"]["fields"]}["seen"]
    assert pq.read_schema(tmp_path / parquet["path"]).names == schema.names
