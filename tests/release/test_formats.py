"""A release is written in the lowest format that can say it; every format is read."""

import csv
import json

import pytest
from pydantic import BaseModel
from pydantic.dataclasses import dataclass

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.cli.main import run
from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.formats import NEWEST, field_since, lowest_format, require_readable
from sfumato.tasks.terms.opened import MANIFEST, open_release
from tests.release.forge import edit
from tests.release.small import SPEC, people

FORMULAS = ["=1+1", "+cmd", "-2x", "@SUM", "\tx", "Aa", "'=x", ""]


class Part(BaseModel):
    old: int = 0
    new: int = field_since(3, 7, "came later")


@dataclass(frozen=True)
class Later:
    since = 5


class Whole(BaseModel):
    part: Part = field_since(4, Part(), "holds a later key")
    parts: tuple[Part, ...] = ()
    named: dict[str, Part] = {}


@pytest.mark.parametrize(
    ("part", "format_", "document"),
    [
        (Part(), 0, {"old": 0}),
        (Part(old=1), 0, {"old": 1}),
        (Part(new=8), 3, {"old": 0, "new": 8}),
        (Whole(), 0, {"parts": (), "named": {}}),
        (Whole(parts=(Part(), Part(new=1))), 3, None),
        (Whole(named={"a": Part(new=1)}), 3, None),
        (Whole(part=Part(new=1)), 4, None),
    ],
)
def test_a_later_key_is_written_where_it_is_not_at_its_default(part, format_, document):
    assert lowest_format(part) == format_
    if document is not None:
        assert part.model_dump() == document
    assert type(part).model_validate(part.model_dump()) == part


def test_a_kind_that_came_later_says_so():
    assert lowest_format((Part(), Later())) == 5


@pytest.mark.parametrize("format_", [NEWEST + 1, 99])
def test_a_release_of_newer_software_is_refused_in_one_line(writable, format_, capsys):
    edit(writable, lambda document: document["sfumato"].update(format=format_))
    for command in (["check"], ["query", "SELECT COUNT(*) FROM microdata"]):
        name, *more = command
        assert run([name, str(writable), *more]) == 2
        error = capsys.readouterr().err
        assert f"{MANIFEST}: format {format_} is newer than this software" in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("format_", ["1", -1, 1.0, True, None])
def test_what_is_no_number_of_a_format_is_refused(tmp_path, format_):
    with pytest.raises(PromiseError, match="format must be a whole number"):
        require_readable(tmp_path / "file", {"format": format_})


@pytest.mark.parametrize("format_", [0, 1])
def test_a_format_that_is_not_the_lowest_is_refused(writable, format_):
    """One declaration is written in one way."""
    edit(writable, lambda document: document["sfumato"].update(format=format_))
    with pytest.raises(PromiseError, match="format is not the lowest that has its keys"):
        check(writable)


def write_formulas(small, formulas):
    rows = [{**row, "town": FORMULAS[i % len(FORMULAS)]} for i, row in enumerate(people())]
    publish = {"uri": "public", "csv": {"formulas": formulas}}
    return small.write(rows, publish=publish).publish(formulas).directory


def towns(release):
    with (release / "data" / "microdata.csv").open(newline="", encoding="utf-8") as file:
        return {row["town"] for row in csv.DictReader(file)}


def test_formulas_are_kept_in_format_0_with_a_note(small):
    release = write_formulas(small, "keep")
    document = json.loads((release / MANIFEST).read_bytes())["sfumato"]
    assert not document.keys() & {"format", "csv"}
    assert towns(release) == set(FORMULAS)
    assert "Open CSV files as data, not as spreadsheets" in (release / "index.html").read_text()


def test_formulas_stand_behind_a_quote_in_format_1(small):
    release = write_formulas(small, "quote")
    document = json.loads((release / MANIFEST).read_bytes())["sfumato"]
    assert (document["format"], document["csv"]) == (1, {"formulas": "quote"})
    assert towns(release) == {"'=1+1", "'+cmd", "'-2x", "'@SUM", "'\tx", "Aa", "'=x", ""}
    parquet = open_release(release).table("microdata")["town"].to_pylist()
    assert set(parquet) == {*FORMULAS, None} - {""}
    assert "CSV files differ from Parquet files" in (release / "index.html").read_text()
    assert check(release).derived == "equal"


def test_a_promise_that_came_with_format_1_is_of_format_1(small):
    rows = [{**row, "wage": f"{100 * (i % 3)}.50"} for i, row in enumerate(people())]
    promises = [*SPEC["promises"], {"model": "delta-disclosure", "delta": "1.5"}]
    release = small.write(rows, promises=promises).publish("made").directory
    document = json.loads((release / MANIFEST).read_bytes())["sfumato"]
    assert document["format"] == 1
    assert check(release).verdicts[1][1].holds


def test_a_page_without_formulas_has_no_note(release):
    assert "spreadsheet" not in (release / "index.html").read_text(encoding="utf-8")


def test_the_same_source_under_another_policy_is_another_release(small):
    write_formulas(small, "keep")
    with pytest.raises(PromiseError, match="versions: disjoint is broken"):
        write_formulas(small, "quote")


def test_a_policy_for_csv_needs_csv_files(small):
    publish = {"uri": "public", "formats": ["parquet"], "csv": {"formulas": "quote"}}
    with pytest.raises(SpecError, match="formats has no csv"):
        small.write(people(), publish=publish).plan()
