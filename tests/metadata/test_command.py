"""`sfumato metadata`: what it prints, what it writes, what it refuses, and what it names."""

import json
import shutil

import pytest

from sfumato.flows.cli.main import run
from sfumato.flows.cli.show import visible
from sfumato.tasks.metadata.description import json_text
from sfumato.tasks.metadata.registry import STANDARDS
from sfumato.tasks.terms.line_words import LineWords, read_words, write_words
from tests.api.elsewhere import serve_directory
from tests.corpus.lines import CORPUS
from tests.metadata.test_standards import describe, text_of, with_words

FORMAT = CORPUS / "format-8" / "public" / "corpus-permuted"


@pytest.fixture
def line(tmp_path):
    shutil.copytree(FORMAT, tmp_path / "corpus-permuted")
    return tmp_path / "corpus-permuted"


@pytest.mark.parametrize("standard", sorted(STANDARDS))
def test_it_is_printed_or_written(standard, line, capsys):
    assert run(["metadata", str(line / "0002"), "--as", standard]) == 0
    printed = capsys.readouterr()
    target = line / f"{standard}.txt"
    before = {path: path.read_bytes() for path in line.rglob("*") if path.is_file()}
    assert run(["metadata", str(line / "0002"), "--as", standard, "--output", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == printed.out
    assert "0002/data/microdata." in printed.out
    assert {p: p.read_bytes() for p in before} == before
    assert capsys.readouterr().err == printed.err


def test_programs_get_a_document(line, capsys):
    arguments = ["metadata", str(line / "0002"), "--as", "healthdcat"]
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert (document["standard"], document["text"]) == ("healthdcat", text)
    assert "healthdcatap:hdab" in document["missing"]
    assert "left out" not in printed.err
    target = line / "health.json"
    assert run([*arguments, "--json", "--output", str(target)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(target)
    assert target.read_text(encoding="utf-8") == text


def test_a_line_is_its_current_version(line, capsys):
    assert run(["metadata", str(line), "--as", "croissant"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["version"] == "2.0.0"
    assert "version 0002 is the current one" in printed.err


def test_what_is_left_out_is_one_line(line, capsys):
    shutil.move(line / "0001", line.parent / "alone")
    assert run(["metadata", str(line.parent / "alone"), "--as", "croissant"]) == 0
    notes = [n for n in capsys.readouterr().err.splitlines() if "left out" in n]
    assert notes == [
        "note: left out, because the release does not state it: datePublished "
        "(releases.json beside the release has it)"
    ]


def test_the_way_to_state_it_is_shown(line, capsys):
    assert run(["metadata", str(line), "--as", "healthdcat"]) == 0
    printed = capsys.readouterr()
    (note,) = [n for n in printed.err.splitlines() if "left out" in n]
    assert f"sfumato describe {line} --contact TEXT" in note
    words = LineWords(contact="office@town.example")
    write_words(line, read_words(line).model_copy(update={"line": line.name, "words": words}))
    assert run(["metadata", str(line), "--as", "healthdcat"]) == 0
    printed = capsys.readouterr()
    (note,) = [n for n in printed.err.splitlines() if "left out" in n]
    assert "contact" not in note
    assert "mailto:office@town.example" in printed.out


@pytest.mark.parametrize("name", ["x.json", "data/x.json"])
def test_nothing_is_written_into_a_version(name, line, capsys):
    target = line / "0001" / name
    assert run(["metadata", str(line), "--as", "ddi", "--output", str(target)]) == 2
    assert f"--output {line / 'x.json'}" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize("name", ["releases.json", "line.json", "dcat.jsonld", "index.html"])
def test_no_file_of_the_line_is_replaced(name, line, capsys):
    before = (line / name).read_bytes() if (line / name).exists() else None
    assert run(["metadata", str(line), "--as", "csvw", "--output", str(line / name)]) == 2
    assert "is a file of the line itself" in capsys.readouterr().err
    assert ((line / name).read_bytes() if (line / name).exists() else None) == before
    assert run(["metadata", str(line), "--as", "csvw", "--output", str(line.parent / name)]) == 0


def test_a_standard_that_is_none_names_all(line, capsys):
    assert run(["metadata", str(line), "--as", "marc"]) == 2
    message = capsys.readouterr().err
    assert all(name in message for name in STANDARDS)


def test_another_table_is_refused(line, capsys):
    place = line / "0002" / "data" / "microdata.csv"
    place.write_bytes(place.read_bytes() + b"\n")
    assert run(["metadata", str(line), "--as", "csvw"]) == 3
    assert capsys.readouterr().out == ""


def test_a_release_on_the_web_has_complete_addresses(line, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serve_directory(line.parent) as served:
        address = f"{served.address}/corpus-permuted"
        for place in (address, f"{address}/", f"{address}/0002"):
            assert run(["metadata", place, "--as", "croissant"]) == 0
            document = json.loads(capsys.readouterr().out)
            assert document["url"] == f"{address}/0002/index.html"
            addresses = {entry["contentUrl"] for entry in document["distribution"]}
            assert f"{address}/0002/data/microdata.parquet" in addresses


@pytest.mark.parametrize("standard", ["croissant", "csvw", "ddi", "healthdcat"])
def test_no_character_acts_on_a_terminal(standard):
    acting = "a\x85b\u202ec\u2028d\u200ee"
    release = with_words(describe(FORMAT / "0001"), publisher=acting, licence="CC-BY-4.0")
    text = text_of(release, standard)
    assert visible(text) == text


def test_json_is_read_back():
    document = {"text": 'a\x85b\u202ec\u2028\U0010ffff<&>"\\'}
    assert json.loads(json_text(document)) == document
