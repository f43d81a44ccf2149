"""Metadata of releases are valid in their standards, and state only what releases state."""

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from csvw import CSVW
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.lines.public_record import read_line_entry
from sfumato.tasks.metadata.description import ReleaseDescription
from sfumato.tasks.metadata.registry import STANDARDS
from sfumato.tasks.metadata.sentences import FORM_SENTENCES
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.terms import Declared
from tests.corpus.archives import extract
from tests.corpus.lines import CORPUS
from tests.guide.page import PAGES
from tests.metadata.validators import (
    all_texts,
    faults_of_croissant,
    faults_of_csvw,
    faults_of_ddi,
    faults_of_healthdcat,
    lacks_of_healthdcat,
)

EXAMPLES = PAGES / "reference" / "release-format" / "examples.tar.gz"
FROZEN = sorted(CORPUS.glob("*/public/*/0*/datapackage.json"))
WITH_LABELS = CORPUS / "format-6-labels" / "public" / "corpus-permuted" / "0001"
PUBLISHER, LICENCE = "Statistical office of A", "https://example.org/licence"
CONTACT = "statistics@town.example"
DDI = "{ddi:codebook:2_5}"
pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]
"""Warnings of libraries about themselves."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The valid releases of the specification of the release format."""
    folder = tmp_path_factory.mktemp("examples")
    with tarfile.open(EXAMPLES) as archive:
        extract(archive, folder)
    return sorted(path.parent for path in folder.glob("valid/*/datapackage.json"))


def describe(directory: Path) -> ReleaseDescription:
    """A release as the command describes it."""
    return ReleaseDescription(
        open_release(directory), f"{directory.name}/", read_line_entry(directory.parent)
    )


def with_words(release: ReleaseDescription, **words) -> ReleaseDescription:
    """The release without a line, as if its manifest had other words."""
    opened = release.release
    content = {**opened.declared.model_dump(by_alias=True), "words": words}
    content["columns"] = [
        {"name": name, **column.model_dump(by_alias=True, exclude_none=True)}
        for name, column in opened.declared.columns.items()
    ]
    declared = Declared.model_validate(content)
    return replace(release, release=replace(opened, declared=declared), line=None)


def text_of(release: ReleaseDescription, standard: str) -> str:
    return STANDARDS[standard](release).text


def has_csv(release: ReleaseDescription) -> bool:
    return "csv" in release.declaration.formats


def faults(release: ReleaseDescription, folder: Path) -> dict[str, list[str]]:
    """The faults of a release's metadata by standard, with its files in a folder."""
    place = folder / "line"
    place.mkdir()
    (place / release.place.rstrip("/")).symlink_to(release.release.directory)
    content = {
        "croissant": faults_of_croissant(text_of(release, "croissant"), place),
        "ddi": faults_of_ddi(text_of(release, "ddi")),
        "healthdcat": faults_of_healthdcat(text_of(release, "healthdcat")),
    }
    if has_csv(release):
        content["csvw"] = faults_of_csvw(text_of(release, "csvw"), place)
    return {standard: lines for standard, lines in content.items() if lines}


@pytest.mark.parametrize(
    "manifest", FROZEN, ids=lambda path: "-".join(path.relative_to(CORPUS).parts[:4:1])
)
def test_metadata_of_frozen_versions_are_valid(manifest, tmp_path):
    assert faults(describe(manifest.parent), tmp_path) == {}


def test_metadata_of_the_specifications_examples_are_valid(examples, tmp_path):
    assert len(examples) == 13
    for number, directory in enumerate(examples):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert faults(describe(directory), folder) == {}, directory.name


