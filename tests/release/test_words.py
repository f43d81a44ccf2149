"""An owner's words about a line and its columns: in its versions, on its page, in no terms."""

import json
from dataclasses import replace

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.inputs.spec import json_schema
from sfumato.tasks.publication.amendments import describe
from sfumato.tasks.publication.check import check
from sfumato.tasks.report.line_entries import labels_in_order, words_of_line
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.stated import CodeLabels, PublishedWords
from sfumato.tasks.terms.line_words import WORDS, read_words
from sfumato.tasks.terms.opened import MANIFEST, PAGE, open_release
from sfumato.tasks.verification.integrity import digest
from tests.release.small import SPEC, people
from tests.report.html import Read

HOSTILE = "</p><script>alert(1)</script> & \"'"
SAID = {
    "publisher": f"Town of A {HOSTILE}",
    "contact": "statistics@town.example",
    "licence": "CC-BY-4.0",
    "description": f"Wages, {HOSTILE}\n\nas the town asked.\n",
}
AGE = f"in years at the end of 2025 {HOSTILE}"
DESCRIBED = {**SPEC["columns"], "age": {**SPEC["columns"]["age"], "description": AGE}}


def page_of(directory):
    return Read((directory / PAGE).read_text(encoding="utf-8"))


def words_in(page):
    return " ".join(page.text.split())


def dcat(line):
    document = json.loads((line / "dcat.jsonld").read_text(encoding="utf-8"))
    return document["@context"], document["@graph"][0]


def test_words_stand_in_the_version_and_on_the_page(small):
    published = small.write(people(), **SAID, columns=DESCRIBED).publish("one")
    release = open_release(published.directory)
    document = release.manifest
    assert document["sfumato"]["format"] == 6
    assert document["licenses"] == [{"name": "CC-BY-4.0"}]
    assert document["contributors"] == [
        {"title": SAID["publisher"], "roles": ["publisher"]},
        {"title": SAID["contact"], "email": SAID["contact"], "roles": ["contact"]},
    ]
    assert document["description"] == SAID["description"].strip()
    fields = [
        field
        for resource in document["resources"]
        for field in resource.get("schema", {}).get("fields", ())
    ]
    ages = [field for field in fields if field["name"] == "age"]
    assert ages
    assert {field["description"] for field in ages} == {AGE}
    assert not any("description" in field for field in fields if field["name"] != "age")
    assert check(published.directory).derived == "equal"
    page = page_of(published.directory)
    assert page.faults == []
    assert f"Publisher {SAID['publisher']} Contact {SAID['contact']} Licence CC-BY-4.0" in words_in(
        page
    )
    assert AGE in words_in(page)
    line = page_of(published.directory.parent)
    assert f"Publisher: {SAID['publisher']}" in words_in(line)
    context, series = dcat(published.directory.parent)
    assert context["foaf"]
    assert series["dct:publisher"]["foaf:name"] == SAID["publisher"]
    assert series["dcat:contactPoint"]["vcard:hasEmail"] == {
        "@id": "mailto:statistics@town.example"
    }
    assert series["dct:rights"]["rdfs:label"] == "CC-BY-4.0"


def test_columns_are_told_of_where_there_is_no_codebook():
    words = PublishedWords(columns={"b": "second", "a": HOSTILE})
    assert words_of_line(words, codebook=True) is None
    assert words_of_line(words, codebook=False).columns == (("a", HOSTILE), ("b", "second"))


def test_a_licence_on_the_web_is_a_link(small):
    address = "https://example.org/licence"
    published = small.write(people(), licence=address).publish("one")
    assert open_release(published.directory).manifest["licenses"] == [{"path": address}]
    assert f'href="{address}"' in (published.directory / PAGE).read_text(encoding="utf-8")
    assert dcat(published.directory.parent)[1]["dct:license"]["@id"] == address


def test_other_words_leave_the_version_and_change_the_page(small):
    first = small.write(people()).publish("one")
    terms = small.plan().terms.digest()
    before = (first.directory / MANIFEST).read_bytes()
    again = small.write(people(), **SAID, columns=DESCRIBED)
    assert small.plan().terms.digest() == terms
    assert again.publish("two").existed
    assert (first.directory / MANIFEST).read_bytes() == before
    assert SAID["publisher"] in words_in(page_of(first.directory.parent))
    assert small.write(people()).publish("three").existed
    assert SAID["publisher"] not in words_in(page_of(first.directory.parent))


