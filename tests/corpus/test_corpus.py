"""Releases made by earlier versions are recognised and continued; `tests/reader` reads them."""

import pytest

from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from tests.corpus.lines import CONTINUED, PASSPHRASE, VERSIONS, each_frozen_line

pytestmark = each_frozen_line()


@pytest.fixture
def line_copy(line, few_queries, tmp_path, monkeypatch):
    copy = line.copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", PASSPHRASE)
    return copy


def test_the_same_source_is_the_version_that_stands(line_copy, tmp_path):
    for number, source in VERSIONS.items():
        published = line_copy.run(source, tmp_path / "runs" / source, seeded_keys(99))
        assert (published.existed, published.directory.name) == (True, number)


def test_the_line_goes_on_with_other_people(line_copy, tmp_path):
    published = line_copy.run(CONTINUED, tmp_path / "run", seeded_keys(3))
    record = read_record(line_copy.public)
    assert (published.existed, published.directory.name, record.current) == (False, "0003", "0003")
    assert record.versions["0003"].predecessor == record.versions["0002"].digest
    assert check(published.directory).verdicts
