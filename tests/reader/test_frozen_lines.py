"""Releases made by earlier versions are read, checked and asked, by a reader alone."""

from dataclasses import replace
from functools import cache

from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.references import given_references
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import files
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.schema.formats import LAYOUT, software
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.stated_promises import with_statements
from sfumato.tasks.terms.tables import read_tables
from tests.corpus.lines import VERSIONS, as_told, each_frozen_line

pytestmark = each_frozen_line()


@cache
def check_version(line, number):
    """Check a version under its announced digest: no test changes its files."""
    return check(line.public / number, read_record(line.public).versions[number].digest)


def test_check_verifies_every_version_under_its_announced_digest(line):
    for number, version in read_record(line.public).versions.items():
        report = check_version(line, number)
        assert report.verdicts
        if line.references:
            report = check(line.public / number, version.digest, reference_paths=line.references)
        assert not report.stated


def test_pages_of_earlier_layouts_say_what_pages_of_today_say(line):
    for number in VERSIONS:
        report = check_version(line, number)
        made_with = open_release(line.public / number).declared.software
        if made_with.get(LAYOUT) == software()[LAYOUT]:
            assert report.derived in ("equal", "equivalent")  # by the versions of the packages
        else:
            assert report.derived in ("equal", "equivalent")  # equal: later layouts only add to it
            is_named = f"{LAYOUT} {made_with.get(LAYOUT, 1)}" in report.made_with
            assert report.derived == "equal" or is_named
        assert report.unlike == ()


def test_queries_are_answered_as_they_were(line):
    for number, expected in line.answers.items():
        release = replace(open_release(line.public / number), verified=True)
        answers = [document(answer(release, sql)) for sql in line.queries]
        assert [answer.pop("verified") for answer in answers] == [True] * len(expected)
        for answer_, then in zip(answers, expected, strict=True):
            if "certain" not in then:  # earlier, where HAVING was alone told of
                answer_.pop("certain", None)
            if "attained" not in str(then):  # earlier, where spreads were not told to be close
                _drop_attained(answer_)
        assert answers == [as_told(answer) for answer in expected]


def _drop_attained(answer):
    """Forget of standard deviations that their bounds are not attained."""
    for row in answer["rows"]:
        for name, cells in row.items():
            if name.startswith("stddev"):
                assert cells.pop("attained") is False


def test_derived_files_are_made_as_they_were(line, tmp_path):
    """All but the page, which is written anew, and the manifest, which has its digest."""
    for place in (place for number in VERSIONS for place in line.directories(number)):
        release, made = open_release(place), tmp_path / place.relative_to(line.public)
        tables = read_tables(release.declared, release.directory / "data")
        references = given_references(release.declared.promises, line.references)
        assessed = assess(release.declared, tables, references=references)
        assessment, _ = with_statements(assessed, release.manifest, references)
        write_release(made, assessment)
        for path in files(release.directory):
            if path.name != "index.html":
                again = (made / path).read_bytes()
                assert again == (release.directory / path).read_bytes(), path