def test_a_line_goes_on_with_other_words(small):
    small.write(people(), **SAID, columns=DESCRIBED).publish("one")
    other = {**SAID, "publisher": "Town of B"}
    second = small.write(people(first=1000, seed=2), **other).publish("two")
    assert (second.directory.name, second.existed) == ("0002", False)
    assert "Town of B" in words_in(page_of(second.directory))
    assert AGE not in words_in(page_of(second.directory))
    assert check(second.directory).derived == "equal"


def test_a_composed_line_goes_on_with_other_words(small):
    composed = {"versions": {"rule": "composed"}}
    small.write(people(), **SAID, **composed).publish("one")
    rows = [*people(), *people(first=1000, seed=2)]
    second = small.write(rows, **{**SAID, "contact": "B"}, **composed, columns=DESCRIBED)
    published = second.publish("two")
    assert published.directory.name == "0002"
    first = published.directory.parent / "0001"
    assert check(published.directory).derived == check(first).derived == "equal"


def test_a_steward_corrects_what_the_spec_says(small):
    published = small.write(people(), **SAID).publish("one")
    plan = small.plan()
    unknown = replace(plan.line, words=None)
    describe(unknown, {"publisher": "Corrected", "contact": None})
    words = read_words(published.directory.parent).shown_words
    assert (words.publisher, words.contact) == ("Corrected", SAID["contact"])
    describe(unknown, {"publisher": ""})
    assert read_words(published.directory.parent).shown_words.publisher == SAID["publisher"]


def test_what_says_nothing_new_is_written_as_before(small):
    published = small.write(people()).publish("one")
    release = open_release(published.directory)
    assert "format" not in release.manifest["sfumato"]
    assert not {"words", "licenses", "contributors", "description"} & {
        *release.manifest,
        *release.manifest["sfumato"],
    }
    assert 'id="publisher"' not in (published.directory / PAGE).read_text(encoding="utf-8")
    line = published.directory.parent
    describe(replace(small.plan().line, words=None), {"contact": "A"})
    document = json.loads((line / WORDS).read_bytes())
    assert document == {
        "declared": SPEC["title"],
        "format": 1,
        "line": "wages",
        "words": {"contact": "A"},
    }
    assert "dct:publisher" not in dcat(line)[1]


def test_words_of_format_1_are_read(small):
    published = small.write(people()).publish("one")
    line = published.directory.parent
    old = {"format": 1, "line": "wages", "declared": "T", "words": {"licence": "any words"}}
    (line / WORDS).write_bytes(canonical_json(old))
    assert read_words(line).shown_words.licence == "any words"


@pytest.mark.parametrize("columns", [{"nobody": "x"}, {"age": "a\x1b[31m"}, {"age": "x" * 301}])
def test_forged_words_fail_the_check(small, columns):
    directory = small.write(people(), **SAID).publish("one").directory
    place = directory / MANIFEST
    manifest = json.loads(place.read_bytes())
    manifest["sfumato"]["words"]["columns"] = columns
    manifest["sfumato"]["digest"] = digest(manifest)
    place.chmod(0o644)
    place.write_bytes(canonical_json(manifest))
    with pytest.raises((PromiseError, InputError)):
        check(directory)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"publisher": "a\nb"}, "publisher"),
        ({"contact": "x" * 301}, "contact"),
        ({"licence": "whatever you like"}, "licence: .*short name of a licence"),
        ({"licence": "javascript:alert(1)"}, "licence"),
        ({"description": " "}, "description"),
        (
            {"columns": {**SPEC["columns"], "note": {"role": "drop", "description": "n"}}},
            "description: a column with role drop is in no published table",
        ),
    ],
)
def test_words_are_held_to_limits(small, changed, message):
    small.write(people(), **changed)
    with pytest.raises(SpecError, match=message):
        small.plan()


