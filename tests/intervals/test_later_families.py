"""Families that came with format 8: how they are written, and how older lines go on with them."""

import json
from decimal import Decimal

import pytest

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.frozen import FACTORS, freeze_factors, read_factors
from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.formats import lowest_format
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals
from sfumato.tasks.terms.opened import MANIFEST, open_release
from tests.corpus.lines import CONTINUED, CORPUS, PASSPHRASE, FrozenLine
from tests.release.small import Small, people

LATER = {"spread", "median", "quantile"}


def intervals_stating(*families, factor="2", grid="fine"):
    return CalibratedIntervals(
        grid=grid,
        families=tuple(
            CalibratedFamily(family=family, of="wage", factor=Decimal(factor))
            for family in families
        ),
    )


@pytest.mark.parametrize("name", sorted(LATER))
@pytest.mark.parametrize("shape", ["by-one", "by-several"])
def test_what_came_later_is_of_its_format(name, shape):
    assert lowest_format(intervals_stating(f"{name}-{shape}")) == 8


def test_what_was_there_at_first_is_written_as_before():
    assert lowest_format(intervals_stating("avg-by-one", "max-by-several")) == 6
    assert lowest_format(intervals_stating("avg-by-one", grid="first")) == 0


@pytest.mark.parametrize(
    ("families", "factor", "format_"),
    [
        (("avg-by-one",), "2", 1),
        (("avg-by-one",), "2.2", 2),
        (("avg-by-one", "median-by-one"), "2", 3),
    ],
)
def test_a_line_is_kept_in_the_lowest_format_that_can_say_it(tmp_path, families, factor, format_):
    freeze_factors(tmp_path, intervals_stating(*families, factor=factor))
    assert json.loads((tmp_path / FACTORS).read_bytes())["format"] == format_
    assert {family.family for family in read_factors(tmp_path).families} == set(families)


def names(declared):
    return {family.family.partition("-")[0] for family in declared.intervals.families}


def test_a_line_that_stated_others_raises_them_and_states_these(tmp_path, monkeypatch, few_queries):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Small(tmp_path / "line").write(people(rows=240), evaluate={"intervals": 95})
    private = line.plan().line.private
    private.mkdir(parents=True, mode=0o700, exist_ok=True)
    freeze_factors(private, intervals_stating("avg-by-one", factor="30"))
    version = line.publish("one").directory
    assert check(version).derived == "equal"
    declared = open_release(version).declared
    assert json.loads((version / MANIFEST).read_bytes())["sfumato"]["format"] == 8
    assert declared.intervals.factor_of(("avg-by-one", "wage")) == 30
    assert names(declared) >= LATER
    assert read_factors(private).intervals == declared.intervals


def test_a_frozen_line_goes_on_with_them(tmp_path, monkeypatch, few_queries):
    """Version 0003 of a line of format 6: no factor falls, and those that came later are stated."""
    line = FrozenLine(CORPUS / "format-6-people", "permuted").copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(line.folder / "private"))
    monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", PASSPHRASE)
    before = open_release(line.public / "0002").declared.intervals
    published = line.run(CONTINUED, tmp_path / "run", seeded_keys(3))
    declared = open_release(published.directory).declared
    assert published.directory.name == "0003"
    assert names(declared) >= LATER
    intervals = read_factors(line.private).intervals
    for family in before.families:  # also where too few queries of it could be asked now
        assert intervals.factor_of((family.family, family.of)) >= family.factor