class TestValidators:
    """Each validator finds what is wrong."""

    @pytest.fixture
    def release(self):
        return describe(WITH_LABELS)

    @pytest.mark.parametrize(
        "broken",
        [
            lambda d: d.update({"@type": "sc:Thing"}),
            lambda d: d["distribution"][0].pop("encodingFormat"),
            lambda d: d["recordSet"][-1]["field"][0].pop("dataType"),
            lambda d: d["recordSet"][-1]["field"][0]["source"]["fileObject"].update({"@id": "x"}),
        ],
    )
    def test_of_croissant(self, release, broken, tmp_path):
        document = json.loads(text_of(release, "croissant"))
        broken(document)
        assert faults_of_croissant(json.dumps(document), tmp_path)

    @pytest.mark.parametrize(
        "broken",
        [
            lambda t: t.pop("url"),
            lambda t: t["tableSchema"]["columns"].pop(),
            lambda t: t["tableSchema"]["columns"][0].update(datatype="date"),
        ],
    )
    def test_of_csvw(self, release, broken, tmp_path):
        (tmp_path / "0001").symlink_to(WITH_LABELS)
        document = json.loads(text_of(release, "csvw"))
        assert faults_of_csvw(json.dumps(document), tmp_path) == []
        broken(document["tables"][0])
        assert faults_of_csvw(json.dumps(document), tmp_path)

    @pytest.mark.parametrize(
        "path", ["titlStmt/titl", "titlStmt", "citation", "fileDscr", "stdyDscr"]
    )
    def test_of_ddi(self, release, path):
        root = etree.fromstring(text_of(release, "ddi").encode())
        node = root.find(".//" + "/".join(f"{DDI}{name}" for name in path.split("/")))
        node.getparent().remove(node)
        assert faults_of_ddi(etree.tostring(root, encoding="unicode"))

    @pytest.mark.parametrize(
        "broken",
        [
            lambda d: d.pop("dct:title"),
            lambda d: d.pop("dct:accessRights"),
            lambda d: d["dct:publisher"].pop("foaf:name"),
            lambda d: d["dcat:distribution"][0].pop("dcat:accessURL"),
            lambda d: d["dcat:distribution"][1]["spdx:checksum"].pop("spdx:algorithm"),
            lambda d: d["dcat:distribution"][0].update({"dcat:mediaType": "text/csv"}),
        ],
    )
    def test_of_healthdcat(self, release, broken):
        document = json.loads(text_of(release, "healthdcat"))
        broken(document)
        assert faults_of_healthdcat(json.dumps(document))


class TestTables:
    """Tools that read the tables by the metadata get the published rows."""

    def test_croissant_leads_to_every_row(self, tmp_path):
        import mlcroissant

        line = tmp_path / "line"
        shutil.copytree(WITH_LABELS, line / "0001")
        place = line / "croissant.json"
        release = describe(WITH_LABELS)
        place.write_text(text_of(release, "croissant"), encoding="utf-8")
        dataset = mlcroissant.Dataset(jsonld=place)
        table = pq.read_table(WITH_LABELS / "data" / "microdata.parquet")
        records = list(dataset.records(record_set="microdata"))
        assert len(records) == table.num_rows == release.rows_of(release.tables[-1])
        for column in table.column_names:
            values = [record[f"microdata/{column}"] for record in records]
            plain = [v.decode() if isinstance(v, bytes) else v for v in values]
            assert plain == table[column].to_pylist(), column

    @pytest.mark.parametrize("form", ["generalized", "redistributed", "split", "ambiguous"])
    def test_csvw_reads_every_row(self, form, tmp_path):
        directory = CORPUS / "format-2" / "public" / f"corpus-{form}" / "0001"
        (tmp_path / "0001").symlink_to(directory)
        place = tmp_path / "csvw.json"
        place.write_text(text_of(describe(directory), "csvw"), encoding="utf-8")
        tables = CSVW(str(place), validate=True).tables
        assert len(tables) == len(list((directory / "data").glob("*.csv")))
        for table in tables:
            path = tmp_path / str(table.url)
            published = pa.csv.read_csv(path)
            rows = list(table.iterdicts(strict=True))
            assert len(rows) == published.num_rows
            assert [str(value) for value in list(rows[0].values())] == [
                str(value) for value in published.slice(0, 1).to_pylist()[0].values()
            ]

    def test_without_csv_files_csvw_is_refused(self):
        release = describe(CORPUS / "format-9" / "public" / "corpus-permuted" / "0001")
        with pytest.raises(InputError, match="has no CSV files"):
            STANDARDS["csvw"](release)