def test_the_schema_names_the_keys():
    schema = json_schema()
    assert {"publisher", "contact", "licence", "description"} <= {*schema["properties"]}
    assert next(iter(schema["properties"])) == "version"


TOWNS = {"Aa": f"a village {HOSTILE}", "Bee": "a town", "Gone": "nobody lives there"}


def labelled_columns(**keys):
    town = {**SPEC["columns"]["town"], "labels": TOWNS, **keys}
    return {**SPEC["columns"], "town": town}


def towns_of(directory):
    """Return what is said of codes of towns in the manifest, and the categories of its fields."""
    manifest = open_release(directory).manifest
    fields = [
        field
        for resource in manifest["resources"]
        for field in resource.get("schema", {}).get("fields", ())
    ]
    categories_found = [field.get("categories") for field in fields if field["name"] == "town"]
    return manifest["sfumato"]["words"]["labels"]["town"], categories_found


def test_labels_are_of_published_codes(small):
    published = small.write(people(), columns=labelled_columns()).publish("one")
    names, categories = towns_of(published.directory)
    assert names == {"codes": {"Aa": TOWNS["Aa"], "Bee": "a town"}, "whole": False}
    assert categories == [None, None]  # a town has no label, and categories are all values
    page = page_of(published.directory)
    assert page.faults == []
    assert f"What published codes mean, by the publisher Aa {TOWNS['Aa']}" in words_in(page)
    assert "nobody lives there" not in page.text
    assert check(published.directory).derived == "equal"


def test_a_public_list_of_codes_is_published_whole(small):
    terms = small.write(people()).plan().terms.digest()
    every = {**TOWNS, "Cé, the long": "a city"}
    columns = labelled_columns(labels=every, **{"code-list": "whole"})
    published = small.write(people(), columns=columns).publish("one")
    assert small.plan().terms.digest() == terms
    names, categories = towns_of(published.directory)
    assert names == {"codes": every, "whole": True}
    assert categories == [[{"value": c, "label": every[c]} for c in sorted(every)]] * 2
    assert "All codes of the publisher's list, published or not" in words_in(
        page_of(published.directory)
    )
    assert check(published.directory).derived == "equal"


def test_labels_of_whole_numbers_are_in_the_order_of_numbers():
    labels_of_codes = CodeLabels(codes={"10": "ten", "x": "other", "-1": "less", "9": "nine"})
    assert [code for code, _ in labels_in_order(labels_of_codes)] == ["-1", "9", "10", "x"]
    words = PublishedWords(labels={"n": labels_of_codes})
    assert words_of_line(words, codebook=True) is None
    ((name, labels),) = words_of_line(words, codebook=False).labels
    assert (name, labels) == ("n", labels_in_order(labels_of_codes))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (labelled_columns(labels={}), "labels"),
        (labelled_columns(labels={"a\nb": "x"}), "labels"),
        ({**SPEC["columns"], "wage": {**SPEC["columns"]["wage"], "labels": {"1": "x"}}}, "decimal"),
        ({**SPEC["columns"], "age": {**SPEC["columns"]["age"], "labels": {"01": "x"}}}, "code 1"),
        ({**SPEC["columns"], "age": {**SPEC["columns"]["age"], "code-list": "whole"}}, "code-list"),
        (labelled_columns(fold={"below": 5, "into": "other"}), "code-list: fold is computed"),
    ],
)
def test_labels_are_held_to_codes(small, columns, message):
    small.write(people(), columns=columns)
    with pytest.raises(SpecError, match=message):
        small.plan()


@pytest.mark.parametrize("labels", [{"nobody": {"codes": {}}}, {"town": {"codes": {"Gone": "x"}}}])
def test_forged_labels_fail_the_check(small, labels):
    directory = small.write(people(), columns=labelled_columns()).publish("one").directory
    place = directory / MANIFEST
    manifest = json.loads(place.read_bytes())
    manifest["sfumato"]["words"]["labels"] = labels
    manifest["sfumato"]["digest"] = digest(manifest)
    place.chmod(0o644)
    place.write_bytes(canonical_json(manifest))
    with pytest.raises(PromiseError, match=r"describes columns|labels of codes|words is not as"):
        check(directory)
