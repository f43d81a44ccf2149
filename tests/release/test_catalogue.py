"""The pages beside lines: when they are written, from what, and what they never have."""

import json
import re
import shutil
from datetime import date

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines import pages, public_record
from sfumato.tasks.lines.versions import RECORD, Approval, read_record
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.report.utility import accuracy_lines
from sfumato.tasks.terms.line_words import WORDS, read_words
from sfumato.tasks.terms.opened import MANIFEST
from tests.release.small import Small, people

FILES = ("index.html", "feed.atom", "dcat.jsonld")


@pytest.fixture
def other(small, two, tmp_path):
    """Another line in the same place, about other people."""
    line = Small(tmp_path / "other")
    place = str(two.public.parent)
    line.write(people(first=5000, seed=9), name="housing", publish={"uri": place})
    return line


def files_about(directory):
    return {name: (directory / name).read_bytes() for name in FILES}


def text_of(directory):
    return b"".join(files_about(directory).values()).decode()


def test_written_with_every_version_and_with_its_withdrawal(small, two):
    for place in (two.public, two.public.parent):
        assert "0002/index.html" in text_of(place)
        assert (place / "index.html").stat().st_mode & 0o777 == 0o644
    withdraw(two, "0002", "a wrong table")
    for place in (two.public, two.public.parent):
        assert "withdrawn" in text_of(place)
    assert "a wrong table" in text_of(two.public)


def test_a_version_that_stands_changes_nothing(small, two):
    before = {path: path.stat().st_mtime_ns for path in two.public.parent.rglob("*")}
    assert small.publish("again").existed
    after = {path: path.stat().st_mtime_ns for path in two.public.parent.rglob("*")}
    assert {p: t for p, t in after.items() if not p.is_dir()} == {
        p: t for p, t in before.items() if not p.is_dir()
    }


def test_a_catalogue_has_the_lines_of_its_place(two, other):
    other.publish("one")
    text = text_of(two.public.parent)
    assert "wages/0002/index.html" in text
    assert "housing/0001/index.html" in text
    assert "housing" not in text_of(two.public)


def test_no_candidate_no_refusal_and_no_private_line_is_listed(two, other, monkeypatch, small):
    """A run that was killed, one that was refused, and a line that nobody has published."""

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    before = files_about(two.public.parent)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(publication, "appear", kill)
        other.publish("one")
    assert read_state(other.plan().line.private).pending is not None
    small.write(people(seed=5))
    with pytest.raises(PromiseError):
        small.publish("refused")
    assert pages.rebuild_pages(two.public.parent) == ()
    assert files_about(two.public.parent) == before
    assert "housing" not in text_of(two.public.parent)


def test_made_of_public_records_and_nothing_else(two, tmp_path):
    """With words, tombstones and manifests the files are the same; records alone suffice."""
    withdraw(two, "0001", "a wrong table")
    place = two.public.parent
    whole, alone = tmp_path / "whole", tmp_path / "alone"
    for copy in (whole, alone):
        (copy / "wages" / "0001").mkdir(parents=True)
        shutil.copy(two.public / RECORD, copy / "wages")
    shutil.copy(two.public / WORDS, whole / "wages")
    shutil.copy(two.public / "0001" / "withdrawal.json", whole / "wages" / "0001")
    (whole / "wages" / "0002").mkdir()
    shutil.copy(two.public / "0002" / MANIFEST, whole / "wages" / "0002")
    assert pages.rebuild_pages(whole) == pages.rebuild_pages(alone) == ()
    assert (files_about(whole), files_about(whole / "wages")) == (
        files_about(place),
        files_about(two.public),
    )
    assert "withdrawn" in text_of(alone)
    assert "Wages &lt;in&gt; a town" not in text_of(alone)


def test_no_values_and_nothing_private(small, two):
    withdraw(two, "0001", "a wrong table")
    text = text_of(two.public) + text_of(two.public.parent)
    shown_text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    for secret in ("Cé, the long", "Bee", "IDENT-", "NOTE-", 'wage"', "observed", "median"):
        assert secret not in shown_text, secret
    state = read_state(two.private)
    assert all(version.rows not in shown_text for version in state.versions.values())
    assert read_record(two.public).owner not in shown_text


def test_a_start_page_of_somebody_else_is_left_as_it_is(small, tmp_path):
    place = small.folder / "public"
    place.mkdir(parents=True)
    (place / "index.html").write_text("<p>Our office. Made with Sfumato.")
    published = small.publish("one")
    assert (place / "index.html").read_text() == "<p>Our office. Made with Sfumato."
    assert (place / "feed.atom").exists()
    assert [notice.endswith("was not changed") for notice in published.notices] == [True]


