"""Facts about a release: columns with their domains, promises, accuracy, line, citation."""

import shutil

import pytest

import sfumato
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS

RELEASES = sorted(CORPUS.glob("format-*/public/*/0001"))
PERMUTED = CORPUS / "format-2" / "public" / "corpus-permuted"
LABELLED = CORPUS / "format-2" / "public" / "corpus-generalized"


def path_in_words(path):
    return "/".join(path.parts[-4:-1:2])


@pytest.fixture(scope="module")
def release():
    return sfumato.open(PERMUTED / "0002")


@pytest.mark.parametrize("path", RELEASES, ids=path_in_words)
def test_every_frozen_release_says_what_it_is(path):
    release = sfumato.open(path)
    declared = open_release(path).declared
    assert list(release.columns) == list(declared.columns) == list(release.schema)
    assert [promise.name for promise in release.promises] == [p.name for p in declared.promises]
    stated = read_record(path.parent).versions["0001"].accuracy or []
    assert [(a.workload, a.median) for a in release.accuracy] == [
        (entry["workload"], entry["median"]) for entry in stated if "median" in entry
    ]
    assert (release.version, release.line.name) == ("0001", declared.name)
    assert release.line.current in {version.number for version in release.line.versions}
    assert f"version 0001, digest {release.digest[:12]}…" in release.citation
    for listing in (release.columns, release.promises, release.accuracy, release.line.versions):
        assert repr(listing)
        assert listing._repr_html_().startswith("<div>") or not listing


@pytest.mark.parametrize("path", RELEASES, ids=path_in_words)
def test_domains_have_every_published_value_of_exact_columns(path):
    """The least and the greatest value are those that MIN and MAX surely have."""
    release = sfumato.open(path)
    for name, column in release.columns.items():
        try:
            (row,) = release.query(f'SELECT MIN("{name}") AS a, MAX("{name}") AS b FROM microdata')
        except sfumato.QueryError:
            continue
        ends = [row["a"].lower, row["b"].upper]
        if None not in ends and column.domain.least is not None:
            assert [column.domain.least, column.domain.most] == ends


class TestColumns:
    """Columns by their role, their type, and the values that rows can have."""

    def test_texts_are_listed_and_numbers_have_ends(self, release):
        sex, age = release.columns["sex"], release.columns["age"]
        assert sex.values == sex.domain.values == ("Female", "Male")
        assert (age.domain.least, age.domain.most) == (17, 79)
        assert (str(sex.domain), str(age.domain)) == ("Female, Male", "17 to 79")

    def test_a_domain_has_its_values_alone(self, release):
        sex = release.columns["sex"].domain
        assert "Male" in sex
        assert "male" not in sex
        labelled = sfumato.open(LABELLED / "0001").columns["age"].domain
        assert labelled.values is None
        assert 30 in labelled
        assert 300 not in labelled
        assert "thirty" not in labelled

    def test_a_label_that_may_be_anything_admits_any_value(self):
        suppressed = CORPUS / "format-2" / "public" / "corpus-suppressed" / "0001"
        domain = sfumato.open(suppressed).columns["education"].domain
        assert (domain.least, domain.most, domain.values) == (None, None, None)
        assert str(domain) == "any value"
        assert "no school" in domain

    def test_columns_are_picked(self, release):
        columns = release.columns
        assert [c.name for c in columns.with_role("sensitive")] == ["fnlwgt"]
        assert [c.name for c in columns.with_role("sensitive", "insensitive")] == [
            c.name for c in columns.values() if c.role != "quasi-identifier"
        ]
        assert {c.type for c in columns.with_type("integer")} == {"integer"}
        assert [c.name for c in columns.with_value("Female")] == ["sex"]
        assert columns.with_value("nowhere") == ()

    def test_a_misspelt_column_is_told_with_the_nearest(self, release):
        assert release.columns["Hours-per-week"].name == "hours-per-week"
        with pytest.raises(sfumato.UnknownColumnError, match="did you mean 'workclass'"):
            release.columns["workclas"]
        assert "workclas" not in release.columns

    def test_long_lists_are_cut(self, release):
        education = release.columns["education"]
        more = len(education.values) - 6
        assert str(education.domain).endswith(f", and {more} more")

    def test_domains_are_of_files_that_are_unchanged(self, tmp_path):
        line = shutil.copytree(PERMUTED, tmp_path / PERMUTED.name)
        columns = sfumato.open(line / "0002").columns
        assert columns["age"].domain.least == 17
        table = line / "0002" / "data" / "microdata.parquet"
        write_atomically(table, (PERMUTED / "0001" / "data" / "microdata.parquet").read_bytes())
        with pytest.raises(sfumato.PromiseError, match="changed after they were verified"):
            columns["age"].domain  # noqa: B018 - reading it is what is refused