REQUIRED = {
    "croissant": {
        *("@context", "@type", "conformsTo", "name", "description", "url", "distribution"),
        *("license", "creator", "datePublished"),
    },
    "healthdcat": {
        *("dct:title", "dct:description", "dct:identifier", "dct:accessRights"),
        *("dcat:distribution", "dcat:theme", "dcatap:applicableLegislation"),
        *("healthdcatap:hdab", "healthdcatap:healthCategory"),
    },
}
"""What Croissant 1.1 requires, and HealthDCAT-AP (release 5) of a public dataset."""


class TestStatements:
    """The release states what metadata state; what it does not is named."""

    @pytest.mark.parametrize("standard", sorted(REQUIRED))
    @pytest.mark.parametrize("words", [{}, {"publisher": PUBLISHER}, {"licence": "CC-BY-4.0"}])
    @pytest.mark.parametrize("alone", [True, False])
    def test_what_is_required_is_there_or_named(self, standard, words, alone):
        directory = CORPUS / "format-2" / "public" / "corpus-permuted" / "0001"
        release = describe(directory)
        other = with_words(release, **words)
        document = STANDARDS[standard](other if alone else replace(other, line=release.line))
        present = {key for key, value in json.loads(document.text).items() if value}
        missing = {entry.field for entry in document.missing}
        assert REQUIRED[standard] - present == missing & REQUIRED[standard]
        assert missing & present == set()

    def test_what_a_profile_asks_for_is_named(self):
        document = STANDARDS["healthdcat"](describe(WITH_LABELS))
        lacks = lacks_of_healthdcat(document.text)
        named = {entry.field.split(" of ")[0] for entry in document.missing}
        assert lacks == named
        assert "dcat:contactPoint" in lacks  # of a publisher without an address

    def test_words_of_the_publisher_are_everywhere(self, tmp_path):
        words = {
            "publisher": PUBLISHER,
            "contact": CONTACT,
            "licence": LICENCE,
            "description": "Losses of people.\n\nOnce a year.",
            "columns": {"age": "in completed years"},
        }
        release = with_words(describe(WITH_LABELS), **words)
        assert faults(release, tmp_path) == {}
        for standard in STANDARDS:
            texts = "\n".join(all_texts(text_of(release, standard)))
            for word in (PUBLISHER, LICENCE, "Losses of people.", "Once a year."):
                assert word in texts, (standard, word)
            assert CONTACT in texts or standard == "csvw"
            assert "in completed years" in texts or standard == "healthdcat"
        assert STANDARDS["croissant"](release).missing[0].field == "datePublished"

    def test_a_correction_of_the_line_goes_first(self):
        release = with_words(describe(WITH_LABELS), publisher="Before")
        line = read_line_entry(WITH_LABELS.parent)
        corrected = line.words.model_copy(update={"publisher": "After"})
        release = replace(release, line=replace(line, words=corrected))
        assert release.publisher == "After"
        assert json.loads(text_of(release, "croissant"))["publisher"]["name"] == "After"

    def test_codes_and_labels_are_those_of_the_manifest(self):
        release = describe(WITH_LABELS)
        fields = {
            field["name"]: field["categories"]
            for resource in release.release.manifest["resources"]
            for field in resource.get("schema", {}).get("fields", ())
            if "categories" in field
        }
        assert fields
        document = json.loads(text_of(release, "croissant"))
        lists = {
            entry["name"].removeprefix("codes of "): [list(row.values()) for row in entry["data"]]
            for entry in document["recordSet"]
            if entry.get("dataType") == "sc:Enumeration"
        }
        assert lists == {
            name: [[c["value"], c["label"]] for c in codes] for name, codes in fields.items()
        }
        root = etree.fromstring(text_of(release, "ddi").encode())
        for name, codes in fields.items():
            variable = root.find(f".//{DDI}var[@name='{name}']")
            pairs = [
                (category.findtext(f"{DDI}catValu"), category.findtext(f"{DDI}labl"))
                for category in variable.iter(f"{DDI}catgry")
            ]
            assert pairs == [(str(c["value"]), c["label"]) for c in codes]

    @pytest.mark.parametrize("manifest", FROZEN[::7], ids=lambda path: path.parts[-4])
    def test_no_value_of_a_table_is_in_them(self, manifest):
        """Values of texts are in no metadata, unless the manifest has them."""
        release = describe(manifest.parent)
        manifest_text = manifest.read_text(encoding="utf-8")
        values = {
            str(value)
            for path in sorted(manifest.parent.rglob("data/*.parquet"))
            for column in pq.read_table(path).columns
            if pa.types.is_string(column.type)
            for value in column.unique().to_pylist()
            if value and len(value) > 3 and value not in manifest_text
        }
        standards = [s for s in STANDARDS if s != "csvw" or has_csv(release)]
        for standard in standards:
            texts = all_texts(text_of(release, standard))
            assert values & texts == set()

    def test_every_form_has_a_sentence(self):
        assert set(FORM_SENTENCES) == set(FORMS)

    def test_rows_and_people_are_counted(self):
        release = describe(CORPUS / "format-2" / "public" / "corpus-generalized" / "0001")
        rows = release.declaration.rows.published + release.declaration.rows.vacant
        root = etree.fromstring(text_of(release, "ddi").encode())
        path = f".//{DDI}fileDscr"
        counts = {
            node.findtext(f".//{DDI}fileName"): node.findtext(f".//{DDI}caseQnty")
            for node in root.iterfind(path)
        }
        for name, count in counts.items():
            if count is not None and name.endswith(".parquet"):
                table = pq.read_table(release.release.directory / name)
                assert int(count) == table.num_rows == rows

    def test_counts_of_parts_are_those_of_their_files(self):
        for number in ("0001", "0002"):
            directory = CORPUS / "format-7" / "public" / "corpus-redistributed" / number
            release = describe(directory)
            counts = {file.path: release.rows_of(file) for file in release.tables}
            counted = {path: rows for path, rows in counts.items() if rows is not None}
            assert len(counted) == len(release.declaration.made_of)
            for path, rows in counted.items():
                assert pq.read_metadata(directory / path).num_rows == rows


words = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30).filter(
    lambda text: text.strip() == text
)


@settings(deadline=None, max_examples=25)
@given(names=st.lists(words, min_size=8, max_size=8, unique=True), title=words, word=words)
def test_any_names_and_words_give_valid_metadata(tmp_path_factory, names, title, word):
    """Names of columns, titles and words may have any characters that specs may have."""
    directory = CORPUS / "format-2" / "public" / "corpus-generalized" / "0001"
    opened = open_release(directory)
    columns = list(opened.declared.columns)[: len(names)]
    renamed = dict(zip(columns, names, strict=False))
    manifest = json.loads(json.dumps(opened.manifest))
    for resource in manifest["resources"]:
        for field in resource.get("schema", {}).get("fields", ()):
            field["name"] = renamed.get(field["name"], field["name"])
    declared = opened.declared.model_copy(
        update={
            "title": title,
            "words": opened.declared.words.model_copy(
                update={"publisher": word, "contact": word, "description": word}
            ),
            "columns": {renamed.get(n, n): c for n, c in opened.declared.columns.items()},
        }
    )
    release = ReleaseDescription(
        replace(opened, manifest=manifest, declared=declared), f"{directory.name}/"
    )
    folder = tmp_path_factory.mktemp("names")
    assert faults_of_croissant(text_of(release, "croissant"), folder) == []
    assert faults_of_ddi(text_of(release, "ddi")) == []
    assert faults_of_healthdcat(text_of(release, "healthdcat")) == []
    schema = json.loads(text_of(release, "csvw"))["tables"][0]["tableSchema"]
    variables = [column["name"] for column in schema["columns"]]
    assert len(set(variables)) == len(variables)