def test_what_cannot_be_written_takes_back_no_version(small, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device: IDENT-7")

    monkeypatch.setattr(pages, "write_atomically", full)
    published = small.publish("one")
    assert check(published.directory).verdicts
    assert len(published.notices) >= 2
    assert "IDENT-7" not in "".join(published.notices)
    assert not (small.folder / "public" / "index.html").exists()
    monkeypatch.undo()
    monkeypatch.setenv("SFUMATO_WORK", str(small.folder.parent / "work"))
    assert small.publish("stands").existed
    assert "0001" in text_of(small.folder / "public")


@pytest.mark.parametrize("number", ["../../elsewhere", '"><b>', "٠٠٠٣"])
def test_a_number_that_is_none_makes_no_record(two, number):
    """Numbers are names of directories, and pages lead there."""
    document = json.loads((two.public / RECORD).read_bytes())
    document["versions"][number] = document["versions"]["0001"]
    (two.public / RECORD).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(PromiseError, match="cannot be read as a record of versions"):
        read_record(two.public)


def test_a_manifest_that_cannot_be_read_holds_up_no_page(two):
    manifest = two.public / "0002" / MANIFEST
    manifest.unlink()
    manifest.write_text("{")
    for directory in (two.public, two.public.parent):
        (directory / "index.html").unlink()
    assert pages.refresh_pages(two) == ()
    assert "0002/index.html" in text_of(two.public)


def test_a_line_that_cannot_be_read_hides_no_other(two, other):
    other.publish("one")
    place = two.public.parent
    (place / "housing" / RECORD).write_text("{")
    (place / "stranger").mkdir()
    shutil.copy(two.public / RECORD, place / "stranger")
    assert pages.rebuild_pages(place) == ()
    text = text_of(place)
    assert "wages/0002/index.html" in text
    assert "housing" not in text
    assert '<a href="./wages/index.html">Wages' in text
    assert "<dt>release</dt><dd>1</dd>" in text


class TestDescribe:
    def test_new_words_and_no_new_version(self, two, call):
        before = {
            p: p.read_bytes() for n in ("0001", "0002") for p in (two.public / n).rglob("*.*")
        }
        record = (two.public / RECORD).read_bytes()
        words = ("--title", "Wages", "--contact", "a@example.org", "--licence", "CC-BY-4.0")
        code, out, _ = call("describe", two.public, *words, "--description", "One.\n\nTwo.")
        assert (code, "a@example.org" in out) == (0, True)
        for text in ("<h1>Wages</h1>", "mailto:a@example.org", "CC-BY-4.0", "<p>Two.</p>"):
            assert text in (two.public / "index.html").read_text(), text
        assert '<a href="./wages/index.html">Wages</a>' in text_of(two.public.parent)
        graph = json.loads((two.public / "dcat.jsonld").read_bytes())["@graph"]
        assert (graph[0]["dct:title"], graph[0]["dct:rights"]["rdfs:label"]) == (
            "Wages",
            "CC-BY-4.0",
        )
        assert {p: p.read_bytes() for p in before} == before
        assert (two.public / RECORD).read_bytes() == record
        assert check(two.public / "0002").verdicts

    def test_by_the_spec_and_back(self, small, two, call):
        assert call("describe", small.spec, "--title", "Other", "--contact", "us")[0] == 0
        assert read_words(two.public).title == "Other"
        code, out, _ = call("describe", small.spec, "--title", "")
        assert (code, "Wages <in> a town" in out, "us" in out) == (0, True, True)
        assert read_words(two.public).words.model_dump(exclude_none=True) == {"contact": "us"}

    def test_words_stay_with_the_next_version(self, small, two, call):
        assert call("describe", two.public, "--title", "Other")[0] == 0
        small.write(people(first=2000, seed=3), title="Named anew").publish("three")
        words = read_words(two.public)
        assert (words.title, words.declared) == ("Other", "Named anew")

    def test_without_words_they_are_printed(self, two, call):
        before = files_about(two.public)
        code, out, _ = call("describe", two.public)
        assert (code, "Wages <in> a town" in out, files_about(two.public)) == (0, True, before)

    @pytest.mark.parametrize("word", ["title", "description", "contact", "licence"])
    def test_control_characters_are_no_words(self, two, call, word):
        code, _, error = call("describe", two.public, f"--{word}", "a\x1bSECRET")
        assert (code, f"{word}: is too long, or has control characters" in error) == (2, True)
        assert "SECRET" not in error

    def test_another_work_directory_describes_nothing(self, two, call, tmp_path, monkeypatch):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "another"))
        code, _, error = call("describe", two.public, "--title", "Other")
        assert (code, "was not published by a line wages" in error) == (3, True)

    def test_words_that_cannot_be_read_are_refused(self, two):
        (two.public / WORDS).write_text('{"format": 1}')
        with pytest.raises(PromiseError, match="cannot be read as the words of a line"):
            read_words(two.public)


