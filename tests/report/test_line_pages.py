"""The pages of lines and of catalogues, their feeds and metadata, made of any words."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.report.line_entries import LineEntry, VersionEntry, describe_version, rfc3339
from sfumato.tasks.report.line_pages import (
    catalogue_files,
    changed_versions,
    differences,
    line_files,
    tombstone_page,
)
from sfumato.tasks.report.utility import accuracy_charts, measured_levels
from sfumato.tasks.schema.stated import mail_address, web_address
from sfumato.tasks.terms.line_words import LineWords
from sfumato.tasks.terms.tombstone import Tombstone
from tests.report.html import Read

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = "</script><script>alert(1)</script> & ]]> \u202e\u2028 \"'"
DIGESTS = [f"{n:064x}" for n in range(1, 9)]


def version(number, state="superseded", reason="wrong", **more):
    digest = DIGESTS[int(number)]
    stone = None
    if state == "withdrawn":
        stone = Tombstone(
            line="wages",
            version=number,
            digest=digest,
            time="2026-03-04T00:00:00+00:00",
            reason=reason,
        )
    time = f"2026-01-0{int(number)}T00:00:00+01:00"
    return VersionEntry(number, state, digest, time, tombstone=stone, **more)


def line(name="wages", title="Wages", words=None, reason="wrong"):
    versions = (
        version("0003", "current", as_of=date(2025, 12, 31)),
        version("0002", "withdrawn", reason),
        version("0001"),
    )
    return LineEntry(name, title, words or LineWords(), versions)


HARD = line(
    title=HOSTILE,
    reason=HOSTILE.replace("\u2028", ""),
    words=LineWords(
        title=HOSTILE,
        description=f"{HOSTILE}\n\nsecond",
        contact="javascript:alert(1)",
        licence="https://example.org/a?b=c&d='e",
    ),
)


def scripts(page):
    return re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)


def addresses(page):
    return re.findall(r'(?:href|src)="([^"]*)"', page)


@pytest.mark.parametrize("page_line", [line(), HARD], ids=["plain", "hostile"])
@pytest.mark.parametrize("make", [line_files, lambda line: catalogue_files([line])])
def test_texts_stay_texts(page_line, make):
    files = make(page_line)
    page = files["index.html"]
    (script,) = scripts(page)
    document = json.loads(script)
    assert document["@context"] == "https://schema.org/"
    assert "\u202e" not in page.replace(script, "")
    allowed = re.compile(r"(\.{1,2}/|#|https://example\.org/|mailto:)")
    assert [address for address in addresses(page) if not allowed.match(address)] == []
    assert Read(page).faults == []
    ET.fromstring(files["feed.atom"])
    json.loads(files["dcat.jsonld"])


def test_nothing_runs_and_nothing_is_fetched():
    for page in (
        line_files(HARD)["index.html"],
        catalogue_files([HARD])["index.html"],
        tombstone_page(HARD.versions[1].tombstone, HOSTILE),
    ):
        assert "default-src 'none'" in page
        page_read = Read(page)
        tags = {tag for tag, _ in page_read.elements}
        assert tags & {"img", "iframe", "object", "form", "video"} == set()
        kinds = [attributes.get("type") for attributes in page_read.all("script")]
        assert set(kinds) <= {"application/ld+json"}
        assert {link["rel"] for link in page_read.all("link")} <= {"alternate"}


def test_a_feed_has_what_was_published_and_withdrawn_the_latest_first():
    feed = ET.fromstring(line_files(line())["feed.atom"])
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
        "Wages: version 0002 withdrawn",
        "Wages: version 0003",
        "Wages: version 0001",
    ]
    assert entries[0].findtext(f"{ATOM}summary") == "Withdrawn: wrong"
    assert feed.findtext(f"{ATOM}updated") == "2026-03-04T00:00:00+00:00"
    for element in (feed, *entries):
        assert datetime.fromisoformat(element.findtext(f"{ATOM}updated")).tzinfo
        assert element.findtext(f"{ATOM}id").startswith("urn:uuid:")
    ids = [element.findtext(f"{ATOM}id") for element in (feed, *entries)]
    assert len(set(ids)) == len(ids)


def test_names_in_feeds_stay_when_a_version_is_withdrawn_or_added():
    def ids(line):
        feed = ET.fromstring(line_files(line)["feed.atom"])
        return {element.text for element in feed.iter(f"{ATOM}id")}

    before = LineEntry("wages", "Wages", LineWords(), line().versions[2:])
    assert ids(before) < ids(line())


def test_metadata_name_the_current_version_and_offer_no_withdrawn_one():
    graph = json.loads(line_files(line())["dcat.jsonld"])["@graph"]
    series, *datasets = graph
    assert series["dcat:hasCurrentVersion"]["@id"] == datasets[0]["@id"]
    states = {dataset["dcat:version"]: "dcat:distribution" in dataset for dataset in datasets}
    assert states == {"0003": True, "0002": False, "0001": True}
    (script,) = scripts(line_files(line())["index.html"])
    offered = json.loads(script)["distribution"]
    assert [distribution["contentUrl"] for distribution in offered] == ["0003/datapackage.json"]


def test_where_none_is_current_nothing_is_offered():
    alone = LineEntry("wages", "Wages", LineWords(), (version("0002", "withdrawn"),))
    page = line_files(alone)["index.html"]
    assert "No version is current" in page
    assert "distribution" not in json.loads(scripts(page)[0])


def test_the_order_of_reading_makes_no_difference():
    lines = [line(), line("housing", "housing"), line("air", "Wages")]
    assert catalogue_files(lines) == catalogue_files(lines[::-1])


@given(st.text())
def test_any_time_is_told_as_feeds_write_it(text):
    assert datetime.fromisoformat(rfc3339(text)).tzinfo


@pytest.mark.parametrize(
    ("text", "web", "mail"),
    [
        ("https://example.org/x", True, False),
        ("a@example.org", False, True),
        ("javascript:alert(1)", False, False),
        ("https://example.org/ x", False, False),
        ('https://example.org/"onclick=', False, False),
        ("The office", False, False),
        (None, False, False),
    ],
)
def test_only_addresses_are_linked(text, web, mail):
    assert (web_address(text) is not None, mail_address(text) is not None) == (web, mail)


def test_programs_and_people_cite_the_current_version():
    line_ = line(words=LineWords(publisher="Town of A", licence="CC-BY-4.0"), title=HOSTILE)
    files = line_files(line_)
    assert files["CITATION.cff"].startswith("# Sfumato, from public records")
    document = yaml.safe_load(files["CITATION.cff"])
    assert (document["title"], document["license"]) == (HOSTILE, "CC-BY-4.0")
    assert (document["version"], str(document["date-released"])) == ("0003", "2026-01-02")
    assert document["identifiers"][0]["value"] == DIGESTS[3]
    assert document["authors"] == [{"name": "Town of A"}]
    assert "Town of A (2026)" in files["index.html"]
    none = yaml.safe_load(line_files(withdrawn_line())["CITATION.cff"])
    assert "version" not in none
    assert none["authors"] == [{"name": "anonymous"}]


def withdrawn_line():
    return LineEntry("wages", "Wages", LineWords(), (version("0001", "withdrawn"),))


def test_a_line_says_which_versions_are_signed():
    assert "No version is signed" in line_files(line())["index.html"]
    signed = version("0001", "current", signature="by town (ab12)")
    page = line_files(LineEntry("wages", "Wages", LineWords(), (signed,)))["index.html"]
    assert "0001 by town (ab12)" in page
    assert "No version is signed" not in page


def manifest(
    rows=10, groups=3, columns=("age",), software="1.0", promises=({"model": "k", "k": 2},)
):
    return {
        "resources": [],
        "sfumato": {
            "rows": {"published": rows},
            "observed": [{"groups": groups}, {"groups": 1}],
            "promises": promises,
            "columns": [{"name": name, "type": "integer"} for name in columns],
            "software": {"sfumato": software},
        },
    }


def test_a_line_says_what_changed_between_versions():
    first = describe_version(manifest())
    other = manifest(1200, 2, ("age", "job"), "1.1", [{"model": "k", "k": 3, "only": ["age"]}])
    other["sfumato"]["columns"][0]["type"] = HOSTILE
    second = describe_version(other)
    assert list(differences(first, first)) == []
    assert list(differences(first, second)) == [
        "1,200 rows, 1,190 more than 10",
        "2 groups, 1 fewer than 3",
        "promises k (k 3; only age), which the one before did not",
        "no longer promises k (k 2)",
        "has column 'job', which is new",
        "column 'age' has another type",
        "made with sfumato 1.1, before 1.0",
    ]
    assert "has no column 'job' any more" in list(differences(second, first))
    versions = (
        version("0004", "current", described=second),
        version("0003", described=second),
        version("0002", "withdrawn"),
        version("0001", described=first),
    )
    assert [(change.number, change.before) for change in changed_versions(versions)] == [
        ("0004", "0003")
    ]
    page = line_files(LineEntry("wages", "Wages", LineWords(), versions))["index.html"]
    assert "0004 compared with 0003: the same rows, groups" in page
    assert Read(page).faults == []
    later = (version("0002", "current", described=second), version("0001", described=first))
    page = line_files(LineEntry("wages", "Wages", LineWords(), later))["index.html"]
    assert "0002 compared with 0001: 1,200 rows, 1,190 more than 10; 2 groups" in page
    assert "What changed" not in line_files(line())["index.html"]


RANGES = {"workload": "avg(cost) by range of age", "queries": 100}
SELECTIONS = {"workload": "sum(cost) of arbitrary selections", "queries": 50, "level": 10}
MEASURED = [
    {**RANGES, "level": 5, "median": 0.21},
    {**RANGES, "level": 10, "median": 0.14},
    {**RANGES, "level": 20, "median": 2.5},
    {**SELECTIONS, "median": 0.3},
]


def measured_line():
    """A line whose current version has accuracies."""
    current = replace(
        line().versions[0],
        charts=tuple(accuracy_charts(MEASURED)),
        levels=tuple(measured_levels(MEASURED)),
    )
    return replace(line(), versions=(current,))


def test_accuracy_is_a_chart_for_each_workload_with_several_levels():
    (chart,) = accuracy_charts(MEASURED)
    assert chart.words.summary == (
        "How accurate: avg(cost) by range of age: ±10.5 % at 5, ±7.0 % at 10, too wide to use at 20"
    )
    assert (chart.words.x_title, chart.words.y_title) == ("span of age", "± %")
    assert len(chart.dots) == 3
    assert float(chart.dots[2].y) < float(chart.dots[0].y) < float(chart.dots[1].y)
    assert accuracy_charts([{**SELECTIONS, "median": None}, {**SELECTIONS, "level": "ages"}]) == []
    page = Read(line_files(measured_line())["index.html"])
    assert page.faults == []
    assert chart.words.summary in [svg.get("aria-label") for svg in page.all("svg")]
    assert "±7.0 %" in page.text