class TestPromises:
    """Promises with their parameters, and accuracy as ±x %."""

    def test_a_promise_has_its_parameters(self, release):
        (promise,) = release.promises
        assert (promise.name, promise.groups) == ("ke-anonymity", 44)
        assert promise.parameters["k"] == 4
        assert promise.parameters["sensitive"] == "fnlwgt"
        assert promise.observed["k"] >= 4
        assert str(promise).startswith("ke-anonymity: required e 2000, k 4, observed e ")
        assert "e 2000, k 4" in repr(release.promises)

    def test_accuracy_is_half_a_width(self, release):
        first = release.accuracy[0]
        assert first.half_width == first.median / 2
        assert str(first).startswith("avg(fnlwgt) by range of age (10): ±")
        lines = repr(release.accuracy).splitlines()
        assert lines[0].split("  ")[0] == "workload"
        assert all("±" in line for line in lines[1:])
        assert not any(str(first.median) in line for line in lines)
        halves = [line.split("  ") for line in lines[1:]]
        decimals = {len(text.partition(".")[2]) for row in halves for text in row if "±" in text}
        assert len(decimals) == 1

    def test_nothing_measured_is_nothing_stated(self):
        suppressed = CORPUS / "format-2" / "public" / "corpus-suppressed" / "0001"
        accuracy = sfumato.open(suppressed).accuracy
        assert accuracy == ()
        assert repr(accuracy) == accuracy._repr_html_() == "none"


class TestLine:
    """The line by the record beside a release, and what is known without it."""

    def test_versions_have_states(self, release):
        states = [(version.number, version.state) for version in release.line.versions]
        assert states == [("0002", "current"), ("0001", "superseded")]
        assert release.line.current == "0002"
        assert release.line.versions[0].digest == release.digest
        for text in (repr(release.line), release.line._repr_html_()):
            assert text.index("corpus-permuted: ") < text.index("0002") < text.index("0001")

    def test_a_release_alone_knows_its_line_by_name(self, tmp_path):
        alone = shutil.copytree(PERMUTED / "0002", tmp_path / "alone")
        release = sfumato.open(alone)
        assert (release.version, release.accuracy) == ("alone", ())
        assert (release.line.name, release.line.versions) == ("corpus-permuted", ())
        assert release.line.current is None
        assert release.citation.endswith(f"corpus-permuted, digest {release.digest[:12]}…")

    def test_a_record_of_other_releases_says_nothing(self, tmp_path):
        shutil.copytree(LABELLED, tmp_path / "other")
        shutil.copytree(PERMUTED / "0002", tmp_path / "other" / "0003")
        release = sfumato.open(tmp_path / "other" / "0003")
        assert (release.line.versions, release.accuracy) == ((), ())

    def test_a_renamed_directory_has_its_number(self, tmp_path):
        line = shutil.copytree(PERMUTED, tmp_path / "line")
        (line / "0002").rename(line / "latest")
        assert sfumato.open(line / "latest").version == "0002"