class TestReleases:
    def test_lines_versions_and_states(self, two, call, small):
        withdraw(two, "0001", "a wrong table", "2026-02-03T04:05:06+00:00")
        code, out, _ = call("releases")
        assert code == 0
        rows = [line.split() for line in out.splitlines()]
        assert ["wages", "0001", "withdrawn"] in [row[:3] for row in rows]
        assert ["wages", "0002", "current"] in [row[:3] for row in rows]
        assert "0001 was withdrawn on 2026-02-03: a wrong table" in out
        assert str(two.public) in out

    @pytest.mark.parametrize("place_kind", ["work", "spec", "line", "place", "nothing"])
    def test_by_any_place_it_is_the_same(self, two, call, small, place_kind):
        places = {
            "work": [two.work],
            "spec": [small.spec],
            "line": [two.public],
            "place": [two.public.parent],
            "nothing": [],
        }
        code, out, _ = call("releases", "--json", *places[place_kind])
        document = json.loads(out)
        (line,) = document["lines"]
        assert (code, line["line"], line["current"]) == (0, "wages", "0002")
        assert line["directory"] == str(two.public)
        assert [version["state"] for version in line["versions"]] == ["superseded", "current"]
        digests = [version.digest for version in read_state(two.private).versions.values()]
        assert [version["digest"] for version in line["versions"]] == digests

    def test_a_reader_without_a_work_directory_can_list(self, two, call, tmp_path, monkeypatch):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "none"))
        assert call("releases", two.public.parent)[0] == 0
        code, _, error = call("releases")
        assert (code, "has no lines" in error) == (2, True)

    def test_unusual_states_are_explained(self, two, call):
        record = json.loads((two.public / RECORD).read_bytes())
        record["versions"]["0001"]["status"] = "withdrawn"
        (two.public / RECORD).write_text(json.dumps(record))
        shutil.rmtree(two.public / "0002")
        code, out, error = call("releases")
        assert (code, "withdrawn, in place" in out, " gone" in out) == (0, True, True)
        assert "restore it" in error

    def test_where_the_place_is_not_known_versions_are(self, two, call):
        (two.private / "published-in").unlink()
        code, out, error = call("releases")
        assert (code, out.count("unknown"), "name the directory" in error) == (0, 2, True)

    def test_rebuild(self, two, call):
        before = files_about(two.public.parent), files_about(two.public)
        for name in FILES:
            (two.public / name).unlink()
            (two.public.parent / name).unlink()
        assert call("releases", "--rebuild", two.public.parent)[0] == 0
        assert (files_about(two.public.parent), files_about(two.public)) == before

    def test_hostile_texts_do_nothing_to_a_terminal(self, two, call):
        words = {"format": 1, "line": "wages", "declared": "x", "words": {"title": "[red]\u202e"}}
        (two.public / WORDS).write_text(json.dumps(words))
        _, out, _ = call("releases")
        assert "\u202e" not in out
        assert "[red]" in out


def test_an_entry_says_all_that_the_record_says_of_a_version(two, monkeypatch):
    accuracy = [{"workload": "range", "level": "age within 5", "median": 0.07}]
    facts = {
        "as_of": date(2026, 1, 31),
        "approvals": (Approval(by="Ada", reason="read", time="now"),),
        "accuracy": accuracy,
        "warnings": ("little is left",),
        "goal": "below-goal",
    }
    record = read_record(two.public)
    last = record.versions["0002"].model_copy(update=facts)
    changed = record.model_copy(update={"versions": {**record.versions, "0002": last}})
    monkeypatch.setattr(public_record, "signer_of", lambda place, digest: f"{place.name} {digest}")
    newest, oldest = public_record.entry_of(two.public, changed).versions
    assert newest.as_of == facts["as_of"]
    assert newest.approvals == (("Ada", "read"),)
    assert newest.accuracy == tuple(accuracy_lines(accuracy)) != ()
    assert newest.signature == f"by 0002 {last.digest}"
    assert newest.warnings[0] == "little is left"
    assert "below-goal" in newest.warnings[1]
    assert (oldest.as_of, oldest.approvals, oldest.accuracy, oldest.warnings) == (None, (), (), ())
